"""The kernels of the tail's marks in plain Python; `rows.py` says what a twin is."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["mark_row", "marked_events"]

Array = np.ndarray[Any, Any]


def place_of(code: int) -> tuple[int, int]:
    """Return the word and the bit of a code."""
    return divmod((code * 0x9E3779B97F4A7C15 & (1 << 64) - 1) >> 50, 64)


def mark_row(
    row: int, start: Array, attribute: Array, bounds: Array, numbers: Array, marks: Array, rows: Array, values: Array
) -> None:
    """Mark the values that a row wants attributes to equal."""
    predicates = range(start[row], start[row + 1])
    for index, number in enumerate(numbers.tolist()):
        wanted = [
            int(bounds[one, 0]) for one in predicates if attribute[one] == number and bounds[one, 0] == bounds[one, 1]
        ]
        for word, bit in map(place_of, wanted):
            values[index] += not int(marks[index, word]) >> bit & 1
            marks[index, word] = np.uint64(int(marks[index, word]) | 1 << bit)
        rows[index] += bool(wanted)


def marked_events(codes: Array, numbers: Array, lines: Array, marks: Array, events: Array) -> int:
    """Write the events that are marked for each attribute."""
    found = [
        event
        for event, row in enumerate(codes.tolist())
        if all(
            int(marks[line, place_of(row[number])[0]]) >> place_of(row[number])[1] & 1
            for number, line in zip(numbers.tolist(), lines.tolist(), strict=True)
        )
    ]
    events[: len(found)] = found
    return len(found)
