"""Figure 6: mean hops against the number of brokers, greedy and Spanhop."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.brokers.static import StaticBrokers
from rookery.papers.figures import chart, lines, reference
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

DEPTHS = [4, 8, 10, 12, 16, 20]
FULL = grid(dimensions=[2, 3, 5, 7, 10], depth=DEPTHS, routes=20_000, greedy_routes=300, runs=3)
QUICK = grid(dimensions=[2, 3, 5, 7, 10], depth=[6, 10, 14], routes=3_000, greedy_routes=150, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Route random events from random brokers over a balanced partition of 2^depth zones."""
    dimensions, depth = parameters["dimensions"], parameters["depth"]
    brokers = StaticBrokers.balanced(dimensions, depth)
    rows: list[Row] = []
    for algorithm, span, count in (
        ("Spanhop", 2 ** min(dimensions, depth), parameters["routes"]),
        ("greedy", 1, parameters["greedy_routes"]),
    ):
        generator = np.random.default_rng([seed, depth, dimensions])
        sources = generator.integers(len(brokers), size=count).astype(np.int32)
        found = brokers.route(sources, generator.random((count, dimensions)), span=span, seed=seed)
        rows.append(
            {
                "algorithm": algorithm,
                "brokers": len(brokers),
                "hops": found.mean,
                "most": int(found.hops.max()),
                "loops": found.loops,
            }
        )
    return rows


def plot(table: Table) -> Any:
    """Draw both for d = 2."""
    figure, axes = chart("N, brokers", "mean hops (d = 2)")
    plane = table.where(dimensions=2)
    lines(axes, plane, x="brokers", y="hops", by="algorithm")
    sizes = plane.values("brokers")
    reference(axes, sizes, [0.5 * math.log2(size) for size in sizes], "½·log2 N = 0.72·ln N")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """Hops over ln N must be one constant."""
    mine = table.where(algorithm="Spanhop", dimensions=2)
    constants = [part.mean("hops") / math.log(size) for size, part in mine.by("brokers")]
    most = mine.most("brokers")
    last = mine.where(brokers=most).mean("hops")
    greedy = table.where(algorithm="greedy", dimensions=2, brokers=most).mean("hops")
    spread = max(constants) / min(constants) - 1
    holds = spread < 0.05 and not table.total("loops")
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"{last:.2f} hops at N = {most:,} (greedy {greedy:.0f}); hops / ln N = {sum(constants) / len(constants):.3f}",
        f"Spanhop takes ½·log2 N = 0.72·ln N hops: hops over ln N stay within {spread:.1%} of each other from "
        f"{mine.least('brokers'):,} to {most:,} brokers, where it is {last:.2f} hops and greedy routing "
        f"{greedy:.0f}. That is with Algorithm 1 repaired, m = 2^d, and residents chosen at random inside a domain.",
    )
