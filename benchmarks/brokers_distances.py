"""Stretch of the ways over brokers with and without coordinates, at the hosts of a matrix of round-trip times.

`python -m benchmarks brokers_distances [--matrix NAME] [--brokers N]` runs the brokers in a world; links take what
the matrix says: without any choice of residents, by measured round trips, and by coordinates. The matrices are those of
`rookery reproduce` (`planetlab` and `cities` from the folder that `ROOKERY_DATA` names). `--live N` runs broker
processes instead, each in a network namespace of its own, behind a relay that holds every packet back for half the
round trip; it needs the right to make namespaces, and /dev/net/tun. A way is that of an event to its owner, by the
brokers' own tables; the stretch is the sum over all ways of the times of their hops by the matrix, over the direct
times.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.live.brokers.far_fleet import FarFleet
from tests.live.distant_sites import DistantSites, why_not_distant

from rookery import Schema
from rookery.brokers.configuration import BrokerConfiguration, BrokerProximity
from rookery.papers.seed_003.latencies import MATRICES, latency_matrix
from rookery.simulated.distances import brokers_at_hosts, stretch_of
from rookery.space.axes import Axis, EventSpace

__all__ = ["main"]

SECOND = 1_000_000
REFRESH = 20
PAIRS = 2_000


def simulated(times: Any, proximity: BrokerProximity, minutes: int) -> None:
    """Print what a world shows."""
    space = EventSpace(Schema(x=float, y=float), [Axis("x"), Axis("y")])
    configuration = BrokerConfiguration(
        space=space,
        beat=SECOND,
        refresh=REFRESH * SECOND,
        ancestors=REFRESH * SECOND,
        proximity=proximity,
        stretch_probes=4,
    )
    begun = time.process_time()
    network = brokers_at_hosts(configuration, times, seed=1)
    for _ in range(len(times)):
        network.join()
        network.run(SECOND)
    joined = network.messages
    network.run(minutes * 60 * SECOND)
    machines = network.brokers.values()
    errors = [machine.landmarks.error for machine in machines if machine.landmarks.error is not None]
    own = [machine.round_trips.stretch for machine in machines if machine.round_trips.stretch is not None]
    found = stretch_of(network, times, pairs=PAIRS, seed=1)
    rate = (network.messages - joined) / len(times) / minutes / 60
    _print(
        proximity,
        found,
        own,
        errors,
        f"{rate:.1f} messages a broker and second, {time.process_time() - begun:.0f} s of CPU",
    )


def live(times: Any, proximity: BrokerProximity, *, seconds: int, beat: float) -> None:
    """Print what broker processes show."""
    with tempfile.TemporaryDirectory() as folder, DistantSites(times) as sites:
        begun = time.monotonic()
        with FarFleet(sites, Path(folder), beat=beat, refresh=REFRESH, proximity=proximity) as fleet:
            joined = time.monotonic() - begun
            time.sleep(seconds)
            told = [fleet.told(site) for site in range(len(times))]
            found = fleet.stretch(times)
        networks = [one["network"] for one in told]
        own = [one["stretch"] for one in networks if one["stretch"] is not None]
        errors = [one["error"] for one in networks if one["error"] is not None]
        takeovers = sum(one["counters"].get("taken over", 0) for one in told)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = spent.ru_utime + spent.ru_stime
    _print(proximity, found, own, errors, f"joined in {joined:.0f} s, {takeovers} takeovers, {cpu:.0f} s of CPU so far")


def _print(proximity: BrokerProximity, found: float, own: list[float], errors: list[float], rest: str) -> None:
    seen = f"{statistics.median(own):.2f}" if own else "-"
    error = f"{statistics.median(errors):.3f}" if errors else "-"
    print(f"{proximity.value:<12} stretch {found:.2f}, as brokers see it {seen}; error {error}; {rest}", flush=True)


def main(arguments: list[str]) -> int:
    """Run every choice of residents."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks brokers_distances")
    parser.add_argument("--matrix", choices=MATRICES, default="planetlab")
    parser.add_argument("--brokers", type=int, default=490)
    parser.add_argument("--minutes", type=int, default=3, help="of virtual time after all have joined")
    parser.add_argument("--live", type=int, default=0, help="run so many processes instead")
    parser.add_argument("--seconds", type=int, default=120, help="with --live: after all have joined")
    parser.add_argument("--beat", type=float, default=2.0, help="with --live")
    parser.add_argument("--only", nargs="+", default=[one.value for one in BrokerProximity])
    options = parser.parse_args(arguments)
    times = latency_matrix(options.matrix, options.live or options.brokers)
    if times is None:
        print(f"the matrix {options.matrix} is not at hand: ROOKERY_DATA names the folder", file=sys.stderr)
        return 1
    if options.live and why_not_distant():
        print(why_not_distant(), file=sys.stderr)
        return 1
    print(f"{len(times)} brokers at the hosts of {options.matrix}, {'live' if options.live else 'in a world'}")
    for proximity in map(BrokerProximity, options.only):
        if options.live:
            live(times, proximity, seconds=options.seconds, beat=options.beat)
        else:
            simulated(times, proximity, options.minutes)
    return 0
