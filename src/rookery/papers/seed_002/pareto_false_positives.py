"""Figure 3: the share of false positives decreases as subscriptions become more popular."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from statistics import fmean, stdev
from typing import Any

from rookery.papers.figures import chart, lines
from rookery.papers.overlays import configured, measure, static
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

#: 0 is the even distribution.
FULL = grid(mode="sound", alpha=[0, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0], peers=4000, events=100, runs=10)
QUICK = grid(mode="sound", alpha=[0, 1.0, 2.0, 3.0, 4.0], peers=100, events=30, runs=12)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Publish where interests follow a Pareto law; no node comes near ten events."""
    overlay, market, dice = static(
        parameters["peers"],
        seed,
        alpha=parameters["alpha"],
        configuration=configured(parameters["mode"], arc=parameters["mode"] == "sound"),
    )
    return [measure(overlay, market, dice, events=parameters["events"])]


def plot(table: Table) -> Any:
    """Draw false positives over α."""
    figure, axes = chart("α of the Pareto law (0: even)", "share of receipts that are false positives")
    lines(axes, table, x="alpha", y="false_positives", label="measured")
    axes.set_ylim(bottom=0)
    return figure


def _rises(one: Table, other: Table) -> bool:
    """Tell whether the second has more by over two standard errors; runs of one seed share a catalog."""
    differences: list[float] = [
        b - a for a, b in zip(one.list("false_positives"), other.list("false_positives"), strict=True)
    ]
    return fmean(differences) > 2 * stdev(differences) / math.sqrt(len(differences))


def check(table: Table) -> Judgment:
    """The ends must fall, and between no two distributions may the share rise beyond the noise."""
    parts = dict(sorted(table.by("alpha")))
    share = {alpha: part.mean("false_positives") for alpha, part in parts.items()}
    rises = [(a, b) for (a, one), (b, other) in itertools.combinations(parts.items(), 2) if _rises(one, other)]
    ends = share[4.0] < share[1.0] < share[0]
    shown = ", ".join(f"{value:.1%} at {alpha or 'even'}" for alpha, value in share.items())
    if ends and not rises:
        verdict = Verdict.REPRODUCED
    else:
        verdict = Verdict.SHAPE if ends else Verdict.CONTRADICTED
    return Judgment(
        verdict,
        f"{share[0]:.1%} for even interests, {share[1.0]:.1%} at α = 1, {share[4.0]:.1%} at α = 4; {len(rises)} pairs "
        "rise",
        f"Means over {len(table.where(alpha=4.0))} runs with {table.least('peers'):,} nodes: {shown}. Between "
        f"{len(rises)} of all pairs of distributions it rises by more than two standard errors. The more alike the "
        "interests, the more often an event of a wanted cell is also a wanted event. One run says little: which "
        "subscriptions happen to be the popular ones decides much.",
    )
