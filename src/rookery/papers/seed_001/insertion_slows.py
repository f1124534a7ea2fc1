"""Inserting gets slower as the filter fills, and fails at last: displacements for each insertion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.papers.endpoints import endpoint_keys
from rookery.papers.figures import charts, lines
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters.cuckoo.table import CuckooTable
from rookery.filters.hashing import KeyHasher

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(log2_buckets=10, tables=10, runs=10)
QUICK = grid(log2_buckets=7, tables=5, runs=2)
STEPS = 20


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Insert one by one; count the entries that changed their place, and the insertions that failed."""
    slots = 2 << parameters["log2_buckets"]
    moved, failed, tried = np.zeros(STEPS), np.zeros(STEPS), np.zeros(STEPS)
    for number in range(parameters["tables"]):
        table = CuckooTable(log2_buckets=parameters["log2_buckets"], width=8)
        for value in KeyHasher(seed=0).many(endpoint_keys(slots, seed=seed, owner=f"table{number}-")).tolist():
            step = min(STEPS - 1, table.count * STEPS // slots)
            before = table.shadow.copy()
            tried[step] += 1
            if table.insert(value):
                moved[step] += np.count_nonzero((before != table.shadow) & (before != 0))
            else:
                failed[step] += 1
    return [
        {
            "load": (step + 0.5) / STEPS,
            "moved": moved[step] / max(1, tried[step] - failed[step]),
            "failed": failed[step] / tried[step],
        }
        for step in range(STEPS)
        if tried[step]
    ]


def plot(table: Table) -> Any:
    """Draw displacements and failures over the load."""
    figure, (left, right) = charts(
        ("load of the table", "entries displaced by an insertion"), ("load of the table", "insertions that fail")
    )
    lines(left, table, x="load", y="moved", label="mean")
    lines(right, table, x="load", y="failed", label="share", first=4)
    return figure


def check(table: Table) -> Judgment:
    """Both must rise with the load, from nothing."""
    moved = {load: part.mean("moved") for load, part in table.by("load")}
    failed = {load: part.mean("failed") for load, part in table.by("load")}
    rising = moved[0.125] <= moved[0.525] <= moved[0.725] <= moved[0.825]
    holds = rising and failed[0.125] == 0 and max(failed.values()) > 0
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"{moved[0.125]:.2f} displaced at a load of 12 %, {moved[0.525]:.2f} at 52 %, {moved[0.825]:.1f} at 82 %",
        f"An insertion displaces {moved[0.125]:.2f} entries at a load of one eighth, {moved[0.525]:.2f} at one half "
        f"and {moved[0.825]:.1f} just above 80 %, where insertions begin to fail.",
    )
