"""Section 3.3: each broker keeps at most log_m N coordinates of others, 10 for N = 2^20 and m = 4."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.brokers.proximity import scale
from rookery.brokers.static import StaticBrokers
from rookery.papers.figures import chart, lines, reference
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.space.zones import box_of

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(depth=[4, 6, 8, 10, 12, 14], clusters=[1, 8], span=4, runs=5)
QUICK = grid(depth=[4, 6, 8], clusters=[1, 8], span=4, runs=2)
EXTENT = ((0.0, 0.0), (1.0, 1.0))


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Algorithm 2: everybody publishes its coordinates in its zone of each level; count what each broker keeps."""
    generator = np.random.default_rng([seed, parameters["depth"]])
    brokers = StaticBrokers.balanced(2, parameters["depth"])
    paths, bits = brokers.paths(), parameters["span"].bit_length() - 1
    centers = generator.random((parameters["clusters"], 2))
    positions = centers[generator.integers(len(centers), size=len(paths))] + generator.normal(0, 0.05, (len(paths), 2))
    if parameters["clusters"] == 1:
        positions = generator.random((len(paths), 2))  # hosts spread evenly
    levels = parameters["depth"] // bits
    points = [
        scale(tuple(place), box_of(path[: level * bits], 2), EXTENT)
        for place, path in zip(positions.tolist(), paths, strict=True)
        for level in range(1, levels + 1)
    ]
    kept = np.bincount(brokers.owners(np.array(points)), minlength=len(paths))
    return [
        {
            "brokers": len(paths),
            "stated": math.log(len(paths), parameters["span"]),
            "mean": float(kept.mean()),
            "most": int(kept.max()),
        }
    ]


def plot(table: Table) -> Any:
    """Draw mean and maximum."""
    figure, axes = chart("N, brokers", "coordinates that a broker keeps")
    lines(axes, table.where(clusters=8), x="brokers", y="mean", label="mean")
    for number, (clusters, part) in enumerate(table.by("clusters"), start=1):
        spread = "hosts spread evenly" if clusters == 1 else f"hosts in {clusters} clusters"
        lines(axes, part, x="brokers", y="most", label=f"most, {spread}", first=number)
    sizes = table.values("brokers")
    reference(axes, sizes, [math.log(size, 4) for size in sizes], "stated: log_m N")
    axes.set_xscale("log", base=2)
    return figure


def check(table: Table) -> Judgment:
    """The maximum must not exceed log_m N."""
    mean_holds = all(abs(row["mean"] - row["stated"]) < 1e-9 for row in table)
    most = table.where(brokers=table.most("brokers"))
    even, clustered = (most.where(clusters=count).mean("most") for count in (1, 8))
    stated = most.mean("stated")
    if all(row["most"] <= row["stated"] for row in table):
        verdict = Verdict.REPRODUCED
    else:
        verdict = Verdict.SHAPE if mean_holds else Verdict.CONTRADICTED
    return Judgment(
        verdict,
        f"N = {table.most('brokers'):,}: {most.mean('mean'):.0f} on average, {even:.0f} to {clustered:.0f} at most",
        f"Everybody publishes once for each level, so a broker keeps log_m N coordinates on average, {stated:.0f} at N "
        f"= {table.most('brokers'):,}, which holds by construction; the stated 10 for N = 2^20 is that mean. It is not "
        f"the maximum: {even:.0f} with hosts spread evenly and {clustered:.0f} with hosts in eight clusters, as "
        "real hosts are.",
    )
