"""The bitmap engine: a packed index for most rows, and an unsorted tail for the newest.

Rule 1: adding a row sets its bits in the tail's last block; nothing is rebuilt. When the tail has grown to a quarter
of the index (and at least to LEAST_TAIL), both are packed into a new index, so a row is packed a few times in its
life at most.
Rule 2: a removed row is not sought: its subscription is marked dead, and a dead one is never reported.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.matching.bitmap.build import BLOCK_ATTRIBUTES, DIRECT_ROWS, BitmapIndex, build_index, line_words
from rookery.matching.bitmap.build_kernels import fill_row, restore_keys
from rookery.matching.bitmap.kernels import BLOCK_ROWS, BUCKETS, CUTS, match_events
from rookery.matching.kernels import ATTRIBUTE_MASK
from rookery.matching.rows import Rows

__all__ = ["CHUNK_EVENTS", "BitmapEngine"]

Array = np.ndarray[Any, Any]

#: Events matched at a time: their codes stay in the second-level cache while the blocks pass by.
CHUNK_EVENTS = 2048
LEAST_TAIL = 2048


class BitmapEngine:
    """Rows in a packed index plus a tail."""

    __slots__ = ("_index", "_tail")

    name = "bitmap"

    def __init__(self, index: BitmapIndex | None = None) -> None:
        self._index = build_index(Rows.empty(), 1) if index is None else index
        self._tail = _Tail(self._index.cuts)

    @property
    def index(self) -> BitmapIndex:
        return self._index

    @property
    def tail_rows(self) -> int:
        return self._tail.count

    @property
    def nbytes(self) -> int:
        return self._index.nbytes + self._tail.nbytes

    def insert(self, rows: Rows, attributes: int) -> None:
        """Add rows, whose attributes are numbered below `attributes`."""
        if self._tail.count + len(rows) > max(LEAST_TAIL, self._index.row_count // 4):
            self.replace(Rows.concatenate([self.rows(), rows]), attributes)
        else:
            self._tail.append(rows, attributes)

    def replace(self, rows: Rows, attributes: int) -> None:
        """Pack these rows, and forget all others."""
        self._index = build_index(rows, attributes)
        self._tail = _Tail(self._index.cuts)

    def rows(self) -> Rows:
        """Return every row, the dead ones too."""
        return Rows.concatenate([index_rows(self._index), self._tail.rows()])

    def probe(self, codes: Array, alive: Array) -> Array:
        """Return the pairs `event << 32 | slot`; a pair may repeat where a subscription has several rows."""
        found = []
        for first in range(0, len(codes), CHUNK_EVENTS):
            chunk = codes[first : first + CHUNK_EVENTS]
            for part in (self._index, self._tail.index()):
                if part.row_count:
                    pairs = _match(part, chunk, alive)
                    found.append(pairs + (first << 32) if first else pairs)
        return np.concatenate(found) if found else np.empty(0, np.int64)


def _match(index: BitmapIndex, codes: Array, alive: Array) -> Array:
    i = index
    pairs: Array = match_events(
        codes, alive, i.cuts, i.signature_first, i.signature_numbers, i.table_first, i.table, i.seed, i.partition_key,
        i.partition_first, i.blocked_rows, i.partition_group, i.block_first, i.block_numbers, i.lines,
        i.group_partition, i.group_block,
        i.group_first, i.group_numbers, i.group_lines, i.slot, i.start, i.attribute, i.bounds, i.pool,
    )  # fmt: skip
    return pairs


def index_rows(index: BitmapIndex) -> Rows:
    """Return the rows of an index as they were given, keys included."""
    start, attribute, bounds = restore_keys(
        index.partition_first,
        index.partition_key,
        index.partition_signature(),
        index.signature_first,
        index.signature_numbers,
        index.start,
        index.attribute,
        index.bounds,
    )
    return Rows(index.slot, start, attribute, bounds, index.pool)


class _Tail:
    """Rows in the order they came, in one partition without a key, with lines that are filled as they come."""

    __slots__ = ("_attributes", "_block_first", "_block_numbers", "_cuts", "_index", "_lines", "_parts", "count")

    def __init__(self, cuts: Array) -> None:
        self._cuts = cuts
        self._parts = Rows.empty()
        self._block_first = np.zeros(1, np.int64)
        self._block_numbers = np.empty(0, np.int64)
        self._lines = np.empty(0, np.uint64)
        self._attributes = np.zeros(len(cuts), np.int64)  # how many of the tail's rows test each attribute
        self._index: BitmapIndex | None = None
        self.count = 0

    @property
    def nbytes(self) -> int:
        return self._parts.nbytes + self._lines.nbytes

    def rows(self) -> Rows:
        return self._parts

    def append(self, rows: Rows, attributes: int) -> None:
        if attributes > len(self._cuts):
            missing = attributes - len(self._cuts)
            # An attribute that the index never saw has no cut points yet: one bucket, nothing excluded but NULL.
            self._cuts = np.concatenate([self._cuts, np.full((missing, CUTS), np.iinfo(np.int64).max, np.int64)])
            self._attributes = np.concatenate([self._attributes, np.zeros(missing, np.int64)])
        np.add.at(self._attributes, rows.attribute & ATTRIBUTE_MASK, 1)
        before = self.count
        self._parts = Rows.concatenate([self._parts, rows])
        self.count += len(rows)
        for row in range(before, self.count):
            block = row // BLOCK_ROWS
            if row % BLOCK_ROWS == 0:
                self._open_block()
            parts = self._parts
            fill_row(
                row,
                self._block_first[block],
                self._block_first[block + 1],
                self._block_numbers,
                parts.start,
                parts.attribute,
                parts.bounds,
                parts.pool,
                self._cuts,
                self._lines,
            )
        self._index = None

    def _open_block(self) -> None:
        used = np.flatnonzero(self._attributes)
        numbers = used[np.argsort(-self._attributes[used], kind="stable")][:BLOCK_ATTRIBUTES]
        self._block_numbers = np.concatenate([self._block_numbers, numbers])
        self._block_first = np.append(self._block_first, len(self._block_numbers))
        lines = line_words(len(self._block_numbers) * BUCKETS)
        lines[: len(self._lines)] = self._lines
        self._lines = lines

    def index(self) -> BitmapIndex:
        if self._index is None:
            blocked = self.count if self.count > DIRECT_ROWS else 0
            none = np.empty(0, np.int64)
            parts = self._parts
            self._index = BitmapIndex(
                cuts=self._cuts,
                signature_first=np.zeros(2, np.int64),
                signature_numbers=none,
                table_first=np.array([0, 2], np.int64),
                table=np.zeros(2, np.int32),  # both places lead to the one partition
                partition_key=np.zeros((1, 1), np.int64),
                partition_first=np.array([0, self.count], np.int64),
                partition_group=np.array([-1], np.int32),
                block_first=self._block_first,
                block_numbers=self._block_numbers,
                lines=self._lines,
                group_partition=none,
                group_block=np.empty((0, 2), np.int64),
                group_first=np.zeros(1, np.int64),
                group_numbers=none,
                group_lines=np.empty(0, np.uint64),
                slot=parts.slot,
                start=parts.start,
                attribute=parts.attribute,
                bounds=parts.bounds,
                pool=parts.pool,
                seed=0,
                blocked_rows=blocked,
            )
        return self._index
