"""A seeded history of a broker network: joins, leaves, crashes, cuts, subscriptions and events, close upon each other.

Crashed brokers come back with their disks, at the latest when the history ends. In a history whose crashes are apart,
so that a takeover ends before the next one, every event that was accepted must come to everyone whose subscription
was in force when it was published, whatever happened in between. In the others an owner may die with its backup, and
the subscriptions of its zone with both: what is published when all is quiet again must come, and nothing twice.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from tests.histories import Faults

from rookery.brokers.client_events import ClientEvent, InForce
from rookery.brokers.messages import EventId
from rookery.simulated.brokers import SimulatedBrokers
from rookery.simulated.links import LinkConditions

from .invariants import LOOK, NAMES, SECOND, SETTLED, check_all, network, settled

Interest = tuple[tuple[float, float], ...]
Point = tuple[float, ...]
#: Long enough for a death to be found out, and for the clients of the dead to have found another broker.
TAKEOVER = 60 * SECOND
#: Half of the histories run over lossless links; in the others packets are lost, latencies vary, connections break and
#: repeat what was sent, and deaths show late.
LOSSY = LinkConditions(
    latency=lambda one, other: 500 + (one * 7919 + other * 104_729) % 80_000, jitter=30_000, loss=0.05, duplication=0.02
)
SILENT = LinkConditions(latency=5_000, refusal=12 * SECOND)


@dataclass
class History:
    """The network beside what it should do: who wants what since when, and what was published when."""

    made: SimulatedBrokers
    generator: random.Random
    #: By name, of those that have not unsubscribed: the ranges they want.
    interests: dict[str, Interest] = field(default_factory=dict)
    #: By name: when every zone had it first.
    in_force: dict[str, int] = field(default_factory=dict)
    published: dict[EventId, tuple[Point, int]] = field(default_factory=dict)
    #: By name, also of those that are over: the ranges.
    ever: dict[str, Interest] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)
    #: The least time between two crashes; 0 for none.
    apart: int = 0
    last_crash: int = -TAKEOVER
    #: Whether nothing happens for long at the end, so that leases run out and what was kept is let go of.
    rests_long: bool = False

    def __post_init__(self) -> None:
        self.made.on_client_event = self._note

    def _note(self, number: int, event: ClientEvent) -> None:
        if isinstance(event, InForce):
            for name in self.made.clients[number].in_force:
                self.in_force.setdefault(name, self.made.world.now)

    @property
    def dimensions(self) -> int:
        return self.made.configuration.space.dimensions

    def someone(self) -> int:
        """A broker that is not about to leave."""
        return self.generator.choice(
            [number for number, broker in self.made.brokers.items() if not broker.membership.leaving]
        )

    def subscribe(self) -> None:
        ranges = tuple(sorted((self.generator.random(), self.generator.random())) for _ in range(self.dimensions))
        interest: Interest = tuple((low, high) for low, high in ranges)
        name = f"s{len(self.ever) + 1}"
        where = " AND ".join(
            f"{attribute} >= {low!r} AND {attribute} < {high!r}"
            for attribute, (low, high) in zip(NAMES, interest, strict=False)
        )
        self.interests[name] = self.ever[name] = interest
        self.made.subscribe(self.someone(), name, where)

    def unsubscribe(self) -> None:
        if self.interests:
            name = self.generator.choice(list(self.interests))
            del self.interests[name]
            self.made.unsubscribe(name)

    def publish(self) -> tuple[EventId, Point]:
        point = tuple(self.generator.random() for _ in range(self.dimensions))
        if self.interests and self.generator.random() < 0.7:  # where somebody wants it
            point = tuple(
                self.generator.uniform(*ends) for ends in self.generator.choice(list(self.interests.values()))
            )
        event_id = self.made.publish(self.someone(), dict(zip(NAMES, point, strict=False)))
        self.published[event_id] = (point, self.made.world.now)
        return event_id, point

    def remove(self, *, crash: bool) -> None:
        victim = self.someone()
        if not any(
            broker.owned and number != victim and not broker.membership.leaving
            for number, broker in self.made.brokers.items()
        ):
            return  # nobody would be left who owns anything
        if not self.faults.strikes():
            return
        if crash:
            if self.made.world.now - self.last_crash >= self.apart:
                self.last_crash = self.made.world.now
                self.made.crash(victim)
        else:
            self.made.leave(victim)

    def cut(self) -> None:
        """Cut two brokers off from each other, one way or both, for less than it takes to be taken for dead."""
        one, other = self.someone(), self.someone()
        both_ways, lasts = self.generator.random() < 0.5, int(self.generator.uniform(0.1, 2) * SECOND)
        if one != other and self.faults.strikes():
            world = self.made.world
            world.cut(one, other, both_ways=both_ways)
            world.calendar.after(lasts, lambda: world.mend(one, other))

    def restart(self) -> None:
        """Bring a crashed broker back, if there is one."""
        if self.made.disks:
            self.made.restart(self.generator.choice(list(self.made.disks)))

    def step(self) -> None:
        """Do something, anything."""
        roll = self.generator.random()
        if roll < 0.2:
            self.made.join()
        elif roll < 0.3:
            self.remove(crash=False)
        elif roll < 0.45:
            self.remove(crash=True)
        elif roll < 0.5:
            self.restart()
        elif roll < 0.55:
            self.cut()
        elif roll < 0.7:
            self.subscribe()
        elif roll < 0.75:
            self.unsubscribe()
        else:
            self.publish()

    def wanted(self, point: Point) -> set[str]:
        """The oracle: who wants an event."""
        return {name for name, interest in self.interests.items() if _lies_in(point, interest)}

    def settle_and_check(self, events: int) -> None:
        """Let everything settle, check the invariants, publish, and compare every delivery with the oracle."""
        made = self.made
        while made.disks:
            self.restart()
        if sum(not broker.membership.leaving for broker in made.brokers.values()) < 2:
            made.join()  # whose disk is the second one
        until = made.world.now + 2 * SETTLED
        assert settled(made, self.has_all, within=2 * SETTLED), "it does not come to rest, or something is missing"
        # It stays so: through all that is periodic, and in some histories for long.
        periods = made.configuration.refresh + made.configuration.ancestors
        made.run(until - made.world.now if self.rests_long else periods + LOOK)
        points = [tuple(self.generator.random() for _ in range(self.dimensions)) for _ in range(5)]
        check_all(made, points)
        matched = sum(broker.counters["matched"] for broker in made.brokers.values())
        published = dict(self.publish() for _ in range(events))
        wanted = {(name, event): 1 for event, point in published.items() for name in self.wanted(point)}
        made.run(4 * SECOND)
        # Where each matching takes a second and messages of several hops are lost, a few come later.
        assert settled(made, lambda: wanted.keys() <= made.delivered.keys(), within=SETTLED), "something does not come"
        got = {key: times for key, times in made.delivered.items() if key[1] in published}
        assert got == wanted
        assert sum(broker.counters["matched"] for broker in made.brokers.values()) == matched + events
        self.check_deliveries()

    def due(self) -> set[tuple[str, EventId]]:
        """The oracle: who must have what."""
        return {
            (name, event)
            for event, (point, when) in self.published.items()
            for name in self.wanted(point)
            if self.in_force.get(name, when + 1) <= when
        }

    def has_all(self) -> bool:
        """Whether everything was accepted, and all that must come has come."""
        made = self.made
        return set(self.published) == made.accepted and (self.apart < TAKEOVER or self.due() <= made.delivered.keys())

    def check_deliveries(self) -> None:
        """Nothing that is due is missing, nobody was given anything twice, or what he does not want."""
        made = self.made
        assert self.has_all(), "something was never accepted, or is missing"
        assert set(made.delivered.values()) <= {1}, "somebody got an event twice"
        assert all(_lies_in(self.published[event][0], self.ever[name]) for name, event in made.delivered)


def _lies_in(point: Point, interest: Interest) -> bool:
    return all(low <= x < high for x, (low, high) in zip(point, interest, strict=True))


def live_through(
    seed: int,
    *,
    brokers: int = 8,
    steps: int = 25,
    dimensions: int = 2,
    conditions: LinkConditions | None = None,
    apart: int = 0,
    computing: int | None = None,
    faults: Faults | None = None,
    rests_long: bool = False,
    **given: Any,
) -> History:
    """Run one history: quiet times between short bursts, in which things happen within seconds of each other.

    With `computing` every matching is long work, which takes up to so much time.
    """
    generator = random.Random(seed)
    options = given if computing is None else {"compute_from": 1, **given}
    made = network(brokers, seed=seed, dimensions=dimensions, conditions=conditions, rests_long=rests_long, **options)
    made.world.compute_time = computing or 0
    history = History(made, generator, apart=apart, faults=faults or Faults(), rests_long=rests_long)
    for _ in range(4):
        history.subscribe()
    for _ in range(steps):
        history.step()
        history.made.run(int(generator.expovariate(1 / ((8 if apart else 2) * SECOND))))
    history.settle_and_check(events=10)
    return history
