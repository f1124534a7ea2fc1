"""Abstract: only interested nodes are involved in disseminating an event."""

from __future__ import annotations

from typing import Any

from rookery.papers.figures import charts, lines
from rookery.papers.seed_002.static_depth import FULL, QUICK, run
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]


def plot(table: Table) -> Any:
    """Draw the receipts by nodes that did not want the event, and the messages until it has found one who does."""
    figure, (left, right) = charts(("N, nodes", "receipts that nobody wanted"), ("N, nodes", "messages to get in"))
    lines(left, table, x="peers", y="false_positives", label="of all, while it spreads")
    lines(left, table, x="peers", y="bloom_false_positives", label="the cell is not wanted", first=1)
    lines(right, table, x="peers", y="entry_per_event", label="mean", first=2)
    lines(right, table, x="peers", y="most_messages", label="dearest event", first=3)
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.set_ylim(bottom=0)
    return figure


def check(table: Table) -> Judgment:
    """No node without the cell may be involved: while an event spreads (one in a hundred is let pass), or gets in."""
    bloom, cell = table.mean("bloom_false_positives"), table.mean("false_positives")
    entry, dearest = table.mean("entry_per_event"), table.most("most_messages")
    spreads = bloom < 0.01 and table.total("unwanted") == 0 and table.total("missed") < table.total("wanted")
    if not spreads:
        verdict = Verdict.CONTRADICTED
    else:
        verdict = Verdict.REPRODUCED if entry == 0 else Verdict.REGIME
    return Judgment(
        verdict,
        f"{bloom:.1%} of the receipts are by nodes without the cell; {entry:.0f} messages for an event to get in, "
        f"{dearest:,} for the dearest event",
        f"While an event spreads {bloom:.2%} of its receipts are by nodes without its cell, and the application sees "
        f"none that it does not want; {cell:.0%} of the receipts are of a wanted cell and an unwanted price in "
        "it, since the grid is coarser than the subscriptions. But a publisher that does not want its own event has "
        f"to find a first receiver over nodes that do not want it: {entry:.0f} messages on average, and up to "
        f"{dearest:,} for one event. Missed in this mode: {table.total('missed')} of {table.total('wanted'):,}.",
    )
