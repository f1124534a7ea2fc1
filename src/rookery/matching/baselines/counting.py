"""Counting: test every distinct predicate once, and count per subscription how many hold.

The first baseline of seed 004 (谓词计数法).
Its cost per event is the number of distinct predicates plus the rows that the
satisfied ones touch, matching or not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.matching.baselines.kernels import count_matches
from rookery.matching.baselines.predicates import Predicates, distinct_predicates
from rookery.matching.rows import Rows

__all__ = ["Counting", "rows_by_size"]

Array = np.ndarray[Any, Any]


def rows_by_size(rows: Rows) -> tuple[Rows, Array]:
    """Return the rows with those that have no predicate first, and how many each has."""
    sizes = np.diff(rows.start)
    order = np.argsort(sizes, kind="stable")
    return rows.take(order), sizes[order].astype(np.int32)


class Counting:
    """A counter per row."""

    __slots__ = ("_needed", "_predicates", "_slot")

    def __init__(self, rows: Rows, attributes: int) -> None:
        ordered, self._needed = rows_by_size(rows)
        self._slot = ordered.slot
        self._predicates: Predicates = distinct_predicates(ordered)

    @property
    def nbytes(self) -> int:
        return self._predicates.nbytes + self._needed.nbytes + self._slot.nbytes

    def probe(self, codes: Array, alive: Array) -> Array:
        """Return the pairs `event << 32 | slot`."""
        p = self._predicates
        pairs: Array = count_matches(
            codes, alive, self._slot, self._needed, p.attribute, p.bounds, p.pool, p.post_start, p.post_row
        )
        return pairs
