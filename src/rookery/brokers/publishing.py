"""Publishing: batches on their way, divided by where their events lie, brought to the owners, written to the log.

The events of a batch lie in different zones, so a batch is divided at each broker: what lies in own zones is taken,
the rest goes on in as many parts as there are next hops. All of that is done by column (`column_routes.py`). The first
broker finds where events lie, and refuses those that cannot be read, by their numbers: the others go on.

Everything that must be on the disk leaves as one `Write` per batch of messages; `completed` comes in any order and as
late as the disk likes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rookery.brokers.batches import (
    Accepted,
    Acknowledge,
    Array,
    BatchMessage,
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
    packed,
    unpacked,
)
from rookery.brokers.column_routes import ColumnRoutes
from rookery.brokers.configuration import BrokerDurability
from rookery.brokers.event_places import EventPlaces
from rookery.brokers.in_flight import InFlightBatch
from rookery.brokers.owned_zone import OwnedZone
from rookery.brokers.row_cuts import RowCuts, part_of
from rookery.machine import Write
from rookery.space.zones import ROOT

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["Publishing"]

#: Why an event is refused.
UNFIT = "an event does not fit the schema"
#: A batch that has made so many hops is dropped; whoever sent it tries again.
MOST_HOPS = 64


class Publishing:
    """What one broker does with batches that are not its own affair."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._placing = EventPlaces(broker.configuration.space)
        self._routes = ColumnRoutes(broker)
        self._writes = 0
        #: By token: the own batches and the replicas that wait for the disk.
        self._written: dict[int, tuple[list[InFlightBatch], list[tuple[int, int]]]] = {}

    def publish(self, batch: EventBatch) -> None:
        """Send a client's batch to the owners of its events; it is told what becomes of it."""
        broker = self._broker
        if ROOT in broker.owned and self._placing.fits(batch):
            # The only broker: where the events lie makes no difference but for the sample, which seldom wants one.
            self._observe(broker.owned[ROOT], batch.count, lambda rows: self._placing.some(batch, rows))
            broker.intake.take(broker.owned[ROOT], RoutedBatch(batch, b"", broker.id))
        else:
            self.route_by_events(batch, broker.id)

    def route_by_events(self, batch: EventBatch, origin: int) -> None:
        """Send a batch to the owners of its events; `origin` is told what becomes of it, and which have no place."""
        points, bad = self._placing.points(batch)
        if bad:
            numbers = batch.numbers()
            refused = Refused(batch.publisher, batch.first, UNFIT, offsets=tuple(numbers[row] for row in bad))
            self._broker.counters["refused"] += len(bad)
            self._broker.send(origin, refused)
            good = np.setdiff1d(np.arange(batch.count), bad)
            if not len(good):
                return
            batch, points = part_of(batch, good.tolist()), points[good]
        self.route(RoutedBatch(batch, packed(points), origin))

    def points_in(self, batch: EventBatch) -> tuple[Array, list[int]]:
        """Return where the events of a batch lie, by row, and the rows of those that cannot be read."""
        return self._placing.points(batch)

    def route(self, message: RoutedBatch) -> None:
        """Take what lies in own zones, send the rest on."""
        broker, batch, visited = self._broker, message.batch, message.visited
        points = unpacked(message.points, broker.configuration.space.dimensions)
        if ROOT in broker.owned:
            self._observe(broker.owned[ROOT], batch.count, points.__getitem__)
            broker.intake.take(broker.owned[ROOT], message)
            return
        broker.passing.observe(batch.count, points.__getitem__, broker.random)
        parts = self._routes.divide(points, visited) if broker.owned else self._between_zones(points, visited)
        cuts = RowCuts(batch)
        for where, rows in parts:
            if where is None or (isinstance(where, int) and len(visited) >= MOST_HOPS):
                broker.counters["dropped"] += len(rows)
                continue
            part = cuts.part(rows.tolist()) if len(parts) > 1 else batch
            if isinstance(where, int):
                broker.counters["forwarded"] += len(rows)
                onward = RoutedBatch(part, packed(points[rows]), message.origin, (*visited, broker.id))
                broker.send(where, onward)
            else:
                broker.counters["hops"] += len(visited) * len(rows)
                broker.counters["arrived"] += len(rows)
                where.reservoir.observe(len(rows), points[rows].__getitem__, broker.random)
                broker.intake.take(where, RoutedBatch(part, b"", message.origin))

    def _between_zones(self, points: Array, visited: Sequence[int]) -> list[tuple[OwnedZone | int | None, Array]]:
        """Return where events go while this broker has no zone: to who has got its own, else through one met before."""
        forwarding = self._broker.membership.joining.forwarding
        by_hop: dict[int | None, list[int]] = {}
        for row, point in enumerate(points.tolist()):
            by_hop.setdefault(forwarding(tuple(point), visited), []).append(row)
        return [(hop, np.array(rows)) for hop, rows in by_hop.items()]

    def _observe(self, owned: OwnedZone, count: int, points: Callable[[list[int]], Array]) -> None:
        """Show events of the only zone to both samples."""
        owned.reservoir.observe(count, points, self._broker.random)
        self._broker.passing.observe(count, points, self._broker.random)

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
        can_assure = broker.deliveries.can_assure
        if not (
            broker.sessions.has_answers
            or broker.intake.has_work
            or broker.deliveries.has_work
            or broker.replicas.has_records
            or can_assure
        ):
            return
        broker.sessions.settle()
        if can_assure:
            broker.deliveries.assure()
        broker.deliveries.follow_moved()
        broker.intake.settle()
        broker.deliveries.copies.settle()
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
