"""The kernels that prove an index from outside; `checks.py` says why each is asked. Twin: `tests/twins`."""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.kernels import kernel
from rookery.matching.bitmap.build_kernels import fill_row
from rookery.matching.bitmap.kernels import BLOCK_ROWS, BUCKETS, WORDS, hash_key, place_of_key
from rookery.matching.kernels import ATTRIBUTE_MASK

__all__ = ["first_false_block", "first_lost_partition", "first_repeating_row"]

_ONE = np.uint64(1)


@kernel
def first_repeating_row(
    attributes: Any,
    partition_first: Any,
    partition_signature: Any,
    first: Any,
    numbers: Any,
    start: Any,
    attribute: Any,
) -> int:
    """Return the first row that tests an attribute twice, its key included, or -1."""
    tested = np.full(attributes, -1, np.int64)  # the last row that was seen to test each attribute
    for partition in range(partition_first.shape[0] - 1):
        mine = partition_signature[partition]
        for row in range(partition_first[partition], partition_first[partition + 1]):
            for place in range(first[mine], first[mine + 1]):
                if tested[numbers[place]] == row:
                    return row
                tested[numbers[place]] = row
            for predicate in range(start[row], start[row + 1]):
                number = attribute[predicate] & ATTRIBUTE_MASK
                if tested[number] == row:
                    return row
                tested[number] = row
    return -1


@kernel
def first_lost_partition(
    first: Any, low: Any, span: Any, table_first: Any, table: Any, seed: Any, partition_key: Any,
    partition_signature: Any,
) -> int:  # fmt: skip
    """Return the first partition that a look-up of its own key does not lead to, or -1."""
    places = np.arange(partition_key.shape[1])
    for partition in range(partition_signature.shape[0]):
        mine = partition_signature[partition]
        length = first[mine + 1] - first[mine]
        base, mask = table_first[mine], np.uint64(table_first[mine + 1] - table_first[mine] - 1)
        if length and span[first[mine]]:
            lows, spans = low[first[mine] :], span[first[mine] :]
            place_of = place_of_key(partition_key, partition, places, 0, length, lows, spans)
            if place_of < 0 or table[base + place_of] != partition:
                return partition
            continue
        place = hash_key(mine, partition_key, partition, places, 0, length, seed) & mask
        while True:
            found = table[base + np.int64(place)]
            if found == partition:
                break
            if found < 0:
                return partition
            same = True
            for key in range(length):
                if partition_key[found, key] != partition_key[partition, key]:
                    same = False
                    break
            if same:
                return partition
            place = (place + _ONE) & mask
    return -1


@kernel
def first_false_block(
    rows: Any, block_first: Any, numbers: Any, start: Any, attribute: Any, bounds: Any, pool: Any, cuts: Any, lines: Any
) -> int:
    """Return the first block whose lines are not those that its rows give, or -1."""
    most = 0
    for block in range(block_first.shape[0] - 1):
        most = max(most, block_first[block + 1] - block_first[block])
    wanted = np.empty(most * BUCKETS * WORDS, np.uint64)
    for block in range(block_first.shape[0] - 1):
        first, last = block_first[block], block_first[block + 1]
        words = (last - first) * BUCKETS * WORDS
        wanted[:words] = 0
        mine = numbers[first:last]
        for row in range(block * BLOCK_ROWS, min(rows, (block + 1) * BLOCK_ROWS)):
            fill_row(row, 0, last - first, mine, start, attribute, bounds, pool, cuts, wanted)
        base = first * BUCKETS * WORDS
        for word in range(words):
            if wanted[word] != lines[base + word]:
                return block
    return -1
