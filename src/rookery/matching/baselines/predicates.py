"""Distinct predicates: the columns of seed 004's matrix, and what its baselines count.

Subscriptions share predicates, and the algorithms of the seed test each distinct one at most once per event. Two
predicates are one when they bound the same attribute alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rookery.matching.rows import Rows

__all__ = ["Predicates", "distinct_predicates"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Predicates:
    """The distinct predicates of some rows, and which row has which."""

    attribute: Array  # uint16, with SET_FLAG as in Rows
    bounds: Array  # int64 [predicates, 2]
    pool: Array
    row_start: Array  # int64: a row's predicates begin here in row_predicate
    row_predicate: Array  # int64
    post_start: Array  # int64: a predicate's rows begin here in post_row
    post_row: Array  # int32

    @property
    def nbytes(self) -> int:
        arrays = (
            self.attribute,
            self.bounds,
            self.pool,
            self.row_start,
            self.row_predicate,
            self.post_start,
            self.post_row,
        )
        return sum(array.nbytes for array in arrays)

    def __len__(self) -> int:
        return len(self.attribute)


def distinct_predicates(rows: Rows) -> Predicates:
    """Find the distinct predicates of rows."""
    order = np.lexsort((rows.bounds[:, 1], rows.bounds[:, 0], rows.attribute))
    attribute, bounds = rows.attribute[order], rows.bounds[order]
    fresh = np.ones(len(order), np.bool_)
    # Sets of intervals lie apart in the pool, so equal ranges of it are the same set already.
    fresh[1:] = (attribute[1:] != attribute[:-1]) | (bounds[1:] != bounds[:-1]).any(axis=1)
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(fresh) - 1
    count = int(fresh.sum())
    row_of = np.repeat(np.arange(len(rows), dtype=np.int32), np.diff(rows.start))
    by_predicate = np.argsort(number, kind="stable")
    post_start = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(number, minlength=count))])
    return Predicates(
        attribute[fresh],
        bounds[fresh],
        rows.pool,
        rows.start,
        number,
        post_start.astype(np.int64),
        row_of[by_predicate],
    )
