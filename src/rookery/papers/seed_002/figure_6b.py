"""Figure 6(b): Mirinae has less overhead up to a threshold of λpub/λjoin, the overlay beyond it."""

from __future__ import annotations

from math import inf
from typing import Any

from rookery.papers.seed_002.publish_more import FULL, QUICK, equal_at, plot, run
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.overlay.overhead import crossover

__all__ = ["FULL", "QUICK", "check", "plot", "run"]


def check(table: Table) -> Judgment:
    """There must be a threshold at every size, at k·d/(2p) by the formulas, and about there as counted."""
    stated = crossover(bit_count=table.least("bits"))
    found: dict[str, dict[Any, float]] = {
        source: {size: equal_at(one) for size, one in part.by("peers")} for source, part in table.by("source")
    }
    formula, counted = list(found["formula"].values()), list(found["counted"].values())
    if any(not 0.99 < value / stated < 1.01 for value in formula) or all(value in (0, inf) for value in counted):
        verdict = Verdict.CONTRADICTED
    elif any(value in (0, inf) for value in counted):
        verdict = Verdict.REGIME
    else:
        verdict = Verdict.REPRODUCED if all(0.5 < value / stated < 2 for value in counted) else Verdict.SHAPE
    shown = ", ".join(f"{value:.2f} at N = {size:,}" for size, value in found["counted"].items())
    return Judgment(
        verdict,
        f"the formulas cross at λpub/λjoin = {stated:,.0f}·k; as counted at {shown}",
        f"By the formulas the two are equal at k·d/(2p) = {stated:,.0f}·k for d = {table.least('bits'):,}; below it "
        "Mirinae sends less, beyond it the overlay: that holds by construction, one being constant in λpub and the "
        f"other proportional to it. As counted, with the overlay's own events, they are equal at {shown} (inf: the "
        "overlay has more at any rate), because joins cost a small part of the formula and relaying far more than it "
        "(see join-overhead and relay-probability).",
    )
