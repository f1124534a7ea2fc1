"""Figure 6(a): overhead against the number of nodes, at (p·λpub)/(k·λjoin·d/2) = 0.7."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.experiments.figures import chart, lines
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.routing.overlay.overhead import join_overhead, relay_overhead, unwanted_probability

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = QUICK = grid(peers=[64, 128, 256, 512, 1024, 2048, 4096], ratio=[0.7, 1.43], bits=1024)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Evaluate both formulas with p·λpub = 1."""
    bits, peers = parameters["bits"], parameters["peers"]
    ours = join_overhead(bit_count=bits, peer_count=peers, join_rate=1 / (parameters["ratio"] * bits / 2))
    theirs = relay_overhead(bit_count=bits, peer_count=peers, publish_rate=1 / unwanted_probability(bits))
    return [{"system": "overlay", "overhead": ours}, {"system": "Mirinae", "overhead": theirs}]


def plot(table: Table) -> Any:
    """Draw the panel at its own ratio."""
    figure, axes = chart("N, nodes", "overhead, in units of p·λpub")
    lines(axes, table.where(ratio=0.7), x="peers", y="overhead", by="system")
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    return figure


def check(table: Table) -> Judgment:
    """At the panel's ratio the overlay should have less overhead."""
    panel, other = (
        {name: part.list("overhead") for name, part in table.where(ratio=ratio).by("system")} for ratio in (0.7, 1.43)
    )
    wins = all(ours < theirs for ours, theirs in zip(panel["overlay"], panel["Mirinae"], strict=True))
    condition = all(ours < theirs for ours, theirs in zip(other["overlay"], other["Mirinae"], strict=True))
    return Judgment(
        Verdict.REPRODUCED if wins else Verdict.REGIME if condition else Verdict.CONTRADICTED,
        f"at the ratio 0.7: overlay {panel['overlay'][0]:.1f} to {panel['overlay'][-1]:.1f}, Mirinae "
        f"{panel['Mirinae'][0]:.1f} to {panel['Mirinae'][-1]:.1f}",
        "The text says that the overlay has less overhead when k·(d/2)·λjoin < p·λpub, which the formulas confirm "
        "(checked at a ratio of 1.43). But the panel is drawn at a ratio of 0.7, where that condition does not hold, "
        f"and there the formulas give {panel['overlay'][0]:.1f} to {panel['overlay'][-1]:.1f} for the overlay and "
        f"{panel['Mirinae'][0]:.1f} to {panel['Mirinae'][-1]:.1f} for Mirinae: the overlay loses at every size.",
    )
