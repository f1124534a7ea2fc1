"""Section 2.4: the mean path is shortest at m ≈ e^d."""

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

SPANS = [2, 4, 8, 16, 32, 64, 128]
FULL = grid(dimensions=[2, 3, 4], span=SPANS, depth=12, routes=40_000, runs=5)
QUICK = grid(dimensions=[2, 3], span=SPANS, depth=12, routes=3_000, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Route with one span."""
    dimensions, depth, count = parameters["dimensions"], parameters["depth"], parameters["routes"]
    brokers = StaticBrokers.balanced(dimensions, depth)
    generator = np.random.default_rng([seed, dimensions])
    sources = generator.integers(len(brokers), size=count).astype(np.int32)
    found = brokers.route(sources, generator.random((count, dimensions)), span=parameters["span"], seed=seed)
    stated = (
        dimensions / 4 * parameters["span"] ** (1 / dimensions) * depth * math.log(2) / math.log(parameters["span"])
    )
    return [{"hops": found.mean, "stated": stated, "levels": depth // (parameters["span"].bit_length() - 1)}]


def plot(table: Table) -> Any:
    """Draw hops over the span, and g(m)."""
    figure, axes = chart("m, brokers of a routing domain (N = 4,096)", "mean hops")
    lines(axes, table, x="span", y="hops", by="dimensions", name=lambda d: f"d = {d}, measured")
    for dimensions, part in table.by("dimensions"):
        reference(axes, SPANS, [part.where(span=m).mean("stated") for m in SPANS], f"g(m), d = {dimensions}")
    axes.set_xscale("log", base=2)
    return figure


def check(table: Table) -> Judgment:
    """The best measured m must be the power of two next to e^d."""
    found, holds, clear = [], True, True
    for dimensions, part in table.by("dimensions"):
        hops = {span: one.mean("hops") for span, one in part.by("span")}
        least = min(hops.values())
        best = [span for span, value in hops.items() if value < 1.02 * least]
        ideal = math.e**dimensions
        near = 2 ** round(math.log2(ideal))
        holds &= near in best
        clear &= max(best) == 2**dimensions
        found.append(
            f"d = {dimensions}: least for m up to {max(best)} ({least:.2f} hops), {hops[near]:.2f} at m = {near} next "
            f"to e^d = {ideal:.1f}"
        )
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        found[0],
        "; ".join(found) + ". The formula treats a domain as a torus with a side of m^(1/d) zones, which is no whole "
        "number; on real domains all m up to 2^d cost the same half hop for each cut and larger ones cost more. "
        + ("m = 2^d is best: the same hops with the fewest levels to keep." if clear else ""),
    )
