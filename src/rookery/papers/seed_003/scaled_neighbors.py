"""Section 3.1: the map of network coordinates into a zone keeps distances and neighbors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.brokers.proximity import scale
from rookery.brokers.static import StaticBrokers
from rookery.papers.figures import chart, lines
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.space.zones import box_of

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

BOXES = ["all hosts", "98 % of each side"]
FULL = grid(cuts=[0, 1, 2, 3, 4, 5, 6], box=BOXES, hosts=300, runs=5)
QUICK = grid(cuts=[0, 1, 2, 3], box=BOXES, hosts=80, runs=2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Map hosts on a square plane into a zone after some cuts; compare who is nearest to whom."""
    generator = np.random.default_rng(seed)
    hosts = generator.random((parameters["hosts"], 2)) * 200
    extent = ((0.0, 0.0), (200.0, 200.0)) if parameters["box"] == BOXES[0] else ((2.0, 2.0), (198.0, 198.0))
    zones = StaticBrokers.balanced(2, parameters["cuts"]).paths()
    zone = box_of(zones[int(generator.integers(len(zones)))], 2)
    images = np.array([scale(tuple(place), zone, extent) for place in hosts.tolist()])
    before, after = (np.linalg.norm(at[:, None] - at[None, :], axis=2) for at in (hosts, images))
    for distances in (before, after):
        np.fill_diagonal(distances, np.inf)
    one, other = generator.integers(len(hosts), size=(2, 20_000)), generator.integers(len(hosts), size=(2, 20_000))
    apart = (one[0] != one[1]) & (other[0] != other[1])
    order = (before[one[0], one[1]] < before[other[0], other[1]]) == (after[one[0], one[1]] < after[other[0], other[1]])
    nearest = after[np.arange(len(hosts)), before.argmin(axis=1)] <= after.min(axis=1) * (1 + 1e-9)
    return [{"nearest_kept": float(nearest.mean()), "order_kept": float(order[apart].mean())}]


def plot(table: Table) -> Any:
    """Draw how many keep their nearest neighbor."""
    figure, axes = chart("cuts above the zone", "hosts whose nearest neighbor stays the nearest")
    lines(axes, table, x="cuts", y="nearest_kept", by="box")
    axes.set_ylim(0, 1.05)
    return figure


def check(table: Table) -> Judgment:
    """Everything must be kept, in every zone."""
    whole = table.where(box=BOXES[0])
    square, oblong = (Table([row for row in whole if row["cuts"] % 2 == odd]) for odd in (0, 1))
    kept, less = square.mean("nearest_kept"), oblong.mean("nearest_kept")
    clipped = table.where(box=BOXES[1], cuts=2).mean("nearest_kept")
    verdict = Verdict.CONTRADICTED if kept < 0.999 else Verdict.REPRODUCED if less > 0.999 else Verdict.REGIME
    return Judgment(
        verdict,
        f"nearest neighbor kept: {kept:.0%} in zones of the plane's shape, {less:.0%} in zones cut once more",
        f"In zones with the shape of the coordinates' box every host keeps its nearest neighbor ({kept:.1%}) and all "
        f"distances their order. After an odd number of cuts a zone is twice as long as wide, and {less:.0%} keep it, "
        f"{oblong.mean('order_kept'):.0%} of the pairs of distances their order. Real landmarks do not enclose "
        f"everybody: with a box of 98 % of each side hosts outside it go to its edge, and {clipped:.0%} keep theirs.",
    )
