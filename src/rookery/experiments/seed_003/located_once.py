"""Section 3.2: a near broker needs to be located once; what changes is told."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

from rookery import Schema
from rookery.experiments.figures import charts, lines
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.routing.brokers.configuration import BrokerConfiguration
from rookery.simulated.brokers import SimulatedBrokers
from rookery.space.axes import Axis, EventSpace

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(brokers=48, grown=[0.0, 0.25, 0.5, 1.0], runs=5)
QUICK = grid(brokers=16, grown=[0.0, 1.0], runs=1)
SECOND = 1_000_000
SIDE = 100.0


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Let brokers with coordinates find near residents; then let others join, and see whom they prefer now."""
    space = EventSpace(Schema(x=float, y=float), [Axis("x", 0, 1), Axis("y", 0, 1)])
    extent = ((0.0, 0.0), (SIDE, SIDE))
    network = SimulatedBrokers(BrokerConfiguration(space=space, extent=extent), seed=seed)
    dice = random.Random(f"coordinates {seed}")
    places: dict[int, tuple[float, float]] = {}

    def join(count: int) -> None:
        for _ in range(count):
            place = (dice.uniform(0, SIDE), dice.uniform(0, SIDE))
            places[network.join(position=place)] = place
            network.run(SECOND)
        network.run(600 * SECOND)

    join(parameters["brokers"])
    first = _preferred(network)
    join(round(parameters["grown"] * parameters["brokers"]))
    now = _preferred(network)
    both = sorted(first.keys() & now.keys())
    kept = sum(first[key] == now[key] for key in both)

    def mean(found: Mapping[Any, int]) -> float:
        return sum(math.dist(places[key[0]], places[found[key]]) for key in both) / len(both)

    return [{"entries": len(both), "kept": kept / len(both), "once": mean(first), "again": mean(now)}]


def _preferred(network: SimulatedBrokers) -> dict[Any, int]:
    """Return the resident that each broker has first in each entry of its queues."""
    return {
        (number, zone): residents[0].owner
        for number, broker in network.brokers.items()
        for seat in broker.seats.values()
        for level in seat.levels[1:]
        for zone, residents in level.items()
    }


def plot(table: Table) -> Any:
    """Draw how many stay, and what looking again is worth."""
    figure, (left, right) = charts(
        ("brokers that joined since, as a share", "entries that keep their resident"),
        ("brokers that joined since, as a share", "distance to the resident"),
    )
    lines(left, table, x="grown", y="kept", label="the same resident")
    lines(right, table, x="grown", y="once", label="located once")
    lines(right, table, x="grown", y="again", label="located again", first=1)
    left.set_ylim(0, 1.05)
    right.set_ylim(bottom=0)
    return figure


def check(table: Table) -> Judgment:
    """Nothing may change while nobody joins; after joins the first choice should still be the best."""
    still, grown = table.where(grown=0.0), table.where(grown=1.0)
    stays, after = still.mean("kept"), grown.mean("kept")
    verdict = Verdict.CONTRADICTED if stays < 0.99 else Verdict.REPRODUCED if after > 0.95 else Verdict.REGIME
    return Judgment(
        verdict,
        f"{stays:.1%} keep their resident while nobody joins, {after:.0%} after the network has doubled",
        f"While nobody joins, looking again ten minutes later finds the same resident for {stays:.1%} of the entries: "
        f"once is enough. When the network has doubled, {after:.0%} keep it; the others have a nearer one now (mean "
        f"distance {grown.mean('again'):.0f} instead of {grown.mean('once'):.0f}), of which the located one cannot "
        "tell them. So Rookery looks again every minute.",
    )
