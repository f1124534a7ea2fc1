"""Predicate index: per attribute and operator, find the satisfied predicates by search, then count.

The second baseline of seed 004 (谓词索引法). Lower limits, upper limits and single values of an attribute are sorted
apart, so that one search each finds the satisfied ones and no other predicate is touched. Sets of intervals (`<>`,
NOT IN) have no such order and are tested one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.matching.baselines.kernels import index_matches
from rookery.matching.baselines.predicates import Domains
from rookery.matching.baselines.sections import Sections
from rookery.matching.rows import Rows

__all__ = ["PredicateIndex"]

Array = np.ndarray[Any, Any]


class PredicateIndex:
    """Sorted limits per attribute, and a counter per row."""

    __slots__ = ("_sections",)

    def __init__(self, rows: Rows, domains: Domains) -> None:
        self._sections = Sections.of(rows, domains)

    @property
    def nbytes(self) -> int:
        return self._sections.nbytes

    def probe(self, codes: Array, alive: Array) -> Array:
        """Return the pairs `event << 32 | slot`."""
        pairs: Array = index_matches(codes, alive, *self._sections.arrays())
        return pairs
