"""A broker network with publishers and subscribers, each of one range, beside an oracle that knows nothing of zones."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import rookery
from rookery.brokers.configuration import BrokerConfiguration, BrokerDurability
from rookery.brokers.messages import EventId
from rookery.simulated.brokers import SimulatedBrokers, SimulatedClient
from rookery.simulated.links import LinkConditions
from rookery.space.axes import Axis, EventSpace

SECOND = 1_000_000
SPACE = EventSpace(rookery.Schema(x=float, y=float), [Axis("x"), Axis("y")])
PUBLISHERS = 3


@dataclass
class Subscriber:
    """A client with one subscription: x in a range."""

    name: str
    low: float
    high: float
    client: SimulatedClient

    @property
    def broker(self) -> int:
        found = self.client.machine.broker
        return found if isinstance(found, int) else 0

    @property
    def is_placed(self) -> bool:
        """Whether every zone has the subscription, through the present broker."""
        return self.client.machine.is_attached and self.name in self.client.in_force

    @property
    def got(self) -> set[EventId]:
        return {event for _, event in self.client.delivered}


@dataclass
class World:
    """The network and its clients."""

    made: SimulatedBrokers
    generator: random.Random
    publishers: list[SimulatedClient] = field(default_factory=list)
    subscribers: list[Subscriber] = field(default_factory=list)
    published: dict[EventId, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        brokers: int,
        *,
        seed: int,
        space: EventSpace = SPACE,
        durability: BrokerDurability = BrokerDurability.TWO_DISKS,
        conditions: LinkConditions | None = None,
        **options: Any,
    ) -> World:
        configuration = BrokerConfiguration(
            space=space, beat=SECOND, refresh=12 * SECOND, ancestors=12 * SECOND, durability=durability, **options
        )
        made = SimulatedBrokers(configuration, seed=seed, conditions=conditions)
        world = cls(made, random.Random(seed))
        for _ in range(brokers):
            made.join()
            made.run(SECOND)
        world.publishers = [made.client(world.someone(), retry=SECOND) for _ in range(PUBLISHERS)]
        made.run(5 * SECOND)
        return world

    @property
    def waiting(self) -> int:
        """How many events are not accepted."""
        return sum(publisher.machine.in_flight for publisher in self.publishers)

    @property
    def refused(self) -> list[str]:
        return [reason for publisher in self.publishers for reason in publisher.refused]

    def subscribe(self, low: float, high: float) -> Subscriber:
        name = f"s{len(self.subscribers)}"
        client = self.made.client(self.someone())
        client.subscribe(name, f"x >= {low!r} AND x < {high!r}")
        self.subscribers.append(Subscriber(name, low, high, client))
        return self.subscribers[-1]

    def someone(self) -> int:
        owners = [number for number, broker in self.made.brokers.items() if broker.owned]
        return self.generator.choice(owners or list(self.made.brokers))

    def an_event(self) -> dict[str, Any]:
        return {"x": self.generator.random(), "y": self.generator.random()}

    def publish(self, count: int = 5) -> None:
        events = [self.an_event() for _ in range(count)]
        self.published.update(zip(self.generator.choice(self.publishers).publish(*events), events, strict=True))

    def due(self) -> set[tuple[str, EventId]]:
        """The oracle: which subscriber wants which accepted event."""
        return {
            (one.name, event)
            for event in self.made.accepted
            for one in self.subscribers
            if one.low <= self.published[event]["x"] < one.high
        }

    def delivered(self) -> set[tuple[str, EventId]]:
        return set(self.made.delivered)


def crowd(world: World, count: int = 12) -> None:
    for _ in range(count):
        low = world.generator.random() * 0.7
        world.subscribe(low, low + 0.3)
    world.made.run(5 * SECOND)
    assert all(one.is_placed for one in world.subscribers)


def finish(world: World, *, seconds: int = 90) -> None:
    """Let everything end, and compare with the oracle: everyone has what is due once, and nothing is in flight."""
    world.made.run(seconds * SECOND)
    assert not world.waiting, "something was never accepted"
    assert world.made.accepted == set(world.published)
    assert world.due() == world.delivered()
    assert set(world.made.delivered.values()) <= {1}
    for number, broker in world.made.brokers.items():
        assert not broker.deliveries.in_flight, "in flight although everyone has it"
        assert not broker.replicas.orphans
        assert not broker.replicas.batches
        assert not world.made.records_of(number)
