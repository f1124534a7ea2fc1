"""Equation 1: wrong answers of real filters beside the formula, from four keys to ten thousand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.endpoints import absent_keys, endpoint_keys
from rookery.papers.figures import chart, lines, reference
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import BloomFilter, equations

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(n=[4, 8, 16, 64, 256, 1000, 4000, 10_000], bits_per_key=10, k=7, asked=10_000, filters=20, runs=10)
QUICK = grid(n=[4, 16, 1000, 4000], bits_per_key=10, k=7, asked=20_000, filters=10, runs=2)
#: How far the mean over all filters may be from the formula: about four standard errors of the quick run.
TOLERANCE = 0.08


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Ask several filters of one size for keys that they do not hold."""
    n, k, m = parameters["n"], parameters["k"], parameters["n"] * parameters["bits_per_key"]
    wrong, others = 0, absent_keys(parameters["asked"], seed=seed)
    for number in range(parameters["filters"]):
        made = BloomFilter(bit_count=m, hash_count=k)
        made.add_many(endpoint_keys(n, seed=seed, owner=f"filter{number}-"))
        wrong += int(made.contains_many(others).sum())
    return [
        {
            "rate": wrong / (parameters["asked"] * parameters["filters"]),
            "equation": equations.bloom_rate(n=n, m=m, k=k),
            "approximation": equations.bloom_rate_approximate(n=n, m=m, k=k),
        }
    ]


def plot(table: Table) -> Any:
    """Draw the measured rate over both sides of equation 1."""
    figure, axes = chart("n, keys in the filter (m = 10 n, k = 7)", "false-positive rate")
    lines(axes, table, x="n", y="rate", label="measured")
    sizes = table.values("n")
    reference(axes, sizes, [table.where(n=n).mean("equation") for n in sizes], "equation 1")
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    return figure


def check(table: Table) -> Judgment:
    """The formula must hold for filters of a thousand keys and more; small ones are looked at apart."""
    ratio = {n: part.mean("rate") / part.mean("equation") for n, part in table.by("n")}
    gap = max(abs(part.mean("approximation") / part.mean("equation") - 1) for _, part in table.by("n"))
    large = all(abs(value - 1) < TOLERANCE for n, value in ratio.items() if n >= 1000)
    small = all(abs(value - 1) < TOLERANCE for value in ratio.values())
    shown = ", ".join(f"{value:.2f} for {n:,}" for n, value in ratio.items())
    verdict = Verdict.REPRODUCED if small else Verdict.REGIME if large else Verdict.CONTRADICTED
    return Judgment(
        verdict,
        f"measured / formula: {ratio[min(ratio)]:.2f} at n = {min(ratio)}, {ratio[max(ratio)]:.2f} at n = "
        f"{max(ratio):,}",
        f"Measured rate over equation 1 by number of keys: {shown}. The formula holds for large filters. In small ones "
        "the product's k positions, made from one 64-bit hash, are not independent, which the formula assumes, so "
        f"more keys are taken wrongly. The exponential form differs from the exact one by up to {gap:.1%} (in the "
        "smallest).",
    )
