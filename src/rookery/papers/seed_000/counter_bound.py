"""Equations 3 and 4: the chance that some counter reaches j never exceeds the bound.

A bound can be seen to fail only where it is below 1 and met by enough filters; other j decide nothing. So that idle
counters do not pass for small ones, shares are also held against m independent counters (equation 2).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.papers.endpoints import endpoint_keys
from rookery.papers.figures import chart, lines, reference
from rookery.papers.sweeps import Sweep
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import CountingBloomFilter, equations

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

#: Two with the best k, one with a smaller k: equation 3 is for any k, equation 4 for the best.
_SHAPES = ({"n": 100, "m": 1010, "k": 7}, {"n": 100, "m": 1443, "k": 10}, {"n": 100, "m": 1010, "k": 3})
FULL = Sweep(tuple({**shape, "filters": 10_000} for shape in _SHAPES), runs=4)
QUICK = Sweep(tuple({**shape, "filters": 400} for shape in _SHAPES), runs=2)
#: Filters that must be expected at the bound before a j counts.
EXPECTED = 10
#: −ln of the probability below which chance is no excuse.
SURPRISE = math.log(1e5)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Record the largest counter of each filter."""
    n, m, k = parameters["n"], parameters["m"], parameters["k"]
    reached = np.empty(parameters["filters"], dtype=np.int64)
    for number in range(parameters["filters"]):
        made = CountingBloomFilter(bit_count=m, hash_count=k)
        made.add_many(endpoint_keys(n, seed=seed, owner=f"filter{number}-"))
        reached[number] = made.counters.max()
    best = k == round(equations.optimal_hash_count(n=n, m=m))
    rows: list[Row] = []
    for j in range(2, 17):
        one = sum(equations.counter_probability(j=value, n=n, m=m, k=k) for value in range(j, 64))
        rows.append(
            {
                "j": j,
                "share": float((reached >= j).mean()),
                "law": -math.expm1(m * math.log1p(-one)),
                "tight_bound": equations.counter_overflow_bound_tight(j=j, n=n, m=m, k=k),
                "bound": equations.counter_overflow_bound(j=j, n=n, m=m, k=k),
                "optimal_bound": equations.counter_overflow_bound_optimal(j=j, m=m) if best else 0.0,
            }
        )
    return rows


def plot(table: Table) -> Any:
    """Draw the share of filters and the bounds of the first shape."""
    first = table.where(m=1010, k=7)
    figure, axes = chart("j (n = 100, m = 1010, k = 7)", "P(some counter ≥ j)")
    lines(axes, Table([row for row in first if row["share"] > 0]), x="j", y="share", label="measured")
    names = {"tight_bound": "equation 3, middle", "bound": "equation 3, right", "optimal_bound": "equation 4"}
    for column, label in names.items():
        reference(axes, first.values("j"), [part.mean(column) for _, part in first.by("j")], label)
    axes.set_yscale("log")
    return figure


def _beyond_chance(share: float, limit: float, count: int) -> bool:
    """Say whether so many hits are too many, or too few, for a probability of `limit` (Chernoff's inequality)."""
    parts = ((one, other) for one, other in ((share, limit), (1 - share, 1 - limit)) if one)
    return count * sum(one * math.log(one / other) for one, other in parts) > SURPRISE


def check(table: Table) -> Judgment:
    """No share may exceed its bound by more than chance, where that can be seen; and the bounds must be in order."""
    above = idle = 0
    shares = []
    for part in (one for _, shape in table.by("m") for _, same in shape.by("k") for _, one in same.by("j")):
        count, bound, share, law = part.total("filters"), *map(part.mean, ("tight_bound", "share", "law"))
        above += share > bound and _beyond_chance(share, bound, count)
        if bound < 1 and bound * count >= EXPECTED:
            shares.append(share / bound)
            idle += share < law / 2 and _beyond_chance(share, law / 2, count)
    ordered = all(row["tight_bound"] <= row["bound"] for row in table)
    near = max(abs(row["bound"] / row["optimal_bound"] - 1) for row in table if row["optimal_bound"])
    holds = not above + idle and ordered and near < 0.05
    verdict = (Verdict.REPRODUCED if holds else Verdict.CONTRADICTED) if len(shares) >= 3 else Verdict.NOT_TESTABLE
    filters, top = table.where(j=2).total("filters"), max(row["j"] for row in table if row["share"])
    return Judgment(
        verdict,
        f"{above} of {len(shares)} testable bounds are exceeded; largest counter {top} in {filters:,} filters",
        f"Over {filters:,} filters of 100 keys in three shapes {len(shares)} of the bounds are below 1 and met often "
        f"enough to be tested; {above} are exceeded beyond chance. The measured shares are at most "
        f"{max(shares, default=0):.2f} of the middle of equation 3. Its right side lies above its middle, as stated, "
        f"and equation 4 is that at the best k (within {near:.1%}: k is a whole number). The text says “greater than "
        "j”; the formula is for “at least j”, which is how it is read here.",
    )
