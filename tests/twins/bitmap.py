"""The bitmap kernels in plain Python and NumPy: what `kernels.py` must compute, written to be read.

Lines are kept as the kernels keep them, eight words for (place, bucket), but are read here as arrays of 512 booleans,
and a key is sought by comparing it with every partition of its signature instead of through the hash table. Used by
tests alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from tests.twins.rows import row_holds

from rookery.matching.bitmap.build import BitmapIndex
from rookery.matching.bitmap.kernels import BLOCK_ROWS, BUCKETS, CUTS, NULL_BUCKET, WORDS
from rookery.matching.kernels import ATTRIBUTE_MASK, NULL_CODE, SET_FLAG

__all__ = [
    "assign_keys",
    "bucket_of",
    "bucket_spans",
    "fill_blocks",
    "fill_groups",
    "match_event",
    "match_events",
    "pick_axes",
    "restore_keys",
    "strip_keys",
]

Array = np.ndarray[Any, Any]

_MULTIPLIER = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


def bucket_of(cuts: Array, number: int, code: int) -> int:
    """Return the bucket of a code: how many of the attribute's cut points are at or below it."""
    return NULL_BUCKET if code == NULL_CODE else int((cuts[number] <= code).sum())


def hash_key(signature: int, key: list[int], seed: int) -> int:
    """Return the hash of a composite key."""
    state = (seed & _MASK) ^ (signature * _MULTIPLIER & _MASK)
    for code in key:
        state = (state ^ (code & _MASK)) * _MULTIPLIER & _MASK
        state ^= state >> 29
    return state


def assign_keys(
    start: Array,
    attribute: Array,
    bounds: Array,
    signature: Array,
    first: Array,
    numbers: Array,
    seed: int,
    keys: Array,
) -> Array:
    """Write each row's key codes into `keys` and return the hashes."""
    hashes = np.empty(len(start) - 1, np.uint64)
    for row, mine in enumerate(signature.tolist()):
        predicates = range(start[row], start[row + 1])
        low = {int(attribute[place]): int(bounds[place, 0]) for place in predicates}
        key = [low.get(number, 0) for number in numbers[first[mine] : first[mine + 1]].tolist()]
        keys[row, : len(key)] = key
        hashes[row] = hash_key(mine, key, seed)
    return hashes


def strip_keys(
    order: Array,
    start: Array,
    attribute: Array,
    bounds: Array,
    signature: Array,
    first: Array,
    numbers: Array,
    out_start: Array,
) -> tuple[Array, Array]:
    """Return attribute and bounds of the rows in `order` without the predicates that the key already decides."""
    kept: list[int] = []
    out_start[0] = 0
    for position, row in enumerate(order.tolist()):
        decided = set(numbers[first[signature[row]] : first[signature[row] + 1]].tolist())
        kept += [place for place in range(start[row], start[row + 1]) if int(attribute[place]) not in decided]
        out_start[position + 1] = len(kept)
    places = np.array(kept, np.int64)
    return attribute[places], bounds[places]


def restore_keys(
    partition_first: Array,
    partition_key: Array,
    partition_signature: Array,
    first: Array,
    numbers: Array,
    start: Array,
    attribute: Array,
    bounds: Array,
) -> tuple[Array, Array, Array]:
    """Undo `strip_keys`: return start, attribute and bounds with each partition's key as predicates again."""
    lengths, attributes, pairs = [0], [], []
    for partition, mine in enumerate(partition_signature.tolist()):
        keyed = numbers[first[mine] : first[mine + 1]].tolist()
        for row in range(partition_first[partition], partition_first[partition + 1]):
            attributes += keyed + attribute[start[row] : start[row + 1]].tolist()
            pairs += [[code, code] for code in partition_key[partition, : len(keyed)].tolist()]
            pairs += bounds[start[row] : start[row + 1]].tolist()
            lengths.append(len(attributes))
    return (
        np.array(lengths, np.int64),
        np.array(attributes, np.uint16),
        np.array(pairs, np.int64).reshape(-1, 2),
    )


def _intervals(place: int, attribute: Array, bounds: Array, pool: Array) -> list[list[int]]:
    """Return the intervals of one predicate."""
    low, high = bounds[place].tolist()
    intervals: list[list[int]] = pool[low:high].tolist() if attribute[place] & SET_FLAG else [[low, high]]
    return intervals


def bucket_spans(attribute: Array, bounds: Array, pool: Array, cuts: Array, spans: Array, weight: Array) -> None:
    """Write the first and last bucket that each predicate touches, and add up what each attribute excludes."""
    for place in range(len(attribute)):
        number = int(attribute[place]) & ATTRIBUTE_MASK
        intervals = _intervals(place, attribute, bounds, pool)
        low, high = intervals[0][0], intervals[-1][1]
        if low == NULL_CODE:
            spans[place] = 0, CUTS
        else:
            spans[place] = bucket_of(cuts, number, low), bucket_of(cuts, number, high)
            weight[number] += CUTS - (int(spans[place, 1]) - int(spans[place, 0]))


def pick_axes(start: Array, attribute: Array, spans: Array, rank: Array, axes: Array) -> None:
    """Write for each row its two attributes of highest rank and their positions."""
    for row in range(len(start) - 1):
        places = range(start[row], start[row + 1])
        ranked = sorted((int(rank[attribute[place] & ATTRIBUTE_MASK]), place) for place in places)
        picked = [(order, int(spans[place].astype(np.int64).sum())) for order, place in ranked[:2]]
        picked += [(1 << 30, 0)] * (2 - len(picked))
        axes[row] = picked[0][0], picked[1][0], picked[0][1], picked[1][1]


def _allowed(number: int, intervals: list[list[int]], cuts: Array) -> Array:
    """Return for each bucket whether some code of the intervals may lie in it."""
    allowed = np.zeros(BUCKETS, np.bool_)
    for low, high in intervals:
        if low == NULL_CODE:
            allowed[NULL_BUCKET] = True
        if high != NULL_CODE:
            first = 0 if low == NULL_CODE else bucket_of(cuts, number, low)
            allowed[first : bucket_of(cuts, number, high) + 1] = True
    return allowed


def _words(bits: Array) -> Array:
    """Return 512-bit lines of booleans as the kernels' words."""
    return np.packbits(bits, axis=-1, bitorder="little").view(np.uint64).reshape(-1)


def _bits(words: Array, place: int, bucket: int) -> Array:
    """Return one line as booleans."""
    at = (place * BUCKETS + bucket) * WORDS
    return np.unpackbits(words[at : at + WORDS].copy().view(np.uint8), bitorder="little").astype(np.bool_)


def fill_blocks(
    rows: int,
    block_first: Array,
    numbers: Array,
    start: Array,
    attribute: Array,
    bounds: Array,
    pool: Array,
    cuts: Array,
    lines: Array,
) -> None:
    """Fill the lines of all blocks."""
    excluded = np.zeros((len(numbers), BUCKETS, BLOCK_ROWS), np.bool_)
    for row in range(rows):
        block, position = divmod(row, BLOCK_ROWS)
        lined = {int(numbers[line]): line for line in range(block_first[block], block_first[block + 1])}
        for place in range(start[row], start[row + 1]):
            number = int(attribute[place]) & ATTRIBUTE_MASK
            if number in lined:
                allowed = _allowed(number, _intervals(place, attribute, bounds, pool), cuts)
                excluded[lined[number], :, position] |= ~allowed
    lines |= _words(excluded)


def fill_groups(
    group_block: Array,
    group_first: Array,
    group_numbers: Array,
    block_first: Array,
    numbers: Array,
    lines: Array,
    rows: int,
    out: Array,
) -> None:
    """Fill the summary lines: a block's bit is set in a bucket where all of its rows are excluded."""
    excluded = np.zeros((len(group_numbers), BUCKETS, BLOCK_ROWS), np.bool_)
    for group, (begin, end) in enumerate(group_block.tolist()):
        lined = {int(group_numbers[line]): line for line in range(group_first[group], group_first[group + 1])}
        for block in range(begin, end):
            filled = min(BLOCK_ROWS, rows - block * BLOCK_ROWS)
            for place in range(block_first[block], block_first[block + 1]):
                line = lined.get(int(numbers[place]))
                for bucket in range(BUCKETS) if line is not None else ():
                    excluded[line, bucket, block - begin] = _bits(lines, place, bucket)[:filled].all()
    out |= _words(excluded)


def match_events(index: BitmapIndex, codes: Array, alive: Array) -> Array:
    """Return the pairs `event << 32 | slot` of some events, in no order."""
    rows = index.stored()
    pairs = [
        event << 32 | int(index.slot[row])
        for event in range(len(codes))
        for row in _candidates(index, codes[event])
        if alive[index.slot[row]] and row_holds(codes, event, row, rows.start, rows.attribute, rows.bounds, rows.pool)
    ]
    return np.array(pairs, np.int64)


def match_event(index: BitmapIndex, codes: Array, alive: Array, found: Array) -> int:
    """Write the slots of the rows that hold for one event, as far as there is room; return how many there are."""
    slots = match_events(index, codes[:1], alive)
    count = min(len(slots), len(found))
    found[:count] = slots[:count]
    return len(slots)


def _candidates(index: BitmapIndex, codes: Array) -> Iterator[int]:
    """Yield the rows that keys and lines do not exclude for one event."""
    buckets = [bucket_of(index.cuts, number, int(codes[number])) for number in range(len(index.cuts))]
    for signature in range(len(index.signature_first) - 1):
        keyed = index.signature_numbers[index.signature_first[signature] : index.signature_first[signature + 1]]
        entries = index.table[index.table_first[signature] : index.table_first[signature + 1]]
        # Only the tail fills both places of its table, with its one partition.
        for partition in np.unique(entries[entries >= 0]).tolist():
            if (index.partition_key[partition, : len(keyed)] != codes[keyed]).any():
                continue
            first, last = int(index.partition_first[partition]), int(index.partition_first[partition + 1])
            if first >= index.blocked_rows:
                yield from range(first, last)
            else:
                yield from _survivors(index, partition, first, last, buckets)


def _survivors(index: BitmapIndex, partition: int, first: int, last: int, buckets: list[int]) -> Iterator[int]:
    blocks = range(first // BLOCK_ROWS, (last + BLOCK_ROWS - 1) // BLOCK_ROWS)
    skipped: set[int] = set()
    if index.partition_group[partition] >= 0:
        for group in np.flatnonzero(index.group_partition == partition).tolist():
            begin, end = index.group_block[group].tolist()
            for place in range(index.group_first[group], index.group_first[group + 1]):
                line = _bits(index.group_lines, place, buckets[index.group_numbers[place]])
                skipped |= {begin + position for position in np.flatnonzero(line).tolist() if begin + position < end}
    for block in blocks:
        if block in skipped:
            continue
        excluded = np.zeros(BLOCK_ROWS, np.bool_)
        for place in range(index.block_first[block], index.block_first[block + 1]):
            excluded |= _bits(index.lines, place, buckets[index.block_numbers[place]])
        for position in np.flatnonzero(~excluded).tolist():
            row = block * BLOCK_ROWS + position
            if first <= row < last:
                yield row
