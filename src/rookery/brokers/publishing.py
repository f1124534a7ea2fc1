"""Publishing: batches on their way, divided by where their events lie, brought to the owners, written to the log.

The events of a batch lie in different zones, so a batch is divided at each broker: what lies in own zones is taken,
the rest goes on in as many parts as there are next hops. A network of one broker divides nothing and looks at no event.

Everything that must be on the disk leaves as one `Write` per batch of messages; `completed` comes in any order and as
late as the disk likes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rookery.brokers.batches import (
    Accepted,
    Acknowledge,
    BatchMessage,
    Columns,
    DeliverBatch,
    Discard,
    EventBatch,
    FetchReplicas,
    Placed,
    Redeliver,
    Refused,
    ReplicasFetched,
    ReplicasHeld,
    Replicate,
    Replicated,
    RoutedBatch,
    Superseded,
    columns_of,
    events_of,
    first_event,
    part_of,
)
from rookery.brokers.configuration import BrokerDurability
from rookery.brokers.in_flight import InFlightBatch
from rookery.brokers.owned_zone import OwnedZone
from rookery.errors import EventError
from rookery.machine import Write
from rookery.model.batches import Batch
from rookery.space.zones import ROOT, Point

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["Publishing"]

#: Events of a batch from which on columns are faster than rows.
FEW = 48
#: A batch that has made so many hops is dropped; whoever sent it tries again.
MOST_HOPS = 64


class Publishing:
    """What one broker does with batches that are not its own affair."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._writes = 0
        #: By token: the own batches and the replicas that wait for the disk.
        self._written: dict[int, tuple[list[InFlightBatch], list[tuple[int, int]]]] = {}

    def publish(self, batch: EventBatch) -> None:
        """Send a client's batch to the owners of its events; it is told what becomes of it."""
        broker = self._broker
        if ROOT not in broker.owned:
            self.route_by_events(batch, broker.id)
            return
        # The only broker: where the events lie makes no difference but for the sample, one point of each batch.
        first = self.points_of([first_event(batch)])
        if first is None:
            broker.send(broker.id, _unreadable(batch))
        else:
            self.route(RoutedBatch(batch, first * batch.count, broker.id))

    def route_by_events(self, batch: EventBatch, origin: int) -> None:
        """Send a batch to the owners of its events; `origin` is told what becomes of it."""
        points = self.points_in(batch)
        if points is None:
            self._broker.send(origin, _unreadable(batch))
        else:
            self.route(RoutedBatch(batch, points, origin))

    def points_of(self, events: Sequence[dict[str, Any]]) -> tuple[Point, ...] | None:
        """Return where events lie; None if one of them cannot be read."""
        point = self._broker.configuration.space.point
        try:
            return tuple([point(event) for event in events])
        except EventError:
            return None

    def points_in(self, batch: EventBatch) -> tuple[Point, ...] | None:
        """Return where the events of a batch lie, by column where there are many; None if one cannot be read."""
        if batch.count < FEW:
            return self.points_of(events_of(batch))
        space = self._broker.configuration.space
        columns = columns_of(batch, {str(attribute.path[0]) for attribute in space.attributes})
        names, values = list(columns), list(columns.values())
        try:
            points = space.points(Batch(names, batch.count, values.__getitem__))
        except EventError:
            return None
        return tuple(map(tuple, points.tolist()))

    def route(self, message: RoutedBatch) -> None:
        """Take what lies in own zones, send the rest on."""
        broker, batch = self._broker, message.batch
        broker.passing.add(message.points[0], broker.random)
        if ROOT in broker.owned:
            broker.intake.take(broker.owned[ROOT], message, None)
            return
        mine: dict[int, tuple[OwnedZone, list[int]]] = {}
        theirs: dict[int, list[int]] = {}
        came_back = broker.id in message.visited
        for row, point in enumerate(message.points):
            owned = broker.owned_at(point)
            if owned is not None:
                mine.setdefault(id(owned), (owned, []))[1].append(row)
                continue
            hop = broker.hop_to(point, message.visited, came_back=came_back)
            if hop is None or len(message.visited) >= MOST_HOPS:
                broker.counters["dropped"] += 1
            else:
                theirs.setdefault(hop, []).append(row)
        columns: Columns | None = None
        if mine or len(theirs) > 1:
            columns = columns_of(batch)
        for owned, rows in mine.values():
            part = _part(message, rows, columns)
            broker.counters["hops"] += len(message.visited) * len(rows)
            broker.counters["arrived"] += len(rows)
            broker.intake.take(owned, part, columns if part.batch is batch else None)
        for hop, rows in theirs.items():
            broker.counters["forwarded"] += len(rows)
            part = _part(message, rows, columns)
            broker.send(hop, RoutedBatch(part.batch, part.points, message.origin, (*message.visited, broker.id)))

    def receive(self, message: BatchMessage, sender: int) -> None:
        """Take in what peers say about batches."""
        broker = self._broker
        match message:
            case RoutedBatch():
                self.route(message)
            case DeliverBatch():
                broker.sessions.deliver(message, sender)
            case Acknowledge(numbers):
                broker.deliveries.acknowledge(numbers, sender)
            case Accepted():
                if not broker.replicas.accepted(message):
                    broker.reply(message.publisher, message)
            case Refused():
                if not broker.replicas.refused(message):
                    broker.reply(message.publisher, message)
            case Replicate():
                broker.replicas.store(message, sender)
            case Replicated():
                broker.deliveries.replicated(message, sender)
            case Discard():
                broker.replicas.discard(message, sender)
            case ReplicasHeld(numbers):
                unneeded = broker.deliveries.unneeded_replicas(numbers, sender)
                if unneeded:
                    broker.send(sender, Discard(unneeded))
            case FetchReplicas(numbers):
                broker.replicas.fetch(numbers, sender)
            case ReplicasFetched(batches):
                broker.deliveries.fetched(batches)
            case Redeliver(numbers):
                broker.deliveries.redeliver(numbers, sender)
            case Placed():
                broker.sessions.placed(message)
            case Superseded():
                broker.sessions.superseded(message)

    def undeliverable(self, message: BatchMessage) -> None:
        """Take back what could not be delivered."""
        if isinstance(message, RoutedBatch):
            self.route(RoutedBatch(message.batch, message.points, message.origin, message.visited[:-1]))

    def lost(self, peer: int) -> None:
        """A broker is gone."""
        self._broker.replicas.lost(peer)
        self._broker.sessions.lost(peer)

    def beat(self) -> None:
        """Do what is periodic."""
        self._broker.deliveries.beat()
        self._broker.replicas.beat()
        self._broker.sessions.beat()

    # ---- the disk ------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """End a batch of messages: match, send, write."""
        broker = self._broker
        if not (
            broker.sessions.has_acknowledgments
            or broker.intake.has_work
            or broker.deliveries.has_work
            or broker.replicas.has_records
            or broker.deliveries.can_assure
        ):
            return
        broker.sessions.settle()
        if broker.deliveries.can_assure:
            broker.deliveries.assure()
        broker.deliveries.follow_moved()
        broker.intake.settle()
        broker.deliveries.settle()
        entries, waiting, done = broker.deliveries.records()
        replicas, discarded = broker.replicas.records()
        done += discarded
        replicated = [(owner, number) for owner, number, _ in replicas]
        if broker.configuration.durability is BrokerDurability.MEMORY:
            broker.replicas.written(replicated)
        elif entries or replicas or done:
            token = None
            if entries or replicas:
                self._writes += 1
                token = self._writes
                self._written[token] = (waiting, replicated)
            broker.effect(Write(token, (*entries, *replicas), tuple(done)))

    def completed(self, token: int, failure: str | None) -> None:
        """What a `Write` said is on the disk, or the disk did not take it."""
        waiting, replicated = self._written.pop(token)
        if failure is None:
            self._broker.deliveries.stored(waiting)
            self._broker.replicas.written(replicated)
        else:
            self._broker.deliveries.not_stored(waiting, failure)
            self._broker.replicas.not_written(replicated)


def _unreadable(batch: EventBatch) -> Refused:
    return Refused(batch.publisher, batch.first, "an event does not fit the schema")


def _part(message: RoutedBatch, rows: list[int], columns: Columns | None) -> RoutedBatch:
    if len(rows) == message.batch.count:
        return message
    points = tuple([message.points[row] for row in rows])
    return RoutedBatch(part_of(message.batch, rows, columns), points, message.origin, message.visited)
