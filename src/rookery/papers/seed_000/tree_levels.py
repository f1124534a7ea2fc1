"""Definition 1: the levels of the tree, and Figure 1's example of 14 names."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import chart, lines, reference
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import BloomTree

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(namespace_size=[2, 6, 14, 30, 62, 126, 254, 510, 1022, 4094, 10, 100, 1000, 4000], node_size=2)
QUICK = grid(namespace_size=[2, 6, 14, 30, 62, 10, 100], node_size=2)
QUERY = ("A1", "B3", "C6")


def names_of(levels: int, node_size: int) -> list[str]:
    """Return names as in Figure 1: A1, A2 on the first level, B1 … B4 on the second."""
    return [f"{chr(ord('A') + level)}{number + 1}" for level in range(levels) for number in range(node_size << level)]


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Build a full tree and ask it for Figure 1's set."""
    size, node_size = parameters["namespace_size"], parameters["node_size"]
    stated = math.log2(size / node_size + 1)
    names = names_of(math.ceil(stated), node_size)[:size]
    tree = BloomTree(
        namespace_size=size, node_size=node_size, namespace={name: place for place, name in enumerate(names)}, seed=seed
    )
    tree.add_many(names)
    asked = [name for name in QUERY if name in names]
    return [
        {
            "levels": tree.geometry.levels,
            "nodes": len(tree.created_nodes),
            "stated": stated,
            "asked": len(asked),
            "found": sum(name in tree.query(asked).found for name in asked),
        }
    ]


def plot(table: Table) -> Any:
    """Draw levels over the size of the namespace."""
    figure, axes = chart("N, names (N⊥ = 2 in a node)", "levels of the tree")
    lines(axes, table, x="namespace_size", y="levels", label="built")
    sizes = sorted(table.values("namespace_size"))
    reference(axes, sizes, [table.where(namespace_size=size).mean("stated") for size in sizes], "log2(N/N⊥ + 1)")
    axes.set_xscale("log")
    return figure


def check(table: Table) -> Judgment:
    """Levels are the stated number rounded up; the example has three levels, and its query finds all three names."""
    example = table.where(namespace_size=14).rows[0]
    rounded = all(row["levels"] == math.ceil(row["stated"]) for row in table)
    holds = rounded and example["levels"] == 3 and table.total("found") == table.total("asked")
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"N = 14, N⊥ = 2: {example['levels']} levels, {example['nodes']} nodes",
        "The tree has log2(N/N⊥ + 1) levels, rounded up where that is no whole number; N = 14 gives 3 levels and 7 "
        "nodes, as Figure 1 shows, and the query {A1, B3, C6} finds all three. Definition 1 lets a level i have 2^i "
        "nodes, which would make two roots; with N⊥ elements in each node it is 2^(i−1).",
    )
