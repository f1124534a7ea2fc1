"""K-D brokers: live relaying beside peers (`brokers_live.py`), or with `--simulated` hops, loops, loads and delivery.

Parts (`--only NAME`, repeatable): `hops` on balanced trees to 2^20 brokers beside greedy routing; `loops` of a million
routes with and without the repair; `load` of a skewed workload and of relaying; `stretch` on a matrix of round-trip
times (`--latency FILE`, tab separated); `network`, an event-level run of `--brokers N` (10,000 by default, `scale.py`).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from benchmarks.scale import network

from rookery.papers.seed_003.static import StaticBrokers

__all__ = ["main"]

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
    from rookery.papers.seed_003.stretch import CHOICES, stretch

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
            network(options.brokers, matrix=options.latency)
        else:
            {"hops": hops, "loops": loops, "load": load}[part]()
        sys.stdout.flush()
    return 0
