"""Section IV-B: the number of hops is inversely proportional to the size of the routing tables."""

from __future__ import annotations

import math
from typing import Any

from rookery.papers.figures import chart, lines
from rookery.papers.seed_002.dynamic_table import FULL, QUICK, run
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]


def plot(table: Table) -> Any:
    """Draw depth over links, at each size of both settings."""
    figure, axes = chart("links that a node keeps, mean", "hops until an event is delivered, mean")
    rows = [
        {"setting": setting, "links": one.mean("links"), "depth": one.mean("depth")}
        for setting, part in table.by("setting")
        for _, one in part.by("peers")
    ]
    lines(axes, Table(rows), x="links", y="depth", by="setting")
    axes.set_ylim(bottom=0)
    return figure


def check(table: Table) -> Judgment:
    """At one size, depth times links must be the same in both settings; the exponent says how far it is from that."""
    least, most = table.least("peers"), table.most("peers")
    dynamic, still = (table.where(peers=most, setting=setting) for setting in ("dynamic", "static"))
    depth, links = dynamic.mean("depth") / still.mean("depth"), dynamic.mean("links") / still.mean("links")
    value = -math.log(depth) / math.log(links)
    verdict = Verdict.REPRODUCED if 0.8 < value < 1.25 else Verdict.SHAPE if value > 0 else Verdict.CONTRADICTED
    sizes = [part.where(setting="static").mean("links") for _, part in table.by("peers")]
    deeper = [part.where(setting="static").mean("depth") for _, part in table.by("peers")]
    return Judgment(
        verdict,
        f"N = {most:,}: hops go as the links to the power {-value:.2f}; stated is −1",
        f"Between the two settings with N = {most:,} nodes the one with fewer links has "
        f"{'more' if value > 0 else 'fewer'} hops: they go as the links to the power {-value:.2f}, where inversely "
        f"proportional would be −1. As the network grows, links and hops grow together (static: {sizes[0]:.0f} links "
        f"and {deeper[0]:.1f} hops at N = {least}, {sizes[-1]:.0f} and {deeper[-1]:.1f} at N = {most:,}).",
    )
