"""Claim 6: while two filters exist, both are sent and both are asked."""

from __future__ import annotations

from typing import Any

from rookery.papers.figures import bars, chart
from rookery.papers.seed_001.progressive_rehash import FULL, QUICK, run
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]


def plot(table: Table) -> Any:
    """Draw what a receiver would miss that looked at one filter."""
    figure, axes = chart("endpoints missed, mean over all announcements of a transfer", "")
    held = table.total("held")
    bars(
        axes,
        {
            "both filters": table.total("missing") / held,
            "the new one alone": table.mean("missing_without_old"),
            "the old one alone": table.mean("missing_without_new"),
        },
        form="{:.1%}",
    )
    return figure


def check(table: Table) -> Judgment:
    """Both together must miss nothing; each alone must miss something, or sending both would be needless."""
    new, old = table.mean("missing_without_old"), table.mean("missing_without_new")
    holds = not table.total("missing") and min(new, old) > 0.1
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"missed: 0 with both, {new:.0%} with the new one alone, {old:.0%} with the old one alone",
        f"A receiver that asks both filters misses nothing. One that asked the new filter alone would miss {new:.0%} "
        f"of the endpoints on average over a transfer, and {old:.0%} with the old one alone: both must be sent.",
    )
