"""The kernel that matches one event by the bitmap index: `build.py` has the arrays, `tests/twins/bitmap.py` the twin.

What a batch shares among its events, one event would pay alone: so nothing here is as long as the index, and what
survives the lines of all blocks is verified together, since each row lies elsewhere in memory and is asked for early.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray

from rookery.filters.hashing.kernels import prefetch
from rookery.kernels import short_kernel
from rookery.matching.bitmap.kernels import BLOCK_ROWS, BUCKETS, CUTS, WORDS, bucket_of, hash_key, place_of_key
from rookery.matching.bitmap.line_kernels import line_from_words, line_is_full, line_load, line_or, line_store
from rookery.matching.bitmap.position_kernels import write_positions
from rookery.matching.kernels import pointer, row_holds, trailing_zeros

__all__ = ["match_event"]

#: Rows that wait to be verified together, and how far ahead their memory is asked for.
WAITING_ROWS = 4096
AHEAD = 12
_ONE = np.uint64(1)


@short_kernel
def _verify(
    waiting: Any, count: Any, positions: Any, alive: Any, slot: Any, start: Any, attribute: Any, bounds: Any, pool: Any,
    found: Any, total: Any,
) -> Any:  # fmt: skip
    """Write the slots of the rows that hold behind those found, as far as there is room; return how many there are."""
    for index in range(min(np.int64(2 * AHEAD), count)):
        prefetch(start, waiting[index])
        prefetch(slot, waiting[index])
    for index in range(min(np.int64(AHEAD), count)):
        prefetch(bounds, 2 * start[waiting[index]])
        prefetch(attribute, start[waiting[index]])
    for index in range(count):
        if index + 2 * AHEAD < count:
            prefetch(start, waiting[index + 2 * AHEAD])
            prefetch(slot, waiting[index + 2 * AHEAD])
        if index + AHEAD < count:
            place = start[waiting[index + AHEAD]]
            prefetch(bounds, 2 * place)
            prefetch(bounds, 2 * place + 8)
            prefetch(attribute, place)
        row = waiting[index]
        mine = slot[row]
        if alive[mine] and row_holds(positions, 0, row, start, attribute, bounds, pool):
            if total < found.shape[0]:
                found[total] = mine
            total += 1
    return total


@short_kernel
def match_event(codes: Any, alive: Any, where: Any, bounds: Any, found: Any) -> Any:
    """Write the slots of the rows that hold for the one event of `codes`, as far as there is room; return how many.

    `where` says where the arrays of an index lie (`index_table`): to hand over each would take as long as the rest.
    `bounds` is given because its type is that of all that depends on whether bounds are positions.
    """
    signatures, attributes, key_width, seed, blocked_rows = where[0], where[1], where[2], where[3], where[4]
    tested = where[28]
    key_low = carray(pointer(where[29], np.int64), (1,))
    key_span = carray(pointer(where[30], np.int64), (1,))
    cuts = carray(pointer(where[5], np.int64), (attributes, CUTS))
    signature_first = carray(pointer(where[6], np.int64), (signatures + 1,))
    signature_numbers = carray(pointer(where[7], np.int64), (1,))
    table_first = carray(pointer(where[8], np.int64), (signatures + 1,))
    table = carray(pointer(where[9], np.int32), (1,))
    partition_key = carray(pointer(where[10], np.int64), (1, key_width))
    partition_first = carray(pointer(where[11], np.int64), (1,))
    partition_group = carray(pointer(where[12], np.int32), (1,))
    block_first = carray(pointer(where[13], np.int64), (1,))
    block_numbers = carray(pointer(where[14], np.int64), (1,))
    lines = carray(pointer(where[15], np.uint64), (1,))
    group_block = carray(pointer(where[16], np.int64), (1, 2))
    group_first = carray(pointer(where[17], np.int64), (1,))
    group_numbers = carray(pointer(where[18], np.int64), (1,))
    group_lines = carray(pointer(where[19], np.uint64), (1,))
    slot = carray(pointer(where[20], np.int32), (1,))
    start = carray(pointer(where[21], bounds.dtype), (1,))
    attribute = carray(pointer(where[22], np.uint16), (1,))
    pool = carray(pointer(where[23], bounds.dtype), (1, 2))
    numbers = carray(pointer(where[24], np.int64), (tested,))
    grid = carray(pointer(where[25], np.int64), (3, attributes))
    point_first = carray(pointer(where[26], np.int64), (attributes + 1,))
    points = carray(pointer(where[27], np.int64), (1,))
    positions = np.empty((1, attributes), bounds.dtype)
    if tested:
        write_positions(codes, numbers, grid, point_first, points, positions)
    else:
        for number in range(attributes):
            positions[0, number] = codes[0, number]
    total = np.int64(0)
    blocked = blocked_rows > 0
    buckets = np.empty(attributes if blocked else 0, np.uint8)
    scratch = np.zeros(3 * WORDS if blocked else 0, np.uint64)  # the survivors, a block's edges, the summary
    waiting = np.empty(WAITING_ROWS if blocked else 0, np.int64)
    count = np.int64(0)
    bucketed = False
    for signature in range(signatures):
        key_first, key_last = signature_first[signature], signature_first[signature + 1]
        base, mask = table_first[signature], np.uint64(table_first[signature + 1] - table_first[signature] - 1)
        if key_first < key_last and key_span[key_first]:
            place_of = place_of_key(codes, 0, signature_numbers, key_first, key_last, key_low, key_span)
            if place_of < 0:
                continue
            place, hashed = np.uint64(place_of), False
        else:
            place, hashed = hash_key(signature, codes, 0, signature_numbers, key_first, key_last, seed) & mask, True
        partition = np.int64(table[base + np.int64(place)])
        while hashed and partition >= 0:
            same = True
            for key in range(key_last - key_first):
                same &= partition_key[partition, key] == codes[0, signature_numbers[key_first + key]]
            if same:
                break
            place = (place + _ONE) & mask
            partition = np.int64(table[base + np.int64(place)])
        if partition < 0:
            continue
        first_row, last_row = partition_first[partition], partition_first[partition + 1]
        if first_row >= blocked_rows:
            for row in range(first_row, last_row):
                if alive[slot[row]] and row_holds(positions, 0, row, start, attribute, bounds, pool):
                    if total < found.shape[0]:
                        found[total] = slot[row]
                    total += 1
            continue
        if not bucketed:
            for number in range(attributes):
                buckets[number] = bucket_of(cuts, number, codes[0, number])
            bucketed = True
        group = np.int64(partition_group[partition])
        begin = first_row // BLOCK_ROWS
        end = (last_row + BLOCK_ROWS - 1) // BLOCK_ROWS
        block = begin
        while block < end:
            stop = end
            if group >= 0:
                if block >= group_block[group, 1]:
                    group += 1
                line = line_from_words(np.uint64(0))
                for at in range(group_first[group], group_first[group + 1]):
                    line = line_or(
                        line, line_load(group_lines, (at * BUCKETS + np.int64(buckets[group_numbers[at]])) * WORDS)
                    )
                line_store(scratch, 2 * WORDS, line)
                stop = min(end, group_block[group, 1])
            origin = block
            while block < stop:
                if group >= 0:
                    # On to the next block that the summary leaves.
                    position = block - origin
                    left = ~scratch[2 * WORDS + (position >> 6)] >> np.uint64(position & 63)
                    if left == np.uint64(0):
                        block = origin + ((position >> 6) + 1) * 64
                        continue
                    block += np.int64(trailing_zeros(left))
                    if block >= stop:
                        break
                low = block * BLOCK_ROWS
                line = line_from_words(np.uint64(0))
                if low < first_row or low + BLOCK_ROWS > last_row:
                    for word in range(WORDS):
                        excluded = np.uint64(0)
                        for bit in range(64):
                            row = low + 64 * word + bit
                            if row < first_row or row >= last_row:
                                excluded |= _ONE << np.uint64(bit)
                        scratch[WORDS + word] = excluded
                    line = line_load(scratch, WORDS)
                final = block_first[block + 1]
                full = False
                for at in range(block_first[block], final):
                    line = line_or(
                        line, line_load(lines, (at * BUCKETS + np.int64(buckets[block_numbers[at]])) * WORDS)
                    )
                    if at & 3 == 3 and line_is_full(line):
                        full = True
                        break
                block += 1
                if full or line_is_full(line):
                    continue
                if count > WAITING_ROWS - BLOCK_ROWS:
                    total = _verify(
                        waiting, count, positions, alive, slot, start, attribute, bounds, pool, found, total
                    )
                    count = np.int64(0)
                line_store(scratch, 0, line)
                for word in range(WORDS):
                    survivors = ~scratch[word]
                    while survivors != np.uint64(0):
                        waiting[count] = low + 64 * word + np.int64(trailing_zeros(survivors))
                        survivors &= survivors - _ONE
                        count += 1
            block = stop
    return _verify(waiting, count, positions, alive, slot, start, attribute, bounds, pool, found, total)
