"""The algorithms of seed 004 and its paper's baselines: predicate matrix, counting, predicate index."""

from __future__ import annotations

from rookery.matching.baselines.counting import Counting
from rookery.matching.baselines.index import PredicateIndex
from rookery.matching.baselines.matrix import PredicateMatrix
from rookery.matching.baselines.packed import PackedEngine

__all__ = ["Counting", "PackedEngine", "PredicateIndex", "PredicateMatrix"]
