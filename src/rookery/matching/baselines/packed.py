"""The dynamic part that the seed's algorithms share: a packed structure, and the newest rows beside it.

The seed builds its matrix once. Here every row is in the structure from the first on: while the set has up to
AT_ONCE rows, the seed's own regime, an edit builds it anew, which costs what a build of that many rows does and no
more. Beyond, the newest rows are checked one by one until they are a quarter of the packed ones; then all are packed
again, so that a row is packed some five times in its life, whatever the size of the set. Removed subscriptions are
marked dead, as in the bitmap engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from rookery.matching.baselines.predicates import Domains
from rookery.matching.codes import CodeSpace
from rookery.matching.kernels import scan_rows
from rookery.matching.rows import Rows

__all__ = ["PackedEngine", "Structure"]

Array = np.ndarray[Any, Any]

#: Rows of a set whose structure every edit builds anew.
AT_ONCE = 128


class Structure(Protocol):
    """An index that is built once."""

    @property
    def nbytes(self) -> int: ...

    def probe(self, codes: Array, alive: Array) -> Array:
        """Return the pairs `event << 32 | slot` of live slots."""


class PackedEngine:
    """Rows in a structure that is built once, plus a tail that is scanned; more rows are another engine."""

    __slots__ = ("_build", "_packed", "_structure", "_tail", "name")

    def __init__(self, name: str, build: Callable[[Rows, Domains], Structure]) -> None:
        self.name = name
        self._build = build
        self._packed, self._tail = Rows.empty(), Rows.empty()
        self._structure: Structure | None = None

    @property
    def nbytes(self) -> int:
        structure = 0 if self._structure is None else self._structure.nbytes
        return structure + self._packed.nbytes + self._tail.nbytes

    @property
    def tail_rows(self) -> int:
        """How many rows are not in the structure."""
        return len(self._tail)

    def extended(self, rows: Rows, space: CodeSpace) -> PackedEngine:
        """Return an engine with more rows."""
        tail = len(self._tail) + len(rows)
        if len(self._packed) + tail <= AT_ONCE or tail > len(self._packed) // 4:
            return self.packed(Rows.concatenate([self._packed, self._tail, rows]), space)
        other = PackedEngine(self.name, self._build)
        other._packed, other._structure = self._packed, self._structure
        other._tail = Rows.concatenate([self._tail, rows])
        return other

    def merge_due(self) -> None:
        """Nothing is left for later here."""

    def packed(self, rows: Rows, space: CodeSpace) -> PackedEngine:
        """Return an engine with exactly these rows."""
        other = PackedEngine(self.name, self._build)
        other._packed = rows
        other._structure = self._build(rows, Domains.of(space)) if len(rows) else None
        return other

    def rows(self) -> Rows:
        """Return every row, the dead ones too."""
        return Rows.concatenate([self._packed, self._tail])

    def probe(self, codes: Array, alive: Array) -> Array:
        """Return the pairs `event << 32 | slot`."""
        found = [] if self._structure is None else [self._structure.probe(codes, alive)]
        if len(tail := self._tail):
            found.append(
                scan_rows(codes, 0, len(tail), tail.slot, alive, tail.start, tail.attribute, tail.bounds, tail.pool)
            )
        return np.concatenate(found) if found else np.empty(0, np.int64)

    def probe_event(self, codes: Array, alive: Array) -> list[int]:
        """Return the live slots of one event, in order."""
        return sorted(set(self.probe(codes, alive).tolist()))  # one event, so a pair is its slot
