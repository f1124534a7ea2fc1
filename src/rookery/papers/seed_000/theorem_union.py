"""Theorem 1, first half: the OR of two filters is the filter of the union."""

from __future__ import annotations

from typing import Any

from rookery.papers.figures import bars, chart
from rookery.papers.seed_000.theorem_intersection import FULL, QUICK, run
from rookery.papers.table import Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]


def plot(table: Table) -> Any:
    """Draw how often each half of the theorem holds."""
    figure, axes = chart("share of the pairs (A, B) for which it holds", "")
    pairs = table.total("pairs")
    halves = {"β(A∪B) = β(A)∨β(B)": "union_holds", "β(A∩B) = β(A)∧β(B)": "intersection_holds"}
    bars(axes, {label: table.total(column) / pairs for label, column in halves.items()})
    return figure


def check(table: Table) -> Judgment:
    """Every pair must hold."""
    holds, of = table.total("union_holds"), table.total("pairs")
    return Judgment(
        Verdict.REPRODUCED if holds == of else Verdict.CONTRADICTED,
        f"holds for {holds:,} of {of:,} pairs",
        f"The OR of two filters of one size and one set of hash functions equals the filter of the union, bit for bit, "
        f"for {holds:,} of {of:,} pairs of sets. It holds by construction: each element sets the same bits in both.",
    )
