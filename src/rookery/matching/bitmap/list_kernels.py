"""The kernels that match rows by lists of values; `lists.py` says what arrays mean. Twin: `tests/twins/lists.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.kernels import kernel
from rookery.matching.bitmap.kernels import MULTIPLIER
from rookery.matching.kernels import row_holds

__all__ = ["list_hash", "match_lists"]

_ONE = np.uint64(1)


@kernel
def list_hash(number: Any, code: Any) -> Any:
    """Return the hash of an attribute's value."""
    state = (np.uint64(code) ^ (np.uint64(number) * MULTIPLIER)) * MULTIPLIER
    return state ^ (state >> np.uint64(29))


@kernel
def match_lists(
    codes: Any, alive: Any, numbers: Any, key_first: Any, code: Any, first: Any, table: Any, posting: Any, slot: Any,
    start: Any, attribute: Any, bounds: Any, pool: Any,
) -> Any:  # fmt: skip
    """Return the pairs `event << 32 | slot` of some events and the rows that are filed under values of a list."""
    found = np.empty(1024, np.int64)
    count = np.int64(0)
    mask = np.uint64(table.shape[0] - 1)
    keys = np.empty(codes.shape[0], np.int64)
    for at in range(numbers.shape[0]):
        for event in range(codes.shape[0]):  # apart from what follows: the processor then waits for several at once
            wanted = codes[event, numbers[at]]
            place = list_hash(numbers[at], wanted) & mask
            key = np.int64(table[place])
            while key >= 0 and (code[key] != wanted or key < key_first[at] or key >= key_first[at + 1]):
                place = (place + _ONE) & mask
                key = np.int64(table[place])
            keys[event] = key
        for event in range(codes.shape[0]):
            if keys[event] < 0:
                continue
            begin, end = first[keys[event]], first[keys[event] + 1]
            if count + end - begin > found.shape[0]:
                larger = np.empty(2 * (count + end - begin), np.int64)
                larger[:count] = found[:count]
                found = larger
            for index in range(begin, end):
                row = np.uint64(posting[index])  # unsigned: no index is asked whether it counts from the end
                mine = np.uint64(slot[row])
                held = np.int64(alive[mine])
                if start[row] != start[row + _ONE]:
                    held &= np.int64(row_holds(codes, event, row, start, attribute, bounds, pool))
                found[count] = (event << 32) | np.int64(mine)
                count += held
    return found[:count]
