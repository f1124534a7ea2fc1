"""Section 2: for a given N greedy routing gets better only by more attributes; Spanhop does not need them."""

from __future__ import annotations

import itertools
from typing import Any

from rookery.papers.figures import chart, lines
from rookery.papers.seed_003.spanhop_hops import FULL, QUICK, run
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]


def plot(table: Table) -> Any:
    """Draw the hops of the largest network over d."""
    figure, axes = chart(f"d, dimensions (N = {table.most('brokers'):,})", "mean hops")
    lines(axes, table.where(brokers=table.most("brokers")), x="dimensions", y="hops", by="algorithm")
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """In the largest network greedy hops must fall with every d, and Spanhop's stay."""
    last = table.where(brokers=table.most("brokers"))
    hops = {
        name: [one.mean("hops") for _, one in part.by("dimensions")]
        for name, part in ((algorithm, last.where(algorithm=algorithm)) for algorithm in ("greedy", "Spanhop"))
    }
    falls = all(one > other for one, other in itertools.pairwise(hops["greedy"]))
    stays = max(hops["Spanhop"]) / min(hops["Spanhop"]) < 1.05
    shown = ", ".join(
        f"{value:,.0f} at d = {d}" for d, value in zip(last.values("dimensions"), hops["greedy"], strict=True)
    )
    return Judgment(
        Verdict.REPRODUCED if falls and stays else Verdict.CONTRADICTED,
        f"N = {table.most('brokers'):,}: greedy hops {shown}",
        f"With N = {table.most('brokers'):,} brokers greedy routing takes {shown} hops; Spanhop takes "
        f"{min(hops['Spanhop']):.1f} to {max(hops['Spanhop']):.1f} whatever d is. What more attributes cost in "
        "matching is another matter (see matching-dimensions).",
    )
