"""The tail of the bitmap engine: the newest rows in the order they came, in one partition without a key.

Rule: a tail never changes for who reads it. It is an index over the first rows of arrays that have room for more. The
next tail writes its rows behind them, in the same arrays: a reader of this one looks at no row past its own count, and
in a line at no bit of one. Who would write where another has written already takes arrays of its own.

Its rows keep the predicates that an index files them under, so the cut points of those come from the keys of the index
that it stands behind: what is filed there under few keys, as a rule, is here excluded by its lines.

Of the attributes that all its rows want to equal something, the values are marked, each by a bit of a hash. An event
whose value is not marked is none of this tail's, and most are left out so before any line is looked at. Marks are only
ever added: for who reads an earlier tail there may be some too many, which cost time and no match.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from rookery.matching.bitmap.build import BLOCK_ATTRIBUTES, DIRECT_ROWS, BitmapIndex, line_words, quantiles
from rookery.matching.bitmap.build_kernels import fill_row
from rookery.matching.bitmap.kernels import BLOCK_ROWS, BUCKETS, CUTS
from rookery.matching.bitmap.lists import ListKeys
from rookery.matching.bitmap.positions import PositionGrid
from rookery.matching.bitmap.tail_kernels import MARK_WORDS, mark_row, marked_events
from rookery.matching.kernels import ATTRIBUTE_MASK, SET_FLAG
from rookery.matching.rows import Rows

__all__ = ["Tail"]

Array = np.ndarray[Any, Any]

#: Places of a table of keys that are looked at for cut points.
KEY_SAMPLE = 4096
#: Attributes whose values are marked, and how many of them an event is looked at for: those of most values.
MARKED, ASKED = 8, 2

_NONE = np.empty(0, np.int64)
_NO_PAIRS = np.empty((0, 2), np.int64)
_NO_LINES = np.empty(0, np.uint64)
_NO_PARTS: dict[str, Any] = {
    field.name: getattr(part, field.name) for part in (ListKeys.none(), PositionGrid.none()) for field in fields(part)
}


class Tail:
    """Rows with lines that are filled as they come."""

    __slots__ = ("_arrays", "_asked", "_lines", "_marks", "index")

    def __init__(self, index: BitmapIndex, arrays: _Arrays) -> None:
        self.index = index
        self._arrays = arrays
        self._lines, self._marks = arrays.asked(), arrays.marks
        #: The attributes that an event is looked at for, and their lines of marks.
        self._asked = arrays.marked[self._lines]

    @classmethod
    def behind(cls, index: BitmapIndex) -> Tail:
        """Return a tail without rows behind an index."""
        return _Arrays(_cuts(index)).tail()

    @property
    def nbytes(self) -> int:
        return self._arrays.nbytes

    def wanted(self, codes: Array) -> Array | None:
        """Return the events that a row may hold for, ascending; None says that it may be any."""
        if not len(self._asked):
            return None
        events = np.empty(len(codes), np.int64)
        return events[: marked_events(codes, self._asked, self._lines, self._marks, events)]

    def rows(self) -> Rows:
        index = self.index
        return Rows(index.slot, index.start, index.attribute, index.bounds, index.pool)

    def extended(self, rows: Rows, attributes: int) -> Tail:
        """Return a tail with more rows, whose attributes are numbered below `attributes`."""
        arrays = self._arrays
        if arrays.rows != self.index.row_count:  # somebody else has gone on from here
            arrays = _Arrays(self.index.cuts)
            arrays.write(self.rows(), attributes)
        arrays.write(rows, attributes)
        return arrays.tail()


class _Arrays:
    """What successive tails share: arrays with room behind their rows. Used by the one who edits alone."""

    __slots__ = (
        "attribute", "block_first", "block_numbers", "bounds", "cuts", "lines", "marked", "marked_rows", "marks",
        "places", "pool", "pooled", "rows", "slot", "start", "uses", "values",
    )  # fmt: skip

    def __init__(self, cuts: Array) -> None:
        self.cuts = cuts
        self.rows = self.places = self.pooled = 0
        self.slot, self.start = np.empty(0, np.int32), np.zeros(1, np.int64)
        self.attribute = np.empty(0, np.uint16)
        self.bounds, self.pool = _NO_PAIRS, _NO_PAIRS
        self.block_first, self.block_numbers, self.lines = np.zeros(1, np.int64), _NONE, _NO_LINES
        self.uses = np.zeros(len(cuts), np.int64)  # how many rows test each attribute
        self._mark(_NONE)

    def _mark(self, numbers: Array) -> None:
        """Mark the values of these attributes from now on."""
        self.marked, self.marks = numbers, np.zeros((len(numbers), MARK_WORDS), np.uint64)
        #: How many rows want each of them to equal something, and how many values.
        self.marked_rows, self.values = np.zeros(len(numbers), np.int64), np.zeros(len(numbers), np.int64)

    def asked(self) -> Array:
        """Return the lines of marks that tell events: of the attributes that all rows want to equal something."""
        every = np.flatnonzero(self.marked_rows == self.rows)
        return every[np.argsort(-self.values[every], kind="stable")][:ASKED]

    @property
    def nbytes(self) -> int:
        sizes = (
            self.slot, self.start, self.attribute, self.bounds, self.pool, self.lines, self.block_numbers, self.marks,
        )  # fmt: skip
        return sum(array.nbytes for array in sizes)

    def write(self, rows: Rows, attributes: int) -> None:
        """Write rows behind those that are there."""
        if attributes > len(self.cuts):
            missing = attributes - len(self.cuts)
            # An attribute that the index never saw has no cut points yet: one bucket, nothing excluded but NULL.
            self.cuts = np.concatenate([self.cuts, np.full((missing, CUTS), np.iinfo(np.int64).max, np.int64)])
            self.uses = np.concatenate([self.uses, np.zeros(missing, np.int64)])
        self.uses = self.uses + np.bincount(rows.attribute & ATTRIBUTE_MASK, minlength=len(self.uses))
        before, places, pooled = self.rows, self.places, self.pooled
        self.rows, self.places = before + len(rows), places + len(rows.attribute)
        self.slot = _with_room(self.slot, before, self.rows)
        self.start = _with_room(self.start, before + 1, self.rows + 1)
        self.attribute = _with_room(self.attribute, places, self.places)
        self.bounds = _with_room(self.bounds, places, self.places)
        self.slot[before : self.rows] = rows.slot
        self.start[before + 1 : self.rows + 1] = rows.start[1:] + places
        self.attribute[places : self.places] = rows.attribute
        bounds = self.bounds[places : self.places]
        bounds[:] = rows.bounds
        flagged = (rows.attribute & SET_FLAG) != 0
        if flagged.any():
            self.pooled = pooled + len(rows.pool)
            self.pool = _with_room(self.pool, pooled, self.pooled)
            self.pool[pooled : self.pooled] = rows.pool
            bounds[flagged] += pooled
        if not before and len(rows):  # no attribute can be one of all rows that is not one of the first
            first = slice(0, int(self.start[1]))
            points = (self.bounds[first, 0] == self.bounds[first, 1]) & ((self.attribute[first] & SET_FLAG) == 0)
            self._mark(self.attribute[first][points].astype(np.int64)[:MARKED])
        for row in range(before, self.rows):
            mark_row(
                row, self.start, self.attribute, self.bounds, self.marked, self.marks, self.marked_rows, self.values
            )
            block = row // BLOCK_ROWS
            if row % BLOCK_ROWS == 0:
                self._open_block()
            fill_row(
                row, self.block_first[block], self.block_first[block + 1], self.block_numbers, self.start,
                self.attribute, self.bounds, self.pool, self.cuts, self.lines,
            )  # fmt: skip

    def _open_block(self) -> None:
        """Begin a block: its lines are for the attributes that most rows of the tail test."""
        used = np.flatnonzero(self.uses)
        numbers = used[np.argsort(-self.uses[used], kind="stable")][:BLOCK_ATTRIBUTES]
        self.block_numbers = np.concatenate([self.block_numbers, numbers])
        self.block_first = np.append(self.block_first, len(self.block_numbers))
        lines = line_words(len(self.block_numbers) * BUCKETS)
        lines[: len(self.lines)] = self.lines
        self.lines = lines

    def tail(self) -> Tail:
        """Return the rows as they stand, as an index of one partition."""
        index = BitmapIndex(
            cuts=self.cuts,
            signature_first=np.zeros(2, np.int64),
            signature_numbers=_NONE,
            key_low=_NONE,
            key_span=_NONE,
            table_first=np.array([0, 2], np.int64),
            table=np.zeros(2, np.int32),  # both places lead to the one partition
            partition_key=np.zeros((1, 1), np.int64),
            partition_first=np.array([0, self.rows], np.int64),
            partition_group=np.array([-1], np.int32),
            block_first=self.block_first,
            block_numbers=self.block_numbers,
            lines=self.lines,
            group_partition=_NONE,
            group_block=_NO_PAIRS,
            group_first=np.zeros(1, np.int64),
            group_numbers=_NONE,
            group_lines=_NO_LINES,
            slot=self.slot[: self.rows],
            start=self.start[: self.rows + 1],
            attribute=self.attribute[: self.places],
            bounds=self.bounds[: self.places],
            pool=self.pool[: self.pooled],
            **_NO_PARTS,
            seed=0,
            blocked_rows=self.rows if self.rows > DIRECT_ROWS else 0,
        )
        return Tail(index, self)


def _cuts(index: BitmapIndex) -> Array:
    """Return the cut points of an index, and others for the attributes of its keys."""
    cuts, values = index.cuts.copy(), dict[int, list[Array]]()
    for signature in range(len(index.signature_first) - 1):
        first, last = index.signature_first[signature : signature + 2]
        begin = index.table_first[signature]
        filed = index.table[begin : min(begin + KEY_SAMPLE, index.table_first[signature + 1])]
        for place, number in enumerate(index.signature_numbers[first:last].tolist()):
            values.setdefault(number, []).append(index.partition_key[filed[filed >= 0], place])
    for number, parts in values.items():
        points = np.sort(np.concatenate(parts))
        if len(points):
            cuts[number] = quantiles(points)
    return cuts


def _with_room(array: Array, used: int, needed: int) -> Array:
    """Return an array with room for `needed` items, of which the first `used` are those of `array`."""
    if needed <= len(array):
        return array
    larger = np.zeros((max(needed, 2 * len(array), 64), *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger
