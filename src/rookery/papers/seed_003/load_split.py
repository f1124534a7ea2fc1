"""Section 1: each split makes two zones of equal load.

The load of a zone is the count of its events. Two draws of the same law: by the first brokers join and cut, the second
is counted. A split is judged where both halves together have at least 400 events of the second draw, since chance alone
parts fewer unevenly.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.brokers.static import StaticBrokers
from rookery.papers.figures import bars, charts
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

JOINS = ["anywhere, cut in the middle", "anywhere, cut at the median", "at an event", "at the fuller of two"]
FULL = grid(join=JOINS, brokers=1024, events=100_000, runs=10)
QUICK = grid(join=JOINS, brokers=256, events=20_000, runs=3)
FEWEST = 400
#: What counts as the same load: halves of 45 and 55 %; and zones of at most twice the mean.
SAME, ALIKE = 0.55, 2.0


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Let brokers join a space with skewed events; count fresh events in the halves of each split."""
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
    before = np.concatenate([[0], np.cumsum(loads)])
    held = before[brokers.first + brokers.count] - before[brokers.first]  # by node: brokers are numbered left to right
    split = np.flatnonzero((brokers.low >= 0) & (held >= FEWEST))
    larger = np.maximum(held[brokers.low[split]], held[brokers.high[split]]) / held[split]
    return [
        {
            "splits": len(split),
            "larger_half": float(larger.mean()),
            "same": float((larger <= SAME).mean()),
            "unevenness": float(loads.max() / loads.mean()),
        }
    ]


def plot(table: Table) -> Any:
    """Draw the halves, and the load of the busiest."""
    figure, (left, right) = charts(("events in the larger half of a split", ""), ("events of the busiest / mean", ""))
    bars(left, {name: part.mean("larger_half") for name, part in table.by("join")}, form="{:.0%}")
    bars(right, {name: part.mean("unevenness") for name, part in table.by("join")}, form="{:.1f}")
    return figure


def check(table: Table) -> Judgment:
    """The halves of a split must be alike; if all zones are, it holds without a condition."""
    larger = {name: part.mean("larger_half") for name, part in table.by("join")}
    uneven = {name: part.mean("unevenness") for name, part in table.by("join")}
    halves = all(larger[name] <= SAME for name in JOINS[1:])
    always = larger[JOINS[0]] <= SAME and max(uneven.values()) <= ALIKE
    verdict = Verdict.CONTRADICTED if not halves else Verdict.REPRODUCED if always else Verdict.REGIME
    return Judgment(
        verdict,
        "larger half of a split: " + ", ".join(f"{value:.0%} {name}" for name, value in larger.items()),
        f"A cut at the median of a sample of the zone's events leaves {larger[JOINS[3]]:.0%} of fresh events in the "
        f"larger half on average over {table.where(join=JOINS[3]).total('splits'):,} splits "
        f"({table.where(join=JOINS[3]).mean('same'):.0%} of them at most {SAME:.0%}), as stated. A cut in the middle, "
        f"which is all that a broker can do before it has seen events, leaves {larger[JOINS[0]]:.0%}. And equal halves "
        f"do not make all zones alike: with newcomers landing anywhere the busiest broker has {uneven[JOINS[1]]:.0f} "
        f"times the mean ({uneven[JOINS[0]]:.0f} with cuts in the middle). It needs newcomers that come where the "
        f"events are: {uneven[JOINS[2]]:.1f}, and {uneven[JOINS[3]]:.1f} if they take the fuller of two zones.",
    )
