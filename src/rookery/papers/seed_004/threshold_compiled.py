"""Below 40 subscriptions under a topic the matrix is faster than counting and index: in compiled code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.seed_004.threshold_interpreted import SIZES, TIMES, judge, measure, plot
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.telemetry import COMPILED
from rookery.papers.verdicts import Judgment

__all__ = ["FULL", "QUICK", "TIMES", "check", "plot", "run"]

FULL = grid(subscriptions=SIZES, events=10_000, rounds=7, runs=5)
QUICK = grid(subscriptions=[5, 20, 40, 160], events=5_000, rounds=5, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Time the compiled algorithms."""
    return measure(COMPILED, parameters, seed)


def check(table: Table) -> Judgment:
    """Judge the compiled form."""
    return judge(table, "compiled")
