"""Section 0: a list must be walked, a tree need not: steps of one search against the number of layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.experiments.endpoints import absent_keys, endpoint_keys
from rookery.experiments.figures import chart, lines
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.filters import BloomTree

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(layers=[1, 2, 3, 4, 5, 6, 7, 8, 9], node_size=5, asked=20, runs=10)
QUICK = grid(layers=[1, 2, 3, 4, 5, 6, 7], node_size=5, asked=10, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Search for keys one by one, half of them present; count what is compared."""
    layers, node_size, asked = parameters["layers"], parameters["node_size"], parameters["asked"]
    keys = endpoint_keys(((1 << layers) - 1) * node_size, seed=seed)
    tree = BloomTree(
        namespace_size=len(keys),
        node_size=node_size,
        namespace={key: place for place, key in enumerate(keys)},
        bit_count=512,  # one size for every node, as the paper has it, large enough for the root of the deepest tree
        hash_count=2,
        row_capacity=0,
    )
    tree.add_many(keys)
    step = max(1, len(keys) // max(1, asked // 2))
    wanted = keys[::step][: asked // 2] + absent_keys(asked // 2, seed=seed)
    compared = sum(keys.index(key) + 1 if key in keys else len(keys) for key in wanted)
    visited = sum(len(tree.query([key]).visited) for key in wanted)
    return [{"entities": len(keys), "list_steps": compared / len(wanted), "tree_steps": visited / len(wanted)}]


def plot(table: Table) -> Any:
    """Draw both over the layers."""
    figure, axes = chart("layers of the hierarchy (5 entities in a node)", "records compared, or filters tested")
    lines(axes, table, x="layers", y="list_steps", label="SDP: records of the list")
    lines(axes, table, x="layers", y="tree_steps", label="HBF_ADA: filters of the tree", first=1)
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """The list must grow with the entities, and the tree must need fewer steps from some layer on."""
    steps = {layer: (part.mean("list_steps"), part.mean("tree_steps")) for layer, part in table.by("layers")}
    crossing = next((layer for layer, (listed, tree) in steps.items() if tree < listed), None)
    last = max(steps)
    listed, tree = steps[last]
    stays = crossing is not None and all(tree < listed for layer, (listed, tree) in steps.items() if layer >= crossing)
    return Judgment(
        Verdict.REPRODUCED if stays else Verdict.CONTRADICTED,
        f"{last} layers: {listed:,.0f} records of the list against {tree:,.1f} filters of the tree",
        f"Counted in steps the tree needs fewer than the list from layer {crossing} on, and the gap widens with every "
        f"layer: {listed:,.0f} records against {tree:,.1f} filters at {last} layers. A step is not a time: testing a "
        "filter costs more than comparing a record, and the tree must be built and sent first (see delay-layers).",
    )
