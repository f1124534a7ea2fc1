"""Equation 5: four bits are enough for a counter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.endpoints import endpoint_keys
from rookery.papers.figures import chart, lines, reference
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import CountingBloomFilter, equations

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(m=[100, 1000, 10_000, 100_000, 1_000_000], k=7, runs=10)
QUICK = grid(m=[100, 1000, 10_000, 100_000], k=7, runs=1)
STATED = 1.37e-15
#: What a counter of four bits reads when it is full: it is never seen at 16.
SATURATED = 15


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Fill a filter to its capacity and look at its largest counter."""
    m, k = parameters["m"], parameters["k"]
    n = round(m * 0.6931471805599453 / k)
    made = CountingBloomFilter(bit_count=m, hash_count=k)
    made.add_many(endpoint_keys(n, seed=seed))
    return [
        {
            "n": n,
            "largest": int(made.counters.max()),
            "equation_5": equations.counter_overflow_bound_optimal(j=16, m=m),
            "equation_3": equations.counter_overflow_bound_tight(j=16, n=n, m=m, k=k),
        }
    ]


def plot(table: Table) -> Any:
    """Draw the bound beside the stated line."""
    figure, axes = chart("m, counters", "bound on P(some counter ≥ 16)")
    lines(axes, table, x="m", y="equation_5", label="m·(e·ln 2 / 16)^16")
    lines(axes, table, x="m", y="equation_3", label="equation 3, middle", first=1)
    sizes = table.values("m")
    reference(axes, sizes, [STATED * m for m in sizes], "stated: 1.37·10⁻¹⁵·m")
    axes.set_xscale("log")
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """The constant must be the stated one, and no counter may reach 15, where the product's counters stop."""
    constants = [row["equation_5"] / row["m"] for row in table]
    constant, largest = constants[0], table.most("largest")
    stated = all(abs(one / STATED - 1) < 0.005 for one in constants)
    tighter = all(row["equation_3"] <= row["equation_5"] for row in table)
    return Judgment(
        Verdict.REPRODUCED if stated and tighter and largest < SATURATED else Verdict.CONTRADICTED,
        f"{constant:.4e}·m; the largest counter seen is {largest}",
        f"(e·ln 2 / 16)^16 is {constant:.4e}, the stated 1.37·10⁻¹⁵. The largest counter of filters with up to "
        f"{table.most('m'):,} counters filled to capacity is {largest}; a full one reads {SATURATED}. “Four bytes” in "
        "the text are four bits: only then does a counter overflow at 16.",
    )
