"""Figure 5(b): in the dynamic setting depth is slightly smaller, and still logarithmic."""

from __future__ import annotations

from typing import Any

from rookery.papers.figures import chart, lines
from rookery.papers.seed_002.dynamic_table import FULL, QUICK, run
from rookery.papers.seed_002.static_depth import fit
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]


def plot(table: Table) -> Any:
    """Draw both."""
    figure, axes = chart("N, nodes", "hops until an event is delivered, mean")
    lines(axes, table, x="peers", y="depth", by="setting")
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    return figure


def check(table: Table) -> Judgment:
    """Smaller than static in the largest network, and a straight line over log N."""
    depth = {
        size: (part.where(setting="dynamic").mean("depth"), part.where(setting="static").mean("depth"))
        for size, part in table.by("peers")
    }
    slope, quality = fit(table.where(setting="dynamic"))
    most = max(depth)
    dynamic, still = depth[most]
    if dynamic <= still:
        verdict = Verdict.REPRODUCED
    else:
        verdict = Verdict.SHAPE if quality > 0.85 and slope > 0 else Verdict.CONTRADICTED
    return Judgment(
        verdict,
        f"N = {most:,}: {dynamic:.2f} hops after joins, {still:.2f} static",
        f"After joins an event is delivered after {dynamic:.2f} hops at N = {most:,}, in the static setting after "
        f"{still:.2f}; tables have {table.where(peers=most, setting='dynamic').mean('links'):.1f} and "
        f"{table.where(peers=most, setting='static').mean('links'):.1f} links (see dynamic-table). "
        f"Growth over log N stays near a straight line ({slope:.2f} hops with each doubling, R² {quality:.2f}).",
    )
