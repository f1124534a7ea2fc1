"""The rows that remain in the matrix are the subscriptions that match: all algorithms, compiled and not, agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.papers.figures import chart, lines
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.telemetry import COMPILED, DOMAINS, INTERPRETED, alive, events, subscriptions
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(subscriptions=[5, 10, 20, 40, 80, 160, 320, 640, 1000], limits=["shared", "distinct"], events=100, runs=5)
QUICK = grid(subscriptions=[5, 40, 160], limits=["shared", "distinct"], events=30, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Match the same events by all eight."""
    rows = subscriptions(parameters["subscriptions"], seed, limits=parameters["limits"])
    codes, living = events(parameters["events"], seed), alive(rows)
    answers = [
        np.sort(build(rows, DOMAINS).probe(codes, living))
        for table in (COMPILED, INTERPRETED)
        for build in table.values()
    ]
    oracle = answers[3]  # the compiled scan: every predicate of every row
    differing = sum(not np.array_equal(oracle, one) for one in answers)
    return [{"matches": int(oracle.size), "algorithms": len(answers), "differing": differing}]


def plot(table: Table) -> Any:
    """Draw the matches for each event."""
    figure, axes = chart("subscriptions under the topic", "matches for each event, the same by all eight")
    each = Table([{**row, "each": row["matches"] / row["events"]} for row in table])
    lines(axes, each, x="subscriptions", y="each", by="limits", name=lambda kind: f"{kind} limits")
    return figure


def check(table: Table) -> Judgment:
    """Some must match, and none may differ."""
    differing, total = table.total("differing"), table.total("matches")
    return Judgment(
        Verdict.REPRODUCED if total and not differing else Verdict.CONTRADICTED,
        f"{total:,} matches, the same by all algorithms",
        "Deleting the rows of a failed predicate and of what it covers leaves exactly the subscriptions that match: "
        f"{total:,} matches over {len(table)} sets, the same from matrix, counting, index and scan, compiled and "
        f"interpreted; {differing} answers differ.",
    )
