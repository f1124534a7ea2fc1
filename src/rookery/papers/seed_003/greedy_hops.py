"""Section 1: greedy routing takes O((d/4)·N^(1/d)) hops."""

from __future__ import annotations

from typing import Any

from rookery.papers.figures import chart, lines, reference
from rookery.papers.seed_003.spanhop_hops import FULL, QUICK, run
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]


def _stated(brokers: int, dimensions: int) -> float:
    return float(dimensions / 4 * brokers ** (1 / dimensions))


def _without_wrapping(depth: int, dimensions: int) -> float:
    """Mean distance on a grid without wrap-around: a side of n zones costs (n - 1/n)/3."""
    sides = [2 ** ((depth + dimensions - 1 - axis) // dimensions) for axis in range(dimensions)]
    return float(sum((side - 1 / side) / 3 for side in sides))


def plot(table: Table) -> Any:
    """Draw d = 2 and 3 beside the formulas."""
    figure, axes = chart("N, brokers", "mean hops, greedy")
    greedy = table.where(algorithm="greedy")
    shown = Table([row for row in greedy if row["dimensions"] in (2, 3)])
    lines(axes, shown, x="brokers", y="hops", by="dimensions", name=lambda d: f"d = {d}")
    sizes = shown.values("brokers")
    reference(axes, sizes, [_stated(size, 2) for size in sizes], "stated, d = 2: (d/4)·N^(1/d)")
    depths = shown.values("depth")
    reference(axes, sizes, [_without_wrapping(depth, 2) for depth in depths], "(d/3)(n − 1/n), n = N^(1/d)")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """Compare with the stated formula and with the one for a grid that does not wrap around."""
    greedy = table.where(algorithm="greedy")
    large = Table([row for row in greedy if row["depth"] >= 10 and row["dimensions"] in (2, 3)])
    stated, exact = [], []
    for dimensions, part in large.by("dimensions"):
        for depth, one in part.by("depth"):
            stated.append(one.mean("hops") / _stated(2**depth, dimensions))
            exact.append(one.mean("hops") / _without_wrapping(depth, dimensions))
    ratio, fit = sum(stated) / len(stated), sum(exact) / len(exact)
    if all(abs(one - 1) < 0.15 for one in stated):
        verdict = Verdict.REPRODUCED
    else:
        verdict = Verdict.SHAPE if all(abs(one - 1) < 0.15 for one in exact) else Verdict.CONTRADICTED
    return Judgment(
        verdict,
        f"{ratio:.2f} times (d/4)·N^(1/d); {fit:.2f} times (d/3)(n − 1/n)",
        f"Hops grow as N^(1/d), as stated (d = 2 and 3), but they are {ratio:.2f} times the stated number. "
        "(d/4)·N^(1/d) is the mean distance on a torus; an information space has edges and does not wrap around, and "
        "there it is (d/3)(n − 1/n) "
        f"with n = N^(1/d), which the measurement meets ({fit:.2f}).",
    )
