"""Abstract and section 2.1: the tree has only the nodes that the used part of the namespace needs."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import chart, lines, reference
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import BloomTree

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

PLACES = ["scattered", "together"]
FULL = grid(used=[1, 4, 16, 64, 256, 1024, 2046], place=PLACES, names=2046, node_size=2, runs=5)
QUICK = grid(used=[1, 16, 256, 510], place=PLACES, names=510, node_size=2, runs=2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Use some names of a namespace, anywhere or side by side; count the nodes, and again when all are gone."""
    size, node_size, used = parameters["names"], parameters["node_size"], parameters["used"]
    dice = random.Random(seed)
    if parameters["place"] == "scattered":
        ordinals = dice.sample(range(size), used)
    else:
        first = dice.randrange(size - used + 1)
        ordinals = list(range(first, first + used))
    tree = BloomTree(
        namespace_size=size, node_size=node_size, namespace={f"name {place}": place for place in range(size)}
    )
    tree.add_many([f"name {ordinal}" for ordinal in ordinals])
    needed = {node for ordinal in ordinals for node in tree.geometry.path(ordinal // node_size)}
    made = set(tree.created_nodes)
    for ordinal in ordinals:
        tree.remove(f"name {ordinal}")
    return [
        {
            "nodes": len(made),
            "all_nodes": tree.geometry.node_count,
            "missing": len(needed - made),
            "needless": len(made - needed),
            "left": len(tree.created_nodes),
        }
    ]


def plot(table: Table) -> Any:
    """Draw the nodes over the names in use."""
    figure, axes = chart(f"names in use, of {table.least('names'):,}", "nodes of the tree")
    lines(axes, table, x="used", y="nodes", by="place")
    reference(axes, table.values("used"), [table.least("all_nodes") for _ in table.values("used")], "the whole tree")
    axes.set_xscale("log")
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """Exactly the nodes above a used name exist, and none when all names are gone."""
    exact = not table.total("missing") + table.total("needless") + table.total("left")
    whole = table.least("all_nodes")
    few = table.where(used=16)
    saved = all(row["nodes"] < whole for row in few)
    shown = " and ".join(f"{part.mean('nodes'):.0f} ({place})" for place, part in few.by("place"))
    return Judgment(
        Verdict.REPRODUCED if exact and saved else Verdict.CONTRADICTED,
        f"16 of {table.least('names'):,} names in use: {shown} nodes of {whole:,}",
        f"A node exists while a name of its subtree is in use, no longer: with 16 names of {table.least('names'):,} "
        f"the tree has {shown} nodes instead of {whole:,}, and none when they are gone. The saving is against the "
        "whole tree; against one filter each further node is a further filter (see wire-size).",
    )
