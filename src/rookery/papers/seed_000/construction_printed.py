"""Algorithm 1 as printed: does the loop over the queue build the tree, and does it end?"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import chart, lines, reference
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import BloomTree

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(names=[14, 62, 254, 1022], node_size=2, steps=100_000)
QUICK = grid(names=[14, 62, 254], node_size=2, steps=20_000)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Follow the printed loop with every name in use, so that no node's part of the namespace is empty."""
    names, node_size = parameters["names"], parameters["node_size"]
    levels = math.log2(names / node_size + 1)
    queue, made, steps = deque([(levels, 1)]), set(), 0
    while queue and steps < parameters["steps"]:
        row, column = queue.popleft()
        steps += 1
        made.add((row, column))
        if column < math.log2(names):
            queue.append((row, column))
            queue.append((row, column + 1))
    tree = BloomTree(namespace_size=names, node_size=node_size, namespace={str(n): n for n in range(names)}, seed=seed)
    tree.add_many([str(n) for n in range(names)])
    return [
        {
            "ended": not queue,
            "followed": steps,
            "waiting": len(queue),
            "printed_nodes": len(made),
            "nodes": len(tree.created_nodes),
            "stated_nodes": (1 << math.ceil(levels)) - 1,
        }
    ]


def plot(table: Table) -> Any:
    """Draw the distinct nodes of both."""
    figure, axes = chart("N, names in use (N⊥ = 2 in a node)", "distinct nodes")
    lines(axes, table, x="names", y="printed_nodes", label="the printed loop")
    lines(axes, table, x="names", y="nodes", label="with children enqueued instead", first=1)
    sizes = table.values("names")
    reference(axes, sizes, [table.where(names=size).least("stated_nodes") for size in sizes], "a full tree")
    axes.set_xscale("log")
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """It must end, with the nodes of a full tree."""
    last = table.where(names=table.most("names"))
    ended = all(table.list("ended"))
    same = all(row["printed_nodes"] == row["stated_nodes"] for row in table)
    repaired = all(row["nodes"] == row["stated_nodes"] for row in table)
    return Judgment(
        Verdict.REPRODUCED if ended and same else Verdict.CONTRADICTED,
        f"after {last.least('followed'):,} steps {last.least('waiting'):,} wait; {last.least('printed_nodes')} nodes "
        f"of {last.least('stated_nodes'):,}",
        "As printed each node puts itself back into the queue, so the loop does not end: after "
        f"{last.least('followed'):,} steps {last.least('waiting'):,} nodes wait. It also runs along one row, to "
        f"{last.least('printed_nodes')} distinct nodes, where the tree for {table.most('names'):,} names has "
        f"{last.least('stated_nodes'):,}. With the two children enqueued instead, as the text and Figure 1 mean it, "
        f"every tree is {'complete' if repaired else 'not complete'}.",
    )
