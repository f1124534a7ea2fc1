"""Rows: subscriptions as engines see them. One row is one box; a subscription with OR has several.

A row is a run of predicates, and a predicate is an attribute's number with a closed interval of codes. A set that is
not one interval (`<>`, IN, NOT BETWEEN) has SET_FLAG on its number, and its interval is a range of the pool instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rookery.matching.codes import CodeSpace, code_bounds, is_everything
from rookery.matching.kernels import ATTRIBUTE_MASK, NULL_CODE, SET_FLAG
from rookery.matching.labels import Moves, moved
from rookery.matching.texts.index import NO_TEXT, TEXT
from rookery.model.lower import Decision, Term
from rookery.model.texts import text_leaves
from rookery.model.types import StringType
from rookery.model.values import TOP, everything

__all__ = ["Rows", "RowsBuilder"]

Array = np.ndarray[Any, Any]

#: A condition in terms of steps, as `programs.py` writes it.
Tree = Any

#: An IN list of up to this many values becomes one row per value, so that each can be found by its key; `bitmap` files
#: the row of a longer one under each of its values (`bitmap/lists.py`).
POINTS_TO_ROWS = 8


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows in columns; row r has the predicates `start[r]` to `start[r + 1]`."""

    slot: Array  # int32: the subscription of each row
    start: Array  # int64, one more than rows
    attribute: Array  # uint16
    bounds: Array  # int64, predicates × 2
    pool: Array  # int64, intervals × 2

    @classmethod
    def empty(cls) -> Rows:
        return cls(
            np.empty(0, np.int32),
            np.zeros(1, np.int64),
            np.empty(0, np.uint16),
            np.empty((0, 2), np.int64),
            np.empty((0, 2), np.int64),
        )

    def __len__(self) -> int:
        return len(self.slot)

    @property
    def nbytes(self) -> int:
        return self.slot.nbytes + self.start.nbytes + self.attribute.nbytes + self.bounds.nbytes + self.pool.nbytes

    @staticmethod
    def concatenate(parts: Sequence[Rows]) -> Rows:
        """Return the rows of all parts, in order."""
        parts = [part for part in parts if len(part)]
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return Rows.empty()
        starts, bounds, places, pooled = [np.zeros(1, np.int64)], [], 0, 0
        for part in parts:
            starts.append(part.start[1:] + places)
            places += len(part.attribute)
            moved_bounds = part.bounds
            if pooled and len(part.pool):
                moved_bounds = moved_bounds.copy()
                moved_bounds[(part.attribute & SET_FLAG) != 0] += pooled
            bounds.append(moved_bounds)
            pooled += len(part.pool)
        return Rows(
            np.concatenate([part.slot for part in parts]),
            np.concatenate(starts),
            np.concatenate([part.attribute for part in parts]),
            np.concatenate(bounds),
            np.concatenate([part.pool for part in parts]),
        )

    def take(self, order: Array) -> Rows:
        """Return the rows in `order`, each with its predicates (the pool is shared)."""
        lengths = np.diff(self.start)[order]
        start = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        places = np.repeat(self.start[:-1][order] - start[:-1], lengths) + np.arange(start[-1])
        return Rows(self.slot[order], start, self.attribute[places], self.bounds[places], self.pool)

    def owners(self, places: Array) -> Array:
        """Return the rows that some predicates belong to."""
        owners: Array = np.searchsorted(self.start, places, side="right") - 1
        return owners

    def trimmed(self) -> Rows:
        """Return the same rows with a pool that holds what they use and nothing else."""
        places = np.flatnonzero(self.attribute & SET_FLAG)
        first, last = self.bounds[places].T
        lengths = last - first
        ends = np.cumsum(lengths)
        bounds = self.bounds.copy()
        bounds[places, 0], bounds[places, 1] = ends - lengths, ends
        used = np.repeat(first - (ends - lengths), lengths) + np.arange(int(lengths.sum()))
        return Rows(self.slot, self.start, self.attribute, bounds, self.pool[used])

    def with_slots(self, slot: Array) -> Rows:
        """Return the same rows for other subscriptions."""
        return Rows(slot.astype(np.int32), self.start, self.attribute, self.bounds, self.pool)

    def renumbered(self, number: Array) -> Rows:
        """Return the rows with other numbers for their attributes: `number[old]` is the new one."""
        flags = self.attribute & SET_FLAG
        attribute = number[self.attribute & ATTRIBUTE_MASK].astype(np.uint16) | flags
        return Rows(self.slot, self.start, attribute, self.bounds, self.pool)

    def without_text(self, number: int, label: int) -> Rows:
        """Return the rows with the label of no text in those that ask nothing of `$text`, whose number is given."""
        asking = np.zeros(len(self), np.bool_)
        row_of = np.repeat(np.arange(len(self)), np.diff(self.start))
        asking[row_of[(self.attribute & ATTRIBUTE_MASK) == number]] = True
        ends = self.start[1:][~asking]
        start = self.start + np.concatenate([np.zeros(1, np.int64), np.cumsum(~asking)])
        attribute = np.insert(self.attribute, ends, np.uint16(number))
        bounds = np.insert(self.bounds, ends, label, axis=0)
        return Rows(self.slot, start, attribute, bounds, self.pool)

    def bounds_of(self, number: int) -> Array:
        """Return the bounds of all predicates on an attribute, and of the intervals of their sets."""
        sets = self.bounds[self.attribute == (number | SET_FLAG)]
        return np.concatenate(
            [self.bounds[self.attribute == number], *(self.pool[first:last] for first, last in sets.tolist())]
        )

    def relabeled(self, moves: Mapping[int, Moves]) -> Rows:
        """Return the rows with the bounds of string attributes moved to new labels."""
        bounds, pool = self.bounds.copy(), self.pool.copy()
        for number, (old, new) in moves.items():
            plain = self.attribute == number
            bounds[plain] = moved(bounds[plain], old, new)
            for first, last in self.bounds[self.attribute == (number | SET_FLAG)]:
                pool[first:last] = moved(pool[first:last], old, new)
        return Rows(self.slot, self.start, self.attribute, bounds, pool)


class RowsBuilder:
    """Collects terms, and turns them into rows once their texts have labels."""

    __slots__ = ("_decisions", "_space", "_terms")

    def __init__(self, space: CodeSpace) -> None:
        self._space = space
        self._terms: list[tuple[int, Term]] = []
        self._decisions: dict[int, Decision] = {}

    def add(self, slot: int, terms: Sequence[Term], decision: Decision | None = None) -> None:
        """Add the terms of a slot, and where they are larger than the truth, what decides it."""
        self._terms += [(slot, term) for term in terms]
        if decision is not None:
            self._decisions[slot] = decision

    def texts(self) -> dict[int, set[str]]:
        """Return the texts that need labels, by attribute number."""
        found: dict[int, set[str]] = {}
        for _, term in self._terms:
            self._collect(term, found)
        for decision in self._decisions.values():
            for term in _terms_of(decision):
                self._collect(term, found)
        return found

    def _collect(self, term: Term, found: dict[int, set[str]]) -> None:
        space = self._space
        for path, (_, intervals) in term.constraints.items():
            number = space.number(path)
            if number not in space.labels:
                continue
            texts = found.setdefault(number, set())
            for low, high in intervals:
                if is_everything(low, high):
                    continue
                texts.add(low[0])
                if high is not TOP:
                    texts.add(high[0])
        if term.texts:
            found.setdefault(space.number(TEXT.path), {NO_TEXT}).update(key for key, _ in term.texts)

    def build(self) -> tuple[Rows, set[int], dict[int, Tree]]:
        """Return the rows, the slots that must be verified by value, and the programs that decide others."""
        slots: list[int] = []
        start: list[int] = [0]
        numbers: list[int] = []
        bounds: list[tuple[int, int]] = []
        pool: list[tuple[int, int]] = []
        inexact: set[int] = set()
        decided: dict[int, list[Tree]] = {}
        doubtful: set[int] = set(self._decisions)
        for slot, term in self._terms:
            predicates, exact = self._predicates(term)
            if any(not intervals for _, intervals in predicates):
                continue  # nothing satisfies it: a version that is never in effect
            if not exact and slot not in self._decisions:
                inexact.add(slot)
            if term.texts:
                steps = self._text_steps(term)
                decided.setdefault(slot, []).append(("and", [*predicates, *steps]))
                needed = max((key for key, wanted in term.texts if wanted), key=_strength, default=None)
                if needed is not None:
                    number = self._space.number(TEXT.path)
                    label = self._space.labels[number][needed]
                    predicates.append((number, [(label, label)]))
                if needed is None or len(term.texts) > 1:
                    doubtful.add(slot)
            elif slot not in self._decisions:
                decided.setdefault(slot, []).append(("and", list(predicates)))
            for row in _point_rows(predicates):
                slots.append(slot)
                for number, intervals in row:
                    if len(intervals) == 1:
                        numbers.append(number)
                        bounds.append(intervals[0])
                    else:
                        numbers.append(number | SET_FLAG)
                        bounds.append((len(pool), len(pool) + len(intervals)))
                        pool += intervals
                start.append(len(numbers))
        for slot in self._decisions:
            tree, exact = self._tree(self._decisions[slot])
            decided[slot] = [tree]
            if not exact:
                inexact.add(slot)
        programs: dict[int, Tree] = {
            slot: ("or", decided[slot]) for slot in sorted(doubtful - inexact) if slot in decided
        }
        return (
            Rows(
                np.array(slots, np.int32),
                np.array(start, np.int64),
                np.array(numbers, np.uint16),
                np.array(bounds, np.int64).reshape(-1, 2),
                np.array(pool, np.int64).reshape(-1, 2),
            ),
            inexact,
            programs,
        )

    def _text_steps(self, term: Term) -> list[Tree]:
        number = self._space.number(TEXT.path)
        labels = self._space.labels[number]
        return [
            step if wanted else ("not", (step,))
            for key, wanted in sorted(term.texts, key=_asking)
            for step in [(number, [(labels[key], labels[key])])]
        ]

    def _tree(self, decision: Decision) -> tuple[Tree, bool]:
        """Return a decision in terms of steps, and whether the codes hold it exactly."""
        if isinstance(decision, Term):
            predicates, exact = self._predicates(decision)
            steps: list[Tree] = [one if one[1] else ("or", []) for one in predicates]
            return ("and", [*steps, *self._text_steps(decision)] if decision.texts else steps), exact
        kind, parts = decision
        found = [self._tree(part) for part in parts]
        return (kind, [tree for tree, _ in found]), all(exact for _, exact in found)

    def _predicates(self, term: Term) -> tuple[list[tuple[int, list[tuple[int, int]]]], bool]:
        space = self._space
        exact = term.exact
        predicates = []
        for path, (null, intervals) in term.constraints.items():
            number = space.number(path)
            kind = space.attributes[number].type
            coded = [(NULL_CODE, NULL_CODE)] if null else []
            if null and intervals == everything(kind):
                continue
            if isinstance(kind, StringType):
                coded += [space.label_bounds(number, low, high) for low, high in intervals]
            else:
                for low, high in intervals:
                    bottom, top, same = code_bounds(kind, low, high)
                    exact = exact and same
                    if coded and bottom <= coded[-1][1] + 1 and coded[-1][1] != NULL_CODE:
                        coded[-1] = (coded[-1][0], max(top, coded[-1][1]))
                    else:
                        coded.append((bottom, top))
            predicates.append((number, coded))
        return predicates, exact


def _terms_of(decision: Decision) -> Iterable[Term]:
    if isinstance(decision, Term):
        return [decision]
    return [term for part in decision[1] for term in _terms_of(part)]


def _asking(one: tuple[str, bool]) -> tuple[bool, tuple[str, bool]]:
    """Return the order in which conditions on texts are looked at: those that ask a regular expression last."""
    return any(leaf.kind == "regex" for leaf in text_leaves(one[0])), one


def _strength(key: str) -> tuple[int, str]:
    """Return how much a condition on texts leaves out, judged by its shortest pattern."""
    return min(len(leaf.pattern.strip("%_")) for leaf in text_leaves(key)), key


def _point_rows(
    predicates: list[tuple[int, list[tuple[int, int]]]],
) -> Iterable[list[tuple[int, list[tuple[int, int]]]]]:
    """Split the first short list of single values into one row per value."""
    for place, (number, intervals) in enumerate(predicates):
        if 1 < len(intervals) <= POINTS_TO_ROWS and all(low == high for low, high in intervals):
            return [[*predicates[:place], (number, [point]), *predicates[place + 1 :]] for point in intervals]
    return [predicates]
