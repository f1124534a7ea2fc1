"""The seed's algorithms in plain Python: lists, dictionaries and integers as sets of rows.

They are the twins of the kernels, and the interpreted form in which seed 004's figures can be looked at: whoever writes
the algorithm down from its abstract writes something like this. `tests` counts the predicates that were looked at.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any

import numpy as np

from rookery.matching.baselines.kernels import EQUAL, LEAST, MOST, OTHER
from rookery.matching.baselines.predicates import Domains, Predicates, distinct_predicates
from rookery.matching.baselines.topics import classify
from rookery.matching.rows import Rows

__all__ = ["PlainCounting", "PlainIndex", "PlainMatrix", "PlainScan"]

Array = np.ndarray[Any, Any]


class _Predicate:
    """An attribute's number and the closed intervals of codes that satisfy it."""

    __slots__ = ("attribute", "intervals", "kind", "rows")

    def __init__(self, attribute: int, kind: int, intervals: list[list[int]], rows: list[int]) -> None:
        self.attribute, self.kind, self.intervals, self.rows = attribute, kind, intervals, rows

    def holds(self, code: int) -> bool:
        return any(low <= code <= high for low, high in self.intervals)

    def covers(self, other: _Predicate) -> bool:
        """Say whether `other`, on the same attribute, implies this: each of its intervals lies in one of mine."""
        if len(self.intervals) == len(other.intervals) == 1:
            (low, high), (inner_low, inner_high) = self.intervals[0], other.intervals[0]
            return low <= inner_low and inner_high <= high
        return all(
            any(low <= inner_low and inner_high <= high for low, high in self.intervals)
            for inner_low, inner_high in other.intervals
        )


def _predicates(found: Predicates) -> list[list[_Predicate]]:
    """Return the distinct predicates of each group."""
    groups: list[list[_Predicate]] = [[] for _ in range(int(found.group.max(initial=-1)) + 1)]
    starts, posted, pool = found.post_start.tolist(), found.post_row.tolist(), found.pool.tolist()
    fields = (found.group, found.attribute, found.kind, found.bounds, found.is_set)
    for place, (group, attribute, kind, bounds, is_set) in enumerate(
        zip(*(one.tolist() for one in fields), strict=True)
    ):
        intervals = pool[bounds[0] : bounds[1]] if is_set else [bounds]
        groups[group].append(_Predicate(attribute, kind, intervals, posted[starts[place] : starts[place + 1]]))
    return groups


class _Class:
    """The rows of one topic: how many predicates each has, and the distinct ones. Rows are numbered from 0 here."""

    def __init__(self, rows: Rows, predicates: list[_Predicate], sizes: list[int]) -> None:
        self.slots: list[int] = rows.slot.tolist()
        self.predicates, self.sizes = predicates, sizes
        self.tests = 0

    def matching_rows(self, codes: list[int]) -> list[int]:
        """Return the rows that one event satisfies."""
        raise NotImplementedError

    def complete(self, satisfied: list[_Predicate]) -> list[int]:
        """Return the rows all of whose predicates are satisfied."""
        counts = [0] * len(self.slots)
        for predicate in satisfied:
            for row in predicate.rows:
                counts[row] += 1
        return [row for row, count in enumerate(counts) if count == self.sizes[row]]


class _Plain:
    """What the four share: classes by topic, and the one that every event visits."""

    def __init__(self, rows: Rows, domains: Domains, make: Callable[[Rows, list[_Predicate], list[int]], _Class]):
        found = classify(rows, domains.topic)
        self._topic = found.topic
        classes = []
        for first, last in zip(found.first[:-1].tolist(), found.first[1:].tolist(), strict=True):
            mine = found.rows.take(np.arange(first, last))
            distinct = distinct_predicates(mine, np.array([0, len(mine)]), domains)
            classes.append(make(mine, (_predicates(distinct) or [[]])[0], distinct.sizes.tolist()))
        self._common = classes[0]
        self._by_topic = {code: classes[number] for code, number in found.topics.tolist() if number}

    @property
    def nbytes(self) -> int:
        """Not known for Python's objects."""
        return 0

    @property
    def tests(self) -> int:
        """The predicates that were looked at so far."""
        return sum(one.tests for one in (self._common, *self._by_topic.values()))

    def probe(self, codes: Array, alive: Array) -> Array:
        """Return the pairs `event << 32 | slot`."""
        living, pairs = alive.tolist(), []
        for event, code in enumerate(codes.tolist()):
            mine = self._by_topic.get(code[self._topic]) if self._by_topic else None
            for one in (self._common,) if mine is None else (self._common, mine):
                slots = one.slots
                pairs += [event << 32 | slots[row] for row in one.matching_rows(code) if living[slots[row]]]
        return np.array(pairs, np.int64)


class PlainScan(_Plain):
    """Every predicate of every row, until one fails."""

    class Class(_Class):
        def __init__(self, rows: Rows, predicates: list[_Predicate], sizes: list[int]) -> None:
            super().__init__(rows, predicates, sizes)
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

    def __init__(self, rows: Rows, domains: Domains) -> None:
        super().__init__(rows, domains, self.Class)


class PlainCounting(_Plain):
    """Every distinct predicate once; a row whose count is complete matches."""

    class Class(_Class):
        def matching_rows(self, codes: list[int]) -> list[int]:
            self.tests += len(self.predicates)
            return self.complete([one for one in self.predicates if one.holds(codes[one.attribute])])

    def __init__(self, rows: Rows, domains: Domains) -> None:
        super().__init__(rows, domains, self.Class)


class PlainIndex(_Plain):
    """By attribute and kind: sorted limits, of which a search finds those that are satisfied; sets one by one."""

    class Class(_Class):
        def __init__(self, rows: Rows, predicates: list[_Predicate], sizes: list[int]) -> None:
            super().__init__(rows, predicates, sizes)
            groups: dict[tuple[int, int], list[_Predicate]] = {}
            for predicate in predicates:  # by attribute, kind and limit already
                groups.setdefault((predicate.attribute, predicate.kind), []).append(predicate)
            self._groups = [
                (attribute, kind, mine, [one.intervals[0][kind == MOST] for one in mine])
                for (attribute, kind), mine in groups.items()
            ]

        def matching_rows(self, codes: list[int]) -> list[int]:
            satisfied: list[_Predicate] = []
            for attribute, kind, predicates, limits in self._groups:
                code = codes[attribute]
                if kind == LEAST:
                    found = predicates[: bisect_right(limits, code)] if code <= predicates[0].intervals[0][1] else []
                elif kind == MOST:
                    found = predicates[bisect_left(limits, code) :] if code >= predicates[0].intervals[0][0] else []
                elif kind == EQUAL:
                    found = predicates[bisect_left(limits, code) : bisect_right(limits, code)]
                else:
                    found = [one for one in predicates if one.holds(code)]
                self.tests += len(predicates) if kind == OTHER else len(limits).bit_length() + len(found)
                satisfied += found
            return self.complete(satisfied)

    def __init__(self, rows: Rows, domains: Domains) -> None:
        super().__init__(rows, domains, self.Class)


class PlainMatrix(_Plain):
    """Seed 004: a failed predicate deletes its rows and those of what it covers; common columns come first.

    `rank` gives another order of the columns, from the number of rows that hold one and the first of them.
    """

    class Class(_Class):
        def __init__(
            self, rows: Rows, predicates: list[_Predicate], sizes: list[int], rank: Callable[[int, int], Any]
        ) -> None:
            super().__init__(rows, predicates, sizes)
            columns = sorted(predicates, key=lambda one: rank(len(one.rows), one.rows[0]))
            self._everyone = (1 << len(self.slots)) - 1
            alike: dict[int, list[tuple[int, _Predicate]]] = {}
            for one in columns:
                alike.setdefault(one.attribute, []).append((sum(1 << row for row in one.rows), one))
            self._columns: list[tuple[int, int, _Predicate]] = []
            for predicate in columns:
                held = doomed = 0
                for rows_of_other, other in alike[predicate.attribute]:
                    if other is predicate:
                        held = rows_of_other
                    if predicate.covers(other):
                        doomed |= rows_of_other
                self._columns.append((held, ~doomed, predicate))

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

    def __init__(
        self, rows: Rows, domains: Domains, *, rank: Callable[[int, int], Any] = lambda count, first: -count
    ) -> None:
        super().__init__(rows, domains, lambda mine, predicates, sizes: self.Class(mine, predicates, sizes, rank))
