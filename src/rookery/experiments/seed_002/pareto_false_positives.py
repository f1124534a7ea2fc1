"""Figure 3: the share of false positives decreases as subscriptions become more popular."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.experiments.figures import chart, lines
from rookery.experiments.overlays import measure, static
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.routing.overlay.configuration import OverlayConfiguration

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

#: 0 is the even distribution.
FULL = grid(alpha=[0, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0], peers=4000, events=100, runs=10)
QUICK = grid(alpha=[0, 1.0, 2.0, 4.0], peers=300, events=30, runs=8)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Publish where interests follow a Pareto law; no node comes near ten events."""
    overlay, market, dice = static(
        parameters["peers"],
        seed,
        alpha=parameters["alpha"],
        configuration=OverlayConfiguration(heartbeat=None, arc=True),
    )
    return [measure(overlay, market, dice, events=parameters["events"])]


def plot(table: Table) -> Any:
    """Draw false positives over α."""
    figure, axes = chart("α of the Pareto law (0: even)", "share of receipts that are false positives")
    lines(axes, table, x="alpha", y="false_positives", label="measured")
    axes.set_ylim(bottom=0)
    return figure


def check(table: Table) -> Judgment:
    """Popular interests must have fewer than even ones, and the most skewed fewer than the least."""
    share = {alpha: part.mean("false_positives") for alpha, part in table.by("alpha")}
    falls = share[4.0] < share[1.0] < share[0]
    shown = ", ".join(f"{value:.1%} at {alpha or 'even'}" for alpha, value in share.items())
    return Judgment(
        Verdict.REPRODUCED if falls else Verdict.SHAPE if share[4.0] < share[0] else Verdict.CONTRADICTED,
        f"{share[0]:.1%} for even interests, {share[1.0]:.1%} at α = 1, {share[4.0]:.1%} at α = 4",
        f"Means over {len(table.where(alpha=4.0))} runs: {shown}. The more alike the interests, the more often an "
        "event of a wanted cell is also a wanted event. One run says little: which subscriptions happen to be the "
        "popular ones decides much.",
    )
