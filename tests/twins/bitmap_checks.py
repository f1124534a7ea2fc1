"""The kernels of `check_kernels.py` in plain Python and NumPy, written to be read. Used by tests alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.twins import bitmap as twin

from rookery.matching.bitmap.kernels import BUCKETS, WORDS
from rookery.matching.kernels import ATTRIBUTE_MASK

__all__ = ["first_false_block", "first_lost_partition", "first_repeating_row"]

Array = np.ndarray[Any, Any]


def first_repeating_row(
    attributes: int,
    partition_first: Array,
    partition_signature: Array,
    first: Array,
    numbers: Array,
    start: Array,
    attribute: Array,
) -> int:
    """Return the first row that tests an attribute twice, its key included, or -1."""
    for partition, mine in enumerate(partition_signature.tolist()):
        key = numbers[first[mine] : first[mine + 1]].tolist()
        for row in range(partition_first[partition], partition_first[partition + 1]):
            tested = key + (attribute[start[row] : start[row + 1]] & ATTRIBUTE_MASK).tolist()
            if len(set(tested)) < len(tested):
                return row
    return -1


def first_lost_partition(
    first: Array,
    low: Array,
    span: Array,
    table_first: Array,
    table: Array,
    seed: int,
    partition_key: Array,
    partition_signature: Array,
) -> int:
    """Return the first partition that a look-up of its own key does not lead to, or -1."""
    for partition, mine in enumerate(partition_signature.tolist()):
        length = int(first[mine + 1] - first[mine])
        key = partition_key[partition, :length].tolist()
        entries = table[table_first[mine] : table_first[mine + 1]].tolist()
        place = 0
        for at, code in enumerate(key, int(first[mine])):
            inside = 0 <= code - int(low[at]) < int(span[at])
            place = place * int(span[at]) + code - int(low[at]) if inside else -(1 << 200)
        if key and span[first[mine]]:
            if place < 0 or entries[place] != partition:
                return partition
            continue
        home = twin.hash_key(mine, key, seed) % len(entries)
        walk = entries[home:] + entries[:home]
        found = next(one for one in walk if one < 0 or partition_key[one, :length].tolist() == key)
        if found != partition:
            return partition
    return -1


def first_false_block(
    rows: int,
    block_first: Array,
    numbers: Array,
    start: Array,
    attribute: Array,
    bounds: Array,
    pool: Array,
    cuts: Array,
    lines: Array,
) -> int:
    """Return the first block whose lines are not those that its rows give, or -1."""
    wanted = np.zeros_like(lines)
    twin.fill_blocks(rows, block_first, numbers, start, attribute, bounds, pool, cuts, wanted)
    false = np.flatnonzero(wanted != lines)
    return int(np.searchsorted(block_first, false[0] // (BUCKETS * WORDS), side="right")) - 1 if len(false) else -1
