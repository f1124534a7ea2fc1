"""The kernels of lists in plain Python: what `bitmap/list_kernels.py` must compute, written to be read."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.twins.rows import row_holds

__all__ = ["list_hash", "match_lists"]

Array = np.ndarray[Any, Any]
_MULTIPLIER, _WORD = 0x9E3779B97F4A7C15, (1 << 64) - 1


def list_hash(number: int, code: int) -> int:
    """Return the hash of an attribute's value."""
    state = ((code & _WORD) ^ (number * _MULTIPLIER & _WORD)) * _MULTIPLIER & _WORD
    return state ^ (state >> 29)


def match_lists(
    codes: Array, positions: Array, alive: Array, numbers: Array, key_first: Array, code: Array, first: Array,
    table: Array, posting: Array, slot: Array, start: Array, attribute: Array, bounds: Array, pool: Array,
) -> Array:  # fmt: skip
    """Return the pairs `event << 32 | slot` of some events and the rows that are filed under values of a list."""
    pairs = []
    for event in range(len(codes)):
        for at, number in enumerate(numbers.tolist()):
            for key in range(key_first[at], key_first[at + 1]):
                if code[key] == codes[event, number]:
                    pairs += [
                        event << 32 | int(slot[row])
                        for row in posting[first[key] : first[key + 1]].tolist()
                        if alive[slot[row]] and row_holds(positions, event, row, start, attribute, bounds, pool)
                    ]
    return np.array(pairs, np.int64)
