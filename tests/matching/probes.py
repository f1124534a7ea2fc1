"""Which engine's structure was asked, and what it found: so that no test passes because another part answered."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from rookery.matching.baselines import Counting, PredicateIndex, PredicateMatrix

__all__ = ["STRUCTURES", "Probes", "probes"]

STRUCTURES: dict[str, Any] = {"matrix": PredicateMatrix, "counting": Counting, "index": PredicateIndex}


class Probes:
    """Of each engine how many events its structure was asked for, and how many pairs it gave."""

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()
        self.pairs: Counter[str] = Counter()


@contextmanager
def probes() -> Iterator[Probes]:
    """Count the probes of the structures of all engines that are made meanwhile."""
    counted, patch = Probes(), pytest.MonkeyPatch()

    def watched(name: str, structure: Any) -> Any:
        class Watched(structure):  # type: ignore[misc]
            def probe(self, codes: Any, alive: Any) -> Any:
                found = super().probe(codes, alive)
                counted.events[name] += len(codes)
                counted.pairs[name] += len(found)
                return found

        return Watched

    for name, structure in STRUCTURES.items():
        patch.setattr(sys.modules["rookery.matching"], structure.__name__, watched(name, structure))
    try:
        yield counted
    finally:
        patch.undo()
