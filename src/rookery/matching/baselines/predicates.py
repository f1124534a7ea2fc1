"""Distinct predicates: the columns of seed 004's matrix, and what its baselines count.

Subscriptions share predicates, and the algorithms of the seed test each distinct one at most once per event. A
predicate is one comparison, as the seed has it: a row's interval that is closed on both sides (`x > a AND x < b`) is
two, so that rows share each limit and not only both together. Two are one when the same codes satisfy them: sets of
intervals (`<>`, NOT IN) are compared by their intervals, wherever they lie in the pool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rookery.matching.baselines.kernels import EQUAL, LEAST, MOST, OTHER
from rookery.matching.codes import HIGHEST_CODE, LOWEST_CODE, TOPIC, CodeSpace, code_bounds
from rookery.matching.kernels import ATTRIBUTE_MASK, SET_FLAG
from rookery.matching.rows import Rows
from rookery.model.types import StringType

__all__ = ["Domains", "Predicates", "distinct_predicates"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Domains:
    """What a structure knows of the attributes: the lowest and the highest code of each, and which is the topic.

    An interval that ends where its attribute does has one limit. No answer depends on it, only how many comparisons a
    row has.
    """

    low: Array
    high: Array
    topic: int | None = None

    @classmethod
    def of(cls, space: CodeSpace) -> Domains:
        """Return the domains of a code space."""
        ends = [
            (LOWEST_CODE, HIGHEST_CODE)
            if isinstance(one.type, StringType)
            else code_bounds(one.type, one.type.lowest, one.type.highest)[:2]
            for one in space.attributes
        ]
        low, high = np.array(ends, np.int64).reshape(-1, 2).T
        return cls(low, high, space.known(TOPIC.path))

    @classmethod
    def uniform(cls, attributes: int, low: int, high: int, *, topic: int | None = None) -> Domains:
        """Return attributes that all have the same codes."""
        return cls(np.full(attributes, low, np.int64), np.full(attributes, high, np.int64), topic)

    def __len__(self) -> int:
        return len(self.low)


@dataclass(frozen=True, slots=True)
class Predicates:
    """The distinct predicates of groups of rows, by group, attribute, kind and limit, and the rows that have each."""

    group: Array  # int64
    attribute: Array  # uint16, without SET_FLAG
    kind: Array  # int8
    bounds: Array  # int64 [predicates, 2]: codes, or a range of the pool where `is_set`
    is_set: Array  # bool
    pool: Array
    post_start: Array  # int64: a predicate's rows begin here in post_row
    post_row: Array  # uint32: as an index it is never taken from the end
    sizes: Array  # int32: how many predicates each row has

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in self.__slots__)

    def __len__(self) -> int:
        return len(self.attribute)


def distinct_predicates(rows: Rows, first: Array, domains: Domains) -> Predicates:
    """Find the distinct predicates of each group of rows; group g has the rows `first[g]` to `first[g + 1]`."""
    row = np.repeat(np.arange(len(rows)), np.diff(rows.start))
    attribute = (rows.attribute & ATTRIBUTE_MASK).astype(np.int64)
    is_set = (rows.attribute & SET_FLAG) != 0
    bounds = _shared_sets(rows, is_set)
    low, high = bounds.T
    bottom, top = domains.low[attribute], domains.high[attribute]
    kind = np.full(len(row), OTHER, np.int8)
    plain = ~is_set
    kind[plain & (low == bottom)] = MOST
    kind[plain & (high == top)] = LEAST
    kind[plain & (low == high)] = EQUAL
    within = plain & (bottom < low) & (low < high) & (high < top)
    # An interval within its domain is two limits: `>= low` takes its place, `<= high` is appended.
    kind[within] = LEAST
    bounds = bounds.copy()
    bounds[within, 1] = top[within]
    row = np.concatenate([row, row[within]])
    attribute = np.concatenate([attribute, attribute[within]])
    is_set = np.concatenate([is_set, is_set[within]])
    kind = np.concatenate([kind, np.full(int(within.sum()), MOST, np.int8)])
    bounds = np.concatenate([bounds, np.stack([bottom[within], high[within]], axis=1)])
    group = np.searchsorted(first, row, side="right") - 1
    order = np.lexsort((row, is_set, bounds[:, 1], bounds[:, 0], kind, attribute, group))
    key = np.stack([group, attribute, kind, bounds[:, 0], bounds[:, 1], is_set], axis=1)[order]
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (key[1:] != key[:-1]).any(axis=1)
    chosen = order[fresh]
    return Predicates(
        group[chosen],
        attribute[chosen].astype(np.uint16),
        kind[chosen],
        bounds[chosen],
        is_set[chosen],
        rows.pool,
        np.append(np.flatnonzero(fresh), len(order)),
        row[order].astype(np.uint32),
        np.bincount(row, minlength=len(rows)).astype(np.int32),
    )


def _shared_sets(rows: Rows, is_set: Array) -> Array:
    """Return the bounds of all predicates, where equal sets of intervals have the same range of the pool."""
    if not is_set.any():
        return rows.bounds
    bounds, known = rows.bounds.copy(), dict[bytes, tuple[int, int]]()
    for place in np.flatnonzero(is_set).tolist():
        low, high = rows.bounds[place].tolist()
        bounds[place] = known.setdefault(rows.pool[low:high].tobytes(), (low, high))
    return bounds
