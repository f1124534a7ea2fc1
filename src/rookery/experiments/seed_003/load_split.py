"""Section 1: each split makes two zones of equal load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.experiments.figures import bars, chart
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.routing.brokers.static import StaticBrokers

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

JOINS = ["anywhere, cut in the middle", "anywhere, cut at the median", "at an event", "at the fuller of two"]
FULL = grid(join=JOINS, brokers=1024, events=100_000, runs=10)
QUICK = grid(join=JOINS, brokers=256, events=10_000, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Let brokers join a space with skewed events; count fresh events for each."""
    generator = np.random.default_rng(seed)
    count, join, size = parameters["brokers"], parameters["join"], parameters["events"]
    heavy = generator.pareto(1.5, (2, size))
    events = np.stack([heavy / (1 + heavy), generator.beta(2, 8, (2, size))], axis=2)
    brokers = StaticBrokers.grown(
        count,
        dimensions=2,
        generator=generator,
        events=None if join == JOINS[0] else events[0],
        joins=generator.random((2 * count, 2)) if join in JOINS[:2] else None,
        choices=2 if join == JOINS[3] else 1,
    )
    loads = np.bincount(brokers.owners(events[1]), minlength=count)
    return [{"unevenness": float(loads.max() / loads.mean()), "idle": float((loads == 0).mean())}]


def plot(table: Table) -> Any:
    """Draw the load of the busiest."""
    figure, axes = chart("events of the busiest broker / mean", "")
    bars(axes, {name: part.mean("unevenness") for name, part in table.by("join")}, form="{:.1f}")
    return figure


def check(table: Table) -> Judgment:
    """Cutting at the median must help, and joining by load must bring it near one."""
    uneven = {name: part.mean("unevenness") for name, part in table.by("join")}
    ordered = uneven[JOINS[0]] > uneven[JOINS[1]] > uneven[JOINS[3]]
    return Judgment(
        Verdict.REGIME if ordered and uneven[JOINS[3]] < 8 else Verdict.CONTRADICTED,
        "busiest / mean: " + ", ".join(f"{value:.1f} {name}" for name, value in uneven.items()),
        "A cut at the median of the zone's events makes two halves of equal load, as stated. That alone does not make "
        f"all zones alike: with newcomers landing anywhere the busiest broker has {uneven[JOINS[1]]:.0f} times the "
        f"mean ({uneven[JOINS[0]]:.0f} with cuts in the middle). It needs newcomers that come where the events are: "
        f"{uneven[JOINS[2]]:.1f}, and {uneven[JOINS[3]]:.1f} if they take the fuller of two zones.",
    )
