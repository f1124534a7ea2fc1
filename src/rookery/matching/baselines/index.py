"""Predicate index: per attribute, find the satisfied predicates by search, then count.

The second baseline of seed 004 (谓词索引法).
Predicates for one value are found by binary search; the others are sorted by
their lower end, so those that begin above the event's value are never looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.matching.baselines.counting import rows_by_size
from rookery.matching.baselines.kernels import index_matches
from rookery.matching.baselines.predicates import distinct_predicates
from rookery.matching.kernels import ATTRIBUTE_MASK, SET_FLAG
from rookery.matching.rows import Rows

__all__ = ["PredicateIndex"]

Array = np.ndarray[Any, Any]


class PredicateIndex:
    """Sorted predicates per attribute, and a counter per row."""

    __slots__ = ("_needed", "_order", "_points", "_predicates", "_ranges", "_reach", "_slot")

    def __init__(self, rows: Rows, attributes: int) -> None:
        ordered, self._needed = rows_by_size(rows)
        self._slot = ordered.slot
        self._predicates = p = distinct_predicates(ordered)
        number = (p.attribute & ATTRIBUTE_MASK).astype(np.int64)
        flagged = (p.attribute & SET_FLAG) != 0
        low = p.bounds[:, 0].copy()
        low[flagged] = p.pool[p.bounds[flagged, 0], 0]
        is_range = flagged | (p.bounds[:, 0] != p.bounds[:, 1])
        group = 2 * number + is_range
        self._order = np.lexsort((low, group))
        self._reach = low[self._order]
        ends = np.searchsorted(group[self._order], np.arange(2 * attributes + 1))
        self._points = np.stack([ends[0:-1:2], ends[1::2]], axis=1)
        self._ranges = np.stack([ends[1::2], ends[2::2]], axis=1)

    @property
    def nbytes(self) -> int:
        mine = (self._needed, self._slot, self._order, self._reach, self._points, self._ranges)
        return self._predicates.nbytes + sum(array.nbytes for array in mine)

    def probe(self, codes: Array, alive: Array) -> Array:
        """Return the pairs `event << 32 | slot`."""
        p = self._predicates
        pairs: Array = index_matches(
            codes, alive, self._slot, self._needed, p.attribute, p.bounds, p.pool, p.post_start, p.post_row,
            self._order, self._reach, self._points, self._ranges,
        )  # fmt: skip
        return pairs
