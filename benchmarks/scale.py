"""Many K-D brokers in one process with the live protocol: joined, delivered, hops, and what each takes.

`python -m benchmarks scale --brokers N`: everybody joins in rounds, each as large as a tenth of the network; clients
subscribe; events are published; a share of the brokers (`--crash`) dies at once, and events are published again.
Brokers and clients are those that run live, with a disk each, in a simulated world. Links take 20 ms, or half the
round-trip time of a matrix (`--latency FILE`); broker n is host n modulo the hosts. Programs know the first 64 brokers.
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import random
import time
from collections import Counter
from pathlib import Path

import numpy as np

import rookery
from rookery.brokers.configuration import BrokerConfiguration
from rookery.simulated.brokers import SimulatedBrokers
from rookery.simulated.links import LinkConditions
from rookery.space.axes import Axis, EventSpace

__all__ = ["main", "network"]

SECOND = 1_000_000
#: Clients that subscribe, the width of what each wants, and events that are published at a time.
SUBSCRIPTIONS, WIDTH, EVENTS = 200, 0.02, 1_000
#: Seconds within which every newcomer has its zone, and those between two looks: all that is periodic goes by them.
SETTLING, BEAT = 120, 5
#: Seconds within which every zone has a subscription.
PLACED = 5


def resident_bytes() -> int:
    """Return how much memory this process has now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class Growth:
    """A network that grows, and a line for each time that it has doubled."""

    def __init__(self, made: SimulatedBrokers) -> None:
        self.made = made
        self.before = resident_bytes()
        self.began, self.cpu = time.perf_counter(), time.process_time()
        self._told, self._told_at, self._messages = 1, self.cpu, 0

    def grow(self, count: int) -> None:
        """Let brokers join until there are so many."""
        made = self.made
        made.join()
        while (size := len(made.brokers)) < count:
            for _ in range(min(max(1, size // 10), count - size)):
                made.join()
            made.run(SECOND)
            made.entry_points = tuple(range(1, 65))
            if len(made.brokers) >= 2 * self._told or len(made.brokers) == count:
                self._tell()

    def _tell(self) -> None:
        made, size, cpu = self.made, len(self.made.brokers), time.process_time()
        joined = size - self._told
        each, messages = 1_000 * (cpu - self._told_at) / joined, (made.messages - self._messages) / joined
        print(
            f"  {size:>9,} brokers after {made.calendar.now // SECOND} s: {each:.1f} ms of CPU and {messages:.0f} "
            f"messages a join, {self.bytes_each:,.0f} bytes a broker, {cpu - self.cpu:.0f} s of CPU so far",
            flush=True,
        )
        self._told, self._told_at, self._messages = size, cpu, made.messages

    @property
    def bytes_each(self) -> float:
        """Memory for each broker, and all that the world keeps for it."""
        return (resident_bytes() - self.before) / max(1, len(self.made.brokers))

    def settle(self) -> None:
        """Let the last ones find their zones."""
        made = self.made
        until = made.calendar.now + SETTLING * SECOND
        while (owners := self._owners()) < len(made.brokers) and made.calendar.now < until:
            made.run(BEAT * SECOND)
        print(
            f"  {owners:,} of {len(made.brokers):,} joined, with one zone each; {made.messages:,} messages, "
            f"{self.bytes_each:,.0f} bytes a broker, {time.perf_counter() - self.began:.0f} s, "
            f"{time.process_time() - self.cpu:.0f} s of CPU",
            flush=True,
        )

    def _owners(self) -> int:
        return sum(len(broker.owned) == 1 for broker in self.made.brokers.values())


def network(count: int, *, matrix: Path | None = None, crash: float = 0.01) -> None:
    """Let so many brokers join, clients subscribe, events be published, and a share of the brokers die."""
    space = EventSpace(rookery.Schema(x=float, y=float), [Axis("x"), Axis("y")])
    conditions = LinkConditions(latency=20_000)
    if matrix is not None:
        times = (np.loadtxt(matrix) * 500).astype(int)
        conditions = LinkConditions(latency=lambda one, other: int(times[one % len(times), other % len(times)]) + 50)
    made = SimulatedBrokers(BrokerConfiguration(space=space), seed=1, conditions=conditions)
    generator = random.Random(1)
    gc.disable()  # millions of live objects and no cycles among the messages: the collector would only walk them
    print(f"network: {count:,} brokers, the live protocol, in one process", flush=True)
    growth = Growth(made)
    growth.grow(count)
    growth.settle()
    wanted: dict[str, tuple[float, float]] = {}
    for number in range(SUBSCRIPTIONS):
        low = generator.random()
        wanted[f"s{number}"] = (low, low + WIDTH)
        made.subscribe(generator.randint(1, count), f"s{number}", f"x >= {low!r} AND x < {low + WIDTH!r}")
    made.run(PLACED * SECOND)
    in_force = sum(len(client.in_force) for client in made.clients.values())
    print(f"  {in_force} of {SUBSCRIPTIONS} subscriptions in force", flush=True)
    measure(made, generator, wanted, "quiet")
    if crash:
        for victim in generator.sample(list(made.brokers), int(count * crash)):
            made.crash(victim)
        measure(made, generator, wanted, f"{crash:.0%} just crashed", patience=100)
        made.run(60 * SECOND)
        measure(made, generator, wanted, "after takeover")
        taken = sum((broker.counters for broker in made.brokers.values()), Counter())
        print(
            f"  taken over {taken['taken over']}, merged {taken['merged']}, settled {taken['settled']}, "
            f"yielded {taken['yielded']}"
        )
    print(
        f"  {made.messages:,} messages in {made.calendar.now / SECOND:.0f} simulated s; "
        f"{time.perf_counter() - growth.began:.0f} s, {time.process_time() - growth.cpu:.0f} s of CPU, "
        f"{growth.bytes_each:,.0f} bytes a broker, {resident_bytes() / 2**20:,.0f} MiB in all"
    )


def measure(
    made: SimulatedBrokers,
    generator: random.Random,
    wanted: dict[str, tuple[float, float]],
    title: str,
    patience: int = 5,
) -> None:
    """Publish, wait, and compare with what should have been delivered."""
    before = _ways(made)
    published = {}
    living = list(made.brokers)
    for _ in range(EVENTS):
        x = generator.random()
        published[made.publish(generator.choice(living), {"x": x, "y": generator.random()})] = x
    due = {(name, event) for event, x in published.items() for name, (low, high) in wanted.items() if low <= x < high}
    until = made.calendar.now + patience * SECOND
    while made.calendar.now < until and not (due <= made.delivered.keys() and published.keys() <= made.accepted):
        made.run(BEAT * SECOND)
    made.run(BEAT * SECOND)  # whatever might come twice
    after = _ways(made)
    got = {key: times for key, times in made.delivered.items() if key[1] in published}
    mean = (after["hops"] - before["hops"]) / max(1, after["arrived"] - before["arrived"])
    print(
        f"  {title}: delivered {len(got.keys() & due):,} of {len(due):,} due, {len(got.keys() - due)} not due, "
        f"{sum(times > 1 for times in got.values())} twice, {len(set(published) - made.accepted)} not accepted; "
        f"{mean:.2f} hops (0.72 ln N = {0.7213 * math.log(len(made.brokers)):.2f})",
        flush=True,
    )


def _ways(made: SimulatedBrokers) -> Counter[str]:
    ways: Counter[str] = Counter()
    for broker in made.brokers.values():
        ways["hops"] += broker.counters["hops"]
        ways["arrived"] += broker.counters["arrived"]
    return ways


def main(arguments: list[str]) -> int:
    """Run one network."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks scale", description=__doc__.splitlines()[0])
    parser.add_argument("--brokers", type=int, default=1_000)
    parser.add_argument("--crash", type=float, default=0.01, help="the share of brokers that die at once; 0 for none")
    parser.add_argument("--latency", type=Path, help="a matrix of round-trip times in ms, tab separated")
    options = parser.parse_args(arguments)
    network(options.brokers, matrix=options.latency, crash=options.crash)
    return 0
