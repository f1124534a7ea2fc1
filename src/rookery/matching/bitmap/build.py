"""Building the bitmap index: keys, partitions, order, cut points, blocks, summaries.

Theory (the specification's fast engine, an answer to seed 004's matrix for compiled code).
1. *Composite keys.* A row with equality predicates is filed under their values. Rows that test the same attributes
   for equality form a *signature*, and an event looks up one key per signature. The key decides those predicates, so
   they are taken out of the row. Keys that nearly fill their range, as numbers of devices do, are not hashed: each has
   its own place in the table.
2. *Partitions.* The rows of one key. Up to DIRECT_ROWS of them are checked one by one; more get bitmaps.
3. *Blocks.* 512 rows. For each attribute that the block's rows test, and each of 27 buckets of that attribute's
   codes, one line of 512 bits says which rows are excluded there. OR of one line per attribute leaves the survivors,
   which are then checked exactly, so buckets and the choice of attributes cost time at most, never a match.
4. *Order.* Within a large partition the rows are sorted by their two most selective attributes (sort-tile-recursive,
   as an R-tree is packed), so that whole blocks are excluded together; a summary line has one bit per block and tells
   which.
5. *Lists of values.* A row that tests an attribute for one of many values is filed under each (`lists.py`).
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, fields
from math import prod
from typing import Any

import numpy as np

from rookery.arrays import distinct
from rookery.matching.bitmap.build_kernels import (
    assign_keys,
    bucket_spans,
    fill_blocks,
    fill_groups,
    fill_table,
    pick_axes,
    strip_keys,
)
from rookery.matching.bitmap.kernels import BLOCK_ROWS, BUCKETS, CUTS, GROUP_BLOCKS, WORDS
from rookery.matching.bitmap.lists import ListKeys, choose_lists, file_lists
from rookery.matching.bitmap.positions import PositionGrid, coded_rows, grid_of, wide_rows
from rookery.matching.bitmap.signatures import choose_signatures
from rookery.matching.kernels import ATTRIBUTE_MASK, NULL_CODE, SET_FLAG
from rookery.matching.rows import Rows

__all__ = ["BitmapIndex", "build_index", "line_words", "quantiles"]

Array = np.ndarray[Any, Any]

#: Partitions up to this size are checked row by row.
DIRECT_ROWS = 32
#: Attributes with lines in one block. More would cost memory (3.4 bytes a row each) and filter little.
BLOCK_ATTRIBUTES = 20
#: Partitions from this many blocks on have summaries.
SUMMARY_BLOCKS = 8
#: Rows looked at to place the cut points.
CUT_SAMPLE = 400_000
#: Blocks whose attributes are counted at a time; with it, what building needs beside its result is bounded.
COUNTED_BLOCKS = 2048

#: The fields of an index that are numbers, not arrays.
_NUMBERS = ("seed", "blocked_rows")


@dataclass(frozen=True, slots=True)
class BitmapIndex:
    """The index as flat arrays, in the order that the kernel takes them; nothing else is needed to match."""

    cuts: Array  # int64 [attributes, 25]
    signature_first: Array  # int64: where a signature's key attributes begin in signature_numbers
    signature_numbers: Array  # int64
    key_low: Array  # int64: of each key attribute the least code, and how many codes there are from it on, where the
    key_span: Array  # table has a place for each key that they make; 0 where keys are hashed
    table_first: Array  # int64: where a signature's table begins; sizes are powers of two
    table: Array  # int32: partition or -1
    partition_key: Array  # int64 [partitions, longest key]
    partition_first: Array  # int64: rows of a partition
    partition_group: Array  # int32: its first summary group or -1
    block_first: Array  # int64: where a block's attributes begin in block_numbers
    block_numbers: Array  # int64
    lines: Array  # uint64: 8 words per (place in block_numbers, bucket)
    group_partition: Array  # int64
    group_block: Array  # int64 [groups, 2]
    group_first: Array  # int64
    group_numbers: Array  # int64
    group_lines: Array  # uint64
    slot: Array  # int32
    start: Array  # this and the next but one are int32 where bounds are positions, else int64
    attribute: Array  # uint16
    bounds: Array
    pool: Array
    position_numbers: Array  # these as in `positions.PositionGrid`
    position_grid: Array
    position_first: Array
    position_points: Array
    list_numbers: Array  # these as in `lists.ListKeys`; their rows are behind those of the last partition
    list_keys: Array
    list_code: Array
    list_first: Array
    list_table: Array
    list_posting: Array
    seed: int = 0
    blocked_rows: int = 0

    def arrays(self) -> dict[str, Array]:
        """Return the arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _NUMBERS}

    @classmethod
    def of(cls, arrays: Mapping[str, Array], *, seed: int, blocked_rows: int) -> BitmapIndex:
        """Make an index of the arrays that `arrays()` gave; KeyError names one that is missing."""
        named: dict[str, Any] = {field.name: arrays[field.name] for field in fields(cls) if field.name not in _NUMBERS}
        return cls(**named, seed=seed, blocked_rows=blocked_rows)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays().values())

    @property
    def row_count(self) -> int:
        return len(self.slot)

    def lists(self) -> ListKeys:
        """Return the lists of values that rows are filed under."""
        return ListKeys(*(getattr(self, field.name) for field in fields(ListKeys)))

    def grid(self) -> PositionGrid:
        """Return the points that bounds are positions among."""
        return PositionGrid(*(getattr(self, field.name) for field in fields(PositionGrid)))

    def stored(self) -> Rows:
        """Return the rows as they lie here, without keys and lists; their bounds are codes."""
        return wide_rows(Rows(self.slot, self.start, self.attribute, self.bounds, self.pool), self.grid())

    @property
    def listed_from(self) -> int:
        """The first row that is filed under the values of a list."""
        return int(self.partition_first[-1])

    def partition_signature(self) -> Array:
        """Return the signature of each partition: the one whose hash table holds it."""
        filled = np.flatnonzero(self.table >= 0)
        signature = np.zeros(len(self.partition_first) - 1, np.int64)
        signature[self.table[filled]] = np.searchsorted(self.table_first, filled, side="right") - 1
        return signature


def build_index(rows: Rows, attributes: int, labelled: Container[int] = (), *, positions: bool = True) -> BitmapIndex:
    """Build the index of some rows over `attributes` attributes, some of which have labels for texts.

    Without `positions` bounds stay codes (`positions.py`).

    The rows are let go as soon as they lie in their new order: where the caller keeps none of them, they are not in
    memory beside all of the index.
    """
    attributes = max(1, attributes)
    if not len(rows):
        return _empty_index(attributes)
    listed = choose_lists(rows, labelled)
    rest, keys = Rows.empty(), ListKeys.none()
    if len(listed):
        rest, keys = file_lists(rows, listed, len(rows) - len(listed))
        rows = rows.take(np.delete(np.arange(len(rows)), rows.owners(listed))).trimmed()
    signature, first, numbers = choose_signatures(rows, attributes)
    order, partitions, seed = _partition(rows, signature, first, numbers)
    start = np.empty(len(rows) + 1, np.int64)
    attribute, bounds = strip_keys(order, rows.start, rows.attribute, rows.bounds, signature, first, numbers, start)
    stripped = Rows(rows.slot[order], start, attribute, bounds, rows.pool)
    del rows, order, signature, attribute, bounds
    cuts = _cut_points(stripped, attributes)
    ranks = _order_within(stripped, partitions, cuts, attributes)
    block_first, block_numbers = _block_attributes(stripped, partitions.blocked_rows, ranks)
    lines = line_words(len(block_numbers) * BUCKETS)
    fill_blocks(
        partitions.blocked_rows,
        block_first,
        block_numbers,
        stripped.start,
        stripped.attribute,
        stripped.bounds,
        stripped.pool,
        cuts,
        lines,
    )
    whole = Rows.concatenate([stripped, rest]) if len(listed) else stripped
    grid = grid_of(whole, attributes) if positions else PositionGrid.none()
    whole = coded_rows(whole, grid)
    return BitmapIndex(
        cuts=cuts,
        signature_first=first,
        signature_numbers=numbers,
        key_low=partitions.low,
        key_span=partitions.span,
        table_first=partitions.table_first,
        table=partitions.table,
        partition_key=partitions.key,
        partition_first=partitions.first,
        block_first=block_first,
        block_numbers=block_numbers,
        lines=lines,
        slot=whole.slot,
        start=whole.start,
        attribute=whole.attribute,
        bounds=whole.bounds,
        pool=whole.pool,
        seed=seed,
        blocked_rows=partitions.blocked_rows,
        **{field.name: getattr(part, field.name) for part in (keys, grid) for field in fields(part)},
        **_summaries(partitions, block_first, block_numbers, lines),
    )


def _empty_index(attributes: int) -> BitmapIndex:
    """Return what would be built of no rows; no kernel is compiled for it."""
    none, pairs, no_lines = np.empty(0, np.int64), np.empty((0, 2), np.int64), np.empty(0, np.uint64)
    empty = (ListKeys.none(), PositionGrid.none())
    return BitmapIndex(
        cuts=np.full((attributes, CUTS), np.iinfo(np.int64).max, np.int64),
        signature_first=np.zeros(2, np.int64),
        signature_numbers=none,
        key_low=none,
        key_span=none,
        table_first=np.array([0, 2], np.int64),
        table=np.full(2, -1, np.int32),
        partition_key=np.empty((0, 1), np.int64),
        partition_first=np.zeros(1, np.int64),
        partition_group=np.empty(0, np.int32),
        block_first=np.zeros(1, np.int64),
        block_numbers=none,
        lines=no_lines,
        group_partition=none,
        group_block=pairs,
        group_first=np.zeros(1, np.int64),
        group_numbers=none,
        group_lines=no_lines,
        slot=np.empty(0, np.int32),
        start=np.zeros(1, np.int64),
        attribute=np.empty(0, np.uint16),
        bounds=pairs,
        pool=pairs,
        seed=1,
        **{field.name: getattr(part, field.name) for part in empty for field in fields(part)},
    )


def line_words(lines: int) -> Array:
    """Return the words of so many empty lines, none of which straddles two lines of the processor's cache."""
    raw = np.zeros(lines * WORDS + WORDS - 1, np.uint64)
    skip = -raw.ctypes.data % (8 * WORDS) // 8
    return raw[skip : skip + lines * WORDS]


@dataclass(frozen=True, slots=True)
class _Partitions:
    first: Array
    key: Array
    low: Array
    span: Array
    table_first: Array
    table: Array
    blocked_rows: int


def _partition(rows: Rows, signature: Array, first: Array, numbers: Array) -> tuple[Array, _Partitions, int]:
    """File the rows under their keys: those with bitmaps first, then those that are checked one by one."""
    width = max(1, int(np.diff(first).max(initial=0)))
    keys = np.zeros((len(rows), width), np.int64)
    for seed in range(1, 100):
        hashes = assign_keys(rows.start, rows.attribute, rows.bounds, signature, first, numbers, seed, keys)
        order = np.argsort(hashes, kind="stable")
        new_hash = np.flatnonzero(_changes(hashes, order)) + 1
        changed = _changes(signature, order)
        for column in range(width):
            changed |= _changes(keys[:, column], order)
        new_key = np.flatnonzero(changed) + 1
        if len(new_hash) == len(new_key):
            break  # no two keys share a hash
    begins = np.concatenate([np.zeros(min(1, len(rows)), np.int64), new_key])
    sizes = np.diff(np.append(begins, len(rows)))
    large = sizes > DIRECT_ROWS
    sequence = np.concatenate([np.flatnonzero(large), np.flatnonzero(~large)])
    blocked_rows = int(sizes[large].sum())
    first_rows = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes[sequence])])
    places = np.repeat(begins[sequence] - first_rows[:-1], sizes[sequence]) + np.arange(len(rows))
    heads = order[begins[sequence]] if len(rows) else np.empty(0, np.int64)
    signatures = signature[heads]
    counts = np.bincount(signatures, minlength=len(first) - 1)
    table_sizes = np.array([1 << max(1, int(2 * count).bit_length()) for count in counts], np.int64)
    homes, key = hashes[heads], keys[heads]
    low, span = _spans(key, signatures, first, numbers, table_sizes, homes)
    table_first = np.concatenate([np.zeros(1, np.int64), np.cumsum(table_sizes)])
    table = np.full(int(table_first[-1]), -1, np.int32)
    fill_table(homes, table_first, signatures, table)
    return order[places], _Partitions(first_rows, key, low, span, table_first, table, blocked_rows), seed


def _spans(
    key: Array, signatures: Array, first: Array, numbers: Array, table_sizes: Array, homes: Array
) -> tuple[Array, Array]:
    """Return for each key attribute the least code and the number of codes from it on, 0 where keys are hashed.

    Keys that fill what lies between the least and the greatest have a place each in a table that is no larger than one
    of hashes: these and the table's size are written over `homes` and `table_sizes`.
    """
    low, span = np.zeros(len(numbers), np.int64), np.zeros(len(numbers), np.int64)
    for signature in range(1, len(first) - 1):
        mine = np.flatnonzero(signatures == signature)
        if not len(mine):
            continue
        own = key[mine, : first[signature + 1] - first[signature]]
        least, greatest = own.min(axis=0), own.max(axis=0)
        spans = [high - bottom + 1 for bottom, high in zip(least.tolist(), greatest.tolist(), strict=True)]
        keys = prod(spans)
        if keys > table_sizes[signature]:
            continue
        place = np.zeros(len(mine), np.int64)
        for column, count in enumerate(spans):
            place = place * count + (own[:, column] - least[column])
        homes[mine] = place.astype(np.uint64)
        table_sizes[signature] = 1 << max(1, keys.bit_length())
        low[first[signature] : first[signature + 1]] = least
        span[first[signature] : first[signature + 1]] = spans
    return low, span


def _changes(values: Array, order: Array) -> Array:
    """Say of each place in an order but the first whether its value differs from the one before."""
    ordered = values[order]
    changes: Array = ordered[1:] != ordered[:-1]
    return changes


def sample_rows(rows: Rows, count: int) -> Rows:
    """Return about `count` of the rows, spread evenly."""
    return rows if len(rows) <= 2 * count else rows.take(np.arange(0, len(rows), len(rows) // count))


def _cut_points(rows: Rows, attributes: int) -> Array:
    """Place each attribute's cut points at quantiles of the bounds that its predicates have."""
    rows = sample_rows(rows, CUT_SAMPLE)
    cuts = np.full((attributes, CUTS), np.iinfo(np.int64).max, np.int64)
    plain = (rows.attribute & SET_FLAG) == 0
    numbers = np.concatenate([rows.attribute[plain].astype(np.int64), _pool_numbers(rows)])
    low = np.concatenate([rows.bounds[plain, 0], rows.pool[:, 0]])
    high = np.concatenate([rows.bounds[plain, 1], rows.pool[:, 1]])
    order = np.argsort(numbers, kind="stable")
    limits = np.searchsorted(numbers[order], np.arange(attributes + 1))
    for number in range(attributes):
        mine = order[limits[number] : limits[number + 1]]
        if not len(mine):
            continue
        # A bucket begins at a lower bound, and just after an upper one.
        begins, ends = low[mine], high[mine]
        points = np.sort(np.concatenate([begins[begins > NULL_CODE + 1], ends[ends < np.iinfo(np.int64).max] + 1]))
        if len(points):
            cuts[number] = quantiles(points)
    return cuts


def quantiles(points: Array) -> Array:
    """Return cut points among sorted values."""
    chosen = distinct(points[np.linspace(0, len(points) - 1, CUTS + 2).astype(np.int64)[1:-1]])
    if len(chosen) < CUTS:  # many equal bounds: spend what is left on the other values
        rest = np.setdiff1d(distinct(points), chosen, assume_unique=True)
        missing = min(CUTS - len(chosen), len(rest))
        if missing:
            spread = rest[np.linspace(0, len(rest) - 1, missing).astype(np.int64)]
            chosen = np.union1d(chosen, spread)
    padded = np.full(CUTS, np.iinfo(np.int64).max, np.int64)
    padded[: len(chosen)] = chosen
    return padded


def _pool_numbers(rows: Rows) -> Array:
    """Return the attribute of every interval in the pool."""
    numbers = np.zeros(len(rows.pool), np.int64)
    for place in np.flatnonzero(rows.attribute & SET_FLAG):
        numbers[rows.bounds[place, 0] : rows.bounds[place, 1]] = rows.attribute[place] & ATTRIBUTE_MASK
    return numbers


def _order_within(rows: Rows, partitions: _Partitions, cuts: Array, attributes: int) -> Array:
    """Tile the rows of large partitions by their best attributes, in place; return the attributes' ranks."""
    spans = np.empty((len(rows.attribute), 2), np.uint8)
    weight = np.zeros(attributes, np.float64)
    bucket_spans(rows.attribute, rows.bounds, rows.pool, cuts, spans, weight)
    rank = np.empty(attributes, np.int64)
    rank[np.argsort(-weight, kind="stable")] = np.arange(attributes)
    for partition in np.flatnonzero(np.diff(partitions.first) >= 2 * BLOCK_ROWS):
        first, last = partitions.first[partition], partitions.first[partition + 1]
        axes = np.empty((last - first, 4), np.int64)
        pick_axes(rows.start[first : last + 1], rows.attribute, spans, rank, axes)
        _permute(rows, first, last, _tile(axes, several=attributes > BLOCK_ATTRIBUTES))
    return rank


def _permute(rows: Rows, first: int, last: int, order: Array) -> None:
    """Put the rows from `first` to `last` into an order, in place."""
    begin, end = rows.start[first], rows.start[last]
    part = Rows(
        rows.slot[first:last],
        rows.start[first : last + 1] - begin,
        rows.attribute[begin:end],
        rows.bounds[begin:end],
        rows.pool,
    ).take(order)
    rows.slot[first:last] = part.slot
    rows.start[first : last + 1] = part.start + begin
    rows.attribute[begin:end] = part.attribute
    rows.bounds[begin:end] = part.bounds


def _tile(axes: Array, *, several: bool) -> Array:
    """Sort by first attribute (and second, where a first has many blocks), then in slabs of one, runs of the other.

    `several` says that a block has lines for a part of the attributes alone: then the second one counts in any case, so
    that a block's rows test few others than those with lines.
    """
    one, other, one_at, other_at = axes.T
    if not several:
        blocks = np.bincount(np.minimum(one, 1 << 16)) / BLOCK_ROWS
        other = np.where(blocks[np.minimum(one, 1 << 16)] >= 16, other, 0)
    group = one * (1 << 31) + other
    order = np.lexsort((one_at, group))
    ordered = group[order]
    begins = np.flatnonzero(np.concatenate([[True], np.diff(ordered) != 0]))
    sizes = np.diff(np.append(begins, len(ordered)))
    slabs = np.maximum(1, np.ceil(np.sqrt(sizes / BLOCK_ROWS)))
    slab_rows = np.maximum(1, np.ceil(sizes / slabs))
    within = np.arange(len(ordered)) - np.repeat(begins, sizes)
    slab = (within // np.repeat(slab_rows, sizes)).astype(np.int64)
    final = np.lexsort((other_at[order], slab, np.repeat(np.arange(len(begins)), sizes)))
    tiled: Array = order[final]
    return tiled


def _block_attributes(rows: Rows, blocked_rows: int, rank: Array) -> tuple[Array, Array]:
    """Choose the attributes that have lines in each block: those that most of its rows test, strongest first."""
    step = COUNTED_BLOCKS * BLOCK_ROWS
    chosen = [_counted(rows, first, min(blocked_rows, first + step), rank) for first in range(0, blocked_rows, step)]
    counts = np.concatenate([np.zeros(1, np.int64), *(per_block for per_block, _ in chosen)])
    numbers = np.concatenate([np.empty(0, np.int64), *(mine for _, mine in chosen)])
    return np.cumsum(counts), numbers


def _counted(rows: Rows, first: int, last: int, rank: Array) -> tuple[Array, Array]:
    """Return how many attributes each block of a range of rows gets, and which."""
    blocks = (last - first + BLOCK_ROWS - 1) // BLOCK_ROWS
    attributes = len(rank)
    row_of = np.repeat(np.arange(last - first), np.diff(rows.start[first : last + 1]))
    numbers = (rows.attribute[rows.start[first] : rows.start[last]] & ATTRIBUTE_MASK).astype(np.int64)
    pairs, counts = np.unique((row_of // BLOCK_ROWS) * attributes + numbers, return_counts=True)
    block, number = pairs // attributes, pairs % attributes
    order = np.lexsort((rank[number], -counts, block))
    block, number = block[order], number[order]
    begins = np.searchsorted(block, np.arange(blocks + 1))
    kept = np.arange(len(block)) - begins[block] < BLOCK_ATTRIBUTES
    return np.bincount(block[kept], minlength=blocks).astype(np.int64), number[kept].astype(np.int64)


def _summaries(partitions: _Partitions, block_first: Array, numbers: Array, lines: Array) -> dict[str, Array]:
    """Return the arrays of the summaries by their names in the index."""
    count = len(partitions.first) - 1
    partition_group = np.full(count, -1, np.int32)
    owners: list[int] = []
    spans: list[tuple[int, int]] = []
    firsts, chosen = [0], []
    sizes = np.diff(partitions.first)
    for partition in np.flatnonzero(sizes >= SUMMARY_BLOCKS * BLOCK_ROWS):
        first = int(partitions.first[partition]) // BLOCK_ROWS
        final = (int(partitions.first[partition + 1]) + BLOCK_ROWS - 1) // BLOCK_ROWS
        partition_group[partition] = len(owners)
        for begin in range(first, final, GROUP_BLOCKS):
            end = min(final, begin + GROUP_BLOCKS)
            mine, counts = np.unique(numbers[block_first[begin] : block_first[end]], return_counts=True)
            best = mine[np.argsort(-counts, kind="stable")][:BLOCK_ATTRIBUTES]
            owners.append(int(partition))
            spans.append((begin, end))
            chosen.append(best)
            firsts.append(firsts[-1] + len(best))
    group_block = np.array(spans, np.int64).reshape(-1, 2)
    group_first = np.array(firsts, np.int64)
    group_numbers = np.concatenate(chosen) if chosen else np.empty(0, np.int64)
    group_lines = line_words(len(group_numbers) * BUCKETS)
    if spans:
        fill_groups(
            group_block, group_first, group_numbers, block_first, numbers, lines, partitions.blocked_rows, group_lines
        )
    return {
        "partition_group": partition_group,
        "group_partition": np.array(owners, np.int64),
        "group_block": group_block,
        "group_first": group_first,
        "group_numbers": group_numbers,
        "group_lines": group_lines,
    }
