"""A set as it stands: what a match reads, whoever holds it (a live matcher, a compiled set, a task on Spark).

Rule 1: a view never changes, so any number of threads may read it while another makes the next one.
Rule 2: all engines answer through this one path. Codes in, pairs out, verify what the rows could not hold exactly, then
name the events and subscriptions. So the five engines cannot differ in topics, dates, parameters or output.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from rookery.errors import EventError, UnknownSubscriptionError
from rookery.matching.catalog import SHOWN_TOPICS, Catalog, Topics
from rookery.matching.codes import TIME, TOPIC, CodeSpace
from rookery.matching.kernels import order_pairs
from rookery.matching.records import Records
from rookery.matching.rows import Rows
from rookery.model.check import checking
from rookery.model.evaluate import Condition, condition
from rookery.model.events import comparable, comparables, event_column, step_into
from rookery.model.instants import microseconds_of
from rookery.model.parser import parse
from rookery.model.schema import Attribute
from rookery.model.types import TimestampType

__all__ = ["Engine", "View", "event_time", "fields_of"]

Array = np.ndarray[Any, Any]
Path = tuple[str | int, ...]

#: Events coded and matched at a time: a batch of any length takes bounded memory beside its result.
BATCH_EVENTS = 131_072


class Engine(Protocol):
    """Finds the rows that hold for events. Everything in codes: a topic is one, and so is a date."""

    name: str

    @property
    def nbytes(self) -> int: ...

    def extended(self, rows: Rows, space: CodeSpace) -> Engine:
        """Return an engine with more rows, which are in the codes of a space; this one stays."""

    def packed(self, rows: Rows, space: CodeSpace) -> Engine:
        """Return an engine of the same kind with exactly these rows."""

    def rows(self) -> Rows:
        """Return every row, the dead ones too."""

    def probe(self, codes: Array, alive: Array) -> Array:
        """Return the pairs `event << 32 | slot` of live slots; a subscription with several rows may repeat."""


@dataclass(frozen=True, slots=True)
class View:
    """One state of a set: the parts that a match reads. An edit makes another view, which shares what stays.

    `alive` and `inexact` say of each slot whether it is in the set, and whether its rows are larger than the truth;
    they may be longer than the records. `conditions` is filled as it is needed: what a slot's condition is, never
    changes, so all states that number their slots alike share it.
    """

    space: CodeSpace
    engine: Engine
    records: Records
    alive: Array
    inexact: Array
    inexact_count: int
    topics: Topics
    dated: int
    conditions: dict[int, tuple[Condition, list[Attribute]]] = field(default_factory=dict)
    live: int = 0
    set_version: int = 0

    @classmethod
    def of(cls, space: CodeSpace, engine: Engine, records: Records, inexact: Iterable[int]) -> View:
        """Return the view of records that are all alive; `inexact` are the slots whose rows are too large."""
        flags = np.zeros(len(records), np.uint8)
        flags[list(inexact)] = 1
        catalog = Catalog(records)
        return cls(
            space, engine, records, np.ones(len(records), np.uint8), flags, int(flags.sum()), catalog.topics,
            catalog.dated, live=len(records),
        )  # fmt: skip

    @property
    def nbytes(self) -> int:
        """The bytes of index, records and texts, those that Python keeps estimated from a sample of them."""
        flags = self.alive.nbytes + self.inexact.nbytes
        return self.engine.nbytes + self.records.nbytes + self.space.nbytes + flags

    def inexact_slots(self) -> list[int]:
        """Return the slots whose rows are larger than the truth."""
        slots: list[int] = np.flatnonzero(self.inexact[: len(self.records)]).tolist()
        return slots

    def slots_of(self, subscription_id: str | int) -> list[int]:
        """Return the live slots of an id; UnknownSubscriptionError if there is none."""
        slots = [slot for slot in self.records.find(subscription_id) if self.alive[slot]]
        if not slots:
            raise UnknownSubscriptionError(f"no subscription {subscription_id!r} is in the set")
        return slots

    def packed(self) -> View:
        """Return the same set without its dead subscriptions, their texts, and attributes that nobody tests."""
        if self.live == len(self.records):
            return self
        kept = np.flatnonzero(self.alive[: len(self.records)])
        number = np.full(len(self.records), -1, np.int64)
        number[kept] = np.arange(len(kept))
        rows = self.engine.rows()
        rows = rows.take(np.flatnonzero(self.alive[rows.slot])).trimmed()
        space, rows = self.space.used_by(rows)
        return View(
            space,
            self.engine.packed(rows.with_slots(number[rows.slot]), space),
            self.records.taken(kept),
            np.ones(len(kept), np.uint8),
            self.inexact[kept],
            self.inexact_count,
            self.topics,
            self.dated,
            live=self.live,
            set_version=self.set_version,
        )

    def match_event(self, event: Mapping[str, Any], *, topic: str | None, time: object) -> list[int]:
        """Return the slots that match one dict event."""
        if topic is None and self.topics.total:
            topic = event.get("topic")  # an event names its topic itself, unless the caller does
        hidden = self._hidden_event(topic, time)
        pairs = self.engine.probe(self.space.encode_event(event, hidden), self.alive)
        slots = sorted(set(pairs.tolist()))  # one event, so a pair is its slot
        if self.inexact_count:
            slots = [slot for slot in slots if not self.inexact[slot] or self._verify(slot, event)]
        return slots

    def _verify(self, slot: int, event: Mapping[str, Any]) -> bool:
        decide, attributes = self.condition(slot)
        return decide({one.path: comparable(one, step_into(event, one.path)) for one in attributes}) is True

    def match_batch(
        self,
        batch: pa.Table | pa.RecordBatch,
        *,
        time: str | None,
        topic: str | None,
        as_of: object,
        missing: str = "error",
    ) -> tuple[Array, Array]:
        """Return the matching pairs of a batch, by event and slot, in that order."""
        found = [
            self._match_part(
                batch.slice(first, BATCH_EVENTS), first, time=time, topic=topic, as_of=as_of, missing=missing
            )
            for first in range(0, max(1, batch.num_rows), BATCH_EVENTS)  # an empty batch is checked too
        ]
        if len(found) == 1:
            return found[0]
        return np.concatenate([events for events, _ in found]), np.concatenate([slots for _, slots in found])

    def _match_part(
        self,
        batch: pa.Table | pa.RecordBatch,
        first: int,
        *,
        time: str | None,
        topic: str | None,
        as_of: object,
        missing: str,
    ) -> tuple[Array, Array]:
        """Match a part of a batch that begins at row `first`."""
        hidden = self._hidden_batch(batch, time=time, topic=topic, as_of=as_of)
        codes = self.space.encode(batch, hidden, missing=missing)
        events, slots = order_pairs(self.engine.probe(codes, self.alive), len(codes))
        if self.inexact_count:
            kept = self._verified(batch, events, slots, missing)
            events, slots = events[kept], slots[kept]
        return events + first if first else events, slots

    def _verified(self, batch: pa.Table | pa.RecordBatch, events: Array, slots: Array, missing: str) -> Array:
        kept = np.ones(len(events), np.bool_)
        doubtful = np.flatnonzero(self.inexact[slots])
        if not len(doubtful):
            return kept
        involved, place = np.unique(events[doubtful], return_inverse=True)
        part = batch.take(pa.array(involved))
        columns: dict[Path, list[Any]] = {}
        for slot in np.unique(slots[doubtful]).tolist():
            for attribute in self.condition(slot)[1]:
                if attribute.path not in columns:
                    absent = missing == "null" and attribute.path[0] not in batch.schema.names
                    columns[attribute.path] = (
                        [None] * len(involved) if absent else comparables(attribute, event_column(part, attribute))
                    )
        for index, row in zip(doubtful.tolist(), place.tolist(), strict=True):
            decide, attributes = self.condition(int(slots[index]))
            kept[index] = decide({one.path: columns[one.path][row] for one in attributes}) is True
        return kept

    def condition(self, slot: int) -> tuple[Condition, list[Attribute]]:
        """Return a subscription's condition as the oracle evaluates it, and the attributes it reads."""
        found = self.conditions.get(slot)
        if found is None:
            record = self.records[slot]
            text = record.where or ""
            expression = parse(text)
            schema = self.space.schema
            paths = dict.fromkeys(fields_of(expression))
            decide = checking(text, expression, lambda tree: condition(tree, schema, record.parameters))
            found = self.conditions[slot] = decide, [schema.attribute(path) for path in paths]
        return found

    def _hidden_event(self, topic: str | None, time: object) -> dict[str, Any]:
        hidden: dict[str, Any] = {TOPIC.text: self._one_topic(topic)}
        if time is None:
            self._refuse_dated("give time=")
        else:
            hidden[TIME.text] = event_time(time) * 1_000
        return hidden

    def _hidden_batch(
        self, batch: pa.Table | pa.RecordBatch, *, time: str | None, topic: str | None, as_of: object
    ) -> dict[str, Any]:
        hidden: dict[str, Any] = {}
        if topic is None and "topic" in batch.schema.names and self.topics.total:
            hidden[TOPIC.text] = batch.column("topic")
        else:
            hidden[TOPIC.text] = self._one_topic(topic)
        if as_of is not None:
            hidden[TIME.text] = event_time(as_of) * 1_000
        elif time is None:
            self._refuse_dated("name the column of the event's time: time=")
        elif self.space.known(TIME.path) is not None:
            hidden[TIME.text] = _time_column(batch, time)
        return hidden

    def _refuse_dated(self, advice: str) -> None:
        if self.dated:
            raise EventError(f"{self.dated} subscriptions have effective dates, and the events have no time; {advice}")

    def _one_topic(self, topic: str | None) -> str | None:
        if topic is not None:
            return topic
        total, first = self.topics
        if total > 1:
            shown = ", ".join(first[:SHOWN_TOPICS])
            raise EventError(
                f"the set has {total} topics ({shown}{', …' if total > SHOWN_TOPICS else ''}) the events name none; "
                "add a column `topic`, or state one topic for all: topic="
            )
        return first[0] if total else None


def event_time(value: object) -> int:
    """Return a time that a caller gives for events, in microseconds; EventError says what is wrong with it."""
    try:
        return microseconds_of(value)
    except (TypeError, ValueError) as error:
        raise EventError(f"the time is wrong: {error}") from None


def _time_column(batch: pa.Table | pa.RecordBatch, name: str) -> pa.Array:
    """Return the event times as whole microseconds, rounded down: an effective date has none finer."""
    if name not in batch.schema.names:
        raise EventError(
            f"the events have no column {name!r} for their time; they have {', '.join(batch.schema.names[:12])}"
        )
    column = batch.column(name)
    if pa.types.is_timestamp(column.type) or pa.types.is_date(column.type):
        unit = column.type.unit if pa.types.is_timestamp(column.type) else "s"
        attribute = Attribute((name,), TimestampType(unit))
        array = event_column(pa.table({name: column}), attribute).cast(pa.int64())
        values = array.fill_null(0).to_numpy(zero_copy_only=False)
        factor = {"s": 1_000_000, "ms": 1_000, "us": 1}.get(unit)
        micros = values // 1_000 if factor is None else values * factor
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        return pa.array(micros, mask=~valid).cast(pa.timestamp("us"))
    raise EventError(f"the time column {name!r} is {column.type}, and must be a timestamp")


def fields_of(expression: Any) -> list[Path]:
    """Return the paths of the fields that an expression names, in order."""
    from rookery.model.expressions import And, Comparison, Constant, Field, Not, Or

    if isinstance(expression, And | Or):
        return [path for operand in expression.operands for path in fields_of(operand)]
    if isinstance(expression, Not):
        return fields_of(expression.operand)
    if isinstance(expression, Comparison):
        other = [expression.right.path] if isinstance(expression.right, Field) else []
        return [expression.left.path, *other]
    return [] if isinstance(expression, Constant) else [expression.field.path]
