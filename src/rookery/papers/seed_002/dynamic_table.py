"""Figure 5(a): when nodes join at random times their tables are larger than in the static setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import chart, lines
from rookery.papers.overlays import configured, joined, measure, static
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(mode="sound", peers=[64, 128, 256, 512, 1024], events=200, runs=10)
QUICK = grid(mode="sound", peers=[64, 512], events=80, runs=1)

WHY = {
    "sound": "A joiner learns exactly who stands next to it on each ring, which is what delivery needs, and not the "
    "farther nodes of a class.",
    "paper": "A joiner chooses among those that it heard of: fewer than all, and each link needs one of them that "
    "brings a bit which the others lack.",
}


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Measure an overlay that was joined one by one, and a static one."""
    peers, events, configuration = parameters["peers"], parameters["events"], configured(parameters["mode"])
    overlay, market, dice = joined(peers, seed, configuration=configuration)
    messages = sum(overlay.messages.values()) / peers
    dynamic = measure(overlay, market, dice, events=events)
    return [
        {"setting": "dynamic", "join_messages": messages, **dynamic},
        {
            "setting": "static",
            "join_messages": 0.0,
            **measure(*static(peers, seed, configuration=configuration), events=events),
        },
    ]


def plot(table: Table) -> Any:
    """Draw both."""
    figure, axes = chart("N, nodes", "links that a node keeps, mean")
    lines(axes, table, x="peers", y="links", by="setting")
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    return figure


def check(table: Table) -> Judgment:
    """Dynamic tables must be the larger ones."""
    ratio = {
        size: part.where(setting="dynamic").mean("links") / part.where(setting="static").mean("links")
        for size, part in table.by("peers")
    }
    most = max(ratio)
    last, joins = table.where(peers=most), table.where(setting="dynamic")
    verdict = Verdict.REPRODUCED if ratio[most] > 1 else Verdict.CONTRADICTED
    return Judgment(
        verdict,
        f"N = {most:,}: {last.where(setting='dynamic').mean('links'):.1f} links after joins, "
        f"{last.where(setting='static').mean('links'):.1f} static",
        f"At N = {most:,} tables after joins are {ratio[most]:.2f} times the static ones ("
        + ", ".join(f"{value:.2f} at {size}" for size, value in ratio.items())
        + f"; delivered after joins: {1 - joins.total('missed') / joins.total('wanted'):.2%}). "
        + WHY[table.values("mode")[0]],
    )
