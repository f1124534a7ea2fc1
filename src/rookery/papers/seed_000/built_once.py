"""Section 1.1: the structure is built once and used again; elements come and go in it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.papers.endpoints import absent_keys, endpoint_keys
from rookery.papers.figures import bars, chart
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import BloomTree

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(keys=200, changes=5000, asked=500, runs=10)
QUICK = grid(keys=60, changes=400, asked=100, runs=3)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Let elements come and go in one tree; compare it with a tree that is built from what is there at the end."""
    dice, keys = random.Random(seed), endpoint_keys(parameters["keys"], seed=seed)
    used, fresh = (
        BloomTree(namespace_size=4 * len(keys), node_size=16, bit_count=512, hash_count=4, row_capacity=0)
        for _ in range(2)
    )
    held: set[str] = set()
    for _ in range(parameters["changes"]):
        key = dice.choice(keys)
        (used.remove if key in held else used.add)(key)
        held ^= {key}
    members = [key for key in keys if key in held]
    fresh.add_many(members)
    asked = members + absent_keys(parameters["asked"], seed=seed)
    first, again = used.contains_many(asked), used.contains_many(asked)
    nodes = used.created_nodes
    same = nodes == fresh.created_nodes and all(
        np.array_equal(one, other)
        for node in nodes
        for one, other in zip(used.matrix(node).bits(), fresh.matrix(node).bits(), strict=True)
    )
    return [
        {
            "held": len(members),
            "missed": int((~first[: len(members)]).sum()),
            "changed_answers": int((first != again).sum() + (first != fresh.contains_many(asked)).sum()),
            "same_bits": same,
        }
    ]


def plot(table: Table) -> Any:
    """Draw how often it holds."""
    figure, axes = chart("share of the runs", "")
    runs = len(table)
    shown = {
        "every member is found": sum(row["missed"] == 0 for row in table) / runs,
        "answers as of a tree built anew": sum(row["changed_answers"] == 0 for row in table) / runs,
        "the same bits in every node": sum(row["same_bits"] for row in table) / runs,
    }
    bars(axes, shown, form="{:.0%}")
    return figure


def check(table: Table) -> Judgment:
    """Nothing missed, no answer changed, the same bits."""
    missed, changed = table.total("missed"), table.total("changed_answers")
    same = sum(row["same_bits"] for row in table)
    return Judgment(
        Verdict.REPRODUCED if not missed + changed and same == len(table) else Verdict.CONTRADICTED,
        f"after {table.least('changes'):,} changes the same bits as a new tree in {same} of {len(table)} runs",
        f"After {table.least('changes'):,} elements have come and gone a tree has bit for bit what a tree has that is "
        f"built from the remaining ones, in {same} of {len(table)} runs; {missed} members were missed and {changed} "
        "answers differed. It is the counters that make this so.",
    )
