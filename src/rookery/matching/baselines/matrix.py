"""Predicate matrix: seed 004's own algorithm.

Preprocessing: subscriptions are classified by topic; under one topic there is one row per subscription and one column
per distinct predicate; rows are ordered by their number of predicates and columns by their number of subscriptions,
both descending. Each column also knows the rows of every column that it covers (q is covered by p when q true implies p
true, so p false implies q false). Matching: walk the columns that still have a live row; if the event fails the
predicate, delete its rows and those of what it covers; the rows that remain match. Each distinct predicate is tested at
most once per event.

The topic's matrix is found by a hash; the rows without a topic are a matrix that every event visits. A dense matrix
grows with the square of its rows, and the seed has tens of them, so more than PANEL_ROWS under one topic are cut into
panels.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from rookery.matching.baselines.kernels import covered_columns, matrix_matches
from rookery.matching.baselines.predicates import Domains, distinct_predicates
from rookery.matching.baselines.topics import classify
from rookery.matching.rows import Rows

__all__ = ["PANEL_ROWS", "PredicateMatrix", "panels"]

Array = np.ndarray[Any, Any]

PANEL_ROWS = 512


class PredicateMatrix:
    """A 0/1 matrix per topic as bits, in panels, with the covering closed over columns."""

    __slots__ = ("_arrays",)

    def __init__(self, rows: Rows, domains: Domains) -> None:
        classes = classify(rows, domains.topic)
        rows, first, class_panel = panels(classes.rows, classes.first, domains)
        p = distinct_predicates(rows, first, domains)
        words = (np.diff(first) + 63) >> 6  # of one column, by panel
        word_first = np.concatenate([np.zeros(1, np.int64), np.cumsum(words[p.group])])
        columns = _bits(p.post_start, p.post_row - first[p.group].repeat(np.diff(p.post_start)), word_first)
        doomed = columns.copy()
        covered_columns(p.group, p.attribute, p.bounds, p.is_set, p.pool, word_first, columns, doomed)
        order = np.lexsort((-np.diff(p.post_start), p.group))
        moved = _moved(word_first, order)
        low, high = np.ascontiguousarray(p.bounds[order].T)
        panel_column = np.searchsorted(p.group, np.arange(len(first)))
        self._arrays = (
            classes.topic, classes.topics, rows.slot, class_panel, first, panel_column, word_first[panel_column],
            p.attribute[order], low, high, p.is_set[order], p.pool, columns[moved], doomed[moved],
            int(np.diff(first).max(initial=0)),
        )  # fmt: skip

    @property
    def nbytes(self) -> int:
        return sum(one.nbytes for one in self._arrays if isinstance(one, np.ndarray))

    def probe(self, codes: Array, alive: Array) -> Array:
        """Return the pairs `event << 32 | slot`."""
        pairs: Array = matrix_matches(codes, alive, *self._arrays)
        return pairs


def panels(rows: Rows, first: Array, domains: Domains) -> tuple[Rows, Array, Array]:
    """Cut each class into panels, and order the rows of a panel by their number of predicates, most first.

    Returns the rows, where each panel begins in them, and where each class begins among the panels. In a class of
    several panels rows with the same most common predicate are together, so that a panel has few columns.
    """
    number = np.repeat(np.arange(len(first) - 1), np.diff(first))
    if np.diff(first).max(initial=0) > PANEL_ROWS:
        p = distinct_predicates(rows, first, domains)
        rank = np.empty(len(p), np.int64)
        rank[np.argsort(-np.diff(p.post_start), kind="stable")] = np.arange(len(p))
        best = np.full(len(rows), len(p), np.int64)
        np.minimum.at(best, p.post_row, rank.repeat(np.diff(p.post_start)))
        rows = rows.take(np.lexsort((best, number)))
    counts = (np.diff(first) + PANEL_ROWS - 1) // PANEL_ROWS
    begins = [np.arange(begin, end, PANEL_ROWS) for begin, end in pairwise(first.tolist())]
    ends = np.concatenate([*begins, first[-1:]])
    panel = np.searchsorted(ends, np.arange(len(rows)), side="right") - 1
    sizes = distinct_predicates(rows, ends, domains).sizes
    ordered = rows.take(np.lexsort((-sizes, panel)))
    return ordered, ends, np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def _bits(post_start: Array, position: Array, word_first: Array) -> Array:
    """Return each column's rows as bits, a column's words from `word_first` on."""
    bits = np.zeros(int(word_first[-1]), np.uint64)
    column = np.repeat(np.arange(len(post_start) - 1), np.diff(post_start))
    position = position.astype(np.int64)
    np.bitwise_or.at(bits, word_first[column] + (position >> 6), np.uint64(1) << (position & 63).astype(np.uint64))
    return bits


def _moved(word_first: Array, order: Array) -> Array:
    """Return where the words of columns in a new order are."""
    lengths = np.diff(word_first)[order]
    ends = np.cumsum(lengths)
    return np.repeat(word_first[:-1][order] - (ends - lengths), lengths) + np.arange(int(ends[-1]) if len(ends) else 0)
