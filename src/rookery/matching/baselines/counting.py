"""Counting: test every distinct predicate once, and count per subscription how many hold.

The first baseline of seed 004 (谓词计数法). Its cost per event is the number of distinct predicates under the event's
topic plus the rows that the satisfied ones touch, matching or not. What an event has counted is undone row by row, or
for the whole class at once where most of it was touched.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.matching.baselines.kernels import count_matches
from rookery.matching.baselines.predicates import Domains
from rookery.matching.baselines.sections import Sections
from rookery.matching.rows import Rows

__all__ = ["Counting"]

Array = np.ndarray[Any, Any]


class Counting:
    """A counter per row."""

    __slots__ = ("_sections",)

    def __init__(self, rows: Rows, domains: Domains) -> None:
        self._sections = Sections.of(rows, domains)

    @property
    def nbytes(self) -> int:
        return self._sections.nbytes

    def probe(self, codes: Array, alive: Array) -> Array:
        """Return the pairs `event << 32 | slot`."""
        pairs: Array = count_matches(codes, alive, *self._sections.arrays())
        return pairs
