"""Figure 6(a): overhead against the number of nodes, at (p·λpub)/(k·λjoin·d/2) = 0.7."""

from __future__ import annotations

from typing import Any

from rookery.papers.figures import chart, lines
from rookery.papers.seed_002.publish_more import FULL, QUICK, run
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.overlay.overhead import crossover

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

PANEL, CONDITION = 0.7, 1.43


def _overhead(part: Table, ratio: float) -> tuple[float, float]:
    """Return the overhead of the overlay and of Mirinae for one join and the events beside it."""
    events = ratio * crossover(bit_count=part.least("bits"))
    return part.mean("join") + events * part.mean("own_event"), events * part.mean("event")


def plot(table: Table) -> Any:
    """Draw the panel at its own ratio, by the formulas and as counted."""
    figure, axes = chart("N, nodes", "messages for one join and the events beside it")
    rows = [
        {"line": f"{system}, {source}", "peers": size, "overhead": value}
        for source, part in table.by("source")
        for size, one in part.by("peers")
        for system, value in zip(("overlay", "Mirinae"), _overhead(one, PANEL), strict=True)
    ]
    lines(axes, Table(rows), x="peers", y="overhead", by="line")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """Where the condition holds the overlay must have less, by the formulas and as counted; and at the panel's 0.7."""
    less = {
        (source, ratio): [ours < theirs for _, one in part.by("peers") for ours, theirs in [_overhead(one, ratio)]]
        for source, part in table.by("source")
        for ratio in (PANEL, CONDITION)
    }
    condition = all(less["formula", CONDITION]) and any(less["counted", CONDITION])
    everywhere = all(all(wins) for wins in less.values())
    sizes = table.values("peers")
    last = table.where(peers=max(sizes))
    ours, theirs = _overhead(last.where(source="formula"), PANEL)
    counted, relayed = _overhead(last.where(source="counted"), PANEL)
    won = [size for size, wins in zip(sizes, less["counted", PANEL], strict=True) if wins]
    return Judgment(
        Verdict.REPRODUCED if everywhere else Verdict.REGIME if condition else Verdict.CONTRADICTED,
        f"at the ratio 0.7 and N = {max(sizes):,}: overlay {ours:,.0f}, Mirinae {theirs:,.0f} by the formulas; "
        f"{counted:,.0f} and {relayed:,.0f} as counted",
        "That the overlay has less overhead where k·(d/2)·λjoin < p·λpub holds by construction of the two formulas: "
        "both are multiples of ln n. But the panel is drawn at a ratio of 0.7, where that condition does not hold, and "
        f"there the formulas give {ours:,.0f} messages for the overlay and {theirs:,.0f} for Mirinae. As counted, at "
        f"as many events for a join, it is {counted:,.0f} against {relayed:,.0f} at N = {max(sizes):,}, and of the "
        f"sizes {sizes} the overlay has less at {won}.",
    )
