"""The interest-oriented overlay: static and dynamic curves, paper mode, baselines, overhead, a hundred thousand peers.

python -m benchmarks overlay --part PART [--runs R] [--peers N ...] [--events E] [--arc]; parts: static, pareto, paper,
baselines, join, crash, churn, overhead, scale. Counts are exact and depend on the seed alone; only `scale` reports time
and memory.
"""

from __future__ import annotations

import argparse
import gc
import resource
import time

from benchmarks.overlay_dynamic import churn, crash, join
from benchmarks.overlay_overhead import baselines, overhead
from benchmarks.overlay_runs import SIZES, publish, report, static_overlay

from rookery.overlay.configuration import OverlayConfiguration
from rookery.overlay.selection import Rule

__all__ = ["main"]


def static(options: argparse.Namespace) -> None:
    for peers in options.peers or SIZES:
        rows = []
        for seed in range(options.runs):
            overlay, market, dice = static_overlay(peers, seed, arc=options.arc)
            rows.append(publish(overlay, market, dice, [dice.randrange(peers) for _ in range(options.events)]))
        report(f"N={peers} runs={options.runs}{' arc' if options.arc else ''}", rows)


def pareto(options: argparse.Namespace) -> None:
    """The seed's set-up: 4000 nodes, none of which publishes more than 10 events."""
    peers = (options.peers or [4000])[0]
    for alpha in (None, 1.0, 1.5, 2.0, 3.0, 4.0):
        rows = []
        for seed in range(options.runs):
            overlay, market, dice = static_overlay(peers, seed, alpha=alpha, arc=True)
            publishers = dice.sample([node for node in range(peers) for _ in range(10)], options.events)
            rows.append(publish(overlay, market, dice, publishers))
        report(f"N={peers} alpha={alpha or 'uniform'} runs={options.runs}", rows)


def paper(options: argparse.Namespace) -> None:
    """The printed text beside the sound reading, on the same peers and events."""
    peers = (options.peers or [1024])[0]
    for alpha in (None, 1.5):
        for hash_count in (1, 2, 4):
            for name, configuration in (
                ("sound", OverlayConfiguration(heartbeat=None)),
                ("paper", OverlayConfiguration.paper(heartbeat=None)),
                ("paper + reset", OverlayConfiguration.paper(heartbeat=None, rule=Rule(by_cells=False))),
                ("paper, one way", OverlayConfiguration.paper(heartbeat=None, both_ways=False)),
            ):
                rows = []
                for seed in range(options.runs):
                    overlay, market, dice = static_overlay(
                        peers, seed, alpha=alpha, hash_count=hash_count, configuration=configuration
                    )
                    rows.append(publish(overlay, market, dice, [dice.randrange(peers) for _ in range(options.events)]))
                report(f"{alpha or 'uniform'} k={hash_count} {name}", rows)


def scale(options: argparse.Namespace) -> None:
    peers = (options.peers or [100_000])[0]
    gc.disable()
    before, begun, worked = _resident(), time.perf_counter(), time.process_time()
    overlay, market, dice = static_overlay(peers, 0, window=options.window, arc=True)
    built, worked = time.perf_counter() - begun, time.process_time() - worked
    each = (_resident() - before) / peers / 1024
    print(
        f"N={peers}: built in {built:.0f} s ({worked:.0f} s of one core); {each:.1f} KiB resident per peer", flush=True
    )
    begun = time.perf_counter()
    report(
        f"N={peers} window={options.window}",
        [publish(overlay, market, dice, [dice.randrange(peers) for _ in range(options.events)])],
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{options.events} events in {time.perf_counter() - begun:.0f} s; peak {peak:.0f} MiB")


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def main(arguments: list[str]) -> int:
    parts = {f.__name__: f for f in (static, pareto, paper, baselines, join, crash, churn, overhead, scale)}
    parser = argparse.ArgumentParser(prog="python -m benchmarks overlay", description=__doc__)
    parser.add_argument("--part", choices=parts, required=True)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--peers", type=int, nargs="*")
    parser.add_argument("--events", type=int, default=300)
    parser.add_argument("--alpha", type=float)
    parser.add_argument("--minutes", type=int, default=3)
    parser.add_argument("--crashes", type=float, default=0.5)
    parser.add_argument("--window", type=int, default=24)
    parser.add_argument("--arc", action="store_true")
    options = parser.parse_args(arguments)
    parts[options.part](options)
    return 0
