"""Abstract: only interested nodes are involved in disseminating an event."""

from __future__ import annotations

from typing import Any

from rookery.experiments.figures import charts, lines
from rookery.experiments.seed_002.static_depth import FULL, QUICK, run
from rookery.experiments.table import Table
from rookery.experiments.verdicts import Judgment, Verdict

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
    """Nobody without the cell may get an event, neither while it spreads nor while it looks for its first receiver."""
    bloom, cell = table.most("bloom_false_positives"), table.mean("false_positives")
    entry, dearest = table.mean("entry_per_event"), table.most("most_messages")
    spreads = bloom < 0.001 and table.total("unwanted") == 0 and table.total("missed") < table.total("wanted")
    if not spreads:
        verdict = Verdict.CONTRADICTED
    else:
        verdict = Verdict.REPRODUCED if entry == 0 else Verdict.REGIME
    return Judgment(
        verdict,
        f"{bloom:.0%} of the receipts are of cells that nobody wanted; {entry:.0f} messages for an event to get in, "
        f"{dearest:,} for the dearest event",
        f"While it spreads no event reaches a node without its cell ({bloom:.2%} of the receipts), and the application "
        f"sees none that it does not want; {cell:.0%} of the receipts are of a wanted cell and an unwanted price in "
        "it, since the grid is coarser than the subscriptions. But a publisher that does not want its own event has "
        f"to find a first receiver over nodes that do not want it: {entry:.0f} messages on average, and up to "
        f"{dearest:,} for one event. Missed in this mode: {table.total('missed')} of {table.total('wanted'):,}.",
    )
