"""Equations 3 and 4: the chance that some counter reaches j never exceeds the bound."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.experiments.endpoints import endpoint_keys
from rookery.experiments.figures import chart, lines, reference
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.filters import CountingBloomFilter, equations

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(n=100, m=1010, k=7, filters=2000, runs=2)
QUICK = grid(n=100, m=1010, k=7, filters=150, runs=2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Record the largest counter of each filter."""
    n, m, k = parameters["n"], parameters["m"], parameters["k"]
    largest = []
    for number in range(parameters["filters"]):
        made = CountingBloomFilter(bit_count=m, hash_count=k)
        made.add_many(endpoint_keys(n, seed=seed, owner=f"filter{number}-"))
        largest.append(int(made.counters.max()))
    reached = np.array(largest)
    return [
        {
            "j": j,
            "share": float((reached >= j).mean()),
            "tight_bound": equations.counter_overflow_bound_tight(j=j, n=n, m=m, k=k),
            "bound": equations.counter_overflow_bound(j=j, n=n, m=m, k=k),
            "optimal_bound": equations.counter_overflow_bound_optimal(j=j, m=m),
        }
        for j in range(2, 17)
    ]


def plot(table: Table) -> Any:
    """Draw the share of filters and the bounds."""
    figure, axes = chart("j", "P(some counter ≥ j)")
    seen = Table([row for row in table if row["share"] > 0])
    lines(axes, seen, x="j", y="share", label="measured")
    places = table.values("j")
    for column, label in (
        ("tight_bound", "equation 3, middle"),
        ("bound", "equation 3, right"),
        ("optimal_bound", "equation 4"),
    ):
        reference(axes, places, [table.where(j=j).mean(column) for j in places], label)
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """No measured share may exceed its bound by more than chance does, and the bounds must be in order."""
    filters = table.where(j=2).total("filters")
    above = []
    for j, part in table.by("j"):
        bound = part.mean("tight_bound")
        if part.mean("share") > min(
            1.0, bound + 4 * math.sqrt(bound / filters)
        ):  # a rare value may come once by chance
            above.append(j)
    ordered = all(part.mean("tight_bound") <= part.mean("bound") for _, part in table.by("j"))
    near = max(abs(part.mean("bound") / part.mean("optimal_bound") - 1) for _, part in table.by("j"))
    top = max(j for j, part in table.by("j") if part.mean("share") > 0)
    return Judgment(
        Verdict.REPRODUCED if not above and ordered else Verdict.CONTRADICTED,
        f"largest counter of {filters:,} filters: {top}; {len(above)} bounds exceeded beyond chance",
        f"Over {filters:,} filters of 100 keys no share lies above equation 3 by more than chance, and its right side "
        f"lies above its middle, as stated. Equation 4 is equation 3 at the optimal k (here within {near:.0%}, since k "
        "is a whole number). The text says “greater than j”; the formula is for “at least j”, which is how it is read "
        "here.",
    )
