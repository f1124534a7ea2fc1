"""Figure 6's text: for small d, the larger the system, the clearer Spanhop's advantage."""

from __future__ import annotations

from typing import Any

from rookery.papers.figures import chart, lines
from rookery.papers.seed_003.spanhop_hops import FULL, QUICK, run
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]


def _gains(table: Table) -> Table:
    rows = []
    for dimensions, part in table.by("dimensions"):
        for size, one in part.by("brokers"):
            gain = one.where(algorithm="greedy").mean("hops") / one.where(algorithm="Spanhop").mean("hops")
            rows.append({"dimensions": dimensions, "brokers": size, "gain": gain})
    return Table(rows)


def plot(table: Table) -> Any:
    """Draw greedy over Spanhop."""
    figure, axes = chart("N, brokers", "hops of greedy / hops of Spanhop")
    lines(axes, _gains(table), x="brokers", y="gain", by="dimensions", name=lambda d: f"d = {d}")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """For d = 2 and 3 the gain must rise with every size."""
    gains = _gains(table)
    small = {d: gains.where(dimensions=d).list("gain") for d in (2, 3)}
    rising = all(values == sorted(values) and values[-1] > 1.5 * values[0] for values in small.values())
    most = gains.most("brokers")
    shown = ", ".join(f"{row['gain']:.1f} for d = {row['dimensions']}" for row in gains.where(brokers=most))
    return Judgment(
        Verdict.REPRODUCED if rising else Verdict.CONTRADICTED,
        f"N = {most:,}: greedy needs {shown} times the hops",
        f"For d = 2 and 3 the advantage grows with every size. At N = {most:,} greedy routing takes {shown} times the "
        "hops of Spanhop.",
    )
