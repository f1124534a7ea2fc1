"""Abstract: only interested nodes are involved in disseminating an event."""

from __future__ import annotations

from typing import Any

from rookery.experiments.figures import charts, lines
from rookery.experiments.seed_002.static_depth import FULL, QUICK, run
from rookery.experiments.table import Table
from rookery.experiments.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]


def plot(table: Table) -> Any:
    """Draw the receipts by nodes that did not want the event, by cause."""
    figure, (left, right) = charts(("N, nodes", "receipts that nobody wanted"), ("N, nodes", "deliveries missed"))
    lines(left, table, x="peers", y="false_positives", label="the cell is wanted, the value is not")
    lines(left, table, x="peers", y="bloom_false_positives", label="the cell is not wanted", first=1)
    lines(right, table, x="peers", y="missed", label="of all", first=2)
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.set_ylim(bottom=0)
    return figure


def check(table: Table) -> Judgment:
    """Nobody may get an event of a cell it does not want, and the application none whose values it does not want."""
    bloom, cell = table.most("bloom_false_positives"), table.mean("false_positives")
    holds = bloom == 0 and table.total("unwanted") == 0 and table.total("missed") == 0
    return Judgment(
        Verdict.REGIME if holds else Verdict.CONTRADICTED,
        f"{bloom:.0%} of the receipts are of cells that nobody wanted, {cell:.0%} of values inside a wanted cell",
        "Inside an overlay that decides by cells no event reaches a node without that cell, and none is missed. "
        f"{cell:.0%} of the receipts are by nodes that want the cell and not this price in it: the grid is coarser "
        "than the subscriptions. The application never sees them. A publisher that does not want its own event needs "
        "some ten messages to find a first receiver, over nodes that do not want it.",
    )
