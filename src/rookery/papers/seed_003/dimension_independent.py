"""Section 2.4: Spanhop's mean path does not depend on the dimensions of the information space."""

from __future__ import annotations

from typing import Any

from rookery.papers.figures import chart, lines
from rookery.papers.seed_003.spanhop_hops import FULL, QUICK, run
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]


def plot(table: Table) -> Any:
    """Draw Spanhop for all dimensions."""
    figure, axes = chart("N, brokers", "mean hops, Spanhop")
    mine = table.where(algorithm="Spanhop")
    lines(axes, mine, x="brokers", y="hops", by="dimensions", name=lambda d: f"d = {d}")
    axes.set_xscale("log", base=2)
    return figure


def check(table: Table) -> Judgment:
    """At each size the means must be one."""
    mine = table.where(algorithm="Spanhop")
    spread = {}
    for size, part in mine.by("brokers"):
        means = [one.mean("hops") for _, one in part.by("dimensions")]
        spread[size] = max(means) / min(means) - 1
    most = max(spread)
    shown = ", ".join(f"{one.mean('hops'):.2f} for d = {d}" for d, one in mine.where(brokers=most).by("dimensions"))
    return Judgment(
        Verdict.REPRODUCED if max(spread.values()) < 0.05 else Verdict.CONTRADICTED,
        f"N = {most:,}: {shown}",
        f"At N = {most:,} the mean is {shown}; over all sizes the largest difference between dimensions is "
        f"{max(spread.values()):.1%}. Each cut of the tree costs half a hop on average, and how many cuts there are "
        "depends on N alone.",
    )
