"""Which rows an event may satisfy, as bits, in Spark's own expressions: sharper than the union of their ranges.

Theory. A row is a bit. The span of a column's ends is cut into cells, and a cell has the bits of all rows that want
some value in it, a row that does not bound the column has its bit everywhere. An event looks up one word for each
column; where all words share a bit, some row may want it. That is a look-up for each column however many rows a word
holds, where the comparisons of thirty rows are more than the JVM compiles (`native.LONG_LOOP`). It is for some hundred
rows at the most: of a thousand, most events satisfy some cell of each column.

Rule: never a lost match. The number of a cell is a double that is rounded at each step, in Spark as here, and rounding
keeps the order of values; so the cells of a range's two ends and those between hold all of it. What lies below or above
all ends, NULL, and NaN (above every number in Spark) have a word each.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from rookery.matching.ranges import AttributeRanges
from rookery.model.types import Key, key_float
from rookery.spark.carriers import RecentValues
from rookery.spark.range_sql import SqlLeaf
from rookery.spark.sql_rows import SqlRows

__all__ = ["MOST_ROWS", "RowMasks", "row_masks"]

Array = np.ndarray[Any, Any]

#: Rows of a word (the sign is left out) and of all words; and cells of a column.
WORD, MOST_ROWS, CELLS = 63, 252, 128
#: The part of the events from which on nothing is asked: a look-up in vain.
MOST_KEPT = 0.8
#: Kinds of columns that have cells.
NUMBERS = ("integer", "float", "double")


@dataclass(frozen=True, slots=True)
class RowMasks:
    """The condition, how many words an event looks up, and the part of evenly spread events that it keeps."""

    condition: str
    words: int
    kept: float


@dataclass(frozen=True, slots=True)
class _Cells:
    """The cells between the least and the greatest end of a column, so many for each unit."""

    first: float
    last: float
    scale: float

    @property
    def count(self) -> int:
        return self.of(self.last) + 1

    def of(self, value: float) -> int:
        """Return the cell of a value between the ends; `look_up` says the same in Spark."""
        return int((value - self.first) * self.scale)

    def look_up(self, leaf: SqlLeaf, words: list[int]) -> str:
        """Return the word of an event: `words` are those below the ends, of the cells, above the ends and of NULL."""
        value = leaf.column if leaf.kind == "double" else f"cast({leaf.column} as double)"
        below, *inside, above, null = (f"{word}L" for word in words)
        cell = f"cast(({value} - {self.first!r}D) * {self.scale!r}D as int)"
        return (
            f"case when {value} >= {self.last!r}D then {above} when {value} >= {self.first!r}D "
            f"then get(array({', '.join(inside)}), {cell}) when {value} < {self.first!r}D then {below} else {null} end"
        )


_made: RecentValues[tuple[SqlRows, RowMasks | None]] = RecentValues()


def row_masks(rows: SqlRows) -> RowMasks | None:
    """Return the condition of a set of few rows that bound numbers; None where it would keep nearly everything."""
    return _made(id(rows), lambda: (rows, _make(rows)))[1]


def _make(rows: SqlRows) -> RowMasks | None:
    alive = np.flatnonzero(rows.alive)
    if not 0 < len(alive) <= MOST_ROWS:
        return None
    places = np.full(len(rows.slot), -1)
    places[alive] = np.arange(len(alive))
    kept = np.ones(len(alive))
    columns = []
    for leaf, ranges in rows.bounded:
        cells = _cells(leaf, ranges)
        if cells is not None:
            held = _held(leaf, ranges, cells, places, len(alive))
            outside = CELLS / 8 * (held[:, 0].astype(np.int64) + held[:, -2])  # an eighth of the events at each side
            kept *= (held[:, 1:-2].sum(axis=1) + outside) / (cells.count + CELLS / 4)
            columns.append((leaf, cells, held))
    part = min(1.0, float(kept.sum()))
    if part > MOST_KEPT:
        return None
    conditions = []
    for begin in range(0, len(alive), WORD):
        looked = [cells.look_up(leaf, _words(held[begin : begin + WORD])) for leaf, cells, held in columns]
        conditions.append(f"({' & '.join(f'({one})' for one in looked)}) <> 0L")
    return RowMasks(" or ".join(conditions), len(columns) * len(conditions), part)


def _end(leaf: SqlLeaf, key: Key | None, *, free: float) -> float:
    """Return an end as the double that Spark makes of the value; `free` where there is none."""
    if key is None:
        return free
    return float(key) if leaf.kind == "integer" else key_float(key)


def _cells(leaf: SqlLeaf, ranges: AttributeRanges) -> _Cells | None:
    """Return the cells of a column; None where it has no numbers, or no ends that doubles can divide."""
    if leaf.kind not in NUMBERS:
        return None
    ends = [_end(leaf, key, free=inf) for key in (*ranges.lower, *ranges.upper)]
    ends = [end for end in ends if isfinite(end)]
    if not ends:
        return None
    first, last = min(ends), max(ends)
    if first == last:
        last = first + max(1.0, abs(first))
    width = last - first
    scale = CELLS / width if isfinite(width) and width else inf
    return _Cells(first, last, scale) if isfinite(scale) and scale else None


def _held(leaf: SqlLeaf, ranges: AttributeRanges, cells: _Cells, places: Array, count: int) -> Array:
    """Return what rows want: a line for each, below the ends, by cell, above the ends, and NULL."""
    held = np.zeros((count, cells.count + 3), np.bool_)
    named = np.zeros(count, np.bool_)
    for row, null, low, high in zip(ranges.row.tolist(), ranges.null, ranges.lower, ranges.upper, strict=True):
        place = places[row]
        if place < 0:
            continue
        named[place] = True
        line = held[place]
        if null:
            line[-1] = line[-2] = True  # NaN is NULL, and above all ends in Spark
            continue
        least, greatest = _end(leaf, low, free=-inf), _end(leaf, high, free=inf)
        line[0] |= least < cells.first
        line[-2] |= greatest >= cells.last
        if greatest >= cells.first and least <= cells.last:
            line[1 + cells.of(max(least, cells.first)) : 2 + cells.of(min(greatest, cells.last))] = True
    held[~named] = True
    return held


def _words(held: Array) -> list[int]:
    """Return the bits of up to `WORD` rows as a word for each column of `held`."""
    words: list[int] = (held.T.astype(np.int64) << np.arange(len(held))).sum(axis=1).tolist()
    return words
