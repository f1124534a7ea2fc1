"""Section 2.2: a subscription does not coincide with zones; it goes to several, and their brokers match."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.papers.figures import chart, lines
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.space.axes import Axis
from rookery.space.boxes import Boxes
from rookery.space.tree import KdTree

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(side=[0.01, 0.03, 0.1, 0.3, 1.0], zones=[16, 256, 1024], subscriptions=1000, events=20_000, runs=5)
QUICK = grid(side=[0.01, 0.1, 1.0], zones=[16, 256], subscriptions=200, events=2_000, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Turn boxes into target zones; look for events inside a box whose zone is none of them."""
    generator = np.random.default_rng([seed, parameters["zones"]])
    events = generator.beta(2, 5, (parameters["events"], 2))
    low = generator.random((parameters["subscriptions"], 2)) * (1 - parameters["side"])
    boxes = Boxes(low, low + parameters["side"])
    tree = KdTree.fit(events, axes=[Axis("x"), Axis("y")], zones=parameters["zones"])
    rule, zone = tree.zones_met(boxes)
    targets = np.zeros((len(low), tree.zone_count), dtype=bool)
    targets[rule, zone] = True
    home = tree.zones_of(events)
    wanted = lost = 0
    for number in range(len(low)):
        inside = ((events >= boxes.lower[number]) & (events <= boxes.upper[number])).all(axis=1)
        wanted += int(inside.sum())
        lost += int((~targets[number, home[inside]]).sum())
    return [{"wanted": wanted, "lost": lost, "targets": len(rule) / len(low), "share": len(rule) / targets.size}]


def plot(table: Table) -> Any:
    """Draw the target zones over the size of a subscription."""
    figure, axes = chart("side of a subscription, as a share of each attribute", "zones that a subscription goes to")
    lines(axes, table, x="side", y="targets", by="zones", name=lambda count: f"{count:,} zones")
    axes.set_xscale("log")
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """A subscription must go to several zones, and no event inside it may lie in another one."""
    wanted, lost = table.total("wanted"), table.total("lost")
    most = table.where(zones=table.most("zones"))
    small, whole = (most.where(side=side) for side in (table.least("side"), table.most("side")))
    several = min(part.most("targets") for _, part in table.by("zones")) > 1  # else it would coincide with a zone
    return Judgment(
        Verdict.REPRODUCED if wanted and not lost and several else Verdict.CONTRADICTED,
        f"{lost} of {wanted:,} wanted events lie outside the target zones",
        f"Every one of {wanted:,} wanted events lies in a zone that its subscription was sent to, so the broker of the "
        f"zone can match it. What it costs are copies: {small.mean('targets'):.1f} of {table.most('zones'):,} zones "
        f"for a box of {table.least('side'):.0%} of each side, and {whole.mean('targets'):,.0f} for one that wants "
        "everything.",
    )
