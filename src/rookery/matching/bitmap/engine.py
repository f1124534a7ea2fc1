"""The bitmap engine: a packed index for most rows, and an unsorted tail for the newest.

Rule 1: adding a row sets its bits in the tail's last block (`tail.py`); nothing is rebuilt. When the tail has grown to
a quarter of the index (and at least to LEAST_TAIL), both are packed into a new index, so a row is packed a few times in
its life at most.
Rule 2: a removed row is not sought: its subscription is marked dead, and a dead one is never reported.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.matching.bitmap.build import BitmapIndex, build_index
from rookery.matching.bitmap.build_kernels import restore_keys
from rookery.matching.bitmap.kernels import match_events
from rookery.matching.bitmap.list_kernels import match_lists
from rookery.matching.bitmap.lists import restored
from rookery.matching.bitmap.tail import Tail
from rookery.matching.codes import CodeSpace
from rookery.matching.pieces import events_at_once
from rookery.matching.rows import Rows

__all__ = ["BitmapEngine"]

Array = np.ndarray[Any, Any]

LEAST_TAIL = 2048


class BitmapEngine:
    """Rows in a packed index plus a tail. It never changes: more rows are another engine, with the same index."""

    __slots__ = ("_index", "_tail")

    name = "bitmap"

    def __init__(self, index: BitmapIndex | None = None, tail: Tail | None = None) -> None:
        self._index = build_index(Rows.empty(), 1) if index is None else index
        self._tail = Tail.empty(self._index.cuts) if tail is None else tail

    @property
    def index(self) -> BitmapIndex:
        return self._index

    @property
    def tail_rows(self) -> int:
        return self._tail.index.row_count

    @property
    def nbytes(self) -> int:
        return self._index.nbytes + self._tail.nbytes

    def extended(self, rows: Rows, space: CodeSpace) -> BitmapEngine:
        """Return an engine with more rows, which are in the codes of a space."""
        if self.tail_rows + len(rows) > max(LEAST_TAIL, self._index.row_count // 4):
            return self.packed(Rows.concatenate([self.rows(), rows]), space)
        return BitmapEngine(self._index, self._tail.extended(rows, len(space)))

    def packed(self, rows: Rows, space: CodeSpace) -> BitmapEngine:
        """Return an engine with exactly these rows."""
        return BitmapEngine(build_index(rows, len(space), space.labels))

    def rows(self) -> Rows:
        """Return every row, the dead ones too."""
        return Rows.concatenate([index_rows(self._index), self._tail.rows()])

    def probe(self, codes: Array, alive: Array) -> Array:
        """Return the pairs `event << 32 | slot`; a pair may repeat where a subscription has several rows."""
        found = []
        size = events_at_once(codes.shape[1])
        for first in range(0, len(codes), size):
            chunk = codes[first : first + size]
            for part in (self._index, self._tail.index):
                if part.row_count:
                    pairs = _match(part, chunk, alive)
                    found.append(pairs + (first << 32) if first else pairs)
            if len(self._index.list_posting):
                pairs = _match_lists(self._index, chunk, alive)
                found.append(pairs + (first << 32) if first else pairs)
        found = [pairs for pairs in found if len(pairs)]
        if len(found) == 1:
            return found[0]
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


def _match_lists(index: BitmapIndex, codes: Array, alive: Array) -> Array:
    i = index
    pairs: Array = match_lists(
        codes, alive, i.list_numbers, i.list_keys, i.list_code, i.list_first, i.list_table, i.list_posting, i.slot,
        i.start, i.attribute, i.bounds, i.pool,
    )  # fmt: skip
    return pairs


def index_rows(index: BitmapIndex) -> Rows:
    """Return the rows of an index as they were given, keys and lists included."""
    keyed = index.listed_from
    end = int(index.start[keyed])
    start, attribute, bounds = restore_keys(
        index.partition_first,
        index.partition_key,
        index.partition_signature(),
        index.signature_first,
        index.signature_numbers,
        index.start[: keyed + 1],
        index.attribute[:end],
        index.bounds[:end],
    )
    rows = Rows(index.slot[:keyed], start, attribute, bounds, index.pool)
    if keyed == index.row_count:
        return rows
    rest = Rows(index.slot[keyed:], index.start[keyed:] - end, index.attribute[end:], index.bounds[end:], index.pool)
    return Rows.concatenate([rows.trimmed(), restored(rest.trimmed(), index.lists(), keyed)])
