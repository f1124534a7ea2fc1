"""Programs: conditions that a row alone does not decide, as steps that a kernel takes for a pair of event and slot.

A step tests one attribute, as a predicate of a row does, or one condition on a text, and has two places to go to: where
it holds, and where it does not. Both lie ahead, so a program ends. It is what `AND`, `OR` and `NOT` of the condition
come to when each stops at the first operand that decides it.

Rule: programs never change; more of them are others beside, in parts of growing size, so that an edit copies few.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rookery.matching.kernels import SET_FLAG
from rookery.matching.labels import Moves
from rookery.matching.program_kernels import ACCEPT, REJECT, decide_pairs
from rookery.matching.rows import Rows
from rookery.matching.texts.index import Truths

__all__ = ["Programs", "ProgramsBuilder", "Step"]

Array = np.ndarray[Any, Any]
_NO_STATES = np.empty(0, np.int8)
#: An attribute's number and its intervals of codes.
Step = tuple[int, Sequence[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class _Part:
    """Some programs as rows, whose predicates are the steps, and where each step goes."""

    rows: Rows
    jumps: Array  # int32, steps × 2: from the program's first step, or ACCEPT or REJECT

    def take(self, order: Array) -> _Part:
        lengths = np.diff(self.rows.start)[order]
        ends = np.cumsum(lengths)
        places = np.repeat(self.rows.start[:-1][order] - (ends - lengths), lengths) + np.arange(lengths.sum())
        return _Part(self.rows.take(order), self.jumps[places])


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs of a set, by slot, ascending."""

    parts: tuple[_Part, ...] = ()

    @classmethod
    def of(cls, rows: Rows, jumps: Array) -> Programs:
        return cls((_Part(rows, jumps),) if len(rows) else ())

    def __len__(self) -> int:
        return sum(len(part.rows) for part in self.parts)

    @property
    def nbytes(self) -> int:
        return sum(part.rows.nbytes + part.jumps.nbytes for part in self.parts)

    def whole(self) -> tuple[Rows, Array]:
        """Return all programs as rows, and where their steps go."""
        jumps = [part.jumps for part in self.parts]
        return Rows.concatenate([part.rows for part in self.parts]), np.concatenate(
            [np.empty((0, 2), np.int32), *jumps]
        )

    def slots(self) -> Array:
        """Return the slots that have a program."""
        return np.concatenate([np.empty(0, np.int32), *(part.rows.slot for part in self.parts)])

    def extended(self, more: Programs) -> Programs:
        """Return these programs and more, of higher slots; parts of like size become one."""
        parts = [*self.parts, *more.parts]
        while len(parts) > 1 and len(parts[-2].rows) <= 2 * len(parts[-1].rows):
            last, before = parts.pop(), parts.pop()
            parts.append(_Part(Rows.concatenate([before.rows, last.rows]), np.concatenate([before.jumps, last.jumps])))
        return Programs(tuple(parts))

    def relabeled(self, moves: Mapping[int, Moves]) -> Programs:
        return Programs(tuple(_Part(part.rows.relabeled(moves), part.jumps) for part in self.parts))

    def kept(self, number: Array) -> Programs:
        """Return the programs of the slots that keep a number, `number[slot]`, by that; -1 is none."""
        whole = _Part(*self.whole())
        chosen = np.flatnonzero(number[whole.rows.slot] >= 0)
        chosen = chosen[np.argsort(number[whole.rows.slot[chosen]], kind="stable")]
        part = whole.take(chosen)
        return Programs.of(part.rows.trimmed().with_slots(number[part.rows.slot]), part.jumps)

    def decide(self, events: Array, slots: Array, codes: Array, text: int, truths: Truths) -> Array:
        """Say of pairs of an event and a slot that has a program whether the condition is TRUE."""
        accepted: Array = self.outcomes(events, slots, codes, text, truths, _NO_STATES) == ACCEPT
        return accepted

    def outcomes(self, events: Array, slots: Array, codes: Array, text: int, truths: Truths, states: Array) -> Array:
        """Return ACCEPT or REJECT for each, or the place of a truth whose state is OPEN and that decides it."""
        found = np.full(len(slots), REJECT, np.int64)
        for part in self.parts:
            rows = part.rows
            mine = np.flatnonzero((slots >= rows.slot[0]) & (slots <= rows.slot[-1]))
            if len(mine):
                found[mine] = decide_pairs(
                    events[mine], np.searchsorted(rows.slot, slots[mine]), codes, text, truths.first, truths.labels,
                    states, rows.start, rows.attribute, rows.bounds, rows.pool, part.jumps,
                )  # fmt: skip
        return found


class _Place:
    """A place in a program that is not written yet."""

    __slots__ = ("at",)

    def __init__(self, at: int | None = None) -> None:
        self.at = at


_ACCEPT, _REJECT = _Place(ACCEPT), _Place(REJECT)
#: A condition in terms of steps: `("and", parts)`, `("or", parts)`, `("not", (part,))` or a step.
Tree = Any


class ProgramsBuilder:
    """Writes programs one after the other."""

    __slots__ = ("_bounds", "_jumps", "_numbers", "_pool", "_slots", "_start")

    def __init__(self) -> None:
        self._slots: list[int] = []
        self._start = [0]
        self._numbers: list[int] = []
        self._bounds: list[tuple[int, int]] = []
        self._pool: list[tuple[int, int]] = []
        self._jumps: list[tuple[int, int]] = []

    def add(self, slot: int, tree: Tree, always: Step) -> None:
        """Write the program of a slot; `always` is a step that holds for every event."""
        steps: list[tuple[Step, _Place, _Place]] = []
        _write(tree, _ACCEPT, _REJECT, steps, always)
        for (number, intervals), yes, no in steps:
            if len(intervals) == 1:
                self._numbers.append(number)
                self._bounds.append(intervals[0])
            else:
                self._numbers.append(number | SET_FLAG)
                self._bounds.append((len(self._pool), len(self._pool) + len(intervals)))
                self._pool += intervals
            assert yes.at is not None
            assert no.at is not None
            self._jumps.append((yes.at, no.at))
        self._slots.append(slot)
        self._start.append(len(self._numbers))

    def build(self) -> Programs:
        rows = Rows(
            np.array(self._slots, np.int32),
            np.array(self._start, np.int64),
            np.array(self._numbers, np.uint16),
            np.array(self._bounds, np.int64).reshape(-1, 2),
            np.array(self._pool, np.int64).reshape(-1, 2),
        )
        return Programs.of(rows, np.array(self._jumps, np.int32).reshape(-1, 2))


def _write(tree: Tree, yes: _Place, no: _Place, steps: list[tuple[Step, _Place, _Place]], always: Step) -> None:
    kind = tree[0]
    if kind == "not":
        _write(tree[1][0], no, yes, steps, always)
    elif kind == "and" or kind == "or":
        parts: Iterable[Tree] = tree[1]
        *others, last = parts or [None]
        for one in others:
            following = _Place()
            _write(one, *((following, no) if kind == "and" else (yes, following)), steps, always)
            following.at = len(steps)
        if last is None:  # nothing to ask: an empty AND is TRUE, an empty OR is not
            steps.append((always, *((yes, no) if kind == "and" else (no, yes))))
        else:
            _write(last, yes, no, steps, always)
    else:
        steps.append((tree, yes, no))
