"""The seed's algorithms in plain Python: lists, dictionaries and integers as sets of rows.

They are the twins of the kernels, and the interpreted form in which seed 004's figures can be looked at: whoever writes
the algorithm down from its abstract writes something like this. `tests` counts the predicates that were evaluated.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any

import numpy as np

from rookery.matching.baselines.predicates import distinct_predicates
from rookery.matching.kernels import ATTRIBUTE_MASK, SET_FLAG
from rookery.matching.rows import Rows

__all__ = ["PlainCounting", "PlainIndex", "PlainMatrix", "PlainScan"]

Array = np.ndarray[Any, Any]


class _Predicate:
    """An attribute's number and the closed intervals of codes that satisfy it."""

    __slots__ = ("attribute", "intervals", "is_set", "rows")

    def __init__(self, attribute: int, bounds: list[int], pool: list[list[int]], rows: list[int]) -> None:
        self.attribute = attribute & ATTRIBUTE_MASK
        self.is_set = bool(attribute & SET_FLAG)
        self.intervals = pool[bounds[0] : bounds[1]] if self.is_set else [bounds]
        self.rows = rows

    def holds(self, code: int) -> bool:
        return any(low <= code <= high for low, high in self.intervals)

    def covers(self, other: _Predicate) -> bool:
        """Say whether `other` true implies this true; sets of intervals are left out, as in the kernels."""
        if self.is_set or other.is_set or self.attribute != other.attribute:
            return False
        (low, high), (inner_low, inner_high) = self.intervals[0], other.intervals[0]
        return low <= inner_low and inner_high <= high


class _Plain:
    """What the three share: the rows' slots and sizes, and the distinct predicates with the rows that have them."""

    def __init__(self, rows: Rows, attributes: int) -> None:
        found = distinct_predicates(rows)
        starts, posted, pool = found.post_start.tolist(), found.post_row.tolist(), found.pool.tolist()
        self.slots: list[int] = rows.slot.tolist()
        self.sizes: list[int] = np.diff(rows.start).tolist()
        self.predicates = [
            _Predicate(attribute, bounds, pool, posted[starts[number] : starts[number + 1]])
            for number, (attribute, bounds) in enumerate(
                zip(found.attribute.tolist(), found.bounds.tolist(), strict=True)
            )
        ]
        self.tests = 0

    @property
    def nbytes(self) -> int:
        """Not known for Python's objects."""
        return 0

    def probe(self, codes: Array, alive: Array) -> Array:
        """Return the pairs `event << 32 | slot`."""
        living = alive.tolist()
        pairs = [
            event << 32 | self.slots[row]
            for event, code in enumerate(codes.tolist())
            for row in self.matching_rows(code)
            if living[self.slots[row]]
        ]
        return np.array(pairs, np.int64)

    def matching_rows(self, codes: list[int]) -> list[int]:
        """Return the rows that one event satisfies."""
        raise NotImplementedError


class PlainScan(_Plain):
    """Every predicate of every row, until one fails."""

    def __init__(self, rows: Rows, attributes: int) -> None:
        super().__init__(rows, attributes)
        self._of_row: list[list[_Predicate]] = [[] for _ in self.slots]
        for predicate in self.predicates:
            for row in predicate.rows:
                self._of_row[row].append(predicate)

    def matching_rows(self, codes: list[int]) -> list[int]:
        found = []
        for row, predicates in enumerate(self._of_row):
            for predicate in predicates:
                self.tests += 1
                if not predicate.holds(codes[predicate.attribute]):
                    break
            else:
                found.append(row)
        return found


class PlainCounting(_Plain):
    """Every distinct predicate once; a row whose count is complete matches."""

    def matching_rows(self, codes: list[int]) -> list[int]:
        counts = [0] * len(self.slots)
        for predicate in self.predicates:
            self.tests += 1
            if predicate.holds(codes[predicate.attribute]):
                for row in predicate.rows:
                    counts[row] += 1
        return [row for row, count in enumerate(counts) if count == self.sizes[row]]


class PlainIndex(_Plain):
    """By attribute: predicates for one value by search, the others as far as their lower end reaches."""

    def __init__(self, rows: Rows, attributes: int) -> None:
        super().__init__(rows, attributes)
        self._points: list[list[tuple[int, int]]] = [[] for _ in range(attributes)]
        self._ranges: list[list[tuple[int, int]]] = [[] for _ in range(attributes)]
        for number, predicate in enumerate(self.predicates):
            low, high = predicate.intervals[0][0], predicate.intervals[-1][1]
            is_point = low == high and not predicate.is_set
            (self._points if is_point else self._ranges)[predicate.attribute].append((low, number))
        for listed in (*self._points, *self._ranges):
            listed.sort()

    def matching_rows(self, codes: list[int]) -> list[int]:
        counts = [0] * len(self.slots)
        satisfied = []
        for code, points, ranges in zip(codes, self._points, self._ranges, strict=True):
            self.tests += bool(points)
            for _, number in points[bisect_left(points, (code, -1)) : bisect_left(points, (code + 1, -1))]:
                satisfied.append(self.predicates[number])
            for _, number in ranges[: bisect_right(ranges, (code, len(self.predicates)))]:
                self.tests += 1
                if self.predicates[number].holds(code):
                    satisfied.append(self.predicates[number])
        for predicate in satisfied:
            for row in predicate.rows:
                counts[row] += 1
        return [row for row, count in enumerate(counts) if count == self.sizes[row]]


class PlainMatrix(_Plain):
    """Seed 004: a failed predicate deletes its rows and those of what it covers; common columns come first.

    `rank` gives another order of the columns, from the number of rows that hold one and the first of them.
    """

    def __init__(
        self, rows: Rows, attributes: int, *, rank: Callable[[int, int], Any] = lambda count, first: -count
    ) -> None:
        super().__init__(rows, attributes)
        columns = sorted(self.predicates, key=lambda one: rank(len(one.rows), one.rows[0]))
        held = [sum(1 << row for row in one.rows) for one in columns]
        self._everyone = (1 << len(self.slots)) - 1
        self._columns: list[tuple[int, int, _Predicate]] = []
        for number, predicate in enumerate(columns):
            doomed = held[number]
            for other, covered in enumerate(columns):
                if other != number and predicate.covers(covered):
                    doomed |= held[other]
            self._columns.append((held[number], ~doomed, predicate))

    def matching_rows(self, codes: list[int]) -> list[int]:
        live = self._everyone
        for rows, kept, predicate in self._columns:
            if not live & rows:
                continue
            self.tests += 1
            if not predicate.holds(codes[predicate.attribute]):
                live &= kept
                if not live:
                    return []
        found = []
        while live:
            lowest = live & -live
            found.append(lowest.bit_length() - 1)
            live ^= lowest
        return found
