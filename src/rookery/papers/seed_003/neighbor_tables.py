"""Section 2: keeping the neighbors costs O(2d)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.brokers.static import StaticBrokers
from rookery.brokers.tables import face_neighbors
from rookery.papers.figures import chart, lines, reference
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(dimensions=[1, 2, 3, 4, 5, 6], brokers=[256, 1024], asked=100, runs=10)
QUICK = grid(dimensions=[1, 2, 3, 5], brokers=[64, 256], asked=30, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Count face neighbors on trees that grew by random joins."""
    generator = np.random.default_rng(seed)
    dimensions = parameters["dimensions"]
    paths = StaticBrokers.grown(parameters["brokers"], dimensions=dimensions, generator=generator).paths()
    sample = generator.choice(len(paths), size=parameters["asked"], replace=False)
    counts = [len(face_neighbors(paths[place], paths, dimensions)) for place in sample.tolist()]
    return [{"neighbors": float(np.mean(counts)), "most": max(counts)}]


def plot(table: Table) -> Any:
    """Draw the neighbors over d."""
    figure, axes = chart("d, dimensions", "face neighbors of a broker")
    lines(axes, table, x="dimensions", y="neighbors", by="brokers", name=lambda count: f"N = {count}")
    places = table.values("dimensions")
    reference(axes, places, [2 * d for d in places], "2d")
    return figure


def check(table: Table) -> Judgment:
    """The mean must not exceed a small multiple of 2d, and must not grow with N in low dimensions."""
    largest = table.where(brokers=table.most("brokers"))
    ratio = {d: part.mean("neighbors") / (2 * d) for d, part in largest.by("dimensions")}
    low = [part for d, part in table.by("dimensions") if d <= 3]
    grown = max(
        part.where(brokers=table.most("brokers")).mean("neighbors")
        / part.where(brokers=table.least("brokers")).mean("neighbors")
        for part in low
    )
    shown = ", ".join(f"{value:.2f} at d = {d}" for d, value in ratio.items())
    return Judgment(
        Verdict.REPRODUCED
        if max(ratio.values()) < 2 and min(ratio.values()) > 0.5 and grown < 1.5
        else Verdict.CONTRADICTED,
        f"mean neighbors over 2d: {shown}",
        f"On trees that grew by random joins a broker has about 2d face neighbors: mean over 2d is {shown}, and with "
        f"{table.most('brokers') // table.least('brokers')} times the brokers at most {grown:.2f} times as many. In "
        "many dimensions most zones touch the edge of the space on some side, which leaves fewer.",
    )
