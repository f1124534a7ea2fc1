"""Figure 4's text: routing tables shrink as subscriptions become more popular."""

from __future__ import annotations

import itertools
from typing import Any

from rookery.papers.figures import charts, lines
from rookery.papers.seed_002.pareto_false_positives import FULL, run
from rookery.papers.sweeps import grid
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

QUICK = grid(mode="sound", alpha=[0, 1.0, 2.0, 3.0, 4.0], peers=300, events=10, runs=4)


def plot(table: Table) -> Any:
    """Draw links and primaries over α."""
    figure, (left, right) = charts(("α (0: even)", "links that a primary keeps, mean"), ("α (0: even)", "primaries"))
    lines(left, table, x="alpha", y="links", label="measured")
    lines(right, table, x="alpha", y="primaries", label="distinct interests", first=1)
    for axes in (left, right):
        axes.set_ylim(bottom=0)
    return figure


def check(table: Table) -> Judgment:
    """They must fall with α."""
    links = {alpha: part.mean("links") for alpha, part in table.by("alpha")}
    primaries = {alpha: part.mean("primaries") for alpha, part in table.by("alpha")}
    pareto = [links[alpha] for alpha in sorted(links) if alpha]
    falls = all(one >= 0.99 * other for one, other in itertools.pairwise(pareto)) and pareto[-1] < 0.95 * pareto[0]
    shown = ", ".join(f"{value:.1f} at {alpha or 'even'}" for alpha, value in links.items())
    return Judgment(
        Verdict.REPRODUCED if falls else Verdict.SHAPE if pareto[-1] < links[0] else Verdict.CONTRADICTED,
        f"{links[0]:.1f} links for even interests, {links[4.0]:.1f} at α = 4",
        f"Mean links: {shown}. Nodes with the same interests form one cluster behind a primary, so at α = 4 there are "
        f"{primaries[4.0]:.0f} primaries of {table.least('peers'):,} nodes to link, against {primaries[0]:.0f} with "
        "even interests. From even interests to α = 1 a table may grow a little before it falls.",
    )
