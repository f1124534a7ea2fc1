"""Section 3: choosing the next hop by coordinates shortens the way in the network underneath."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.brokers.coordinates import (
    choose_landmarks,
    extent_of,
    place_host,
    place_landmarks,
    relative_errors,
)
from rookery.brokers.static import StaticBrokers
from rookery.brokers.stretch import CHOICES, stretch
from rookery.papers.figures import chart, lines
from rookery.papers.latencies import MATRICES, latency_matrix
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(matrix=MATRICES, hosts=490, dimensions=[2, 3], pairs=1000, runs=2)
QUICK = grid(matrix=MATRICES, hosts=48, dimensions=2, pairs=400, runs=1)
#: What counts as shorter: by three twentieths, more than another draw of zones and routes changes.
SHORTER = 0.85


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Every host is a broker; add up the times of the hops, for each way to choose residents."""
    times, dimensions = latency_matrix(parameters["matrix"], parameters["hosts"]), parameters["dimensions"]
    if times is None:
        return []  # a real matrix that is not at hand
    generator = np.random.default_rng(seed)
    hosts = len(times)
    chosen = choose_landmarks(times, 15)
    landmarks = place_landmarks(times[np.ix_(chosen, chosen)], dimensions, generator)
    positions = np.array([place_host(landmarks, times[host, chosen]) for host in range(hosts)])
    paths = StaticBrokers.grown(hosts, dimensions=dimensions, generator=generator).paths()
    paths = [paths[number] for number in generator.permutation(hosts)]
    pairs = generator.integers(hosts, size=(parameters["pairs"], 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    error = float(np.median(relative_errors(positions, times)))
    rows: list[Row] = []
    for choice in CHOICES:
        found = stretch(
            choice, paths=paths, times=times, positions=positions, extent=extent_of(landmarks), bits=dimensions,
            pairs=pairs, generator=generator,
        )  # fmt: skip
        rows.append({"choice": choice, "stretch": round(found, 6), "error": round(error, 6), "found_hosts": hosts})
    return rows


def plot(table: Table) -> Any:
    """Draw the stretch of each choice."""
    figure, axes = chart("way to choose the next resident (d = 2)", "time over the brokers / direct time")
    plane = table.where(dimensions=2)
    lines(axes, plane, x="choice", y="stretch", by="matrix")
    for line in axes.lines:
        line.set_linestyle("none")  # the choices have no order
    axes.legend(frameon=False, fontsize=9)
    axes.set_ylim(bottom=0)
    return figure


def check(table: Table) -> Judgment:
    """MGNP must be shorter than inherited and random residents on every matrix."""
    found, shorter = {}, []
    for name, part in table.by("matrix"):
        ratios = []
        for dimensions, one in part.by("dimensions"):
            mean = {choice: same.mean("stretch") for choice, same in one.by("choice")}
            ratios.append(mean["mgnp"] / min(mean["inherited"], mean["random"]))
            found[name, dimensions] = (
                f"{name} {mean['mgnp']:.2f} (inherited {mean['inherited']:.2f}, random {mean['random']:.2f}, by true "
                f"times {mean['oracle']:.2f}; median error of the coordinates {one.mean('error'):.0%})"
            )
        if max(ratios) < SHORTER:
            shorter.append(name)
    matrices = table.values("matrix")
    longer = [name for name in matrices if name not in shorter]
    verdict = Verdict.REGIME if shorter and longer else Verdict.REPRODUCED if shorter else Verdict.CONTRADICTED
    first = [text for (_, dimensions), text in found.items() if dimensions == table.least("dimensions")]
    return Judgment(
        verdict,
        f"shorter on {', '.join(shorter) or 'none'}; not on {', '.join(longer) or 'none'}; stretch with MGNP: "
        f"{first[0]}",
        f"Time of a route over the direct time, with MGNP and d = {table.least('dimensions')}: {'; '.join(first)}. "
        "Where coordinates fit the times they take most of what there is to gain, which is the choice by true "
        "round-trip times. Where the times of pairs have nothing to do with each other no coordinates fit, and a "
        "resident chosen by them is no nearer than any other.",
    )
