"""Algorithm 2 as printed beside the search that tests bits: what each finds in a whole tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.endpoints import absent_keys, endpoint_keys
from rookery.papers.figures import charts, lines
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import BloomTree

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(asked=[1, 3, 10, 30], endpoints=200, trees=40, runs=10)
QUICK = grid(asked=[1, 10, 30], endpoints=200, trees=4, runs=2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Ask for members and strangers at once, half and half."""
    asked, endpoints = parameters["asked"], parameters["endpoints"]
    totals = dict.fromkeys(("members", "found_printed", "found_sound", "visited_printed", "visited_sound", "nodes"), 0)
    for number in range(parameters["trees"]):
        keys = endpoint_keys(endpoints, seed=seed, owner=f"tree{number}-")
        tree = BloomTree.sized_for(endpoints, 0.03)
        tree.add_many(keys)
        members = keys[: (asked + 1) // 2]
        query = members + absent_keys(asked - len(members), seed=seed)
        printed, sound = tree.query(query, mode="paper"), tree.query(query, mode="sound")
        totals["members"] += len(members)
        totals["nodes"] += len(tree.created_nodes)
        for name, result in (("printed", printed), ("sound", sound)):
            totals[f"found_{name}"] += len(set(result.found) & set(members))
            totals[f"visited_{name}"] += len(result.visited)
    return [totals]


def plot(table: Table) -> Any:
    """Draw recall and the share of the nodes that are visited."""
    rows = [
        {
            "asked": row["asked"],
            "search": name,
            "recall": row[f"found_{name}"] / row["members"],
            "visited": row[f"visited_{name}"] / row["nodes"],
        }
        for row in table
        for name in ("printed", "sound")
    ]
    figure, (left, right) = charts(
        ("keys asked for at once", "share of the members found"),
        ("keys asked for at once", "share of the nodes visited"),
    )
    for axes, column in ((left, "recall"), (right, "visited")):
        lines(axes, Table(rows), x="asked", y=column, by="search")
        axes.set_ylim(0, 1.05)
    return figure


def check(table: Table) -> Judgment:
    """The printed search must find every member and visit fewer nodes than there are."""
    members = table.total("members")
    missed = members - table.total("found_printed")
    visited = {name: table.total(f"visited_{name}") / table.total("nodes") for name in ("printed", "sound")}
    return Judgment(
        Verdict.CONTRADICTED if missed or visited["printed"] > 0.9 else Verdict.REPRODUCED,
        f"misses {missed:,} of {members:,} members and visits {visited['printed']:.0%} of the nodes",
        f"Algorithm 2 as printed misses {missed:,} of {members:,} members and visits {visited['printed']:.0%} of the "
        f"nodes, because equation 6 is hardly ever 0: it prunes nothing and yet can lose something. The search that "
        f"tests the bits of each key misses {members - table.total('found_sound')} and visits {visited['sound']:.0%}.",
    )
