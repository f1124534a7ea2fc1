"""A seeded history of a broker network under every fault that the world has, in any mixture, and what it must show.

Faults: a broker crashes (with or without the power, so that what was not synced is gone), comes back with its disk, is
paused for longer or shorter than it takes to be taken for dead, is cut off from another one, one way or both; clocks
step; a disk is full for a while, fails to sync or is slow. Links may lose, repeat and delay. Meanwhile clients
subscribe and publish.

The promise, whatever happened: an event whose publisher was told that it is accepted comes exactly once to everyone who
had been told before it was published that his subscription is in force. What was refused for good may be missing. A
history counts as a proof only if some fault fell between the acceptance and the delivery of some event.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from dataclasses import dataclass, field

from tests.histories import Faults, live_through_all

from rookery.brokers.client_events import BatchAccepted, BatchRefused, ClientEvent, Delivered
from rookery.brokers.configuration import BrokerProximity
from rookery.brokers.messages import EventId
from rookery.errors import SpaceError
from rookery.machine import ClientId

from .invariants import LOOK, SECOND, SETTLED, check_neighbors, check_zones, network
from .turmoil import LOSSY, SILENT, History

#: Long enough to be taken for dead, and long enough that this has happened to others meanwhile.
LONGEST_PAUSE = 45
#: Brokers that stand still at a time: those who can go on find the clients of the others soon enough.
MOST_PAUSED = 2
#: No cut lasts until both sides of it have taken over from each other: see "What it does not do" in docs/brokers.md.
LONGEST_CUT = 12
HOUR = 3600 * SECOND
REPLAY = "tests/brokers/test_mixed_faults.py -k replay"


@dataclass
class MixedHistory(History):
    """The network beside what it should do, and which fault struck when."""

    #: Of each fault that struck: its kind, when it began and when it was over.
    struck: list[tuple[str, int, int]] = field(default_factory=list)
    accepted_at: dict[EventId, int] = field(default_factory=dict)
    delivered_at: dict[tuple[str, EventId], int] = field(default_factory=dict)
    #: Refused for good.
    refused: dict[EventId, int] = field(default_factory=dict)

    def _note(self, number: int, event: ClientEvent) -> None:
        super()._note(number, event)
        now = self.made.world.now
        match event:
            case BatchAccepted(first, count):
                for sequence in range(first, first + count):
                    self.accepted_at.setdefault((number, sequence), now)
            case BatchRefused(first, count, _, True):
                self.refused.update(((number, sequence), now) for sequence in range(first, first + count))
            case Delivered():
                for name, sequence in zip(event.names, event.sequences, strict=True):
                    self.delivered_at.setdefault((name, (event.publisher, sequence)), now)

    # ---- faults --------------------------------------------------------------------------------------------------

    def _strike(self, kind: str, lasts: float) -> int | None:
        """Say how long a fault lasts that strikes now; None where it is left out."""
        if not self.faults.strikes():
            return None
        microseconds, now = int(lasts * SECOND), self.made.world.now
        self.struck.append((kind, now, now + microseconds))
        return microseconds

    def _awake(self) -> list[int]:
        processes = self.made.world.processes
        return [number for number in self.made.brokers if not processes[number].is_paused]

    def crash_one(self) -> None:
        victim, power = self.generator.choice(self._awake()), self.generator.random() < 0.5
        back = self.generator.uniform(1, 90)
        owners = [number for number in self._awake() if number != victim and self.made.brokers[number].owned]
        if len(owners) < 3 or self.made.world.now - self.last_crash < self.apart:
            return
        lasts = self._strike("power loss" if power else "crash", back)
        if lasts is None:
            return
        self.last_crash = self.made.world.now
        self.made.crash(victim)
        if power:
            self.made.disks[victim].lose_power(random.Random(self.generator.random()))
        self.made.calendar.after(lasts, lambda: self._bring_back(victim))

    def _bring_back(self, number: int) -> None:
        """Start a crashed broker again; one does that until its disk lets it."""
        if number in self.made.disks and self.made.brokers:
            disk = self.made.disks[number]
            disk.capacity, disk.failing_syncs = None, 0
            self.made.restart(number)

    def restart(self) -> None:
        """Bring back a broker that has crashed."""
        self._bring_back(self.generator.choice(list(self.made.disks)))

    def pause(self) -> None:
        victim, lasts = self.generator.choice(self._awake()), self.generator.uniform(0.5, LONGEST_PAUSE)
        paused = len(self.made.brokers) - len(self._awake())
        if len(self._awake()) < 5 or paused >= MOST_PAUSED:
            return
        pause = self._strike("pause", lasts)
        if pause is None:
            return
        process = self.made.world.processes[victim]
        self.made.world.pause(victim)
        self.made.calendar.after(
            pause, lambda: self.made.world.resume(victim) if process.is_alive and process.is_paused else None
        )

    def cut_some(self) -> None:
        one, other = self.someone(), self.someone()
        both, lasts = self.generator.random() < 0.5, self.generator.uniform(0.1, LONGEST_CUT)
        if one == other:
            return
        cut = self._strike("cut" if both else "one-way cut", lasts)
        if cut is not None:
            world = self.made.world
            world.cut(one, other, both_ways=both)
            world.calendar.after(cut, lambda: world.mend(one, other))

    def step_clock(self) -> None:
        """Step a clock by up to an hour; a client's, and that of the broker that it is attached to."""
        client = self.generator.choice(list(self.made.clients.values()))
        step = int(self.generator.uniform(-HOUR, HOUR))
        if self._strike("clock step", 0) is not None:
            self.made.world.step_clock(ClientId(client.number), step)
            if client.machine.broker in self.made.brokers:
                self.made.world.step_clock(client.machine.broker, step)

    def spoil_disk(self) -> None:
        victim, kind = self.someone(), self.generator.choice(("full disk", "failed sync", "slow disk"))
        lasts = self._strike(kind, self.generator.uniform(0.5, 20))
        if lasts is None:
            return
        disk = self.made.disk_of(victim)
        if kind == "full disk":
            disk.fill()
            self.made.calendar.after(lasts, lambda: setattr(disk, "capacity", None))
        elif kind == "failed sync":
            disk.failing_syncs += 1
        else:
            before, disk.write_time = disk.write_time, 2 * SECOND
            self.made.calendar.after(lasts, lambda: setattr(disk, "write_time", before))

    # ---- what happens --------------------------------------------------------------------------------------------

    def someone(self) -> int:
        """A broker that is awake and not about to leave."""
        awake = [number for number in self._awake() if not self.made.brokers[number].membership.leaving]
        return self.generator.choice(awake)

    def step(self) -> None:
        """Do something, anything; and publish."""
        roll = self.generator.random()
        if roll < 0.05:
            self.made.join()
        elif roll < 0.08:
            self.remove(crash=False)
        elif roll < 0.2:
            self.crash_one()
        elif roll < 0.4:
            self.pause()
        elif roll < 0.5:
            self.cut_some()
        elif roll < 0.55:
            self.step_clock()
        elif roll < 0.65:
            self.spoil_disk()
        elif roll < 0.85:
            self.subscribe()
        elif roll < 0.9:
            self.unsubscribe()
        for _ in range(self.generator.randrange(4)):
            self.publish()

    # ---- what it must show ---------------------------------------------------------------------------------------

    def due(self) -> set[tuple[str, EventId]]:
        return {(name, event) for name, event in super().due() if event in self.made.accepted}

    def has_all(self) -> bool:
        known = self.made.accepted | self.refused.keys()
        return set(self.published) <= known and self.due() <= self.made.delivered.keys()

    def settle_and_check(self, events: int) -> None:
        """Let every fault end, wait until all is delivered, and compare; then publish once more."""
        made = self.made
        made.run(max((end for _, _, end in self.struck), default=0) + SECOND - made.world.now)
        while made.disks:
            self.restart()
        until = made.world.now + 3 * SETTLED
        while not (self._is_at_rest() and self.has_all()):
            made.run(LOOK)
            if made.world.now < until:
                continue
            missing = {event: name for name, event in self.due() - made.delivered.keys()}
            told = [event for event in self.published if event not in made.accepted and event not in self.refused]
            assert not missing, f"accepted and never delivered: {len(missing)}"
            assert not told, f"neither accepted nor refused: {len(told)}"
            raise AssertionError("it does not come to rest")
        made.run(made.configuration.refresh + LOOK)
        published = dict(self.publish() for _ in range(events))
        made.run(60 * SECOND, until=self.has_all)
        made.run(4 * SECOND)  # what should not come has had the time to
        got = {key: times for key, times in made.delivered.items() if key[1] in published}
        assert got == {(name, event): 1 for event, point in published.items() for name in self.wanted(point)}
        self.check_deliveries()

    def _is_at_rest(self) -> bool:
        """Whether the zones are shared out and everyone knows his neighbors; who unsubscribed while his broker stood
        still has left something behind there for an hour.
        """
        made = self.made
        try:
            check_zones(made)
            check_neighbors(made)
        except (AssertionError, SpaceError):
            return False
        return not any(
            owned.grace_until > made.world.time(number)
            for number, broker in made.brokers.items()
            for owned in broker.owned.values()
        )

    # ---- what it proves ------------------------------------------------------------------------------------------

    @property
    def kinds(self) -> set[str]:
        """The faults that struck, and what the links did all the time."""
        conditions, found = self.made.world.links.conditions, {kind for kind, _, _ in self.struck}
        found |= {"loss", "reordering"} if conditions.loss else set()
        return found | ({"duplication"} if conditions.duplication else set())

    def counts(self) -> bool:
        """Whether a fault fell between the acceptance and the delivery of some event."""
        begun = [when for _, when, _ in self.struck]
        return any(
            event in self.accepted_at and self.accepted_at[event] <= when <= delivered
            for (_, event), delivered in self.delivered_at.items()
            for when in begun
        )

    def refused_outside_faults(self) -> int:
        """How many events were refused that were published while no fault was under way."""
        return sum(
            not any(begun <= self.published[event][1] <= ended + SECOND for _, begun, ended in self.struck)
            for event in self.refused
        )


#: What lies between the brokers, by the seed: half of the histories have links that lose, repeat and delay.
CONDITIONS = (None, LOSSY, SILENT, LOSSY)
#: From this seed on brokers do what those of `rookery broker` do: they find their places on the network, and balance,
#: but at hardly any event.
FIRST_AS_LIVE = 20_000
AS_LIVE: dict[str, object] = {
    "balance": 5 * SECOND,
    "balance_events": 1,
    "proximity": BrokerProximity.COORDINATES,
    "stretch_probes": 4,
}


def live_mixed(seed: int, faults: Faults, *, brokers: int = 8, steps: int = 24) -> MixedHistory:
    """Run one history."""
    generator, options = random.Random(seed), AS_LIVE if seed >= FIRST_AS_LIVE else {}
    made = network(brokers, seed=seed, dimensions=1 + seed % 3, conditions=CONDITIONS[seed // 2 % 4], **options)
    history = MixedHistory(made, generator, faults=faults, apart=15 * SECOND)
    for _ in range(4):
        history.subscribe()
    made.run(SECOND)
    for _ in range(steps):
        history.step()
        made.run(int(generator.expovariate(1 / (4 * SECOND))))
    history.settle_and_check(events=10)
    return history


@dataclass
class Tally:
    """What a number of histories have shown."""

    histories: int = 0
    #: Those in which a fault fell between the acceptance and the delivery of some event.
    counting: int = 0
    published: int = 0
    due: int = 0
    refused_outside_faults: int = 0
    #: Orders to give or take a zone so that the load is even.
    balancing_steps: int = 0
    #: How many of those that count contain each pair of faults.
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)

    def live(self, seed: int, faults: Faults) -> None:
        """Live through a history and count it."""
        history = live_mixed(seed, faults)
        self.histories += 1
        self.published += len(history.published)
        self.due += len(history.due())
        self.refused_outside_faults += history.refused_outside_faults()
        self.balancing_steps += sum(broker.counters["balancing steps"] for broker in history.made.brokers.values())
        if history.counts():
            self.counting += 1
            kinds = history.kinds
            self.pairs.update((one, other) for one in kinds for other in kinds if one < other)

    def lines(self) -> list[str]:
        """Say it, with the table of pairs."""
        kinds = sorted({kind for pair in self.pairs for kind in pair})
        width = max(map(len, kinds), default=0)
        head = (
            f"{self.histories} histories, {self.counting} with a fault between acceptance and delivery; "
            f"{self.published} events, {self.due} deliveries due, {self.refused_outside_faults} refused outside "
            f"faults, {self.balancing_steps} steps of a balance"
        )
        rows = [
            f"{one:>{width}} "
            + " ".join(f"{self.pairs[min(one, other), max(one, other)]:>{len(other)}}" for other in kinds)
            for one in kinds
        ]
        return [head, " " * (width + 1) + " ".join(kinds), *rows]


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """`python -m tests.brokers.mixed_faults FIRST LAST`: live through these histories, and say what they contain."""
    tally, first, last = Tally(), *map(int, sys.argv[1:3])
    live_through_all(tally.live, range(first, last), test=REPLAY, say=_say)
    for line in tally.lines():
        _say(line)


if __name__ == "__main__":
    main()
