"""Events instead of samples: the topics of one node, what it publishes, and who of its subscribers wants what arrives.

All subscriptions of a topic share one reader and one compiled set: a sample is decoded once and matched once, however
many filters there are, and DDS sees one endpoint. The filters act here, on whatever a writer sends, so they work with
writers that know nothing of them; what they want together is announced too, where it can be said. Nothing here reads a
clock or a socket: events of the participant go in through `take`, deliveries come out.

Subscriptions that make writers wait (`at_most`) have a reader of their own: it acknowledges what they have taken
(`taken`, then `settle`) and takes no more than that many samples of a writer before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import msgspec

from rookery.errors import TopicError, WireFormatError
from rookery.matching import matcher
from rookery.model import Schema
from rookery.participant.content_filters import filter_of
from rookery.participant.event_types import EventType
from rookery.participant.instances import InstanceChanged, Instances, InstanceState
from rookery.participant.participant import Participant
from rookery.participant.taking import Taking
from rookery.rtps.announcements import ContentFilter
from rookery.rtps.events import (
    EndpointUnmatched,
    Event,
    LivelinessChanged,
    SampleKind,
    SampleReceived,
    SampleSuperseded,
)
from rookery.rtps.identity import Guid
from rookery.rtps.qos import DestinationOrder, Ownership, QualityOfService

__all__ = ["Delivery", "Exchange", "warm"]

#: Instances whose last event is remembered; the one that was heard of longest ago is forgotten first.
_MOST_INSTANCES = 65_536


@cache
def warm(engine: str = "bitmap") -> None:
    """Compile or load what matching needs, once: seconds on a machine that has never matched, when a lease may end."""
    filters = matcher(Schema(word=str, count=int, ratio=float, ok=bool), engine=engine)
    filters.add(1, "word LIKE 'a%' AND count BETWEEN 1 AND 3 OR ratio < 2 AND ok = TRUE")
    filters.add(2, "TRUE")
    filters.match({"word": "abc", "count": 2, "ratio": 1.5, "ok": True})
    filters.remove(2)
    filters.match({"word": "b", "count": 4, "ratio": 2.5, "ok": False})


class Delivery(msgspec.Struct, frozen=True):
    """An event for one subscription."""

    subscription_id: int
    topic: str
    event: dict[str, Any]
    writer: Guid
    sequence: int


@dataclass(slots=True)
class _Reading:
    """What a node reads of one topic: a reader and a set of subscriptions."""

    topic: str
    type: EventType
    qos: QualityOfService
    reader: Guid
    filters: Any
    #: What its subscriptions have not taken, where writers wait for that.
    taking: Taking | None
    #: The conditions by subscription; None for one that cannot be told to others.
    subscriptions: dict[int, str | None] = field(default_factory=dict)
    #: Whether some subscription has a condition.
    is_choosy: bool = False
    #: Where they are asked for, the instances of the topic.
    instances: Instances | None = None
    #: When the last event of each instance was written that went on, where they are kept apart.
    passed: dict[bytes, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Writing:
    """What a node writes of one topic."""

    type: EventType
    writer: Guid


class Exchange:
    """The topics of one node; `engine` matches what it reads."""

    def __init__(self, participant: Participant, *, engine: str = "bitmap") -> None:
        self._participant = participant
        self._engine = engine
        #: By topic, and by how many samples its subscriptions let wait; None where writers do not wait for them.
        self._readings: dict[tuple[str, int | None], _Reading] = {}
        self._by_reader: dict[Guid, _Reading] = {}
        self._writings: dict[str, _Writing] = {}
        self._of: dict[int, tuple[str, int | None]] = {}
        self._next_id = 1
        #: Whether `settle` has anything to say.
        self.is_settling_due = False

    def subscribe(
        self,
        topic: str,
        where: str | None,
        *,
        type: EventType,
        qos: QualityOfService,
        now: int,
        parameters: Sequence[object] | None = None,
        at_most: int | None = None,
        with_instances: bool = False,
    ) -> int:
        """Add a subscription and return its id; raise for a filter that does not compile or a type that changed.

        With `at_most` reliable writers wait for it: no more samples of one of them than that are let in before they are
        `taken`. `with_instances` keeps account of the topic's instances.
        """
        others = [reading for (name, _), reading in self._readings.items() if name == topic]
        if any((other.type, other.qos) != (type, qos) for other in others):
            raise TopicError(f"{topic!r} is read with another type or quality of service already; use the same")
        reading = self._readings.get((topic, at_most))
        filters = matcher(type.schema, engine=self._engine, wall_time=False) if reading is None else reading.filters
        filters.add(self._next_id, where or "TRUE", parameters=parameters)
        said = None if parameters else where
        if reading is None:
            reader = self._participant.create_reader(
                topic,
                type.name,
                type.requested(qos),
                keyed=type.is_keyed,
                now=now,
                type=type.struct,
                content_filter=_filter_of(topic, [said], type, qos),
                acknowledge_when_kept=at_most is not None,
                most_unkept=at_most,
            )
            reading = _Reading(topic, type, qos, reader, filters, None if at_most is None else Taking())
            self._readings[topic, at_most] = self._by_reader[reader] = reading
        if with_instances and reading.instances is None:
            if not type.is_keyed:
                raise TopicError(f"{topic!r} has no instances: name its keys")
            reading.instances = Instances(topic, tuple(one.name for one in type.struct.fields if one.key))
        subscription_id = self._next_id
        self._next_id += 1
        reading.subscriptions[subscription_id] = said
        reading.is_choosy = reading.is_choosy or bool(where)
        self._tell_filter(reading, now)
        self._of[subscription_id] = (topic, at_most)
        return subscription_id

    def unsubscribe(self, subscription_id: int, now: int) -> None:
        """Take a subscription away, and the reader with the last one."""
        place = self._of.pop(subscription_id, None)
        if place is None:
            raise TopicError(f"no subscription {subscription_id}")
        reading = self._readings[place]
        del reading.subscriptions[subscription_id]
        if reading.subscriptions:
            reading.filters.remove(subscription_id)
            self._tell_filter(reading, now)
            if reading.taking is not None:
                reading.taking.forget(subscription_id)
                self.is_settling_due |= reading.taking.is_news
            return
        del self._readings[place], self._by_reader[reading.reader]
        self._participant.delete_endpoint(reading.reader, now)

    def _tell_filter(self, reading: _Reading, now: int) -> None:
        """Let writers know what all subscriptions of a reader want together."""
        wanted = _filter_of(reading.topic, reading.subscriptions.values(), reading.type, reading.qos)
        self._participant.set_filter(reading.reader, wanted, now)

    def taken(self, delivery: Delivery) -> None:
        """Note that a subscription has taken what was delivered to it; `settle` tells the writers."""
        place = self._of.get(delivery.subscription_id)
        taking = None if place is None else self._readings[place].taking
        if taking is not None:
            taking.take(delivery.subscription_id, delivery.writer, delivery.sequence)
            self.is_settling_due |= taking.is_news

    def settle(self, now: int) -> None:
        """Acknowledge to the writers what the subscriptions that make them wait are done with."""
        self.is_settling_due = False
        for reading in self._readings.values():
            if reading.taking is not None:
                for writer, through in reading.taking.done().items():
                    self._participant.keep(reading.reader, writer, through=through, now=now)

    def advertise(self, topic: str, *, type: EventType, qos: QualityOfService, now: int) -> Guid:
        """Make the writer of a topic, once; raise if it is written with another type."""
        writing = self._writings.get(topic)
        if writing is None:
            writer = self._participant.create_writer(
                topic, type.name, type.offered(qos), keyed=type.is_keyed, now=now, type=type.struct
            )
            writing = self._writings[topic] = _Writing(type, writer)
        elif writing.type != type:
            raise TopicError(f"{topic!r} is written with another type already")
        return writing.writer

    def writer_of(self, topic: str) -> Guid | None:
        """Return the writer of a topic, if the node has one."""
        writing = self._writings.get(topic)
        return None if writing is None else writing.writer

    def type_of(self, topic: str) -> EventType | None:
        """Return the type of a topic that the node writes or reads."""
        read = (reading.type for (name, _), reading in self._readings.items() if name == topic)
        written = self._writings.get(topic)
        return next(read, None) if written is None else written.type

    def publish(self, topic: str, event: Mapping[str, Any], *, now: int) -> int:
        """Write an event to an advertised topic; return its sequence number."""
        writing = self._writings.get(topic)
        if writing is None:
            raise TopicError(f"{topic!r} is not advertised; say its type first: advertise(topic, schema=…)")
        payload, instance = writing.type.encode(event), writing.type.instance(event)
        return self._participant.write(writing.writer, payload, now=now, key_hash=instance)

    def end(self, topic: str, event: Mapping[str, Any], kind: SampleKind, *, now: int) -> int:
        """Dispose of an event's instance, or unregister it: its keys are enough; return the sequence number."""
        writing = self._writings.get(topic)
        if writing is None:
            raise TopicError(f"{topic!r} is not advertised; say its type first: advertise(topic, schema=…)")
        if not writing.type.is_keyed:
            raise TopicError(f"{topic!r} has no instances: name its keys when you advertise it")
        payload, instance = writing.type.encode_key(event), writing.type.instance(event)
        return self._participant.write(writing.writer, payload, now=now, kind=kind, key_hash=instance)

    def instances_of(self, topic: str) -> list[tuple[dict[str, Any], InstanceState]]:
        """Return the instances of a topic that is read with them, each by its keys."""
        for (name, _), reading in self._readings.items():
            if name == topic and reading.instances is not None:
                return list(reading.instances)
        raise TopicError(f"the instances of {topic!r} are not kept: subscribe with DdsReaderOptions(instances=True)")

    def instance_changes(self, event: Event) -> list[InstanceChanged]:
        """Return what one event of the participant changes of the instances that are kept."""
        if isinstance(event, EndpointUnmatched):
            reading = self._by_reader.get(event.local)
            return [] if reading is None or reading.instances is None else reading.instances.lose(event.remote)
        if isinstance(event, LivelinessChanged) and not event.alive:
            reading = self._by_reader.get(event.reader)
            return [] if reading is None or reading.instances is None else reading.instances.lose(event.writer)
        sample = event.sample if isinstance(event, SampleSuperseded) else event
        if not isinstance(sample, SampleReceived):
            return []
        reading = self._by_reader.get(sample.reader)
        if reading is None or reading.instances is None:
            return []
        read = reading.type.decode if sample.kind is SampleKind.ALIVE else reading.type.decode_key
        account = reading.instances.take if sample is event else reading.instances.note
        try:
            changed = account(sample.writer, sample.kind, read(sample.payload))
        except WireFormatError:  # counted where the event itself is read; an end without its keys names nobody here
            return []
        return [] if changed is None else [changed]

    def take(self, event: Event) -> list[Delivery]:
        """Return the deliveries of one event of the participant; a sample that cannot be read is counted, no more."""
        sample = event.sample if isinstance(event, SampleSuperseded) else event
        if not isinstance(sample, SampleReceived):
            return []
        reading = self._by_reader.get(sample.reader)
        if reading is None:
            return []
        is_for_us = sample is event and sample.kind is SampleKind.ALIVE
        deliveries = self._deliveries(reading, sample) if is_for_us else []
        if reading.taking is not None:
            wanting = [delivery.subscription_id for delivery in deliveries]
            reading.taking.deliver(sample.writer, sample.sequence, wanting)
            self.is_settling_due |= reading.taking.is_news
        return deliveries

    def _deliveries(self, reading: _Reading, event: SampleReceived) -> list[Delivery]:
        try:
            value = reading.type.decode(event.payload)
        except WireFormatError:
            self._participant.counters["unreadable_sample"] += 1
            return []
        if reading.qos.minimum_separation and not self._is_apart(reading, event, value):
            return []
        # Who wants everything gets it unasked.
        found = reading.filters.match(value) if reading.is_choosy else reading.subscriptions
        return [Delivery(one, reading.topic, value, event.writer, event.sequence) for one in found]

    def _is_apart(self, reading: _Reading, event: SampleReceived, value: Mapping[str, Any]) -> bool:
        """Say whether an event was written long enough after the last one of its instance that went on."""
        written = event.timestamp
        if written is None:
            return True
        name = reading.type.instance(value)
        last = reading.passed.get(name)
        if last is not None and written < last + reading.qos.minimum_separation:
            self._participant.counters["too_close"] += 1
            return False
        reading.passed.pop(name, None)
        reading.passed[name] = written
        if len(reading.passed) > _MOST_INSTANCES:
            del reading.passed[next(iter(reading.passed))]
        return True


def _filter_of(
    topic: str, conditions: Iterable[str | None], type: EventType, qos: QualityOfService
) -> ContentFilter | None:
    """Return what a reader tells writers that it wants; who judges between writers has to see all that they write."""
    judges = qos.ownership is Ownership.EXCLUSIVE or qos.destination_order is DestinationOrder.BY_SOURCE
    return None if judges else filter_of(topic, conditions, type)
