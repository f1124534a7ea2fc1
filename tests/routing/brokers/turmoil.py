"""A seeded history of a broker network: joins, leaves, crashes, subscriptions and events, close upon each other."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from rookery.network.simulated_brokers import LinkConditions, SimulatedBrokers
from rookery.routing.brokers.messages import EventId

from .invariants import NAMES, SECOND, SETTLED, check_all, network

Interest = tuple[tuple[float, float], ...]


@dataclass
class History:
    """The network beside what it should do: who wants what, and what was published when all was quiet."""

    made: SimulatedBrokers
    dice: random.Random
    #: Clients by subscription: their broker and the ranges they want.
    interests: dict[str, tuple[int, Interest]] = field(default_factory=dict)
    subscriptions: int = 0

    @property
    def dimensions(self) -> int:
        return self.made.configuration.space.dimensions

    def someone(self) -> int:
        """A broker that is not about to leave."""
        return self.dice.choice(
            [number for number, broker in self.made.brokers.items() if not broker.membership.leaving]
        )

    def subscribe(self) -> None:
        broker = self.someone()
        ranges = tuple(sorted((self.dice.random(), self.dice.random())) for _ in range(self.dimensions))
        interest: Interest = tuple((low, high) for low, high in ranges)
        self.subscriptions += 1
        name = f"s{self.subscriptions}"
        where = " AND ".join(
            f"{attribute} >= {low!r} AND {attribute} < {high!r}"
            for attribute, (low, high) in zip(NAMES, interest, strict=False)
        )
        self.interests[name] = (broker, interest)
        self.made.subscribe(broker, name, where)

    def unsubscribe(self) -> None:
        alive = [name for name, (broker, _) in self.interests.items() if broker in self.made.brokers]
        if alive:
            name = self.dice.choice(alive)
            broker, _ = self.interests.pop(name)
            self.made.unsubscribe(broker, name)

    def publish(self) -> tuple[EventId, tuple[float, ...]]:
        point = tuple(self.dice.random() for _ in range(self.dimensions))
        return self.made.publish(self.someone(), dict(zip(NAMES, point, strict=False))), point

    def remove(self, *, crash: bool) -> None:
        victim = self.someone()
        if not any(
            broker.seats and number != victim and not broker.membership.leaving
            for number, broker in self.made.brokers.items()
        ):
            return  # nobody would be left who owns anything
        if crash:
            self.made.crash(victim)
        else:
            self.made.leave(victim)
        self.interests = {name: entry for name, entry in self.interests.items() if entry[0] != victim}

    def step(self) -> None:
        """Do something, anything."""
        roll = self.dice.random()
        if roll < 0.25:
            self.made.join()
        elif roll < 0.35:
            self.remove(crash=False)
        elif roll < 0.5:
            self.remove(crash=True)
        elif roll < 0.7:
            self.subscribe()
        elif roll < 0.75:
            self.unsubscribe()
        else:
            self.publish()

    def wanted(self, point: tuple[float, ...]) -> set[str]:
        """The oracle: who wants an event."""
        return {
            name
            for name, (_, interest) in self.interests.items()
            if all(low <= x < high for x, (low, high) in zip(point, interest, strict=True))
        }

    def settle_and_check(self, events: int) -> None:
        """Let everything settle, check the invariants, publish, and compare every delivery with the oracle."""
        made = self.made
        made.run(2 * SETTLED)
        points = [tuple(self.dice.random() for _ in range(self.dimensions)) for _ in range(5)]
        check_all(made, points)
        matched = sum(broker.counters["matched"] for broker in made.brokers.values())
        published = dict(self.publish() for _ in range(events))
        made.run(4 * SECOND)
        assert set(published) <= made.acknowledged
        got = {key: times for key, times in made.delivered.items() if key[1] in published}
        assert got == {(name, event): 1 for event, point in published.items() for name in self.wanted(point)}
        assert sum(broker.counters["matched"] for broker in made.brokers.values()) == matched + events
        assert set(made.delivered.values()) <= {1}, "somebody was told twice"


def live_through(
    seed: int, *, brokers: int = 8, steps: int = 25, dimensions: int = 2, conditions: LinkConditions | None = None
) -> History:
    """Run one history: quiet times between short bursts, in which things happen within seconds of each other."""
    dice = random.Random(seed)
    history = History(network(brokers, seed=seed, dimensions=dimensions, conditions=conditions), dice)
    for _ in range(4):
        history.subscribe()
    for _ in range(steps):
        history.step()
        history.made.run(int(dice.expovariate(1 / (2 * SECOND))))
    history.settle_and_check(events=10)
    return history
