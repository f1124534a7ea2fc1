"""The kernels that say which events a row of the tail may want; `tail.py` says how. Twin: `tests/twins/tail.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.kernels import kernel, short_kernel
from rookery.matching.bitmap.kernels import MULTIPLIER

__all__ = ["MARK_WORDS", "mark_row", "marked_events"]

#: Words of 64 bits in which the values of an attribute are marked.
MARK_WORDS = 256
_SHIFT, _SIX, _WITHIN, _ONE = np.uint64(50), np.uint64(6), np.uint64(63), np.uint64(1)


@short_kernel
def mark_row(
    row: Any, start: Any, attribute: Any, bounds: Any, numbers: Any, marks: Any, rows: Any, values: Any
) -> None:
    """Mark what a row wants each of some attributes to equal, and count the rows that do and the values."""
    for index in range(numbers.shape[0]):
        tested = np.int64(0)
        for predicate in range(start[row], start[row + 1]):
            if attribute[predicate] == numbers[index] and bounds[predicate, 0] == bounds[predicate, 1]:
                place = (np.uint64(bounds[predicate, 0]) * MULTIPLIER) >> _SHIFT
                word, bit = np.int64(place >> _SIX), _ONE << (place & _WITHIN)
                values[index] += np.int64((marks[index, word] & bit) == 0)
                marks[index, word] |= bit
                tested = np.int64(1)
        rows[index] += tested


@kernel
def marked_events(codes: Any, numbers: Any, lines: Any, marks: Any, events: Any) -> Any:
    """Write the events whose code of each attribute is marked in the attribute's line, and return how many."""
    count = np.int64(0)
    for event in range(codes.shape[0]):
        marked = _ONE
        for index in range(numbers.shape[0]):
            place = (np.uint64(codes[event, numbers[index]]) * MULTIPLIER) >> _SHIFT
            marked &= marks[lines[index], np.int64(place >> _SIX)] >> (place & _WITHIN)
        events[count] = event
        count += np.int64(marked)
    return count
