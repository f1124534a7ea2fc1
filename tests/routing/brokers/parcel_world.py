"""A broker network with disks, publishers that retry and subscribers that move, under the one calendar.

Disks survive a crash; a broker that comes back has another number and the log of its earlier life. Publishers send a
parcel again until it is accepted, through another broker if theirs is gone; subscribers attach elsewhere and drop what
they have had, by the events' numbers.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import rookery
from rookery.network.simulated_brokers import LinkConditions, SimulatedBrokers
from rookery.routing.brokers.broker import Broker
from rookery.routing.brokers.configuration import BrokerConfiguration, Durability
from rookery.routing.brokers.events import (
    BrokerEvent,
    Handed,
    ParcelAccepted,
    ParcelRefused,
    SubscriptionPlaced,
    SubscriptionSuperseded,
    Write,
)
from rookery.routing.brokers.parcels import Parcel, events_of, parcel_of
from rookery.routing.brokers.versions import Versions
from rookery.space.axes import Axis, EventSpace

SECOND = 1_000_000
SPACE = EventSpace(rookery.Schema(x=float, y=float), [Axis("x"), Axis("y")])
DISK = 3_000


@dataclass
class Subscriber:
    """A client with one subscription: x in a range."""

    number: int
    low: float
    high: float
    broker: int = 0
    versions: Versions = field(default_factory=Versions)
    #: The broker through which every zone has it.
    placed_at: int = 0
    got: Counter[int] = field(default_factory=Counter)
    handed_twice: int = 0

    @property
    def name(self) -> str:
        return f"s{self.number}"

    @property
    def placed(self) -> bool:
        return self.placed_at > 0


@dataclass
class World:
    """The network, its disks and its clients."""

    made: SimulatedBrokers
    dice: random.Random
    subscribers: list[Subscriber] = field(default_factory=list)
    #: By broker: what its disk has.
    disks: dict[int, dict[tuple[int, int], Parcel]] = field(default_factory=dict)
    full: set[int] = field(default_factory=set)
    #: By first sequence number: the parcel, the broker it was given to, what is not accepted.
    waiting: dict[int, tuple[Parcel, int, set[int]]] = field(default_factory=dict)
    published: dict[int, dict[str, Any]] = field(default_factory=dict)
    acknowledged: set[int] = field(default_factory=set)
    refused: list[str] = field(default_factory=list)
    sequence: int = 0

    @classmethod
    def of(
        cls,
        brokers: int,
        *,
        seed: int,
        durability: Durability = Durability.TWO_DISKS,
        conditions: LinkConditions | None = None,
        **options: Any,
    ) -> World:
        configuration = BrokerConfiguration(
            space=SPACE, beat=SECOND, refresh=12 * SECOND, ancestors=12 * SECOND, durability=durability, **options
        )
        made = SimulatedBrokers(configuration, seed=seed, conditions=conditions)
        world = cls(made, random.Random(seed))
        made.on_event = world.on_event
        for _ in range(brokers):
            made.join()
            made.run(SECOND)
        made.run(5 * SECOND)
        made.calendar.after(SECOND, world.retry)
        return world

    # ---- disks and clients ---------------------------------------------------------------------------------------

    def on_event(self, number: int, event: BrokerEvent) -> None:
        match event:
            case Write(token, entries, done):
                self.made.calendar.after(DISK, lambda: self._written(number, token, entries, done))
            case Handed(client, owner, notice):
                subscriber = self.subscribers[client]
                if subscriber.broker == number:
                    self.made.calendar.after(500, lambda: self._taken(number, subscriber, owner, notice))
            case ParcelAccepted(_, first, offsets):
                waiting = self.waiting.get(first)
                if waiting is not None:
                    parcel, _, left = waiting
                    safe = set(offsets or range(parcel.count))
                    self.acknowledged |= {first + offset for offset in safe}
                    left -= safe
                    if not left:
                        del self.waiting[first]
            case ParcelRefused(_, first, reason, final):
                self.refused.append(reason)
                if final:
                    self.waiting.pop(first, None)
            case SubscriptionPlaced(name, version):
                subscriber = self.subscribers[int(name[1:])]
                if subscriber.broker == number and subscriber.versions.is_current(name, version):
                    subscriber.placed_at = number
            case SubscriptionSuperseded(name, _, stored):
                subscriber = self.subscribers[int(name[1:])]
                if subscriber.broker == number and subscriber.versions.is_beaten(name, stored):
                    self.made.calendar.after(500, lambda: self._subscribe_again(number, subscriber))

    def _written(self, number: int, token: int | None, entries: Any, done: Any) -> None:
        broker = self.made.brokers.get(number)
        if broker is None:
            return  # it died while it wrote
        if number in self.full and token is not None:
            broker.not_stored(token, "the disk is full", now=self.made.calendar.now)
        else:
            disk = self.disks.setdefault(number, {})
            disk.update({(owner, part): parcel for owner, part, parcel in entries})
            for key in done:
                disk.pop(key, None)
            if token is not None:
                broker.stored(token, now=self.made.calendar.now)
        self.made.flush(broker)

    def _taken(self, number: int, subscriber: Subscriber, owner: int, notice: Any) -> None:
        broker = self.made.brokers.get(number)
        if broker is None or subscriber.broker != number:
            return
        sequences = notice.parcel.sequences()
        wanted = set(range(notice.parcel.count)) if subscriber.name in notice.every else set()
        wanted |= {row for row, name in zip(notice.rows, notice.names, strict=True) if name == subscriber.name}
        for row in wanted:
            if subscriber.got[sequences[row]]:
                subscriber.handed_twice += 1
            else:
                subscriber.got[sequences[row]] += 1
                assert events_of(notice.parcel)[row] == self.published[sequences[row]]
        broker.confirm(subscriber.number, [(owner, notice.part)], now=self.made.calendar.now)
        self.made.flush(broker)

    def attach(self, subscriber: Subscriber) -> None:
        broker = self.made.brokers[self.someone()]
        subscriber.broker = broker.id
        subscriber.versions.learn(broker.access.version_of(subscriber.number))
        broker.attach(subscriber.number, now=self.made.calendar.now)
        self._subscribe(broker, subscriber)

    def _subscribe_again(self, number: int, subscriber: Subscriber) -> None:
        if subscriber.broker == number and number in self.made.brokers:
            self._subscribe(self.made.brokers[number], subscriber)

    def _subscribe(self, broker: Broker, subscriber: Subscriber) -> None:
        version = subscriber.versions.next(subscriber.name)
        assert version is not None
        broker.subscribe_client(
            subscriber.number,
            subscriber.name,
            f"x >= {subscriber.low!r} AND x < {subscriber.high!r}",
            now=self.made.calendar.now,
            parameters=(),
            version=version,
        )
        broker.settle()
        self.made.flush(broker)

    def detach(self, subscriber: Subscriber) -> None:
        broker = self.made.brokers[subscriber.broker]
        subscriber.broker = 0
        broker.detach(subscriber.number, now=self.made.calendar.now)
        self.made.flush(broker)

    def subscribe(self, low: float, high: float) -> Subscriber:
        self.subscribers.append(Subscriber(len(self.subscribers), low, high))
        self.attach(self.subscribers[-1])
        return self.subscribers[-1]

    def someone(self) -> int:
        seated = [number for number, broker in self.made.brokers.items() if broker.seats]
        return self.dice.choice(seated or list(self.made.brokers))

    def publish(self, count: int = 5) -> None:
        events = [{"x": self.dice.random(), "y": self.dice.random()} for _ in range(count)]
        parcel = parcel_of(7, self.sequence, events)
        self.published.update(enumerate(events, self.sequence))
        self.waiting[self.sequence] = (parcel, 0, set(range(count)))
        self.sequence += count
        self._offer(parcel)

    def _offer(self, parcel: Parcel) -> None:
        broker = self.made.brokers[self.someone()]
        self.waiting[parcel.first] = (parcel, broker.id, self.waiting[parcel.first][2])
        broker.publish_parcels([parcel], now=self.made.calendar.now)
        self.made.flush(broker)

    def retry(self) -> None:
        """Once a second: publishers send again, subscribers whose broker is gone attach to another one."""
        for parcel, _, _ in list(self.waiting.values()):
            self._offer(parcel)
        for subscriber in self.subscribers:
            if subscriber.broker and subscriber.broker not in self.made.brokers:
                self.attach(subscriber)
        self.made.calendar.after(SECOND, self.retry)

    # ---- misfortune ----------------------------------------------------------------------------------------------

    def crash(self, number: int) -> None:
        self.made.crash(number)

    def restart(self, number: int) -> int:
        """Bring a crashed broker back with its disk."""
        disk = self.disks.pop(number, {})
        again = self.made.join()
        self.disks[again] = dict(disk)
        self.made.brokers[again].restore([(owner, part, parcel) for (owner, part), parcel in disk.items()])
        return again

    def due(self) -> set[tuple[int, int]]:
        """The oracle: which subscriber wants which acknowledged event."""
        return {
            (one.number, sequence)
            for sequence in self.acknowledged
            for one in self.subscribers
            if one.low <= self.published[sequence]["x"] < one.high
        }

    def delivered(self) -> set[tuple[int, int]]:
        return {(one.number, sequence) for one in self.subscribers for sequence in one.got}
