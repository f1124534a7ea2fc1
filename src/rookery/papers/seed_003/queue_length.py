"""Section 2.4: the ancestor queue has log_m N entries, about 6 for m = 8 and N = 2^20, and costs 6·d·c to store."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

from rookery.brokers.ancestors import AncestorQueue
from rookery.brokers.ownership import ZoneOwnership
from rookery.papers.figures import charts, lines, reference
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.space.zones import ROOT, Path, Point, box_of, split

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(depth=[4, 6, 8, 10, 12, 16, 20], dimensions=[2, 3], span=[4, 8], asked=20, runs=3)
QUICK = grid(depth=[6, 12, 20], dimensions=[2, 3], span=[4, 8], asked=4, runs=1)
#: How often a broker looks for residents of all levels: until nothing is new, as live ones do all the time.
REFRESHES = 12


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Fill queues of live brokers by their own look-ups, in a balanced network of 2^depth, and count what they hold."""
    dimensions, depth = parameters["dimensions"], parameters["depth"]
    bits, dice = parameters["span"].bit_length() - 1, random.Random(seed)
    levels, entries = 0, 0
    for _ in range(parameters["asked"]):
        path = _owner(tuple(dice.random() for _ in range(dimensions)), depth)
        queue = AncestorQueue(path, dimensions=dimensions, bits=bits, capacity=1)
        for _ in range(REFRESHES):
            for point in queue.probes(dice):
                queue.learn(ZoneOwnership(_owner(point, depth), 1, 1))
        levels += sum(bool(level) for level in queue.levels)
        entries += len(queue)
    return [
        {
            "brokers": 2**depth,
            "levels": levels / parameters["asked"],
            "stated": depth / bits,
            "entries": entries / parameters["asked"],
        }
    ]


def _owner(point: Point, depth: int) -> Path:
    """Return the zone that holds a point in the balanced network."""
    path = ROOT
    for cut in range(depth):
        axis, box = cut % len(point), box_of(path, len(point))
        middle = (box.lower[axis] + box.upper[axis]) / 2
        path = split(path, axis, middle)[point[axis] >= middle]
    return path


def plot(table: Table) -> Any:
    """Draw levels and entries."""
    figure, (left, right) = charts(("N, brokers", "levels of the queue"), ("N, brokers", "addresses in the queue"))
    for span, (label, first) in {4: ("m = 4", 0), 8: ("m = 8", 1)}.items():
        part = table.where(span=span, dimensions=2)
        lines(left, part, x="brokers", y="levels", label=label, first=first)
        lines(right, part, x="brokers", y="entries", label=label, first=first)
    sizes = table.values("brokers")
    reference(left, sizes, [math.log(size, 4) for size in sizes], "log_m N, m = 4")
    for axes in (left, right):
        axes.set_xscale("log", base=2)
    return figure


def check(table: Table) -> Judgment:
    """Levels are ⌊log_m N⌋; addresses are d for each level where m = 2^d."""
    levels = all(row["levels"] == int(row["stated"] + 1e-9) for row in table)
    whole = Table([row for row in table if row["span"] == 2 ** row["dimensions"]])
    storage = all(abs(row["entries"] - row["levels"] * row["dimensions"]) < 1e-9 for row in whole)
    million = table.where(span=8, depth=20)
    addresses = million.where(dimensions=3).mean("entries")
    return Judgment(
        Verdict.REPRODUCED if levels and storage and million.mean("levels") == 6 else Verdict.CONTRADICTED,
        f"m = 8, N = 2^20: {million.mean('levels'):.0f} levels, {addresses:.0f} addresses for d = 3",
        f"Queues that brokers fill by their own look-ups have ⌊log_m N⌋ levels, {million.mean('levels'):.0f} for m = 8 "
        f"and N = 2^20, as stated. With m = 2^d each level holds exactly d addresses, one across each dimension of the "
        f"domain ({addresses:.0f} there for d = 3), so storage is d·c for each level. That counts one resident of each "
        "zone inside the domain; copies of whole neighbor tables, as printed, would be larger, and live brokers keep "
        "up to four residents.",
    )
