"""What is checked of a compiled set before a kernel may follow it, in one linear pass over every array.

A kernel does not look where it reads: an offset past the end is a crash or worse. So a set that comes from outside is
held to the rules below first, whether its hash was verified or not; each names what breaks it. They hold for all that
is done with a set later on: matching, taking a part, cutting zones, editing, compiling again. Whether the index also
*answers* as its rows say is proved in `proofs.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rookery.errors import CompiledSetError
from rookery.matching.bitmap.build import BitmapIndex
from rookery.matching.bitmap.check_kernels import first_repeating_row
from rookery.matching.bitmap.kernels import BLOCK_ROWS, BUCKETS, CUTS, GROUP_BLOCKS, WORDS
from rookery.matching.bitmap.position_kernels import MOST_BITS, STATED
from rookery.matching.bitmap.signatures import MAXIMUM_SIGNATURES
from rookery.matching.kernels import ATTRIBUTE_MASK, SET_FLAG
from rookery.matching.labels import LABEL_LIMIT, LABEL_STEP
from rookery.matching.program_kernels import ACCEPT, REJECT
from rookery.model.expressions import SIZE
from rookery.model.subscriptions import record_schema

__all__ = ["check_header", "check_index", "check_inexact", "check_labels", "check_programs", "check_records", "require"]

Array = np.ndarray[Any, Any]

_TYPES = {
    "table": np.int32,
    "partition_group": np.int32,
    "slot": np.int32,
    "attribute": np.uint16,
    "lines": np.uint64,
    "group_lines": np.uint64,
    "list_table": np.int32,
    "list_posting": np.int32,
}
_PROGRAM_TYPES = (np.int32, np.int64, np.uint16, np.int64, np.int64, np.int32)
#: These are int32 where bounds are positions, else int64.
_BY_GRID = ("start", "bounds", "pool")
_PAIRS = {"group_block", "bounds", "pool"}
#: The header's entries and their types.
_HEADER: dict[str, type] = {
    "format": int, "schema": dict, "attributes": list, "ordered": list, "seed": int, "blocked_rows": int, "slots": int,
}  # fmt: skip


def require(condition: Any, what: str) -> None:
    """Raise CompiledSetError unless the condition holds."""
    if not condition:
        raise CompiledSetError(f"the compiled set is damaged: {what}")


def _within(array: Array, low: int, high: int, what: str) -> None:
    """Require low ≤ every item < high."""
    require(not array.size or (int(array.min()) >= low and int(array.max()) < high), f"{what} points outside")


def _offsets(array: Array, count: int, end: int, what: str) -> None:
    """Require `count` ranges that begin at 0, never step back, and end at `end`."""
    require(len(array) == count + 1 and array[0] == 0 and array[-1] == end, f"{what} has wrong ends")
    require(bool((array[1:] >= array[:-1]).all()), f"{what} steps back")


def check_header(header: Mapping[str, Any]) -> None:
    """Raise CompiledSetError unless the header has its entries, each of its type, and no others."""
    require(header.keys() == _HEADER.keys(), f"its header has {sorted(header.keys() ^ _HEADER.keys())} in excess")
    for name, kind in _HEADER.items():
        require(type(header[name]) is kind, f"{name} in its header is {header[name]!r:.60}")
    seen = set()
    for path in header["attributes"]:
        require(type(path) is list and path, f"the attribute {path!r:.60} is no path")
        require(
            all(
                type(step) is str or (type(step) is int and 0 <= step < 1 << 31)
                for step in (path[:-1] if path[-1] == SIZE else path)
            ),
            f"the attribute {path!r:.60} is no path",
        )
        require(tuple(path) not in seen, f"the attribute {path!r:.60} stands twice")
        seen.add(tuple(path))


def check_labels(table: pa.Table, labels: Array, attribute: str) -> list[str]:
    """Return an attribute's texts; CompiledSetError unless they ascend with their labels, and these leave room."""
    plain = table.schema.names == ["text"] and table.schema.field(0).type == pa.string()
    require(plain and not table["text"].null_count, f"the labels of {attribute} are of other than texts")
    texts: list[str] = table["text"].to_pylist()
    require(labels.dtype == np.int64 and labels.ndim == 1, f"the labels of {attribute} have another type")
    require(len(texts) == len(labels), f"{len(texts)} texts of {attribute} have {len(labels)} labels")
    _within(labels, LABEL_STEP - LABEL_LIMIT, LABEL_LIMIT - LABEL_STEP + 1, f"a label of {attribute}")
    ascending = bool((labels[1:] - labels[:-1] >= LABEL_STEP).all())
    ascending = ascending and all(one < other for one, other in pairwise(texts))
    require(ascending, f"the labels of {attribute} are out of order")
    return texts


def check_records(table: pa.Table, slots: int) -> None:
    """Raise CompiledSetError unless the records have the columns of records, one row per slot, and possible dates."""
    names = table.schema.names
    require("subscription_id" in names and len(set(names)) == len(names), "its records have other columns")
    ids = table.schema.field("subscription_id").type
    require(ids in (pa.string(), pa.int64()), f"its ids are {ids}")
    wanted = record_schema(ids)
    for field in table.schema:
        fits = field.name in wanted.names and field.type == wanted.field(field.name).type
        require(fits, f"its records have a column {field.name!r} of {field.type}")
    require(table.num_rows == slots, f"{table.num_rows} records for {slots} subscriptions")
    for name in ("subscription_id", "version"):
        require(name not in names or not table[name].null_count, f"a {name} is NULL")
    if "valid_from" in names and "valid_to" in names:
        backward = pc.any(pc.less_equal(table["valid_to"], table["valid_from"])).as_py()
        require(not backward, "a subscription ends before it begins")


def check_inexact(inexact: Array, table: pa.Table) -> None:
    """Raise CompiledSetError unless the subscriptions to verify ascend, are in the set and have a text."""
    require(inexact.dtype == np.int64 and inexact.ndim == 1, "inexact has another type")
    _within(inexact, 0, table.num_rows, "a subscription to verify")
    require(bool((inexact[1:] > inexact[:-1]).all()), "the subscriptions to verify are out of order")
    if len(inexact):
        require("where" in table.schema.names, "a subscription to verify has no text")
        if table["where"].null_count:
            missing = table["where"].is_null().to_numpy()
            require(not missing[inexact].any(), "a subscription to verify has no text")


def check_programs(steps: Sequence[Array], jumps: Array, *, attributes: int, slots: int) -> None:
    """Raise CompiledSetError unless every program tests what there is, and goes forward until it ends."""
    for array, kind, dimensions in zip((*steps, jumps), _PROGRAM_TYPES, (1, 1, 1, 2, 2, 2), strict=True):
        fits = array.dtype == kind and array.ndim == dimensions and (dimensions == 1 or array.shape[1] == 2)
        require(fits, "programs have another type")
    slot, start, attribute, bounds, pool = steps
    _within(slot, 0, slots, "a program")
    require(bool((slot[1:] > slot[:-1]).all()), "the programs are out of order")
    _offsets(start, len(slot), len(attribute), "the steps of programs")
    require(bool((start[1:] > start[:-1]).all()), "a program has no steps")
    require(len(bounds) == len(attribute) == len(jumps), "the steps of programs differ in length")
    _within(attribute & ATTRIBUTE_MASK, 0, max(1, attributes), "a step")
    ranges = bounds[(attribute & SET_FLAG) != 0]
    _within(ranges, 0, len(pool) + 1, "a step's set of intervals")
    require(bool((ranges[:, 0] < ranges[:, 1]).all()), "a step's set of intervals is empty")
    sizes = np.diff(start)
    at = np.arange(len(attribute)) - np.repeat(start[:-1], sizes)
    for side in (0, 1):
        target = jumps[:, side]
        ahead = (target > at) & (target < np.repeat(sizes, sizes))
        require(bool((ahead | (target == ACCEPT) | (target == REJECT)).all()), "a program goes back, or too far")


def check_index(index: BitmapIndex, *, attributes: int, slots: int) -> None:
    """Raise CompiledSetError unless every offset in the index stays inside its array."""
    short = np.int32 if index.position_grid.size else np.int64
    for name, array in index.arrays().items():
        dimensions = 2 if name in _PAIRS or name in ("cuts", "partition_key", "position_grid") else 1
        wanted = short if name in _BY_GRID else _TYPES.get(name, np.int64)
        fits = array.dtype == wanted and array.ndim == dimensions
        if not fits or (name in _PAIRS and array.shape[1] != 2):
            raise CompiledSetError(f"the compiled set is damaged: {name} has type {array.dtype}, shape {array.shape}")
    require(0 <= index.seed < 1 << 63, "the seed is out of range")
    rows = len(index.slot)
    require(rows < 1 << 31, "it has too many rows")
    known = index.cuts.shape[0]
    require(index.cuts.shape == (known, CUTS) and 1 <= known <= attributes, "cuts have a wrong shape")
    require(bool((index.cuts[:, 1:] >= index.cuts[:, :-1]).all()), "cuts step back")
    _offsets(index.start, rows, len(index.attribute), "start")
    require(len(index.bounds) == len(index.attribute), "bounds and attributes differ in length")
    _within(index.slot, 0, slots, "slot")
    _within(index.attribute & ATTRIBUTE_MASK, 0, known, "attribute")
    ranges = index.bounds[(index.attribute & SET_FLAG) != 0]
    _within(ranges, 0, len(index.pool) + 1, "a set of intervals")
    require(bool((ranges[:, 0] < ranges[:, 1]).all()), "a set of intervals is empty")
    _check_grid(index, known)
    require(
        0 <= index.partition_first[-1] <= rows if len(index.partition_first) else False, "partition_first ends wrong"
    )
    _check_keys(index, index.listed_from, known)
    _check_lists(index, rows, known)
    _check_blocks(index, known)
    # What takes the keys out of rows counts on it: a key's attribute is tested by the key alone.
    repeating = first_repeating_row(
        known, index.partition_first, index.partition_signature(), index.signature_first, index.signature_numbers,
        index.start, index.attribute,
    )  # fmt: skip
    require(repeating < 0, f"row {repeating} tests an attribute twice")


def _check_grid(index: BitmapIndex, attributes: int) -> None:
    """Require that codes and positions can be made of each other."""
    numbers, grid, points = index.position_numbers, index.position_grid, index.position_points
    if not grid.size:
        require(grid.shape == (3, 0) and not len(numbers) and not len(points), "a grid without lines")
        require(len(index.position_first) == 1 and index.position_first[0] == 0, "a grid without lines")
        return
    require(grid.shape == (3, attributes), "the grid has a wrong shape")
    tested = np.bincount(index.attribute & ATTRIBUTE_MASK, minlength=attributes) > 0
    require(np.array_equal(numbers, np.flatnonzero(tested)), "position_numbers are not the attributes that rows test")
    low, high, shift = grid
    require(bool((low <= high).all()), "a grid ends before it begins")
    _offsets(index.position_first, attributes, len(points), "position_first")
    sizes = np.diff(index.position_first)
    stated = shift == STATED
    require(bool(((sizes > 0) == stated).all()), "a grid's points are stated and counted")
    require(bool((stated | ((shift >= 1) & (shift <= MOST_BITS))).all()), "a grid has a wrong step")
    owner = np.repeat(np.arange(attributes), sizes)
    require(bool(((points[1:] > points[:-1]) | (owner[1:] != owner[:-1])).all()), "points of a grid step back")
    first, last = index.position_first[:-1][stated], index.position_first[1:][stated] - 1
    ends = (points[first] == low[stated]) & (points[last] == high[stated])
    require(bool(ends.all()), "a grid does not end with its points")


def _check_keys(index: BitmapIndex, rows: int, attributes: int) -> None:
    signatures = len(index.signature_first) - 1
    require(1 <= signatures <= MAXIMUM_SIGNATURES + 1, f"it has {signatures} signatures")
    _offsets(index.signature_first, signatures, len(index.signature_numbers), "signature_first")
    _within(index.signature_numbers, 0, attributes, "signature_numbers")
    partitions = len(index.partition_first) - 1
    _offsets(index.partition_first, partitions, rows, "partition_first")
    require(bool((np.diff(index.partition_first) > 0).all()), "a partition has no rows")
    longest = max(1, int(np.diff(index.signature_first).max()))
    require(index.partition_key.shape == (partitions, longest), "partition_key has a wrong shape")
    _offsets(index.table_first, signatures, len(index.table), "table_first")
    sizes = np.diff(index.table_first)
    require(bool(((sizes > 0) & (sizes & (sizes - 1) == 0)).all()), "a hash table's size is no power of two")
    _within(index.table, -1, partitions, "table")
    require(len(index.key_low) == len(index.key_span) == len(index.signature_numbers), "keys have a wrong length")
    _within(index.key_span, 0, 1 << 31, "key_span")
    for first, last, size in zip(index.signature_first, index.signature_first[1:], sizes.tolist(), strict=False):
        spans = index.key_span[first:last].tolist()
        require(prod(spans) <= size and (all(spans) or not any(spans)), "a table has no place for each key")
    # A look-up ends at a free place; a full table would have none.
    free = np.add.reduceat(index.table < 0, index.table_first[:-1], dtype=np.int64)
    require(bool((free > 0).all()), "a hash table is full")
    entries = np.bincount(index.table[index.table >= 0], minlength=partitions)
    require(bool((entries == 1).all()), "a partition stands in no hash table, or in two places")


def _check_lists(index: BitmapIndex, rows: int, attributes: int) -> None:
    """Require that a look-up of a value ends, that postings are rows, and that each such row has one list."""
    numbers, code, first, posting = index.list_numbers, index.list_code, index.list_first, index.list_posting
    _within(numbers, 0, attributes, "list_numbers")
    require(bool((numbers[1:] > numbers[:-1]).all()), "list_numbers are out of order")
    _offsets(index.list_keys, len(numbers), len(code), "list_keys")
    _offsets(first, len(code), len(posting), "list_first")
    _within(posting, index.listed_from, rows, "list_posting")
    size = len(index.list_table)
    require(size > 0 and size & (size - 1) == 0, "the table of lists has a size that is no power of two")
    _within(index.list_table, -1, len(code), "list_table")
    require(bool((index.list_table < 0).any()), "the table of lists is full")
    owner = np.repeat(np.arange(len(numbers)), np.diff(index.list_keys))
    ascending = (code[1:] > code[:-1]) | (owner[1:] > owner[:-1])
    require(bool(ascending.all()), "the values of lists are out of order")
    key = np.repeat(np.arange(len(code)), np.diff(first))
    ascending = (posting[1:] > posting[:-1]) | (key[1:] > key[:-1])
    require(bool(ascending.all()), "the postings of a value are out of order")
    filed = posting - index.listed_from
    attribute_of = np.full(rows - index.listed_from, -1, np.int64)
    attribute_of[filed] = numbers[owner[key]]
    require(bool((attribute_of >= 0).all()), "a row is in no partition and in no list")
    require(bool((attribute_of[filed] == numbers[owner[key]]).all()), "a row is filed under two attributes")
    # As for keys: what takes lists out of rows counts on it that nothing else in the row tests their attribute.
    lengths = np.diff(index.start[index.listed_from :])
    row = np.concatenate([np.repeat(np.arange(len(lengths)), lengths), np.arange(len(lengths))])
    tested = (index.attribute[int(index.start[index.listed_from]) :] & ATTRIBUTE_MASK).astype(np.int64)
    pairs = row * (attributes + 1) + np.concatenate([tested, attribute_of])
    require(len(np.unique(pairs)) == len(pairs), "a row with a list tests an attribute twice")


def _check_blocks(index: BitmapIndex, attributes: int) -> None:
    require(0 <= index.blocked_rows <= index.listed_from, "blocked_rows points outside")
    require(index.blocked_rows in index.partition_first, "blocked_rows is no partition's end")
    blocks = (index.blocked_rows + BLOCK_ROWS - 1) // BLOCK_ROWS
    _offsets(index.block_first, blocks, len(index.block_numbers), "block_first")
    _within(index.block_numbers, 0, attributes, "block_numbers")
    require(len(index.lines) == len(index.block_numbers) * BUCKETS * WORDS, "lines have a wrong length")
    groups = len(index.group_block)
    _within(index.partition_group, -1, groups, "partition_group")
    require(len(index.partition_group) == len(index.partition_first) - 1, "partition_group has a wrong length")
    require(len(index.group_partition) == groups, "group_partition has a wrong length")
    _within(index.group_block, 0, blocks + 1, "group_block")
    spans = index.group_block[:, 1] - index.group_block[:, 0]
    require(not groups or (spans.min() > 0 and spans.max() <= GROUP_BLOCKS), "group_block has a wrong span")
    _offsets(index.group_first, groups, len(index.group_numbers), "group_first")
    _within(index.group_numbers, 0, attributes, "group_numbers")
    require(len(index.group_lines) == len(index.group_numbers) * BUCKETS * WORDS, "group_lines have a wrong length")
