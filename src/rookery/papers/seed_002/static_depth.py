"""Figure 2(a): delivery depth against the number of nodes, everybody known to everybody."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import chart, lines
from rookery.papers.overlays import configured, measure, static
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(mode="sound", peers=[64, 128, 256, 512, 1024, 2048, 4096], events=200, runs=10)
QUICK = grid(mode="sound", peers=[64, 256, 1024], events=60, runs=2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Publish in a static overlay."""
    overlay, market, dice = static(parameters["peers"], seed, configuration=configured(parameters["mode"]))
    return [measure(overlay, market, dice, events=parameters["events"])]


def plot(table: Table) -> Any:
    """Draw the mean depth."""
    figure, axes = chart("N, nodes", "hops until an event is delivered, mean")
    lines(axes, table, x="peers", y="depth", by="mode")
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    return figure


def fit(table: Table) -> tuple[float, float]:
    """Return the hops that each doubling adds, and how well a straight line over log2 N fits (R²)."""
    points = [(math.log2(size), part.mean("depth")) for size, part in table.by("peers")]
    count = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    total = sum((y - mean_y) ** 2 for _, y in points)
    left = sum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in points)
    return slope, 1 - left / total


def check(table: Table) -> Judgment:
    """A straight line over log N must fit."""
    slope, quality = fit(table)
    last = table.where(peers=table.most("peers"))
    return Judgment(
        Verdict.REPRODUCED if quality > 0.93 and slope > 0 else Verdict.CONTRADICTED,
        f"{last.mean('depth'):.2f} hops at N = {table.most('peers'):,}; {slope:.2f} more with each doubling (R² "
        f"{quality:.2f})",
        f"Depth grows by {slope:.2f} hops with each doubling of the nodes, and a straight line over log N explains "
        f"{quality:.0%} of it, up to {last.mean('depth'):.2f} hops at N = {table.most('peers'):,} (deepest "
        f"{last.most('deepest')}). The seed's axes cannot be read, so the trend is what is compared.",
    )
