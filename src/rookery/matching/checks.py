"""Every offset of an index, checked before a kernel may follow it.

A kernel does not look where it reads: an offset past the end is a crash or worse. So an index that comes from
outside is held to the rules below first; each names the array that breaks it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.errors import CompiledSetError
from rookery.matching.bitmap.build import BitmapIndex
from rookery.matching.bitmap.kernels import BLOCK_ROWS, BUCKETS, CUTS, GROUP_BLOCKS, WORDS
from rookery.matching.kernels import ATTRIBUTE_MASK, SET_FLAG

__all__ = ["check_index"]

Array = np.ndarray[Any, Any]

_TYPES = {
    "table": np.int32,
    "partition_group": np.int32,
    "slot": np.int32,
    "attribute": np.uint16,
    "lines": np.uint64,
    "group_lines": np.uint64,
}
_PAIRS = {"group_block", "bounds", "pool"}


def _require(condition: Any, what: str) -> None:
    if not condition:
        raise CompiledSetError(f"the compiled set is damaged: {what}")


def _within(array: Array, low: int, high: int, what: str) -> None:
    """Require low ≤ every item < high."""
    _require(not array.size or (int(array.min()) >= low and int(array.max()) < high), f"{what} points outside")


def _offsets(array: Array, count: int, end: int, what: str) -> None:
    """Require `count` ranges that begin at 0, never step back, and end at `end`."""
    _require(len(array) == count + 1 and array[0] == 0 and array[-1] == end, f"{what} has wrong ends")
    _require(bool((np.diff(array) >= 0).all()), f"{what} steps back")


def check_index(index: BitmapIndex, *, attributes: int, slots: int) -> None:
    """Raise CompiledSetError unless every offset in the index stays inside its array."""
    for name, array in index.arrays().items():
        _require(array.dtype == _TYPES.get(name, np.int64), f"{name} has type {array.dtype}")
        dimensions = 2 if name in _PAIRS or name in ("cuts", "partition_key") else 1
        _require(array.ndim == dimensions, f"{name} has {array.ndim} dimensions")
        _require(name not in _PAIRS or array.shape[1] == 2, f"{name} has shape {array.shape}")
    _require(0 <= index.seed < 1 << 63, "the seed is out of range")
    rows = len(index.slot)
    known = index.cuts.shape[0]
    _require(index.cuts.shape == (known, CUTS) and 1 <= known <= attributes, "cuts have a wrong shape")
    _offsets(index.start, rows, len(index.attribute), "start")
    _require(len(index.bounds) == len(index.attribute), "bounds and attributes differ in length")
    _within(index.slot, 0, slots, "slot")
    _within(index.attribute & ATTRIBUTE_MASK, 0, known, "attribute")
    ranges = index.bounds[(index.attribute & SET_FLAG) != 0]
    _within(ranges, 0, len(index.pool) + 1, "a set of intervals")
    _require(bool((ranges[:, 0] < ranges[:, 1]).all()), "a set of intervals is empty")
    _check_keys(index, rows, known)
    _check_blocks(index, known)


def _check_keys(index: BitmapIndex, rows: int, attributes: int) -> None:
    signatures = len(index.signature_first) - 1
    _require(signatures >= 1, "there is no signature")
    _offsets(index.signature_first, signatures, len(index.signature_numbers), "signature_first")
    _within(index.signature_numbers, 0, attributes, "signature_numbers")
    partitions = len(index.partition_first) - 1
    _offsets(index.partition_first, partitions, rows, "partition_first")
    _require(len(index.partition_key) == partitions, "partition_key has a wrong length")
    longest = int(np.diff(index.signature_first).max(initial=0))
    _require(index.partition_key.shape[1] >= longest, "partition_key is too narrow")
    _offsets(index.table_first, signatures, len(index.table), "table_first")
    _within(index.table, -1, partitions, "table")
    for signature in range(signatures):
        first, last = int(index.table_first[signature]), int(index.table_first[signature + 1])
        size = last - first
        _require(size > 0 and size & (size - 1) == 0, "a hash table's size is no power of two")
        # A look-up ends at a free place; a full table would have none.
        _require(bool((index.table[first:last] < 0).any()), "a hash table is full")


def _check_blocks(index: BitmapIndex, attributes: int) -> None:
    _require(index.blocked_rows in index.partition_first, "blocked_rows is no partition's end")
    blocks = (index.blocked_rows + BLOCK_ROWS - 1) // BLOCK_ROWS
    _offsets(index.block_first, blocks, len(index.block_numbers), "block_first")
    _within(index.block_numbers, 0, attributes, "block_numbers")
    _require(len(index.lines) == len(index.block_numbers) * BUCKETS * WORDS, "lines have a wrong length")
    groups = len(index.group_block)
    _within(index.partition_group, -1, groups, "partition_group")
    _require(len(index.partition_group) == len(index.partition_first) - 1, "partition_group has a wrong length")
    _require(len(index.group_partition) == groups, "group_partition has a wrong length")
    _within(index.group_block[:, 0], 0, blocks + 1, "group_block")
    _within(index.group_block[:, 1], 0, blocks + 1, "group_block")
    spans = index.group_block[:, 1] - index.group_block[:, 0]
    _require(not groups or (spans.min() > 0 and spans.max() <= GROUP_BLOCKS), "group_block has a wrong span")
    _offsets(index.group_first, groups, len(index.group_numbers), "group_first")
    _within(index.group_numbers, 0, attributes, "group_numbers")
    _require(len(index.group_lines) == len(index.group_numbers) * BUCKETS * WORDS, "group_lines have a wrong length")
