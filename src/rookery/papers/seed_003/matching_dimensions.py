"""Section 2: more attributes make matching O(d!)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.papers.figures import chart, lines, reference
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.telemetry import box_rows
from rookery.papers.verdicts import Judgment, Verdict
from rookery.matching.baselines.plain import PlainIndex, PlainMatrix, PlainScan
from rookery.matching.baselines.predicates import Domains

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(dimensions=[1, 2, 3, 4, 5, 6, 7, 8], subscriptions=200, events=200, runs=5)
QUICK = grid(dimensions=[1, 2, 4, 8], subscriptions=100, events=40, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Match boxes of d sides; count the predicates that are evaluated."""
    d, count = parameters["dimensions"], parameters["subscriptions"]
    generator = np.random.default_rng([seed, d])
    low = generator.integers(0, 700, size=(count, d))
    rows = box_rows(np.arange(count), low, low + 300)
    codes = generator.integers(0, 1000, size=(parameters["events"], d))
    found: list[Row] = []
    for name, build in (("scan", PlainScan), ("index", PlainIndex), ("matrix", PlainMatrix)):
        one = build(rows, Domains.uniform(d, 0, 1000))
        one.probe(codes, np.ones(count, np.uint8))
        found.append({"algorithm": name, "tests": one.tests / parameters["events"] / count})
    return found


def plot(table: Table) -> Any:
    """Draw the evaluations, and d!."""
    figure, axes = chart("d, attributes of a subscription", "predicates evaluated, for each subscription")
    lines(axes, table, x="dimensions", y="tests", by="algorithm")
    places = table.values("dimensions")
    reference(axes, places, [math.factorial(d) for d in places], "d!")
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """Evaluations must grow faster than d to be factorial."""
    most = table.most("dimensions")
    grown = {
        name: part.where(dimensions=most).mean("tests") / part.where(dimensions=1).mean("tests")
        for name, part in table.by("algorithm")
    }
    shown = ", ".join(f"{value:.1f} ({name})" for name, value in grown.items())
    return Judgment(
        Verdict.CONTRADICTED if max(grown.values()) <= most + 0.5 else Verdict.REPRODUCED,
        f"d = {most}: {shown} times the work of d = 1; d! is {math.factorial(most):,}",
        f"Eight attributes instead of one make matching cost {shown} times as much, at most d times, because each "
        "attribute is tested at most once for a subscription. Nothing in content matching enumerates the orders of the "
        "attributes, which is what d! would count. So Spanhop's advantage does not rest on it.",
    )
