"""The kernels that file ids in plain Python; `rows.py` says what a twin is."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["file_ids", "find_id", "hash_bytes"]

Array = np.ndarray[Any, Any]
_MASK = (1 << 64) - 1


def hash_bytes(data: Array, first: int, last: int, seed: int) -> int:
    """Return the hash of some bytes."""
    state = seed ^ ((last - first) * 0x9E3779B97F4A7C15 & _MASK)
    for byte in data[first:last].tolist():
        state = (state ^ byte) * 0x9E3779B97F4A7C15 & _MASK
        state ^= state >> 29
    return state ^ (state >> 32)


def _span(starts: Array, width: int, number: int) -> tuple[int, int]:
    return (number * width, (number + 1) * width) if width else (int(starts[number]), int(starts[number + 1]))


def file_ids(data: Array, starts: Array, width: int, kept: Array, seed: int, table: Array) -> None:
    """Put the number of each id that is kept into the first free place from that of its hash on."""
    for number in np.flatnonzero(kept).tolist():
        place = hash_bytes(data, *_span(starts, width, number), seed)
        while table[place % len(table)] >= 0:
            place += 1
        table[place % len(table)] = number


def find_id(data: Array, starts: Array, width: int, seed: int, table: Array, sought: Array, found: Array) -> int:
    """Write the numbers of the ids that equal the one sought."""
    place, count = hash_bytes(sought, 0, len(sought), seed), 0
    while (number := int(table[place % len(table)])) >= 0:
        first, last = _span(starts, width, number)
        if data[first:last].tobytes() == sought.tobytes():
            if count < len(found):
                found[count] = number
            count += 1
        place += 1
    return count
