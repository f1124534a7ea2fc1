"""Proposition 2: joins cost k·(d/2)·ln n messages each, on average."""

from __future__ import annotations

from typing import Any

from rookery.papers.figures import chart, lines, reference
from rookery.papers.seed_002.dynamic_table import FULL, QUICK, run
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.overlay.overhead import join_overhead

__all__ = ["FULL", "QUICK", "check", "plot", "run"]


def _stated(peers: int) -> float:
    return join_overhead(bit_count=1024, peer_count=peers, join_rate=1.0)


def plot(table: Table) -> Any:
    """Draw measured messages under the formula."""
    figure, axes = chart("N, nodes", "messages for a join")
    lines(axes, table.where(setting="dynamic"), x="peers", y="join_messages", label="measured, mean of all joins")
    sizes = table.values("peers")
    reference(axes, sizes, [_stated(size) for size in sizes], "stated: k·(d/2)·ln n, k = 1, d = 1024")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """The formula should give the number; logarithmic growth would be the shape."""
    dynamic = table.where(setting="dynamic")
    cost = {size: part.mean("join_messages") for size, part in dynamic.by("peers")}
    low, high = min(cost), max(cost)
    growth, stated = cost[high] / cost[low], _stated(high) / _stated(low)
    share = cost[high] / _stated(high)
    if 0.5 < share < 2:
        verdict = Verdict.REPRODUCED
    else:
        verdict = Verdict.SHAPE if abs(growth / stated - 1) < 0.5 else Verdict.CONTRADICTED
    return Judgment(
        verdict,
        f"{cost[high]:.0f} messages for a join at N = {high:,}; the formula gives {_stated(high):,.0f}",
        "The formula assumes that half of the 1024 bits of an identity are set, each asking for a walk of ln n hops. "
        f"An interest sets a few dozen, and one answer finds many of them: {cost[high]:.0f} messages for a join, links "
        f"included, at N = {high:,}, {share:.1%} of {_stated(high):,.0f}. Growth from {low} to "
        f"{high:,} nodes is {growth:.2f} times, the formula's {stated:.2f} times.",
    )
