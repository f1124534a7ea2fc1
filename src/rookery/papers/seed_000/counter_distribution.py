"""Equation 2: how often a counter was increased, beside the binomial law."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.papers.endpoints import endpoint_keys
from rookery.papers.figures import chart, lines, reference
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import CountingBloomFilter, equations

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(n=1000, m=9585, k=7, filters=50, runs=10)
QUICK = grid(n=1000, m=9585, k=7, filters=5, runs=2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Count the counters of each value."""
    n, m, k = parameters["n"], parameters["m"], parameters["k"]
    counts = np.zeros(16, dtype=np.int64)
    for number in range(parameters["filters"]):
        made = CountingBloomFilter(bit_count=m, hash_count=k)
        made.add_many(endpoint_keys(n, seed=seed, owner=f"filter{number}-"))
        counts += np.bincount(made.counters, minlength=16)
    return [
        {
            "j": j,
            "share": int(counts[j]) / int(counts.sum()),
            "equation": equations.counter_probability(j=j, n=n, m=m, k=k),
        }
        for j in range(9)
    ]


def plot(table: Table) -> Any:
    """Draw the shares on the binomial."""
    figure, axes = chart("j, value of a counter", "share of the counters")
    seen = Table([row for row in table if row["share"] > 0])
    lines(axes, seen, x="j", y="share", label="measured")
    reference(axes, table.values("j"), [part.mean("equation") for _, part in table.by("j")], "equation 2")
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """The total variation between the two must be small."""
    distance = sum(abs(part.mean("share") - part.mean("equation")) for _, part in table.by("j")) / 2
    return Judgment(
        Verdict.REPRODUCED if distance < 0.01 else Verdict.CONTRADICTED,
        f"total variation {distance:.4f} between measured and binomial",
        f"The values of {table.least('m'):,} counters after {table.least('n'):,} keys follow the binomial law: the "
        f"total variation distance is {distance:.4f}. A position that one key hits twice is counted once here, which "
        "moves the law by less than that.",
    )
