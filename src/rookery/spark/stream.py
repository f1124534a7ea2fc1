"""Matching a stream: rules that change while it runs, and a replay that gives the same answer.

At the first rows of a micro-batch, each task asks which set judges this batch. If none is recorded yet, the task
looks at the rules: read from files, they are checked here and now, so an edit counts from the very next micro-batch;
read from a table, the driver has looked in the meantime and published what it saw. The task then binds the batch, and
from that moment every other task and every replay of this batch uses the same set (`versions`).

A rule that does not compile is quarantined and the stream goes on. A source that cannot be read at this moment (a
file half written, a folder being replaced) leaves the last set in force, with a warning.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from time import thread_time
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rookery.errors import CheckpointError, PipelineError, RookeryError
from rookery.model.tables import TRIGGER_COLUMNS
from rookery.spark.carried import rule_columns_as, rule_columns_of, shown_names
from rookery.spark.crossing import shown, spark_schema, unfold
from rookery.spark.progress import TOLD, observe_batch, observe_rules, told_row, with_told
from rookery.spark.projection import Ahead, check_read, lacking, projected, within
from rookery.spark.rules import (
    OnError,
    Reading,
    check_quarantined,
    compile_rules,
    require_all,
    require_columns,
    schema_of,
)
from rookery.spark.subscriptions import FileRules, MemoryRules, RuleSource, Subscriptions
from rookery.spark.types import arrow_schema_of, crosses
from rookery.spark.versions import SetVersion, VersionLog
from rookery.spark.worker import crossing_schema, loaded, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


__all__ = ["LiveRules", "MatchStream", "RulePoll", "batch_number", "match_stream", "open_rules"]

log = logging.getLogger("rookery.spark")

#: The local property in which Spark tells a task the number of its micro-batch.
BATCH_PROPERTY = "streaming.sql.batchId"


#: Batches whose set stays on record, and how often older ones are forgotten. Spark replays the last one only.
KEPT_BATCHES, SWEEP = 1_000, 100
UNREADABLE = "the rules cannot be read now, set_version %s stays in force: %s"


@dataclass(frozen=True, slots=True)
class LiveRules:
    """The rules of one stream: the log of its sets, the source where a worker may look, and the events' schema.

    `crossing` are the columns that workers see. What is `afresh` is signed too: another asks for a new set.
    """

    log: VersionLog
    reading: Reading
    events: pa.Schema
    source: FileRules | MemoryRules | None
    crossing: tuple[str, ...] | None = None  # all
    afresh: str = ""

    def refresh(self, source: RuleSource | None = None) -> SetVersion:
        """Look at the source; when it changed, compile and publish. Returns the set now in force."""
        source = source or self.source
        head = self.log.head()
        if source is None:
            assert head is not None  # the driver published the first set before the stream began
            return head
        try:
            return self.look(source, head)
        except (RookeryError, OSError) as error:
            if head is None:
                raise
            log.warning(UNREADABLE, head.number, error)
            return head

    def look(self, source: RuleSource, head: SetVersion | None) -> SetVersion:
        """Look at the source; a source that cannot be read raises, and the set in force stays."""
        sign = self.sign(source)
        if head is not None and head.fingerprint == sign:
            return head
        records = source.read()
        if self.sign(source) != sign:
            raise PipelineError("the rules changed while they were read")
        made = compile_rules(records, schema_of(self.events), reading=self.reading)
        made = within(made, self.events, self.crossing, self.reading)
        return self.log.publish(made, records, sign)

    def sign(self, source: RuleSource) -> str:
        """Sign the source together with the events' schema: either change asks for a new set."""
        return blake2b(f"{source.fingerprint()}|{self.events}{self.afresh}".encode(), digest_size=16).hexdigest()

    def judge(self, batch: int) -> SetVersion:
        """Return the set that judges a batch: the recorded one, or the one in force now, which is then recorded."""
        known = self.log.bound(batch)
        if known is not None:
            return known
        if batch and batch % SWEEP == 0:
            self.log.forget(before=batch - KEPT_BATCHES)
        return self.log.bind(batch, self.refresh().number, datetime.now(UTC))

    def judged(self, batch: int) -> tuple[SetVersion, Reading]:
        """Return the set that judges a batch, and how its events are read: with the now() that is recorded for it."""
        version = self.judge(batch)
        return version, replace(self.reading, now=self.log.moment(batch) or self.reading.now)


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
        compiled, carried, reading = None, None, self.rules.reading
        for batch in batches:
            if not batch.num_rows:
                continue
            if compiled is None:
                version, reading = self.rules.judged(batch_number())
                compiled = loaded(self.rules.log.carrier(version), self.rules.reading)
                check_read(compiled.columns, batch)
                told |= {"events": 0, "seconds": 0.0, "set_version": version.number}
                told["quarantined"] = len(version.quarantined)
                if self.rule_fields:
                    carried = rule_columns_as(self.rules.log.records(version), self.rule_fields)
            told["events"] += batch.num_rows
            yield from rows(compiled, batch, reading, self.output, rule_columns=carried)


def batch_number() -> int:
    """Return the number of the micro-batch that this task belongs to."""
    from pyspark import TaskContext

    context = TaskContext.get()
    number = None if context is None else context.getLocalProperty(BATCH_PROPERTY)
    if number is None:
        raise PipelineError("this task belongs to no micro-batch: a streaming match must run as a streaming query")
    return int(number)


class RulePoll(threading.Thread):
    """Looks at a table of rules for as long as the driver and the stream's checkpoint live, because no worker can."""

    def __init__(self, rules: LiveRules, source: RuleSource, *, seconds: float) -> None:
        super().__init__(name="rookery-rules", daemon=True)
        self.rules, self.source, self.seconds = rules, source, seconds
        self.ended = threading.Event()

    def run(self) -> None:
        """Look, wait, look again; a table that cannot be read now is a warning, said once for each reason."""
        from pyspark import SparkContext

        said = ""
        while not self.ended.wait(self.seconds):
            context = getattr(SparkContext, "_active_spark_context", None)
            if context is not None and context._jsc is None:
                return  # the session is over
            try:
                head = self.rules.log.head()
            except (CheckpointError, OSError):
                continue  # it is being removed: at the next look it is gone. Of one that is damaged the stream tells
            if head is None:
                return  # the checkpoint was removed, and the stream with it
            try:
                self.rules.look(self.source, head)
                said = ""
            except Exception as error:
                if str(error) != said:
                    log.warning(UNREADABLE, head.number, error)
                said = str(error)


def open_rules(
    events: DataFrame,
    rules: Subscriptions,
    reading: Reading,
    *,
    checkpoint: str,
    columns: Sequence[str] = (),
    ahead: Ahead = "*",
    seconds: float = 1.0,
) -> tuple[LiveRules, SetVersion]:
    """Prepare the rules of a stream on the driver: check, publish the first set, and poll what workers cannot read.

    `columns` go out with the matches, and `ahead` are those that rules to come may read.
    """
    from rookery.spark.pipeline import arrow_schema

    require_columns(events.columns, event_id=reading.event_id, time=reading.time)
    version_log = VersionLog(checkpoint)
    version_log.open({"event_id": reading.event_id, "time": reading.time, "topic": reading.topic})
    source = rules.source
    live = LiveRules(
        version_log, reading, arrow_schema(events), source if isinstance(source, FileRules | MemoryRules) else None
    )
    live, first = _first(live, source, [*columns], ahead)
    for bad in first.quarantined:
        log.warning("quarantined %s: %s", bad["subscription_id"], bad["reason"])
    if not source.anywhere:
        RulePoll(live, source, seconds=seconds).start()
    return live, first


def _first(live: LiveRules, source: RuleSource, columns: list[str], ahead: Ahead) -> tuple[LiveRules, SetVersion]:
    """Return the rules with the columns that cross, and the set in force; compiled only where it is a new one."""
    head, begun = live.log.head(), live.log.batches()
    last = live.log.bound(begun[-1]) if begun else None

    def seeing(needed: Sequence[str] | None, records: pa.Table) -> LiveRules:
        # A log of before does not say what a set reads; the key of a trigger to come may be any column.
        whole = needed is None or has_triggers(records)
        asked = [*(needed or ()), *columns]
        names = projected(live.events.names, live.reading, asked, "*" if whole else ahead, last)
        return replace(live, crossing=tuple(names))

    if head is not None and lacking(head):  # what was left out may be judged now
        live = replace(live, afresh=uuid.uuid4().hex)
    try:
        sign = live.sign(source)
        if head is not None and head.fingerprint == sign:
            return seeing(head.columns, live.log.records(head)), head
        records = source.read()
        made = compile_rules(records, schema_of(live.events), reading=live.reading)
        live = seeing(made.columns, records)
        if live.sign(source) == sign:
            return live, live.log.publish(made, records, sign)
        return live, live.refresh(source)
    except (RookeryError, OSError) as error:
        if head is None:
            raise
        log.warning(UNREADABLE, head.number, error)
        return seeing(head.columns, live.log.records(head)), head


def has_triggers(records: pa.Table) -> bool:
    """Say whether some of the rules may have a trigger."""
    return any(name in records.column_names for name in TRIGGER_COLUMNS)


def match_stream(
    events: DataFrame,
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
    """Return the matches of a streaming DataFrame; with trigger columns in the rules, only those that fire.

    `on_error` is for the rules that are there now: one that is edited badly later never stops a stream.
    """
    held = [one.name for one in arrow_schema_of(events.schema) if crosses(one.type)]
    require_columns(held, event_id=reading.event_id, time=reading.time)
    events = events.select(*(f"`{name}`" for name in held))
    require_all(held, columns)
    if on_error == "raise":
        check_quarantined(rules.compiled(schema_of(arrow_schema_of(events.schema)), reading), on_error)
    live, first = open_rules(events, rules, reading, checkpoint=checkpoint, columns=columns, ahead=ahead)
    assert live.crossing is not None
    events = events.select(*(f"`{name}`" for name in live.crossing))
    records = live.log.records(first)
    if has_triggers(records):
        from rookery.spark.trigger import match_triggers

        if columns or subscription_columns or explain:
            raise PipelineError(
                "a match of a trigger rule has its names alone: leave columns, subscription_columns and explain out"
            )
        return match_triggers(events, live, records)
    id_type = records.schema.field("subscription_id").type
    carried = rule_columns_of(records, subscription_columns)
    fields = () if carried is None else tuple(carried.fields)
    output = crossing_schema(
        live.events.field(reading.event_id).type, id_type, explain=explain,
        columns=[live.events.field(name) for name in columns], rule_columns=carried,
    )  # fmt: skip
    if explain:
        found = unfold(events.mapInArrow(MatchStream(live, output, fields), spark_schema(output, events)))
    else:
        task = MatchStream(live, output, fields, tells=True)
        crossed = events.mapInArrow(task, spark_schema(output.append(TOLD), events))
        found = observe_rules(unfold(observe_batch(crossed)))
    return shown(found, shown_names(columns, subscription_columns))
