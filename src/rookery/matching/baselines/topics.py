"""Classification by topic: the first step of seed 004, before any matrix is built.

Rows for one topic are a class of their own, found by a hash of the event's topic; the topic is then no predicate of
theirs any more. Rows without a topic are class 0, which every event visits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rookery.matching.baselines.kernels import enter_topics
from rookery.matching.rows import Rows

__all__ = ["Classes", "classify"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Classes:
    """Rows in classes; class c has the rows `first[c]` to `first[c + 1]`."""

    rows: Rows
    first: Array  # int64
    topic: int  # the number of the topic's attribute, -1 where no row has a topic
    topics: Array  # int64 [places, 2], a hash table with open addressing: a topic's code and its class, 0 for none


def classify(rows: Rows, topic: int | None) -> Classes:
    """Part rows by the topic they are for, and take that predicate off them."""
    if topic is None:
        return Classes(rows, np.array([0, len(rows)], np.int64), -1, np.zeros((1, 2), np.int64))
    named = (rows.attribute == topic) & (rows.bounds[:, 0] == rows.bounds[:, 1])
    lengths = np.diff(rows.start)
    row_of = np.repeat(np.arange(len(rows)), lengths)
    codes, place = np.unique(rows.bounds[named, 0], return_inverse=True)
    number = np.zeros(len(rows), np.int64)
    number[row_of[named]] = place + 1
    left = Rows(
        rows.slot,
        np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(row_of[~named], minlength=len(rows)))]),
        rows.attribute[~named],
        rows.bounds[~named],
        rows.pool,
    )
    order = np.argsort(number, kind="stable")
    first = np.searchsorted(number[order], np.arange(len(codes) + 2))
    table = np.zeros((1 << (2 * len(codes)).bit_length(), 2), np.int64)
    enter_topics(codes, table)
    return Classes(left.take(order), first, topic, table)
