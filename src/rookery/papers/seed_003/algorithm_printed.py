"""Algorithm 1 as printed: who receives, how many copies go out, and which routes never end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.brokers.spanhop import printed_hops
from rookery.brokers.static import StaticBrokers
from rookery.brokers.tables import exact_tables
from rookery.papers.figures import bars, charts
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.space.zones import box_of, contains

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(dimensions=2, span=[4, 8], brokers=1024, routes=300_000, points=100, runs=5)
QUICK = grid(dimensions=2, span=[4, 8], brokers=1024, routes=60_000, points=20, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Ask every broker of sixteen what it would do; then count the loops of a large network."""
    generator = np.random.default_rng(seed)
    paths = StaticBrokers.balanced(2, 4).paths()
    tables = exact_tables(paths, dimensions=2, bits=2, resident=lambda b, zone, within: within[0], in_domain=False)
    wrong = copies = 0
    for point in map(tuple, generator.random((parameters["points"], 2)).tolist()):
        for table in tables:
            received, sent = printed_hops(table, point)
            wrong += received and not contains(box_of(table.path, 2), point)
            copies += len(sent)
    brokers = StaticBrokers.grown(parameters["brokers"], dimensions=2, generator=generator, choices=1)
    sources = generator.integers(len(brokers), size=parameters["routes"]).astype(np.int32)
    points = generator.random((parameters["routes"], 2))
    loops = {
        domain: brokers.route(sources, points, span=parameters["span"], limit=500, in_domain=domain).loops
        for domain in (False, True)
    }
    asked = parameters["points"] * len(paths)
    return [
        {
            "wrong_receivers": wrong / parameters["points"],
            "copies": copies / asked,
            "loops_printed": loops[False] / parameters["routes"],
            "loops_repaired": loops[True] / parameters["routes"],
        }
    ]


def plot(table: Table) -> Any:
    """Draw copies and loops."""
    figure, (left, right) = charts(("of 16 brokers, for an event", ""), ("routes of a million that never end", ""))
    bars(left, {"receive it wrongly": table.mean("wrong_receivers"), "copies each sends": table.mean("copies")})
    loops = {
        f"{name}, m = {span}": 1e6 * part.mean(column)
        for span, part in table.by("span")
        for name, column in (("as printed", "loops_printed"), ("repaired", "loops_repaired"))
    }
    bars(right, loops, form="{:,.0f}")
    return figure


def check(table: Table) -> Judgment:
    """As printed it should deliver to one broker, send one copy, and end."""
    wrong, copies, loops = table.mean("wrong_receivers"), table.mean("copies"), table.mean("loops_printed")
    holds = wrong == 0 and copies <= 1 and loops == 0
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"{wrong:.1f} of 16 brokers receive an event wrongly, {copies:.1f} copies each; {1e6 * loops:,.0f} loops in a "
        "million",
        f"Lines 1 to 7 accept an event if any one coordinate is inside the zone, so {wrong:.1f} of 15 others receive "
        f"it too; the breaks leave the inner loop alone, so {copies:.1f} copies go out of each broker; and hops that "
        f"may leave the domain make {1e6 * loops:,.0f} of a million routes go round for ever on a partition grown by "
        f"joins. Repaired (all dimensions, one copy, inside the domain): {1e6 * table.mean('loops_repaired'):,.0f}.",
    )
