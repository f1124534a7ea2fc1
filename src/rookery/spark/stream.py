"""Matching a stream: rules that change while it runs, and a replay that gives the same answer.

Which set judges a micro-batch is decided by its first task and recorded (`live_rules`, `versions`).

Documents are read by the task that matches them, in the columns that the rules of their micro-batch name: a rule that
is written later may name any field.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from time import thread_time
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rookery.errors import PipelineError
from rookery.spark.carried import rule_columns_as, rule_columns_of, shown_names
from rookery.spark.crossing import event_count, shown, spark_schema, unfold
from rookery.spark.documents import Documents
from rookery.spark.live_rules import LiveRules, has_triggers, open_rules
from rookery.spark.progress import TOLD, observe_batch, observe_rules, told_row, with_told
from rookery.spark.projection import Ahead, check_read
from rookery.spark.rules import OnError, Reading, check_quarantined, require_all, require_columns, schema_of
from rookery.spark.subscriptions import Subscriptions
from rookery.spark.types import arrow_schema_of, crosses
from rookery.spark.worker import crossing_schema, loaded, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rookery.spark.documents import Events

__all__ = ["MatchStream", "batch_number", "match_stream"]

#: The local property in which Spark tells a task the number of its micro-batch.
BATCH_PROPERTY = "streaming.sql.batchId"


@dataclass(frozen=True, slots=True)
class MatchStream:
    """The task of a streaming match."""

    rules: LiveRules
    output: pa.Schema
    rule_fields: tuple[pa.Field, ...] = ()
    tells: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match the task's rows against the set of their micro-batch; one that `tells` ends with what it did."""
        if not self.tells:
            yield from self._matches(batches, {})
            return
        told: dict[str, Any] = {}
        found = self._matches(batches, told)
        while True:
            begun = thread_time()
            batch = next(found, None)
            if told:
                told["seconds"] += thread_time() - begun
            if batch is None:
                break
            yield with_told(batch)
        if told:
            yield told_row(self.output, told)

    def _matches(self, batches: Iterator[pa.RecordBatch], told: dict[str, Any]) -> Iterator[pa.RecordBatch]:
        given = (batch for batch in batches if batch.num_rows)
        first = next(given, None)
        if first is None:
            return
        version, reading = self.rules.judged(batch_number())
        compiled = loaded(self.rules.log.carrier(version), self.rules.reading)
        told |= {"events": 0, "seconds": 0.0, "set_version": version.number, "quarantined": len(version.quarantined)}
        carried = rule_columns_as(self.rules.log.records(version), self.rule_fields) if self.rule_fields else None
        for number, batch in enumerate(self.rules.batches(chain((first,), given), compiled)):
            if number == 0:
                check_read(compiled.columns, batch)
            told["events"] += event_count(batch)
            yield from rows(compiled, batch, reading, self.output, rule_columns=carried)


def batch_number() -> int:
    """Return the number of the micro-batch that this task belongs to."""
    from pyspark import TaskContext

    context = TaskContext.get()
    number = None if context is None else context.getLocalProperty(BATCH_PROPERTY)
    if number is None:
        raise PipelineError("this task belongs to no micro-batch: a streaming match must run as a streaming query")
    return int(number)


def match_stream(
    events: Events,
    rules: Subscriptions,
    reading: Reading,
    *,
    checkpoint: str,
    explain: bool = False,
    columns: Sequence[str] = (),
    subscription_columns: Sequence[str] = (),
    on_error: OnError = "quarantine",
    ahead: Ahead = (),
) -> DataFrame:
    """Return the matches of a streaming DataFrame or of documents; of rules with triggers only those that fire.

    `on_error` is for the rules that are there now: one that is edited badly later never stops a stream.
    """
    held = [one.name for one in arrow_schema_of(events.schema) if crosses(one.type)]
    require_columns(held, event_id=reading.event_id, time=reading.time)
    require_all(held, columns)
    whole = events
    if not isinstance(events, Documents) and len(held) < len(events.columns):
        events = events.select(*(f"`{name}`" for name in held))
    if on_error == "raise":
        check_quarantined(rules.compiled(schema_of(arrow_schema_of(events.schema)), reading), on_error)
    live, first = open_rules(events, rules, reading, checkpoint=checkpoint, columns=columns, ahead=ahead)
    records = live.log.records(first)
    if isinstance(events, Documents):
        if has_triggers(records):
            raise PipelineError("rules with triggers need events of one schema: give it (--schema)")
        crossed = events.ranges
    else:
        assert live.crossing is not None
        assert not isinstance(whole, Documents)
        # Of the whole: what is selected in between, Spark plans again for each micro-batch, each of its columns.
        crossed = events = whole.select(*(f"`{name}`" for name in live.crossing))
    if has_triggers(records):
        from rookery.spark.trigger import match_triggers

        if columns or subscription_columns or explain:
            raise PipelineError(
                "a match of a trigger rule has its names alone: leave columns, subscription_columns and explain out"
            )
        return match_triggers(crossed, live, records)
    id_type = records.schema.field("subscription_id").type
    carried = rule_columns_of(records, subscription_columns)
    fields = () if carried is None else tuple(carried.fields)
    output = crossing_schema(
        live.events.field(reading.event_id).type, id_type, explain=explain,
        columns=[live.events.field(name) for name in columns], rule_columns=carried,
    )  # fmt: skip
    if explain:
        found = unfold(crossed.mapInArrow(MatchStream(live, output, fields), spark_schema(output, events)))
    else:
        task = MatchStream(live, output, fields, tells=True)
        told = crossed.mapInArrow(task, spark_schema(output.append(TOLD), events))
        found = observe_rules(unfold(observe_batch(told)))
    return shown(found, shown_names(columns, subscription_columns))
