"""Section 0: can one Bloom filter per participant tell its sub-nodes apart?

A participant has sub-nodes with five topics each. The receiver has the octets of its filter or its tree and nothing
else, no dictionary of the namespace: what it learns of a topic's sub-node it learns from these. Live, two participants
meet; a topic's name has the directories of its sub-node, and the reader's participant searches the announced tree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.discovery.interests import interest_of
from rookery.papers.announced import read, write
from rookery.papers.endpoints import endpoint_keys
from rookery.papers.figures import bars, chart
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import BloomFilter, BloomTree
from rookery.simulated.domain import SimulatedNetwork

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(sub_nodes=[3, 7, 15, 31], topics=5, runs=10)
QUICK = grid(sub_nodes=[3, 7, 15], topics=5, runs=2)
RATE = 0.01


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Ask on which sub-node each topic is, and count how many remain possible; 0 is an answer that was lost."""
    count, topics = parameters["sub_nodes"], parameters["topics"]
    keys = endpoint_keys(count * topics, seed=seed)
    plain, named = (BloomFilter.sized_for(len(keys), RATE) for _ in range(2))
    places = {key: place for place, key in enumerate(keys)}
    tree = BloomTree(namespace_size=len(keys), node_size=topics, namespace=places, bit_count=64, hash_count=8)
    tree.add_many(keys)
    plain.add_many(keys)
    named.add_many([f"{place // topics}/{key}" for place, key in enumerate(keys)])
    plain, named = (BloomFilter.from_bytes(made.to_bytes()) for made in (plain, named))
    answer = BloomTree.from_bytes(tree.to_bytes()).query(keys)
    told = set(zip(answer.found, answer.nodes, strict=True))
    left = {
        "one_filter": sum(count for key in keys if key in plain),  # it says "here", not where
        "one_filter_named": sum(f"{node}/{key}" in named for key in keys for node in range(count)),
        "tree": len(told),
        "tree_right": sum((key, place // topics) in told for key, place in places.items()),
        **_live(count, topics, seed),
    }
    return [{name: total / len(keys) for name, total in left.items()}]


def _live(count: int, topics: int, seed: int) -> dict[str, int]:
    """Return of how many topics a live receiver has learned a sub-node, and of how many the layer of their name."""
    network = SimulatedNetwork(seed)
    sender, receiver = (network.join(discovery="tree") for _ in range(2))
    layers: dict[str, int] = {}
    for node in range(count):
        path, above = "", node + 1
        while above > 1:
            path, above = f"part{above}/{path}", above >> 1
        for number in range(topics):
            topic = f"{path}topic{node}.{number} of {seed}"
            write(sender, topic, "Sample")
            read(receiver, topic, "Sample")
            layers[interest_of(kind="W", topic=topic, type_name="Sample").own] = (node + 1).bit_length()
    network.run(2_000_000)
    learned = receiver.participant.sub_nodes(sender.participant.configuration.prefix)
    right = sum(layer in {one.layer for one in learned.get(key, ())} for key, layer in layers.items())
    return {"live_found": len(learned), "live_layer": right}


def plot(table: Table) -> Any:
    """Draw the sub-nodes that remain possible in the largest case."""
    most = table.where(sub_nodes=table.most("sub_nodes"))
    figure, axes = chart(f"sub-nodes of {table.most('sub_nodes')} that remain possible for a topic", "")
    labels = {"BF_SDP: one filter": "one_filter", "sub-node in its keys": "one_filter_named", "HBF_ADA: tree": "tree"}
    bars(axes, {label: most.mean(column) for label, column in labels.items()})
    return figure


def check(table: Table) -> Judgment:
    """One filter must leave all sub-nodes where a tree names the right one; can a filter do it with other keys?"""
    most = table.where(sub_nodes=table.most("sub_nodes"))
    blind = all(part.mean("one_filter") == count for count, part in table.by("sub_nodes"))
    tells = table.least("tree_right") == 1 and all(part.mean("tree") < 2 for _, part in table.by("sub_nodes"))
    live = table.least("live_found") == 1 and table.mean("live_layer") > 0.9
    named = 1 <= most.mean("one_filter_named") < 1.5
    verdict = Verdict.REGIME if named else Verdict.REPRODUCED
    return Judgment(
        verdict if blind and tells and live else Verdict.CONTRADICTED,
        f"of {table.most('sub_nodes')} sub-nodes {most.mean('one_filter'):.0f} remain with one filter, "
        f"{most.mean('tree'):.2f} with a tree, {most.mean('one_filter_named'):.2f} with the sub-node in filter keys",
        "A filter over topics says that a participant has a topic, not where: all its sub-nodes remain possible, as "
        f"stated. A tree leaves {most.mean('tree'):.2f}, learned from its octets alone, and the right one is among "
        f"them for {table.mean('tree_right'):.0%} of the topics; live, a reader's participant learned the layer of "
        f"{table.mean('live_layer'):.0%}. But no tree is needed for it: one plain filter whose keys name "
        f"the sub-node leaves {most.mean('one_filter_named'):.2f}, at the price of one question for each sub-node.",
    )
