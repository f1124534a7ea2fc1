"""Section 0: can one Bloom filter per participant tell its sub-nodes apart?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.experiments.endpoints import endpoint_keys
from rookery.experiments.figures import bars, chart
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.filters import BloomFilter, BloomTree

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(sub_nodes=[3, 7, 15, 31], topics=5, runs=10)
QUICK = grid(sub_nodes=[3, 7, 15], topics=5, runs=2)
RATE = 0.01


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Ask on which sub-node each topic is, and count how many remain possible."""
    count, topics = parameters["sub_nodes"], parameters["topics"]
    keys = endpoint_keys(count * topics, seed=seed)
    plain, named = (BloomFilter.sized_for(len(keys), RATE) for _ in range(2))
    tree = BloomTree(
        namespace_size=len(keys), node_size=topics, namespace={key: place for place, key in enumerate(keys)}
    )
    tree.add_many(keys)
    plain.add_many(keys)
    named.add_many([f"{place // topics}/{key}" for place, key in enumerate(keys)])
    left = {"one_filter": 0, "one_filter_named": 0, "tree": 0}
    for key in keys:
        left["one_filter"] += count if key in plain else 0  # it says "here", not where
        left["one_filter_named"] += sum(f"{node}/{key}" in named for node in range(count))
        left["tree"] += len(tree.query([key]).found)
    return [{name: total / len(keys) for name, total in left.items()}]


def plot(table: Table) -> Any:
    """Draw the sub-nodes that remain possible in the largest case."""
    most = table.where(sub_nodes=table.most("sub_nodes"))
    figure, axes = chart(f"sub-nodes of {table.most('sub_nodes')} that remain possible for a topic", "")
    labels = {
        "BF_SDP: one filter": "one_filter",
        "one filter, sub-node in the key": "one_filter_named",
        "HBF_ADA: tree": "tree",
    }
    bars(axes, {label: most.mean(column) for label, column in labels.items()})
    return figure


def check(table: Table) -> Judgment:
    """One filter of topics leaves all sub-nodes; with the sub-node in the key it leaves one."""
    most = table.where(sub_nodes=table.most("sub_nodes"))
    blind = all(part.mean("one_filter") == count for count, part in table.by("sub_nodes"))
    told = most.mean("one_filter_named") < 1.5
    verdict = (Verdict.REGIME if told else Verdict.REPRODUCED) if blind else Verdict.CONTRADICTED
    return Judgment(
        verdict,
        f"of {table.most('sub_nodes')} sub-nodes {most.mean('one_filter'):.0f} remain with one filter, "
        f"{most.mean('one_filter_named'):.2f} with the sub-node in its keys",
        "A filter over topics says that a participant has a topic, not where: all its sub-nodes remain possible, as "
        f"stated; the tree leaves {most.mean('tree'):.2f}. But no tree is needed for it: one plain filter whose keys "
        f"name the sub-node leaves {most.mean('one_filter_named'):.2f} of {table.most('sub_nodes')}, at the price of "
        "one question for each sub-node.",
    )
