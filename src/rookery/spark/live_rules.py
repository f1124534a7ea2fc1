"""The rules of a stream while it runs: which set judges a micro-batch, and how an edit of the rules becomes a set.

At the first rows of a micro-batch, each task asks which set judges this batch. If none is recorded yet, the task
looks at the rules: read from files, they are checked here and now, so an edit counts from the very next micro-batch;
read from a table, the driver has looked in the meantime and published what it saw. The task then binds the batch, and
from that moment every other task and every replay of this batch uses the same set (`versions`).

An edit of many rules costs what is edited, not what there is: the set is the one before with the edit behind it
(`edits`, `states`), and the driver compiles it whole beside the stream when many edits have gathered. A folder of edits
says what is edited; otherwise the rules are read and compared with those of before.

A rule that does not compile is quarantined and the stream goes on. A source that cannot be read at this moment (a
file half written, a folder being replaced) leaves the last set in force, with a warning.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING

import pyarrow as pa

from rookery.errors import CheckpointError, PipelineError, RookeryError
from rookery.model.schema import Schema
from rookery.model.tables import TRIGGER_COLUMNS
from rookery.spark.documents import Documents, ReadDocuments
from rookery.spark.edits import SetEdit, Taken, changed, edited, taken
from rookery.spark.projection import Ahead, lacking, projected, within
from rookery.spark.rules import CompiledRules, Reading, compile_rules, require_columns, schema_of
from rookery.spark.subscriptions import FileRules, MemoryRules, RuleSource, Subscriptions
from rookery.spark.versions import SetVersion, VersionLog

if TYPE_CHECKING:
    from rookery import CompiledSet
    from rookery.spark.documents import Events

__all__ = ["LiveRules", "RulePoll", "has_triggers", "open_rules"]

log = logging.getLogger("rookery.spark")

#: Batches whose set stays on record, and how often older ones are forgotten. Spark replays the last one only.
KEPT_BATCHES, SWEEP = 1_000, 100
UNREADABLE = "the rules cannot be read now, set_version %s stays in force: %s"

#: Rules from which on they are compared with those of before; fewer are compiled as soon.
EDITED_FROM = 10_000
#: The part of a set that is edited and not compiled whole, and ids that are at any rate.
EDIT_PART, FEW_EDITS = 8, 1_024


@dataclass(frozen=True, slots=True)
class Seen:
    """What a source holds now: its sign, and its records, or of an edit those alone."""

    sign: str
    taken: Taken | None
    records: pa.Table
    edit: SetEdit | None


@dataclass(frozen=True, slots=True)
class LiveRules:
    """The rules of one stream: the log of its sets, the source where a worker may look, and the events' schema.

    `crossing` are the columns that workers see. What is `afresh` is signed too: another asks for a new set. With
    `documents` the events are those that it reads, and `events` are the columns that are there whatever the rules name.
    """

    log: VersionLog
    reading: Reading
    events: pa.Schema
    source: FileRules | MemoryRules | None
    crossing: tuple[str, ...] | None = None  # all
    afresh: str = ""
    documents: ReadDocuments | None = None

    def compile(self, records: pa.Table) -> CompiledRules:
        """Compile rules for the events of this stream."""
        if self.documents is None:
            return compile_rules(records, schema_of(self.events), reading=self.reading)
        drawn = Schema.from_subscriptions(records).types
        fixed = schema_of(self.events).types
        return compile_rules(records, Schema.from_dict({**drawn, **fixed}), reading=self.reading)

    def batches(self, given: Iterable[pa.RecordBatch], compiled: CompiledSet) -> Iterable[pa.RecordBatch]:
        """Return the events of a task: as they are given, or the documents that they name, as a set asks for them."""
        if self.documents is None:
            return given
        fixed = [name for name in self.events.names if name not in compiled.columns]
        asked = {name: compiled.schema.types[name] for name in [*compiled.columns, *fixed]}
        asked.pop(self.reading.event_id, None)
        return replace(self.documents, schema=Schema.from_dict(asked))(given)

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
        while (seen := self.seen(source, head)) is not None:
            if seen.edit is None or head is None:
                made = within(self.compile(seen.records), self.events, self.crossing, self.reading)
                return self.log.publish(made, seen.records, seen.sign, around=self.around, taken=seen.taken)
            made = within(self.compile(seen.edit.records), self.events, self.crossing, self.reading)
            found = self.log.publish_edit(head, made, seen.edit, seen.sign, taken=seen.taken)
            if found is not None:
                return found
            head = self.log.head()  # another process was as quick
        assert head is not None
        return head

    def seen(self, source: RuleSource, head: SetVersion | None) -> Seen | None:
        """Return what a source holds beside a set, as an edit of the set if that can be; None where it is the same."""
        names = source.edits.names() if isinstance(source, FileRules) and source.edits is not None else None
        sign, taken = self._sign(source, names)
        if head is not None and head.fingerprint == sign:
            return None
        like = head is not None and head.around == self.around and self.documents is None
        if like and names is not None and taken is not None and isinstance(source, FileRules):
            edit = self._later(source, head, names, taken)  # type: ignore[arg-type]
            if edit is not None:
                return Seen(sign, taken, edit.records, edit)
        records = source.read(names) if isinstance(source, FileRules) else source.read()
        if self._sign(source, names)[0] != sign:
            raise PipelineError("the rules changed while they were read")
        edit = None
        if like and head is not None and head.rules >= EDITED_FROM:
            edit = changed(self.log.records(head), records)
            edit = edit if edit is not None and len(edit.touched) <= head.rules // EDIT_PART else None
        return Seen(sign, taken, records, edit)

    def _later(self, source: FileRules, head: SetVersion, names: Sequence[str], now: Taken) -> SetEdit | None:
        """Return the edits of a folder behind those that a set has; None where something else changed too."""
        before = head.taken
        if before is None or taken(now.files, names[: before.edits]) != before:
            return None
        assert source.edits is not None
        edit = source.edits.read(names[before.edits :], self.log.id_type(head))
        return edit if len(edit.touched) <= max(head.rules // EDIT_PART, FEW_EDITS) else None

    def sign(self, source: RuleSource) -> str:
        """Sign the source together with the events' schema: either change asks for a new set."""
        return self._sign(source, None)[0]

    def _sign(self, source: RuleSource, names: Sequence[str] | None) -> tuple[str, Taken | None]:
        """Return the sign, and of a source with a folder of edits how far it is read with those of these names."""
        found = None
        if isinstance(source, FileRules) and source.edits is not None:
            found = source.taken(source.edits.names() if names is None else names)
        text = source.fingerprint() if found is None else found.fingerprint()
        return _hash(f"{text}|{self.around}"), found

    @property
    def around(self) -> str:
        """Sign what else decides the meaning of rules: the events' schema, and what asks for a new set."""
        return _hash(f"{self.events}{self.afresh}")

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


class RulePoll(threading.Thread):
    """What the driver does beside a stream, for as long as it and the stream's checkpoint live.

    It looks at a table of rules, because no worker can, and compiles a set whole that has many edits behind it.
    """

    def __init__(self, rules: LiveRules, source: RuleSource | None, *, seconds: float) -> None:
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
                if self.source is not None:
                    head = self.rules.look(self.source, head)
                if self.rules.log.is_long(head):
                    self.rules.log.merge(head)
                said = ""
            except Exception as error:
                if str(error) != said:
                    log.warning(UNREADABLE, head.number, error)
                said = str(error)


def open_rules(
    events: Events,
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
    reader, held = None, arrow_schema(events)
    if isinstance(events, Documents):
        reader = events.reader
        held = pa.schema([one for one in held if one.name in (reading.event_id, reading.time, *columns)])
        if reading.topic is None and "topic" not in held.names:  # rules to come may have one
            held = held.append(pa.field("topic", pa.string()))
    looked_at = source if isinstance(source, FileRules | MemoryRules) else None
    live = LiveRules(version_log, reading, held, looked_at, documents=reader)
    live, first = _first(live, source, [*columns], ahead)
    for bad in first.quarantined:
        log.warning("quarantined %s: %s", bad["subscription_id"], bad["reason"])
    if not isinstance(source, MemoryRules):
        RulePoll(live, None if source.anywhere else source, seconds=seconds).start()
    return live, first


def _first(live: LiveRules, source: RuleSource, columns: list[str], ahead: Ahead) -> tuple[LiveRules, SetVersion]:
    """Return the rules with the columns that cross, and the set in force; compiled only where it is a new one."""
    head, begun = live.log.head(), live.log.batches()
    last = live.log.bound(begun[-1]) if begun else None

    def seeing(needed: Sequence[str] | None, records: pa.Table) -> LiveRules:
        # A log of before does not say what a set reads; the key of a trigger to come may be any column.
        whole = needed is None or has_triggers(records)
        if live.documents is not None:
            return live
        asked = [*(needed or ()), *columns]
        names = projected(live.events.names, live.reading, asked, "*" if whole else ahead, last)
        return replace(live, crossing=tuple(names))

    if head is not None and lacking(head):  # what was left out may be judged now
        live = replace(live, afresh=uuid.uuid4().hex)
    try:
        seen = live.seen(source, head)
        if seen is None:
            assert head is not None
            return seeing(head.columns, live.log.records(head)), head
        made = live.compile(seen.records)
        needed, records = made.columns, seen.records
        if seen.edit is not None and head is not None:
            needed, records = [*(head.columns or ()), *needed], edited(live.log.records(head), seen.edit)
        live = seeing(needed, records)
        if seen.edit is None and live.sign(source) == seen.sign:
            published = live.log.publish(made, seen.records, seen.sign, around=live.around, taken=seen.taken)
            return live, published
        return live, live.refresh(source)
    except (RookeryError, OSError) as error:
        if head is None:
            raise
        log.warning(UNREADABLE, head.number, error)
        return seeing(head.columns, live.log.records(head)), head


def _hash(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()


def has_triggers(records: pa.Table) -> bool:
    """Say whether some of the rules may have a trigger."""
    return any(name in records.column_names for name in TRIGGER_COLUMNS)
