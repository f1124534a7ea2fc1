"""Section 1.2.3: a new row of m bits when the last is full keeps the rate in bounds where a fixed filter drowns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rookery.experiments.endpoints import absent_keys, endpoint_keys
from rookery.experiments.figures import charts, lines
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.filters import BloomFilter, BloomTree

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(n=[1, 8, 16, 17, 32, 48, 96, 160, 320, 640], m=117, k=5, asked=20_000, runs=10)
QUICK = grid(n=[1, 16, 17, 48, 160, 640], m=117, k=5, asked=5_000, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Put keys into one node of the tree, and into a filter of the same m."""
    n, m, k = parameters["n"], parameters["m"], parameters["k"]
    keys, others = endpoint_keys(n, seed=seed), absent_keys(parameters["asked"], seed=seed)
    node = BloomTree(namespace_size=1, node_size=1, bit_count=m, hash_count=k)  # one level: a single node
    fixed = BloomFilter(bit_count=m, hash_count=k)
    for made in (node, fixed):
        made.add_many(keys)
    return [
        {
            "rows": round((node.size_in_bits - 16) / m),  # without the presence bitmap and the row count
            "stated_rows": math.ceil(n / node.geometry.row_capacity),
            "dynamic_rate": float(node.contains_many(others).mean()),
            "fixed_rate": float(fixed.contains_many(others).mean()),
            "missed": int((~node.contains_many(keys)).sum()),
        }
    ]


def plot(table: Table) -> Any:
    """Draw rows and rates."""
    figure, (left, right) = charts(("elements", "rows s"), ("elements", "false-positive rate"))
    lines(left, table, x="n", y="rows", label="s of the dynamic matrix")
    lines(right, table, x="n", y="dynamic_rate", label="s × m, dynamic")
    lines(right, table, x="n", y="fixed_rate", label="one fixed row of m", first=1)
    return figure


def check(table: Table) -> Judgment:
    """s = ⌈n / limit⌉, nothing is missed, and the rate stays below that of a fixed row."""
    stated = all(row["rows"] == row["stated_rows"] for row in table)
    most = table.most("n")
    last = table.where(n=most)
    holds = stated and not table.total("missed") and last.mean("dynamic_rate") < last.mean("fixed_rate")
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"at {most} elements: s = {last.least('rows')}, rate {last.mean('dynamic_rate'):.1%} against "
        f"{last.mean('fixed_rate'):.1%} in one row",
        "A row is added whenever the limit of elements is passed, so s = ⌈n / limit⌉. A fixed row of 117 bits answers "
        f"yes to {last.mean('fixed_rate'):.0%} of all questions once it holds {most} elements; the dynamic matrix to "
        f"{last.mean('dynamic_rate'):.1%}. Each row adds its own rate, so growing by rows slows "
        "the loss and does not end it: sizing for the expected number is better where it is known.",
    )
