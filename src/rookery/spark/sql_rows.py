"""The rows of a compiled set as Spark can judge them: which columns they bound, and what of a row Spark cannot say.

A row is what a subscription asks of an event, a subscription with OR has several (`matching/rows.py`). What is the
same for all events of a job, a topic that the caller states or the day of the rules, is decided here: a row that it
leaves out is not `alive`. A row is `told` if Spark can say all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rookery.matching.codes import TIME, TOPIC
from rookery.matching.ranges import AttributeRanges
from rookery.matching.times import event_time
from rookery.model.choices import asks_choices
from rookery.spark.carriers import RecentValues
from rookery.spark.range_sql import SqlLeaf, ambiguous, holds, leaf_of, text_condition

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from rookery import CompiledSet
    from rookery.spark.rules import Reading

__all__ = ["SqlRows", "sql_rows"]

Array = np.ndarray[Any, Any]

_read: RecentValues[SqlRows | None] = RecentValues()


@dataclass(frozen=True, slots=True)
class SqlRows:
    """The rows of a set: the slot of each, the columns that they bound with the ranges, and conditions on texts."""

    slot: Array
    alive: Array
    told: Array
    exact: Array  # by slot
    bounded: tuple[tuple[SqlLeaf, AttributeRanges], ...]
    texts: dict[int, list[str]]

    @property
    def says_all(self) -> bool:
        """Whether Spark can say exactly what the set matches."""
        return bool(self.exact.all() and self.told[self.alive].all())


def sql_rows(compiled: CompiledSet, columns: StructType, reading: Reading) -> SqlRows | None:
    """Return the rows of a set for events of these columns; None where Spark cannot judge them at all.

    They are kept for the next job of the same rules over events of the same columns.
    """
    key = (compiled.content_hash, columns.json(), reading.time, reading.topic, reading.as_of)
    return _read(key, lambda: _sql_rows(compiled, columns, reading))


def _sql_rows(compiled: CompiledSet, columns: StructType, reading: Reading) -> SqlRows | None:
    if ambiguous(columns) or asks_choices(compiled.columns):
        return None
    rows = compiled.ranges()
    alive, told = np.ones(len(rows.slot), np.bool_), rows.whole.copy()
    bounded = []
    for ranges in rows.ranges:
        leaf = leaf_of(ranges.attribute, columns, reading)
        if leaf is not None:
            bounded.append((leaf, ranges))
            continue
        same, value = _same(compiled, ranges, columns, reading)
        if not same:
            told[ranges.row] = False
            continue
        held = np.zeros(len(rows.slot), np.bool_)
        held[[row for place, row in enumerate(ranges.row.tolist()) if holds(ranges, place, value)]] = True
        alive[ranges.row] &= held[ranges.row]
    texts: dict[int, list[str]] = {}
    written: dict[str, str | None] = {}
    for row, key in rows.texts:
        if key not in written:
            written[key] = text_condition(key, compiled.schema, columns, reading)
        condition = written[key]
        if condition is None:
            told[row] = False
        else:
            texts.setdefault(row, []).append(condition)
    return SqlRows(rows.slot, alive, told, rows.exact, tuple(bounded), texts)


def _same(compiled: CompiledSet, ranges: AttributeRanges, columns: StructType, reading: Reading) -> tuple[bool, Any]:
    """Return whether all events have the same value of an attribute, and its key."""
    if ranges.attribute is TIME and reading.as_of is not None:
        return True, event_time(reading.as_of)
    if ranges.attribute is TOPIC and reading.topic is not None:
        return True, (reading.topic, 0)
    if ranges.attribute is TOPIC and "topic" not in columns.names and len(compiled.topics) == 1:
        return True, (compiled.topics[0], 0)
    return False, None
