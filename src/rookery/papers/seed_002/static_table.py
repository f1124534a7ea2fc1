"""Figure 2(b): the size of the routing table stabilizes as the system grows."""

from __future__ import annotations

import itertools
import math
from typing import Any

from rookery.papers.figures import chart, lines
from rookery.papers.seed_002.static_depth import FULL, QUICK, run
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]


def plot(table: Table) -> Any:
    """Draw mean and largest table."""
    figure, axes = chart("N, nodes", "links that a node keeps")
    lines(axes, table, x="peers", y="links", label="mean")
    lines(axes, table, x="peers", y="most_links", label="most", first=1)
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    return figure


def check(table: Table) -> Judgment:
    """Growth for each doubling must fall."""
    means = [(size, part.mean("links")) for size, part in table.by("peers")]
    growth = [(other / one - 1) / math.log2(high / low) for (low, one), (high, other) in itertools.pairwise(means)]
    return Judgment(
        Verdict.REPRODUCED if growth[-1] < 0.6 * growth[0] else Verdict.CONTRADICTED,
        f"{means[0][1]:.1f} links at N = {means[0][0]}, {means[-1][1]:.1f} at N = {means[-1][0]:,}; a doubling adds "
        f"{growth[0]:.0%} at first, {growth[-1]:.0%} at last",
        f"Tables grow while nodes cannot yet cover their interests and flatten when they can: a doubling of the nodes "
        f"adds {growth[0]:.0%} at the small end and {growth[-1]:.0%} at the large one. They do not quite stop growing, "
        "because a larger crowd has more nodes of each class.",
    )
