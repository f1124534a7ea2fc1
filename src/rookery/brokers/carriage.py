"""Parcels on their way: divided by where their events lie, brought to the owners, written to the log.

The events of a parcel lie in different zones, so a parcel is divided at each broker: what lies in own zones is taken,
the rest goes on in as many parts as there are next hops. A network of one broker divides nothing and looks at no event.

Everything that must be on the disk leaves as one `Write` per batch of messages; `completed` comes in any order and as
late as the disk likes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rookery.brokers.configuration import Durability
from rookery.brokers.held import Held
from rookery.brokers.owned_zone import OwnedZone
from rookery.brokers.parcels import (
    Accepted,
    Again,
    Carry,
    Columns,
    Confirm,
    Copied,
    Copy,
    Forget,
    Holding,
    Notice,
    Parcel,
    ParcelMessage,
    Placed,
    Refused,
    Superseded,
    columns_of,
    events_of,
    first_event,
    part_of,
)
from rookery.brokers.zones import ROOT, Point
from rookery.errors import EventError
from rookery.machine import Write

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker

__all__ = ["Carriage"]

#: A parcel that has made so many hops is dropped; whoever sent it tries again.
MOST_HOPS = 64


class Carriage:
    """What one broker does with parcels that are not its own affair."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._writes = 0
        #: By token: the own parts and the copies that wait for the disk.
        self._written: dict[int, tuple[list[Held], list[tuple[int, int]]]] = {}

    def publish(self, parcel: Parcel) -> None:
        """Send a client's parcel to the owners of its events; it is told what becomes of it."""
        broker = self._broker
        points: tuple[Point, ...] | None = None
        if ROOT in broker.owned:
            # The only broker: where the events lie makes no difference but for the sample, one point of each parcel.
            first = self.points_of([first_event(parcel)])
            points = None if first is None else first * parcel.count
        else:
            points = self.points_of(events_of(parcel))
        if points is None:
            broker.reply(parcel.publisher, Refused(parcel.publisher, parcel.first, "an event does not fit the schema"))
        else:
            self.carry(Carry(parcel, points, broker.id))

    def points_of(self, events: Sequence[dict[str, Any]]) -> tuple[Point, ...] | None:
        """Return where events lie; None if one of them cannot be read."""
        point = self._broker.configuration.space.point
        try:
            return tuple([point(event) for event in events])
        except EventError:
            return None

    def carry(self, message: Carry) -> None:
        """Take what lies in own zones, send the rest on."""
        broker, parcel = self._broker, message.parcel
        broker.passing.add(message.points[0], broker.dice)
        if ROOT in broker.owned:
            broker.ledger.accept(broker.owned[ROOT], message, None)
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
            columns = columns_of(parcel)
        for owned, rows in mine.values():
            part = _part(message, rows, columns)
            broker.counters["hops"] += len(message.visited) * len(rows)
            broker.counters["arrived"] += len(rows)
            broker.ledger.accept(owned, part, columns if part.parcel is parcel else None)
        for hop, rows in theirs.items():
            broker.counters["forwarded"] += len(rows)
            part = _part(message, rows, columns)
            broker.send(hop, Carry(part.parcel, part.points, message.origin, (*message.visited, broker.id)))

    def receive(self, message: ParcelMessage, sender: int) -> None:
        """Take in what others say about parcels."""
        broker = self._broker
        match message:
            case Carry():
                self.carry(message)
            case Notice():
                broker.sessions.notice(message, sender)
            case Confirm(parts):
                broker.ledger.confirm(parts, sender)
            case Accepted():
                if not broker.copies.accepted(message):
                    broker.reply(message.publisher, message)
            case Refused():
                if not broker.copies.refused(message):
                    broker.reply(message.publisher, message)
            case Copy():
                broker.copies.keep(message, sender)
            case Copied():
                broker.ledger.copied(message, sender)
            case Forget():
                broker.copies.forget(message, sender)
            case Holding(parts):
                unneeded = broker.ledger.forgotten_copies(parts, sender)
                if unneeded:
                    broker.send(sender, Forget(unneeded))
            case Again(parts):
                broker.ledger.again(parts, sender)
            case Placed():
                broker.sessions.placed(message)
            case Superseded():
                broker.sessions.superseded(message)

    def undeliverable(self, message: ParcelMessage) -> None:
        """Take back what could not be delivered."""
        if isinstance(message, Carry):
            self.carry(Carry(message.parcel, message.points, message.origin, message.visited[:-1]))

    def lost(self, other: int) -> None:
        """A broker is gone."""
        self._broker.copies.lost(other)
        self._broker.sessions.lost(other)

    def beat(self) -> None:
        """Do what is periodic."""
        self._broker.ledger.beat()
        self._broker.copies.beat()
        self._broker.sessions.beat()

    # ---- the disk ------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """End a batch of messages: match, send, write."""
        broker = self._broker
        if not (broker.sessions.has_confirms or broker.ledger.has_work or broker.copies.has_records):
            return
        broker.sessions.settle()
        broker.ledger.settle()
        entries, waiting, done = broker.ledger.records()
        copies, forgotten = broker.copies.records()
        done += forgotten
        kept = [(owner, part) for owner, part, _ in copies]
        if broker.configuration.durability is Durability.MEMORY:
            broker.copies.written(kept)
        elif entries or copies or done:
            token = None
            if entries or copies:
                self._writes += 1
                token = self._writes
                self._written[token] = (waiting, kept)
            broker.effect(Write(token, (*entries, *copies), tuple(done)))

    def completed(self, token: int, failure: str | None) -> None:
        """What a `Write` said is on the disk, or the disk did not take it."""
        waiting, kept = self._written.pop(token)
        if failure is None:
            self._broker.ledger.stored(waiting)
            self._broker.copies.written(kept)
        else:
            self._broker.ledger.not_stored(waiting, failure)
            self._broker.copies.not_written(kept)


def _part(message: Carry, rows: list[int], columns: Columns | None) -> Carry:
    if len(rows) == message.parcel.count:
        return message
    points = tuple([message.points[row] for row in rows])
    return Carry(part_of(message.parcel, rows, columns), points, message.origin, message.visited)
