"""A set as it stands: what a match reads, whoever holds it (a live matcher, a compiled set, a task on Spark).

Rule 1: a view never changes, so any number of threads may read it while another makes the next one.
Rule 2: all engines answer through this one path. Codes in, pairs out, decide what the rows could not hold exactly, then
name the events and subscriptions. So the five engines cannot differ in topics, dates, parameters or output.
Rule 3: what the rows do not hold is decided by programs (`programs.py`), in a kernel for all pairs of a batch. Only
what codes do not tell apart (decimals past 18 digits, the ends of 64 bits) is asked of the evaluator, pair by pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rookery.arrays import distinct
from rookery.errors import EventError, UnknownSubscriptionError
from rookery.matching.catalog import SHOWN_TOPICS, Catalog, Topics
from rookery.matching.codes import TIME, TOPIC, CodeSpace
from rookery.matching.kernels import ATTRIBUTE_MASK
from rookery.matching.pieces import Piece, in_order, joined, merged, ordered_pieces
from rookery.matching.programs import Programs
from rookery.matching.records import Records
from rookery.matching.row_path import BY_VALUE, PROGRAM, match_one
from rookery.matching.rows import Rows
from rookery.matching.texts.index import TEXT, Truths
from rookery.matching.texts.instances import probe_instances
from rookery.matching.times import event_time, event_times
from rookery.model.batches import Batch, Events, batch_of, event_column
from rookery.model.check import Checker, checking
from rookery.model.evaluate import Condition, condition
from rookery.model.event_columns import comparables
from rookery.model.events import TOPIC_KEY, check_on_error, comparable, read_value, shown_value
from rookery.model.expressions import NOW_PATH, Timestamp
from rookery.model.instants import instant_of
from rookery.model.parser import parse
from rookery.model.schema import Attribute

__all__ = ["BY_VALUE", "PROGRAM", "Engine", "View", "used_part"]

Array = np.ndarray[Any, Any]
Path = tuple[str | int, ...]

#: Events coded and matched at a time: a batch of any length takes bounded memory beside its result.
BATCH_EVENTS = 131_072
#: Codes of one part of a batch: of a set that tests very many attributes, fewer events are matched at a time.
BATCH_CODES = 1 << 25
#: Conditions that are TRUE of a batch, for each subscription, from which on it pays to look which of them rows need.
MANY_TRUTHS = 4


class Merge(Protocol):
    """Work that makes an engine faster and is done beside it."""

    def run(self, space: CodeSpace, alive: Array) -> None:
        """Do it, for the state that the engine was in."""

    def applied(self, engine: Engine) -> Engine | None:
        """Return an engine with it done, None where it does not fit any more."""


class Engine(Protocol):
    """Finds the rows that hold for events. Everything in codes: a topic is one, and so is a date."""

    name: str

    @property
    def nbytes(self) -> int: ...

    def extended(self, rows: Rows, space: CodeSpace) -> Engine:
        """Return an engine with more rows, which are in the codes of a space; this one stays."""

    def merge_due(self) -> Merge | None:
        """Return what would make the engine faster, None if nothing would."""

    def packed(self, rows: Rows, space: CodeSpace) -> Engine:
        """Return an engine of the same kind with exactly these rows."""

    def rows(self) -> Rows:
        """Return every row, the dead ones too."""

    def probe(self, codes: Array, alive: Array) -> Array:
        """Return the pairs `event << 32 | slot` of live slots; a subscription with several rows may repeat."""

    def probe_event(self, codes: Array, alive: Array) -> list[int]:
        """Return the live slots of the one event of `codes`, in order, each once."""


@dataclass(frozen=True, slots=True)
class View:
    """One state of a set: the parts that a match reads. An edit makes another view, which shares what stays.

    `alive` and `inexact` say of each slot whether it is in the set, and how it is decided if its rows are larger than
    the truth; they may be longer than the records. `conditions` is filled as it is needed: what a slot's condition is,
    never changes, so all states that number their slots alike share it.
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
    programs: Programs = field(default_factory=Programs)

    @classmethod
    def of(cls, space: CodeSpace, engine: Engine, records: Records, inexact: Iterable[int], programs: Programs) -> View:
        """Return the view of records that are all alive; `inexact` are the slots that are decided by value."""
        flags = np.zeros(len(records), np.uint8)
        flags[programs.slots()] = PROGRAM
        flags[list(inexact)] = BY_VALUE
        catalog = Catalog(records)
        return cls(
            space, engine, records, np.ones(len(records), np.uint8), flags, int(np.count_nonzero(flags)),
            catalog.topics, catalog.dated, live=len(records), programs=programs,
        )  # fmt: skip

    @property
    def nbytes(self) -> int:
        """The bytes of index, records and texts, those that Python keeps estimated from a sample of them."""
        flags = self.alive.nbytes + self.inexact.nbytes
        return self.engine.nbytes + self.records.nbytes + self.space.nbytes + self.programs.nbytes + flags

    def inexact_slots(self) -> list[int]:
        """Return the slots that are decided by value."""
        slots: list[int] = np.flatnonzero(self.inexact[: len(self.records)] == BY_VALUE).tolist()
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
        space, rows, programs = used_part(self.space, rows, self.programs.kept(number))
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
            programs=programs,
        )

    def match_event(
        self, event: Mapping[str, Any], *, topic: str | None, time: object, on_error: str = "raise", now: object = None
    ) -> list[int]:
        """Return the slots that match one dict event."""
        return match_one(self, event, topic=topic, time=time, on_error=on_error, now=now)

    def with_now(self, event: Mapping[str, Any], now: object) -> Mapping[str, Any]:
        """Return an event with the wall time that it is judged at, where a condition asks for it."""
        if not self.space.reads_now or (now is None and NOW_PATH[0] in event):
            return event
        return {**event, NOW_PATH[0]: self._given_now(now)}

    def _given_now(self, now: object) -> Timestamp:
        if now is None:
            raise EventError("a condition asks for now(), and nobody said when that is; give now=")
        try:
            return Timestamp(instant_of(now))
        except (TypeError, ValueError) as error:
            raise EventError(f"now= is a time: {error}") from None

    def _coded(self, encode: Callable[..., Array], find: Callable[..., Truths | None]) -> tuple[Array, Truths | None]:
        """Return the codes of events and what texts say of them.

        What only removed subscriptions named may be missing in them, or not fit.
        """
        try:
            return encode(), find()
        except EventError:
            if self.live == len(self.records):
                raise
            numbers, labels = self.tested()
            return encode(tested=numbers), find(wanted=labels)

    def tested(self) -> tuple[set[int], set[int]]:
        """Return the numbers of the attributes that living subscriptions test, and the labels of their texts."""
        numbers: set[int] = set()
        labels: set[int] = set()
        text = self.space.known(TEXT.path)
        for rows in (self.engine.rows(), self.programs.whole()[0]):
            living = np.repeat(self.alive[rows.slot] != 0, np.diff(rows.start))
            numbers |= set(distinct(rows.attribute[living] & ATTRIBUTE_MASK).tolist())
            labels |= set(distinct(rows.bounds[living & (rows.attribute == text), 0]).tolist())
        return numbers, labels

    def _truths(
        self, count: int, read: Callable[[Attribute], pa.Array], wanted: set[int] | None = None
    ) -> Truths | None:
        """Return which conditions on texts are TRUE of events, None where the set has none."""
        texts = self.space.texts
        return None if texts is None else texts.truths(count, lambda path: read(self.space.attribute(path)), wanted)

    def _probe(self, codes: Array, truths: Truths | None) -> Array:
        """Return the pairs `event << 32 | slot` of the rows that hold, those that need a text of the events with it."""
        pairs = self.engine.probe(codes, self.alive)
        if truths is None or not len(truths.labels):
            return pairs
        number = self.space.number(TEXT.path)
        events, labels = truths.pairs()
        if len(labels) > MANY_TRUTHS * len(self.records):
            # Most conditions on texts stand beside another one, by which their rows are found: these need no look-up.
            rows = self.engine.rows()
            needed = distinct(rows.bounds[rows.attribute == number, 0])
            kept = needed[np.minimum(np.searchsorted(needed, labels), len(needed) - 1)] == labels
            events, labels = events[kept], labels[kept]
        found = [pairs]
        for places, slots in probe_instances(
            lambda some: self.engine.probe(some, self.alive), codes, number, events, labels
        ):
            found.append((events[places] << 32) | slots)
        return np.concatenate(found)

    def _decided(self, events: Array, slots: Array, codes: Array, truths: Truths | None) -> Array:
        """Say of pairs whether the program of their slot accepts them; what has none is kept."""
        kept = np.ones(len(slots), np.bool_)
        mine = np.flatnonzero(self.inexact[slots] == PROGRAM)
        if len(mine):
            text = self.space.known(TEXT.path)
            said = Truths(np.zeros(len(codes) + 1, np.int64), np.empty(0, np.int64)) if truths is None else truths
            kept[mine] = self.programs.decide(events[mine], slots[mine], codes, -1 if text is None else text, said)
        return kept

    def match_batch(
        self,
        events: Events,
        *,
        time: str | None,
        topic: str | None,
        as_of: object,
        missing: str = "error",
        on_error: str = "raise",
        now: object = None,
    ) -> tuple[Array, Array]:
        """Return the matching pairs of a batch, by event and slot, in that order."""
        pieces = self.match_pieces(
            events, time=time, topic=topic, as_of=as_of, missing=missing, on_error=on_error, now=now
        )
        return joined(list(pieces))

    def match_pieces(
        self,
        events: Events,
        *,
        time: str | None,
        topic: str | None,
        as_of: object,
        missing: str = "error",
        on_error: str = "raise",
        now: object = None,
    ) -> Iterator[Piece]:
        """Yield the same in pieces, one or more, each of whole events."""
        check_on_error(on_error)
        batch = batch_of(events)
        if self.space.reads_now and (now is not None or NOW_PATH[0] not in batch):
            batch = batch.at(self._given_now(now))
        at = None if as_of is None else event_time(as_of)
        if at is None and as_of is not None:
            raise EventError(f"as_of= is a time, and {as_of!r} is none")
        size = min(BATCH_EVENTS, max(1024, BATCH_CODES // max(1, len(self.space))))
        found = (
            piece
            for first in range(0, max(1, batch.num_rows), size)  # an empty batch is checked too
            for piece in self._match_part(
                batch.slice(first, size),
                first,
                time=time,
                topic=topic,
                as_of=at,
                missing=missing,
                on_error=on_error,
            )
        )
        yield from merged(found)

    def _match_part(
        self,
        batch: Batch,
        first: int,
        *,
        time: str | None,
        topic: str | None,
        as_of: int | None,
        missing: str,
        on_error: str,
    ) -> Iterable[Piece]:
        """Match a part of a batch that begins at row `first`."""
        hidden = self._hidden_batch(batch, time=time, topic=topic, as_of=as_of, on_error=on_error)
        codes, truths = self._coded(
            partial(self.space.encode, batch, hidden, missing=missing, on_error=on_error),
            partial(
                self._truths,
                batch.num_rows,
                lambda one: self.space.column(batch, one, missing, on_error),
            ),
        )
        if truths is None or not len(truths.labels):
            pieces: Iterable[Piece] = ordered_pieces(lambda some: self.engine.probe(some, self.alive), codes)
        else:
            pieces = [in_order(self._probe(codes, truths), len(codes))]
        if self.inexact_count:
            events, slots = joined(list(pieces))
            kept = self._decided(events, slots, codes, truths)
            events, slots = events[kept], slots[kept]
            kept = self._verified(batch, events, slots, missing, on_error)
            pieces = [(events[kept], slots[kept])]
        return ((events + first, slots) for events, slots in pieces) if first else pieces

    def _verified(self, batch: Batch, events: Array, slots: Array, missing: str, on_error: str) -> Array:
        kept = np.ones(len(events), np.bool_)
        doubtful = np.flatnonzero(self.inexact[slots] == BY_VALUE)
        if not len(doubtful):
            return kept
        involved, place = np.unique(events[doubtful], return_inverse=True)
        columns: dict[Path, list[Any]] = {}
        for slot in np.unique(slots[doubtful]).tolist():
            for attribute in self.condition(slot)[1]:
                if attribute.path not in columns:
                    columns[attribute.path] = _values_at(batch, involved, attribute, missing, on_error)
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
            decide = checking(text, expression, lambda tree: condition(tree, schema, record.parameters))
            found = self.conditions[slot] = decide, Checker(schema, record.parameters).reads(expression)
        return found

    def hidden_event(self, event: Mapping[str, Any], topic: str | None, time: object, on_error: str) -> dict[str, Any]:
        """Return the topic and the time of a dict event, by the names of their attributes."""
        hidden: dict[str, Any] = {TOPIC.text: self.event_topic(event, topic, on_error)}
        if time is None:
            self._refuse_dated("give time=")
        elif self.space.known(TIME.path) is not None:  # a part of a set may have times and no dates
            at = event_time(time, on_error)
            hidden[TIME.text] = None if at is None else at * 1_000
        return hidden

    def event_topic(self, event: Mapping[str, Any], topic: str | None, on_error: str) -> str | None:
        """Return the topic of a dict event: the caller's, or its own (None = NULL), or the only one of the set."""
        if not hasattr(event, "get"):
            raise EventError(f"an event is a mapping, and this has {shown_value(event)}")
        if topic is None and self.topics.total and "topic" in event:
            own: str | None = read_value(event, TOPIC_KEY, on_error)
            return own
        return self._one_topic(topic)

    def _hidden_batch(
        self, batch: Batch, *, time: str | None, topic: str | None, as_of: int | None, on_error: str
    ) -> dict[str, Any]:
        hidden: dict[str, Any] = {}
        own = topic is None and self.topics.total > 0
        lacking = batch.lacking("topic") if own else None
        if own and ("topic" in batch or lacking is not None):
            hidden[TOPIC.text] = self._own_topics(batch, lacking, on_error)
        else:
            hidden[TOPIC.text] = self._one_topic(topic)
        if as_of is not None:
            hidden[TIME.text] = as_of * 1_000
        elif time is None:
            self._refuse_dated("name the column of the event's time: time=")
        elif self.space.known(TIME.path) is not None:  # a part of a set may have times and no dates
            hidden[TIME.text] = event_times(batch, time, on_error)
        return hidden

    def _own_topics(self, batch: Batch, lacking: Array | None, on_error: str) -> pa.Array:
        """Return the topics that the events name; one that has no such key, among others, is of the set's one topic."""
        topics = event_column(batch, TOPIC_KEY, on_error=on_error)
        if lacking is None or not lacking.any():
            return topics
        return pc.if_else(pa.array(lacking), pa.scalar(self._one_topic(None), pa.string()), topics)

    def _refuse_dated(self, advice: str) -> None:
        if self.dated:
            raise EventError(f"{self.dated} subscriptions have effective dates, and the events have no time; {advice}")

    def _one_topic(self, topic: str | None) -> str | None:
        if topic is not None:
            stated: str | None = comparable(TOPIC_KEY, topic)
            return stated
        total, first = self.topics
        if total > 1:
            shown = ", ".join(first[:SHOWN_TOPICS]) + (", …" if total > SHOWN_TOPICS else "")
            raise EventError(
                f"the set has {total} topics ({shown}), and the events name none; "
                "add a column `topic`, or state one topic for all: topic="
            )
        return first[0] if total else None


def _values_at(batch: Batch, rows: Array, attribute: Attribute, missing: str, on_error: str) -> list[Any]:
    """Return an attribute of some events; what the others have is not judged, as it is not in a row."""
    try:
        array = event_column(batch, attribute, missing=missing, on_error=on_error).take(pa.array(rows))
    except EventError:
        array = event_column(batch.pick(rows.tolist()), attribute, missing=missing, on_error=on_error)
    return comparables(attribute, array)


def used_part(space: CodeSpace, rows: Rows, programs: Programs) -> tuple[CodeSpace, Rows, Programs]:
    """Return a space of what rows and programs use, attributes and texts, and both as they are in it."""
    steps, jumps = programs.whole()
    together = Rows.concatenate([rows, steps])
    space, whole = space.used_by(together)
    if not len(steps):
        return space, whole, programs
    count = len(rows)
    return (
        space,
        whole.take(np.arange(count)).trimmed(),
        Programs.of(whole.take(np.arange(count, len(whole))).trimmed(), jumps),
    )
