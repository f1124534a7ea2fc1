"""The kernels that file ids by their hash and find them again; `ids.py` says how. Twin: `tests/twins/ids.py`.

Ids of texts lie from one start to the next; those of a fixed width have no starts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.kernels import kernel, short_kernel

__all__ = ["file_ids", "find_id", "hash_bytes"]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@kernel
def hash_bytes(data: Any, first: Any, last: Any, seed: Any) -> Any:
    """Return the hash of some bytes."""
    state = np.uint64(seed) ^ (np.uint64(last - first) * _MULTIPLIER)
    for place in range(first, last):
        state = (state ^ np.uint64(data[place])) * _MULTIPLIER
        state ^= state >> np.uint64(29)
    return state ^ (state >> np.uint64(32))


@kernel
def file_ids(data: Any, starts: Any, width: Any, kept: Any, seed: Any, table: Any) -> None:
    """Put the number of each id that is kept into a free place of the table, from the place of its hash on."""
    mask = np.uint64(table.shape[0] - 1)
    for number in range(kept.shape[0]):
        if kept[number]:
            first = number * width if width else np.int64(starts[number])
            last = first + width if width else np.int64(starts[number + 1])
            place = hash_bytes(data, first, last, seed) & mask
            while table[np.int64(place)] >= 0:
                place = (place + np.uint64(1)) & mask
            table[np.int64(place)] = number


@short_kernel
def find_id(data: Any, starts: Any, width: Any, seed: Any, table: Any, sought: Any, found: Any) -> Any:
    """Write the numbers of the ids that equal the one sought, as many as there is room for; return how many."""
    mask = np.uint64(table.shape[0] - 1)
    place = hash_bytes(sought, 0, sought.shape[0], seed) & mask
    count = 0
    while True:
        number = table[np.int64(place)]
        if number < 0:
            return count
        first = number * width if width else np.int64(starts[number])
        last = first + width if width else np.int64(starts[number + 1])
        same = last - first == sought.shape[0]
        for offset in range(sought.shape[0] if same else 0):
            if data[first + offset] != sought[offset]:
                same = False
                break
        if same:
            if count < found.shape[0]:
                found[count] = number
            count += 1
        place = (place + np.uint64(1)) & mask
