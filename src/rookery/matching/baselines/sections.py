"""Sections: what counting and the predicate index are laid out in, flat arrays from the class down to the row.

A class of rows (`topics.py`) has sections, one for each attribute and kind of predicate; a section has distinct
predicates, sorted by their limit; a predicate has a run of rows. The predicates of a section lie together and so do
their rows, whoever walks them goes through memory once. A row that needs no predicate comes first in its class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rookery.matching.baselines.predicates import Domains, distinct_predicates
from rookery.matching.baselines.topics import classify
from rookery.matching.rows import Rows

__all__ = ["Sections"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Sections:
    """The arrays, in the order in which the kernels take them."""

    topic: int
    topics: Array
    slot: Array
    row_first: Array  # by class
    sizes: Array  # by row: how many predicates it has
    empty_rows: Array  # by class: how many rows have none
    section_first: Array  # by class
    section_attribute: Array
    section_kind: Array
    predicate_first: Array  # by section
    low: Array  # by predicate
    high: Array
    is_set: Array
    pool: Array
    post_start: Array
    post_row: Array
    post_predicate: Array  # whose row it is

    @classmethod
    def of(cls, rows: Rows, domains: Domains) -> Sections:
        """Lay out rows."""
        classes = classify(rows, domains.topic)
        number = np.repeat(np.arange(len(classes.first) - 1), np.diff(classes.first))
        rows = classes.rows.take(np.lexsort((np.diff(classes.rows.start) > 0, number)))
        p = distinct_predicates(rows, classes.first, domains)
        fresh = np.ones(len(p), np.bool_)
        fresh[1:] = (p.group[1:] != p.group[:-1]) | (p.attribute[1:] != p.attribute[:-1]) | (p.kind[1:] != p.kind[:-1])
        begins = np.flatnonzero(fresh)
        low, high = np.ascontiguousarray(p.bounds.T)
        return cls(
            classes.topic,
            classes.topics,
            rows.slot,
            classes.first,
            p.sizes,
            np.bincount(number[p.sizes == 0], minlength=len(classes.first) - 1),
            np.searchsorted(p.group[begins], np.arange(len(classes.first))),
            p.attribute[begins],
            p.kind[begins],
            np.append(begins, len(p)),
            low,
            high,
            p.is_set,
            p.pool,
            p.post_start,
            p.post_row,
            np.repeat(np.arange(len(p), dtype=np.uint32), np.diff(p.post_start)),
        )

    def arrays(self) -> tuple[Any, ...]:
        """Return everything, as arguments of a kernel."""
        return tuple(getattr(self, name) for name in self.__slots__)

    @property
    def nbytes(self) -> int:
        return sum(one.nbytes for one in self.arrays() if isinstance(one, np.ndarray))
