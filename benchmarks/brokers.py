"""K-D brokers: live relaying beside peers (`brokers_live.py`), or with `--simulated` hops, loops, loads and delivery.

Parts (`--only NAME`, repeatable): `hops` on balanced trees to 2^20 brokers beside greedy routing; `loops` of a million
routes with and without the repair; `load` of a skewed workload and of relaying; `stretch` on a matrix of round-trip
times (`--latency FILE`, tab separated); `network`, an event-level run of `--brokers N` (10,000 by default).
"""

from __future__ import annotations

import argparse
import gc
import math
import random
import resource
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

import rookery
from rookery.brokers.configuration import BrokerConfiguration
from rookery.brokers.static import StaticBrokers
from rookery.simulated.brokers import SimulatedBrokers
from rookery.simulated.links import LinkConditions
from rookery.space.axes import Axis, EventSpace

__all__ = ["main"]

SECOND = 1_000_000
ROUTES = 100_000
PARTS = ("hops", "loops", "load", "stretch", "network")


def workload(brokers: StaticBrokers, count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    return generator.integers(len(brokers), size=count).astype(np.int32), generator.random((count, brokers.dimensions))


def hops() -> None:
    """Mean hops against half the binary logarithm, and against greedy routing."""
    print("hops: mean over routes on balanced trees, span m = 2^d")
    print(f"{'d':>2} {'N':>8} {'spanhop':>8} {'lb N / 2':>8} {'off by':>7} {'max':>4} {'greedy':>7}")
    for dimensions in (2, 3, 5):
        for depth in (10, 14, 20):
            brokers = StaticBrokers.balanced(dimensions, depth)
            found = brokers.route(*workload(brokers, ROUTES), span=2**dimensions)
            greedy = brokers.route(*workload(brokers, 500), span=1).mean
            off = found.mean / (depth / 2) - 1
            print(
                f"{dimensions:>2} {len(brokers):>8} {found.mean:>8.3f} {depth / 2:>8.1f} {off:>+7.2%} "
                f"{found.hops.max():>4} {greedy:>7.1f}"
            )


def loops() -> None:
    """Routes that never arrive, of a million, on trees grown by random joins."""
    print("loops: of 1,000,000 routes over 1024 brokers that joined at random; span m")
    print(f"{'d':>2} {'m':>3} {'repaired':>9} {'hops leave the domain':>22} {'mean hops':>10}")
    for dimensions, span in ((2, 4), (2, 8), (3, 8)):
        generator = np.random.default_rng(1)
        brokers = StaticBrokers.grown(1024, dimensions=dimensions, generator=generator, choices=1)
        sources, points = workload(brokers, 1_000_000)
        sound = brokers.route(sources, points, span=span, limit=500)
        printed = brokers.route(sources, points, span=span, limit=500, in_domain=False)
        print(f"{dimensions:>2} {span:>3} {sound.loops:>9} {printed.loops:>22} {sound.mean:>10.2f}")


def load() -> None:
    """How even brokers are loaded: by events of a skewed distribution, and by relaying."""
    print("load: events per broker, Pareto x beta, 1024 brokers, max / mean over five seeds")
    for name, joins, choices in (
        ("anywhere", True, 1),
        ("at a data point", False, 1),
        ("at the better of two", False, 2),
    ):
        ratios = []
        for seed in range(5):
            generator = np.random.default_rng(seed)
            heavy = generator.pareto(1.5, (2, 200_000))
            events = np.stack([heavy / (1 + heavy), generator.beta(2, 8, (2, 200_000))], axis=2)
            brokers = StaticBrokers.grown(
                1024,
                dimensions=2,
                generator=generator,
                events=events[0],
                joins=generator.random((2048, 2)) if joins else None,
                choices=choices,
            )
            counts = np.bincount(brokers.owners(events[1]), minlength=1024)
            ratios.append(counts.max() / counts.mean())
        print(f"  joining {name:<22} {min(ratios):6.1f} to {max(ratios):.1f}")
    print("load: messages relayed per broker, 16384 brokers, max / mean")
    brokers = StaticBrokers.balanced(2, 14)
    for residents in ("random", "inherited"):
        relayed = brokers.route(*workload(brokers, 1_000_000), span=4, residents=residents).forwarded
        print(f"  residents {residents:<20} {relayed.max() / relayed.mean():6.1f}")


def stretch_on(source: Path) -> None:
    """Routed time over direct time for each way to choose residents."""
    from rookery.brokers.coordinates import (
        choose_landmarks,
        extent_of,
        place_host,
        place_landmarks,
        relative_errors,
    )
    from rookery.brokers.stretch import CHOICES, stretch

    times = np.loadtxt(source)
    hosts = len(times)
    chosen = choose_landmarks(times, 15)
    landmarks = place_landmarks(times[np.ix_(chosen, chosen)], 2, np.random.default_rng(1))
    positions = np.array([place_host(landmarks, times[host, chosen]) for host in range(hosts)])
    errors = relative_errors(positions, times)
    print(f"stretch: {source.name}, {hosts} hosts, d = 2, m = 4; coordinates off by {np.median(errors):.3f} (median)")
    for seed in (1, 2, 3):
        generator = np.random.default_rng(seed)
        paths = StaticBrokers.grown(hosts, dimensions=2, generator=generator).paths()
        paths = [paths[number] for number in generator.permutation(hosts)]
        pairs = generator.integers(hosts, size=(3000, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        found = [
            f"{choice} "
            + format(
                stretch(
                    choice,
                    paths=paths,
                    times=times,
                    positions=positions,
                    extent=extent_of(landmarks),
                    bits=2,
                    pairs=pairs,
                    generator=generator,
                ),
                ".2f",
            )
            for choice in CHOICES
        ]
        print(f"  seed {seed}: {', '.join(found)}")


def network(count: int, matrix: Path | None) -> None:
    """An event-level run: everybody joins, clients subscribe, events are published, one in a hundred brokers dies.

    Brokers and clients speak the live protocol, with a disk each; the clients of the dead go on elsewhere.

    Links take 20 ms, or half the round-trip time of the matrix; broker n is host n modulo the hosts.
    """
    space = EventSpace(rookery.Schema(x=float, y=float), [Axis("x"), Axis("y")])
    conditions = LinkConditions(latency=20_000)
    if matrix is not None:
        times = (np.loadtxt(matrix) * 500).astype(int)
        conditions = LinkConditions(latency=lambda one, other: int(times[one % len(times), other % len(times)]) + 50)
    made = SimulatedBrokers(BrokerConfiguration(space=space), seed=1, conditions=conditions)
    dice = random.Random(1)
    gc.disable()  # millions of live objects and no cycles among the messages: the collector would only walk them
    began, cpu = time.perf_counter(), time.process_time()
    made.join()
    batch = 1
    while len(made.brokers) < count:  # joins in rounds, each as large as a tenth of the network
        for _ in range(min(batch, count - len(made.brokers))):
            made.join()
        made.run(SECOND)
        batch = max(1, len(made.brokers) // 10)
    made.run(70 * SECOND)
    owners = sum(len(broker.owned) == 1 for broker in made.brokers.values())
    print(
        f"network: {count:,} brokers joined, {owners:,} with one zone each, "
        f"{made.messages:,} messages, {time.perf_counter() - began:.0f} s"
    )
    wanted: dict[str, tuple[float, float]] = {}
    for number in range(200):
        broker, low = dice.choice(list(made.brokers)), dice.random()
        wanted[f"s{number}"] = (low, low + 0.02)
        made.subscribe(broker, f"s{number}", f"x >= {low!r} AND x < {low + 0.02!r}")
    made.run(5 * SECOND)
    measure(made, dice, wanted, "quiet")
    for victim in dice.sample(list(made.brokers), count // 100):
        made.crash(victim)
    measure(made, dice, wanted, "one in a hundred just crashed", patience=100)
    made.run(60 * SECOND)
    measure(made, dice, wanted, "after takeover")
    taken = sum((broker.counters for broker in made.brokers.values()), Counter())
    print(
        f"  taken over {taken['taken over']}, merged {taken['merged']}, settled {taken['settled']}, yielded "
        f"{taken['yielded']}; {made.messages:,} messages in {made.calendar.now / SECOND:.0f} simulated s, "
        f"{time.perf_counter() - began:.0f} s of work, {time.process_time() - cpu:.0f} s of CPU, "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB at the peak"
    )


def measure(
    made: SimulatedBrokers,
    dice: random.Random,
    wanted: dict[str, tuple[float, float]],
    title: str,
    patience: int = 5,
) -> None:
    """Publish, wait, and compare with what should have been delivered."""
    before = sum(
        (Counter(hops=b.counters["hops"], arrived=b.counters["arrived"]) for b in made.brokers.values()), Counter()
    )
    published = {}
    for _ in range(1000):
        x = dice.random()
        published[made.publish(dice.choice(list(made.brokers)), {"x": x, "y": dice.random()})] = x
    made.run(patience * SECOND)
    after = sum(
        (Counter(hops=b.counters["hops"], arrived=b.counters["arrived"]) for b in made.brokers.values()), Counter()
    )
    due = {(name, event) for event, x in published.items() for name, (low, high) in wanted.items() if low <= x < high}
    got = [(key, times) for key, times in made.delivered.items() if key[1] in published]
    mean = (after["hops"] - before["hops"]) / max(1, after["arrived"] - before["arrived"])
    print(
        f"  {title}: delivered {len({key for key, _ in got} & due):,} of {len(due):,} due, "
        f"{sum(times > 1 for _, times in got)} twice, {len(set(published) - made.accepted)} not accepted; "
        f"{mean:.2f} hops (0.72 ln N = {0.7213 * math.log(len(made.brokers)):.2f})"
    )


def main(arguments: list[str]) -> int:
    """Run the live part, or the simulated ones."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks brokers", description=__doc__.splitlines()[0])
    parser.add_argument("--simulated", action="store_true", help="run the simulated parts instead of the live one")
    parser.add_argument("--messages", type=int, default=400_000, help="relayed in each cell of the live part")
    parser.add_argument("--peers", default=sys.executable, help="the Python that has the peers' libraries")
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--brokers", type=int, default=10_000)
    parser.add_argument("--latency", type=Path, help="a matrix of round-trip times in ms, tab separated")
    options = parser.parse_args(arguments)
    if not options.simulated:
        from benchmarks.brokers_live import live

        live(peers=options.peers, count=options.messages)
        return 0
    for part in options.only or PARTS:
        if part == "stretch":
            if options.latency is None:
                print("stretch: skipped, name a matrix with --latency")
            else:
                stretch_on(options.latency)
        elif part == "network":
            network(options.brokers, options.latency)
        else:
            {"hops": hops, "loops": loops, "load": load}[part]()
        sys.stdout.flush()
    return 0
