"""The kernels that match rows by lists of values; `lists.py` says what arrays mean. Twin: `tests/twins/lists.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.filters.hashing.kernels import prefetch
from rookery.kernels import kernel
from rookery.matching.bitmap.kernels import MULTIPLIER
from rookery.matching.kernels import row_holds

__all__ = ["list_hash", "match_lists"]

#: Events whose postings are asked for before it is their turn, how many of them at most, and postings in a line of the
#: cache: each value's lie elsewhere, and waiting for them is most of the time.
AHEAD, MOST_AHEAD, LINE = 8, 256, 16
_ONE = np.uint64(1)


@kernel
def list_hash(number: Any, code: Any) -> Any:
    """Return the hash of an attribute's value."""
    state = (np.uint64(code) ^ (np.uint64(number) * MULTIPLIER)) * MULTIPLIER
    return state ^ (state >> np.uint64(29))


@kernel
def match_lists(
    codes: Any, positions: Any, alive: Any, numbers: Any, key_first: Any, code: Any, first: Any, table: Any,
    posting: Any, slot: Any, start: Any, attribute: Any, bounds: Any, pool: Any,
) -> Any:  # fmt: skip
    """Return the pairs `event << 32 | slot` of some events and the rows that are filed under values of a list."""
    found = np.empty(0, np.int64)
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
        most = count
        for event in range(codes.shape[0]):
            if keys[event] >= 0:
                most += first[keys[event] + 1] - first[keys[event]]
        if most > found.shape[0]:
            larger = np.empty(most, np.int64)
            larger[:count] = found[:count]
            found = larger
        for event in range(codes.shape[0]):
            if event + AHEAD < codes.shape[0] and keys[event + AHEAD] >= 0:
                coming = keys[event + AHEAD]
                for index in range(first[coming], min(first[coming + 1], first[coming] + MOST_AHEAD), LINE):
                    prefetch(posting, index)
            if keys[event] < 0:
                continue
            begin, end = first[keys[event]], first[keys[event] + 1]
            # Most rows test nothing beside their list and are alive: all are taken, and looked at again if one is not.
            plain = np.int64(1)
            for index in range(begin, end):
                row = np.uint64(posting[index])  # unsigned: no index is asked whether it counts from the end
                mine = np.uint64(slot[row])
                plain &= np.int64(alive[mine]) & np.int64(start[row] == start[row + _ONE])
                found[count + index - begin] = (event << 32) | np.int64(mine)
            if plain:
                count += end - begin
                continue
            for index in range(begin, end):
                row = np.uint64(posting[index])
                mine = np.uint64(slot[row])
                if alive[mine] and row_holds(positions, event, row, start, attribute, bounds, pool):
                    found[count] = (event << 32) | np.int64(mine)
                    count += 1
    return found[:count]
