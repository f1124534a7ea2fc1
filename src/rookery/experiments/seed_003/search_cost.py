"""Section 3.3: looking up a near resident takes one hop; measuring would take a probe of every candidate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.experiments.figures import chart, lines
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.routing.brokers.proximity import PROBES
from rookery.routing.brokers.static import StaticBrokers
from rookery.routing.brokers.tables import face_neighbors

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(depth=[4, 6, 8, 10, 12], asked=60, runs=10)
QUICK = grid(depth=[4, 6, 8], asked=15, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Count the questions of Algorithm 3 in the largest zone beside a broker, and the residents it would measure."""
    generator = np.random.default_rng([seed, parameters["depth"]])
    paths = StaticBrokers.grown(1 << parameters["depth"], dimensions=2, generator=generator).paths()
    asked = measured = 0
    for _ in range(parameters["asked"]):
        broker = paths[int(generator.integers(len(paths)))]
        sibling = (broker[0][0], 1 - broker[1][0]) if len(broker) > 1 else (0, 0)
        residents = [path for path in paths if tuple(bit for bit, _ in path[:2]) == sibling]
        if not residents:
            continue
        place = residents[int(generator.integers(len(residents)))]
        asked += 1 + min(PROBES, len(face_neighbors(place, residents, 2)))
        measured += len(residents)
    return [
        {"brokers": len(paths), "questions": asked / parameters["asked"], "candidates": measured / parameters["asked"]}
    ]


def plot(table: Table) -> Any:
    """Draw both."""
    figure, axes = chart("N, brokers", "messages to find a near resident of the widest zone")
    lines(axes, table, x="brokers", y="candidates", label="measure every resident")
    lines(axes, table, x="brokers", y="questions", label="Algorithm 3, as it runs here", first=1)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """The questions must stay constant while the candidates grow."""
    first, last = (table.where(brokers=size) for size in (table.least("brokers"), table.most("brokers")))
    flat = last.mean("questions") < 1 + PROBES + 0.5 and last.mean("questions") < 2 * first.mean("questions")
    grows = last.mean("candidates") > 4 * first.mean("candidates")
    return Judgment(
        Verdict.REPRODUCED if flat and grows else Verdict.CONTRADICTED,
        f"N = {table.most('brokers'):,}: {last.mean('questions'):.1f} questions against {last.mean('candidates'):.0f} "
        "measurements",
        "The search asks where the own coordinates fall and a few neighbors of that place, "
        f"{last.mean('questions'):.1f} questions at N = {table.most('brokers'):,}, however many residents the zone "
        f"has; measuring them all would take {last.mean('candidates'):.0f}. The seed asks the neighbors only where the "
        "first place is empty (one question); asking them always finds closer ones.",
    )
