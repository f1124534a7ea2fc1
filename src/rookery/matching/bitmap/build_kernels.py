"""The kernels that build the bitmap index; `build.py` says what the arrays mean. Twin: `tests/twins/bitmap.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.kernels import kernel, short_kernel
from rookery.matching.bitmap.kernels import BLOCK_ROWS, BUCKETS, CUTS, MULTIPLIER, NULL_BUCKET, WORDS, bucket_of
from rookery.matching.kernels import ATTRIBUTE_MASK, NULL_CODE, SET_FLAG

__all__ = [
    "assign_keys",
    "bucket_spans",
    "fill_blocks",
    "fill_groups",
    "fill_row",
    "fill_table",
    "pick_axes",
    "restore_keys",
    "strip_keys",
]

_ONE = np.uint64(1)
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)


@kernel
def assign_keys(
    start: Any, attribute: Any, bounds: Any, signature: Any, first: Any, numbers: Any, seed: Any, keys: Any
) -> Any:
    """Write each row's key codes into `keys` and return the hashes."""
    count = start.shape[0] - 1
    hashes = np.empty(count, np.uint64)
    for row in range(count):
        mine = signature[row]
        state = np.uint64(seed) ^ (np.uint64(mine) * MULTIPLIER)
        for place in range(first[mine], first[mine + 1]):
            code = np.int64(0)
            for predicate in range(start[row], start[row + 1]):
                if attribute[predicate] == numbers[place]:
                    code = bounds[predicate, 0]
            keys[row, place - first[mine]] = code
            state = (state ^ np.uint64(code)) * MULTIPLIER
            state ^= state >> np.uint64(29)
        hashes[row] = state
    return hashes


@kernel
def strip_keys(
    order: Any, start: Any, attribute: Any, bounds: Any, signature: Any, first: Any, numbers: Any, out_start: Any
) -> Any:
    """Return attribute and bounds of the rows in `order` without the predicates that the key already decides."""
    left = attribute.shape[0]
    for position in range(order.shape[0]):
        mine = signature[order[position]]
        left -= first[mine + 1] - first[mine]  # each attribute of a row's key is one of its predicates
    kept_attribute = np.empty(left, np.uint16)
    kept_bounds = np.empty((left, 2), np.int64)
    count = 0
    out_start[0] = 0
    for position in range(order.shape[0]):
        row = order[position]
        mine = signature[row]
        for predicate in range(start[row], start[row + 1]):
            in_key = False
            for place in range(first[mine], first[mine + 1]):
                if attribute[predicate] == numbers[place]:
                    in_key = True
            if not in_key:
                kept_attribute[count] = attribute[predicate]
                kept_bounds[count, 0] = bounds[predicate, 0]
                kept_bounds[count, 1] = bounds[predicate, 1]
                count += 1
        out_start[position + 1] = count
    return kept_attribute, kept_bounds


@kernel
def restore_keys(
    partition_first: Any,
    partition_key: Any,
    partition_signature: Any,
    first: Any,
    numbers: Any,
    start: Any,
    attribute: Any,
    bounds: Any,
) -> Any:
    """Undo `strip_keys`: return start, attribute and bounds with each partition's key as predicates again."""
    extra = 0
    for partition in range(partition_first.shape[0] - 1):
        mine = partition_signature[partition]
        extra += (partition_first[partition + 1] - partition_first[partition]) * (first[mine + 1] - first[mine])
    out_start = np.zeros(start.shape[0], np.int64)
    out_attribute = np.empty(attribute.shape[0] + extra, np.uint16)
    out_bounds = np.empty((attribute.shape[0] + extra, 2), np.int64)
    count = 0
    for partition in range(partition_first.shape[0] - 1):
        mine = partition_signature[partition]
        for row in range(partition_first[partition], partition_first[partition + 1]):
            for place in range(first[mine], first[mine + 1]):
                out_attribute[count] = numbers[place]
                out_bounds[count, 0] = partition_key[partition, place - first[mine]]
                out_bounds[count, 1] = partition_key[partition, place - first[mine]]
                count += 1
            for predicate in range(start[row], start[row + 1]):
                out_attribute[count] = attribute[predicate]
                out_bounds[count, 0] = bounds[predicate, 0]
                out_bounds[count, 1] = bounds[predicate, 1]
                count += 1
            out_start[row + 1] = count
    return out_start, out_attribute, out_bounds


@kernel
def bucket_spans(attribute: Any, bounds: Any, pool: Any, cuts: Any, spans: Any, weight: Any) -> None:
    """Write the first and last bucket that each predicate touches, and add up what each attribute excludes."""
    for predicate in range(attribute.shape[0]):
        number = attribute[predicate] & ATTRIBUTE_MASK
        low, high = bounds[predicate, 0], bounds[predicate, 1]
        if attribute[predicate] & SET_FLAG:
            low, high = pool[bounds[predicate, 0], 0], pool[bounds[predicate, 1] - 1, 1]
        if low == NULL_CODE:
            spans[predicate, 0], spans[predicate, 1] = 0, CUTS
        else:
            spans[predicate, 0] = bucket_of(cuts, number, low)
            spans[predicate, 1] = bucket_of(cuts, number, high)
            weight[number] += CUTS - (spans[predicate, 1] - spans[predicate, 0])


@kernel
def pick_axes(start: Any, attribute: Any, spans: Any, rank: Any, axes: Any) -> None:
    """Write for each row its two attributes of highest rank and their positions: what the rows are sorted by."""
    for row in range(start.shape[0] - 1):
        one, other, one_at, other_at = np.int64(1 << 30), np.int64(1 << 30), np.int64(0), np.int64(0)
        for predicate in range(start[row], start[row + 1]):
            place = rank[attribute[predicate] & ATTRIBUTE_MASK]
            middle = np.int64(spans[predicate, 0]) + np.int64(spans[predicate, 1])
            if place < one:
                other, other_at = one, one_at
                one, one_at = place, middle
            elif place < other:
                other, other_at = place, middle
        axes[row, 0], axes[row, 1], axes[row, 2], axes[row, 3] = one, other, one_at, other_at


@kernel
def _exclude(
    lines: Any, base: Any, word: Any, bit: Any, number: Any, flagged: Any, low: Any, high: Any, pool: Any, cuts: Any
) -> None:
    """Set a row's bit in every bucket of an attribute where its predicate cannot hold."""
    allowed = np.uint64(0)
    if flagged:
        for item in range(low, high):
            if pool[item, 0] == NULL_CODE:
                allowed |= _ONE << np.uint64(NULL_BUCKET)
            else:
                for bucket in range(bucket_of(cuts, number, pool[item, 0]), bucket_of(cuts, number, pool[item, 1]) + 1):
                    allowed |= _ONE << np.uint64(bucket)
    elif low == NULL_CODE:
        allowed = _ONE << np.uint64(NULL_BUCKET)
        if high != NULL_CODE:
            for bucket in range(bucket_of(cuts, number, high) + 1):
                allowed |= _ONE << np.uint64(bucket)
    else:
        for bucket in range(bucket_of(cuts, number, low), bucket_of(cuts, number, high) + 1):
            allowed |= _ONE << np.uint64(bucket)
    for bucket in range(BUCKETS):
        if not (allowed >> np.uint64(bucket)) & _ONE:
            lines[(base + bucket) * WORDS + word] |= bit


@short_kernel
def fill_row(
    row: Any,
    first: Any,
    last: Any,
    numbers: Any,
    start: Any,
    attribute: Any,
    bounds: Any,
    pool: Any,
    cuts: Any,
    lines: Any,
) -> None:
    """Set one row's bits in the lines of its block, whose attributes are `numbers[first:last]`."""
    position = row % BLOCK_ROWS
    word, bit = position >> 6, _ONE << np.uint64(position & 63)
    for predicate in range(start[row], start[row + 1]):
        number = np.int64(attribute[predicate] & ATTRIBUTE_MASK)
        for place in range(first, last):
            if numbers[place] == number:
                flagged = attribute[predicate] & SET_FLAG
                low, high = bounds[predicate, 0], bounds[predicate, 1]
                _exclude(lines, place * BUCKETS, word, bit, number, flagged, low, high, pool, cuts)


@kernel
def fill_blocks(
    rows: Any, block_first: Any, numbers: Any, start: Any, attribute: Any, bounds: Any, pool: Any, cuts: Any, lines: Any
) -> None:
    """Fill the lines of all blocks."""
    for row in range(rows):
        block = row // BLOCK_ROWS
        fill_row(row, block_first[block], block_first[block + 1], numbers, start, attribute, bounds, pool, cuts, lines)


@kernel
def fill_groups(
    group_block: Any,
    group_first: Any,
    group_numbers: Any,
    block_first: Any,
    numbers: Any,
    lines: Any,
    rows: Any,
    out: Any,
) -> None:
    """Fill the summary lines: a block's bit is set in a bucket where all of its rows are excluded."""
    for group in range(group_block.shape[0]):
        for block in range(group_block[group, 0], group_block[group, 1]):
            position = block - group_block[group, 0]
            word, bit = position >> 6, _ONE << np.uint64(position & 63)
            filled = min(BLOCK_ROWS, rows - block * BLOCK_ROWS)
            for place in range(group_first[group], group_first[group + 1]):
                for mine in range(block_first[block], block_first[block + 1]):
                    if numbers[mine] != group_numbers[place]:
                        continue
                    for bucket in range(BUCKETS):
                        full = True
                        for piece in range((filled + 63) >> 6):
                            wanted = _FULL
                            if (piece + 1) << 6 > filled:
                                wanted = (_ONE << np.uint64(filled & 63)) - _ONE
                            if lines[(mine * BUCKETS + bucket) * WORDS + piece] & wanted != wanted:
                                full = False
                                break
                        if full:
                            out[(place * BUCKETS + bucket) * WORDS + word] |= bit


@kernel
def fill_table(hashes: Any, table_first: Any, signature: Any, table: Any) -> None:
    """Enter each partition into its signature's open-addressed table."""
    for partition in range(hashes.shape[0]):
        first, last = table_first[signature[partition]], table_first[signature[partition] + 1]
        mask = np.uint64(last - first - 1)
        place = hashes[partition] & mask
        while table[first + np.int64(place)] >= 0:
            place = (place + _ONE) & mask
        table[first + np.int64(place)] = partition
