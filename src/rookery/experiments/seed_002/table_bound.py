"""Proposition 1: a routing table has at most 2d + c entries."""

from __future__ import annotations

from typing import Any

from rookery.experiments.figures import chart, lines, reference
from rookery.experiments.seed_002.static_depth import FULL, QUICK, run
from rookery.experiments.table import Table
from rookery.experiments.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

BOUND = 2 * 1024 + 1


def plot(table: Table) -> Any:
    """Draw the largest table under the bound."""
    figure, axes = chart("N, nodes", "links of the largest table")
    lines(axes, table, x="peers", y="most_links", label="measured")
    sizes = table.values("peers")
    reference(axes, sizes, [BOUND for _ in sizes], "stated: 2d + c = 2,049")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """No table may exceed it."""
    most, share = table.most("most_links"), table.most("of_sound_bound")
    return Judgment(
        Verdict.REPRODUCED if most <= BOUND and share <= 1 else Verdict.CONTRADICTED,
        f"largest table {most}, far below 2d + c = {BOUND:,}; {share:.0%} of 4·|S| + c",
        f"The largest of all tables has {most} entries. The bound holds with room to spare, but its proof does not: "
        "that there are d − n neighbors cannot be derived. What follows from Algorithm 2 is 4·|S| + c for a node with "
        f"|S| cells (two classes, two directions), of which {share:.0%} is reached.",
    )
