"""Section 0: a list must be walked, a tree need not: steps of one search against the number of layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.endpoints import absent_keys, endpoint_keys
from rookery.papers.figures import chart, lines
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import BloomTree

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(layers=[1, 2, 3, 4, 5, 6, 7, 8, 9], node_size=5, asked=20, runs=10)
QUICK = grid(layers=[1, 2, 3, 4, 5, 6, 7], node_size=5, asked=20, runs=2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Search for keys one by one in a tree as it was received, half of them present; count what is compared."""
    layers, node_size, asked = parameters["layers"], parameters["node_size"], parameters["asked"]
    keys = endpoint_keys(((1 << layers) - 1) * node_size, seed=seed)
    places = {key: place for place, key in enumerate(keys)}
    tree = BloomTree(
        namespace_size=len(keys),
        node_size=node_size,
        namespace=places,
        bit_count=512,  # one size for every node, as the paper has it, large enough for the root of the deepest tree
        hash_count=2,
        row_capacity=0,
    )
    tree.add_many(keys)
    received = BloomTree.from_bytes(tree.to_bytes())  # nobody tells it where to look
    members = keys[:: max(1, len(keys) // (asked // 2))][: asked // 2]
    wanted = members + absent_keys(asked // 2, seed=seed)
    compared = sum(_walked(keys, key) for key in wanted)
    answers = {key: received.query([key]) for key in wanted}
    return [
        {
            "levels": received.geometry.levels,
            "entities": len(keys),
            "members": len(members),
            "found": sum(key in answers[key].found for key in members),
            "list_steps": compared / len(wanted),
            "tree_steps": sum(len(answer.visited) for answer in answers.values()) / len(wanted),
        }
    ]


def _walked(keys: list[str], wanted: str) -> int:
    for number, key in enumerate(keys, start=1):
        if key == wanted:
            return number
    return len(keys)


def plot(table: Table) -> Any:
    """Draw both over the layers."""
    figure, axes = chart("layers of the hierarchy (5 entities in a node)", "records compared, or filters tested")
    lines(axes, table, x="layers", y="list_steps", label="SDP: records of the list")
    lines(axes, table, x="layers", y="tree_steps", label="HBF_ADA: filters of the tree", first=1)
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """Every member must be found, in fewer steps from some layer on, and in ever fewer of the list's with each."""
    gain = {layer: part.mean("list_steps") / part.mean("tree_steps") for layer, part in table.by("layers")}
    layers = sorted(gain)
    crossing = next((layer for layer in layers if all(gain[one] > 1 for one in layers if one >= layer)), None)
    lost = table.total("members") - table.total("found")
    deep = [layer for layer in layers if layer >= 3]
    # Where no node is left out the gain is that of testing the records of a node at once, the same at every depth.
    widens = sorted(deep, key=gain.__getitem__) == deep and gain[deep[-1]] > 2 * gain[deep[0]]
    right = all(row["levels"] == row["layers"] for row in table)
    last = table.where(layers=layers[-1])
    return Judgment(
        Verdict.REPRODUCED if crossing and widens and right and not lost else Verdict.CONTRADICTED,
        f"{layers[-1]} layers: {last.mean('list_steps'):,.0f} records of the list against "
        f"{last.mean('tree_steps'):,.1f} filters of the tree",
        f"Counted in steps the tree needs fewer than the list from layer {crossing} on, and finds all but {lost} of "
        f"{table.total('members')} members. The gain grows with every layer, from {gain[deep[0]]:.1f} times at "
        f"{deep[0]} to {gain[layers[-1]]:.0f} times at {layers[-1]} layers. A step is not a time: testing a filter "
        "costs more than comparing a record, and the tree must be built and sent first (see delay-layers). One filter "
        "needs a single step.",
    )
