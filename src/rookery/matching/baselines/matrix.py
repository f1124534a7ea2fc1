"""Predicate matrix: seed 004's own algorithm.

Preprocessing: one row per subscription, one column per distinct predicate; rows are ordered by their number of
predicates and columns by their number of subscriptions, both descending. Each column also knows the rows of every
column that it covers (q is covered by p when q true implies p true, so p false implies q false). Matching: walk the
columns that still have a live row; if the event fails the predicate, delete its rows and those of what it covers; the
rows that remain match. Each distinct predicate is tested at most once per event.

The seed keeps one matrix per topic, for tens of subscriptions. A dense matrix grows with the square of the set, so
larger sets are cut into panels of PANEL_ROWS; rows that share their most common predicate (the topic, where there is
one) stay together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.matching.baselines.kernels import covered_columns, matrix_matches
from rookery.matching.baselines.predicates import distinct_predicates
from rookery.matching.rows import Rows

__all__ = ["PANEL_ROWS", "PredicateMatrix"]

Array = np.ndarray[Any, Any]

PANEL_ROWS = 512
_WORDS = PANEL_ROWS // 64


class PredicateMatrix:
    """Panels of a 0/1 matrix as bits, with the covering closed over columns."""

    __slots__ = ("_attribute", "_bounds", "_columns", "_doomed", "_panel_column", "_panel_row", "_pool", "_slot")

    def __init__(self, rows: Rows, attributes: int) -> None:
        rows = rows.take(_together(rows))
        self._pool = rows.pool
        slots, attribute, bounds, columns, doomed = [], [], [], [], []
        panel_column, panel_row = [0], [0]
        for first in range(0, len(rows), PANEL_ROWS):
            panel = rows.take(np.arange(first, min(len(rows), first + PANEL_ROWS)))
            panel = panel.take(np.argsort(-np.diff(panel.start), kind="stable"))
            predicates = distinct_predicates(panel)
            order = np.argsort(-np.diff(predicates.post_start), kind="stable")
            bits = _bits(predicates.post_start, predicates.post_row)[order]
            mine, ends = predicates.attribute[order], predicates.bounds[order]
            reach = bits.copy()
            covered_columns(mine, ends, bits, reach, _WORDS)
            slots.append(panel.slot)
            attribute.append(mine)
            bounds.append(ends)
            columns.append(bits)
            doomed.append(reach)
            panel_column.append(panel_column[-1] + len(mine))
            panel_row.append(panel_row[-1] + len(panel))
        self._slot = np.concatenate(slots)
        self._attribute = np.concatenate(attribute)
        self._bounds = np.concatenate(bounds)
        self._columns = np.concatenate(columns)
        self._doomed = np.concatenate(doomed)
        self._panel_column = np.array(panel_column, np.int64)
        self._panel_row = np.array(panel_row, np.int64)

    @property
    def nbytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in self.__slots__)

    def probe(self, codes: Array, alive: Array) -> Array:
        """Return the pairs `event << 32 | slot`."""
        pairs: Array = matrix_matches(
            codes, alive, self._slot, self._attribute, self._bounds, self._pool, self._panel_column, self._panel_row,
            self._columns, self._doomed,
        )  # fmt: skip
        return pairs


def _together(rows: Rows) -> Array:
    """Return an order that keeps rows with the same most common predicate together."""
    predicates = distinct_predicates(rows)
    commonness = np.diff(predicates.post_start)
    if not len(commonness):
        return np.arange(len(rows))
    rank = np.empty(len(commonness), np.int64)
    rank[np.argsort(-commonness, kind="stable")] = np.arange(len(commonness))
    best = np.full(len(rows), len(commonness), np.int64)
    row_of = np.repeat(np.arange(len(rows)), np.diff(rows.start))
    np.minimum.at(best, row_of, rank[predicates.row_predicate])
    return np.argsort(best, kind="stable")


def _bits(post_start: Array, post_row: Array) -> Array:
    """Return each column's rows as bits."""
    columns = np.zeros((len(post_start) - 1, _WORDS), np.uint64)
    column_of = np.repeat(np.arange(len(post_start) - 1), np.diff(post_start))
    positions = post_row.astype(np.int64)
    np.bitwise_or.at(columns, (column_of, positions >> 6), np.uint64(1) << (positions & 63).astype(np.uint64))
    return columns
