"""Section 3 (3): who can delete a node that is in the network?"""

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

FULL = grid(nodes=30, endpoints=5, deleted=10, rate=0.01, runs=10)
QUICK = grid(nodes=30, endpoints=5, deleted=10, rate=0.01, runs=3)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Enter all nodes, delete some, and ask for the deleted and for those that stay."""
    nodes = [endpoint_keys(parameters["endpoints"], seed=seed, owner=f"node{n}-") for n in range(parameters["nodes"])]
    keys = [key for node in nodes for key in node]
    gone = [key for node in nodes[: parameters["deleted"]] for key in node]
    stay = [key for node in nodes[parameters["deleted"] :] for key in node]
    simple = list(keys)
    tree, plain = (
        BloomTree.sized_for(len(keys), parameters["rate"]),
        BloomFilter.sized_for(len(keys), parameters["rate"]),
    )
    for made in (tree, plain):
        made.add_many(keys)
    for key in gone:
        simple.remove(key)
        tree.remove(key)
    # A plain filter has no way to remove. The best it can do by force is to clear the bits, which other keys share:
    # what would be lost is counted here.
    cleared = BloomFilter(bit_count=plain.bit_count, hash_count=plain.hash_count)
    cleared.add_many(gone)
    touched = sum((_bits(key, plain) & cleared.bits).any() for key in stay)
    rows: list[Row] = []
    for name, held in (("SDP", simple), ("BF_SDP", plain), ("HBF_ADA", tree)):
        rows.append(
            {
                "protocol": name,
                "can_remove": name == "SDP" or hasattr(held, "remove"),
                "gone_still_there": sum(key in held for key in gone) / len(gone),
                "stay_missing": sum(key not in held for key in stay) / len(stay),
                "lost_by_clearing": touched / len(stay) if name == "BF_SDP" else 0.0,
            }
        )
    return rows


def _bits(key: str, like: BloomFilter) -> Any:
    one = BloomFilter(bit_count=like.bit_count, hash_count=like.hash_count)
    one.add(key)
    return one.bits


def plot(table: Table) -> Any:
    """Draw what remains of the deleted nodes."""
    figure, axes = chart("share of the deleted endpoints that are still answered with yes", "")
    bars(axes, {name: part.mean("gone_still_there") for name, part in table.by("protocol")})
    return figure


def check(table: Table) -> Judgment:
    """SDP and HBF_ADA must delete and keep the rest; BF_SDP must not be able to."""
    tree, plain = table.where(protocol="HBF_ADA"), table.where(protocol="BF_SDP")
    deletes = tree.mean("gone_still_there") < 0.1 and table.where(protocol="SDP").total("gone_still_there") == 0
    holds = deletes and plain.mean("gone_still_there") == 1 and not table.total("stay_missing")
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"still answered after deletion: SDP 0 %, HBF_ADA {tree.mean('gone_still_there'):.1%}, BF_SDP 100 %",
        "SDP drops the records, HBF_ADA counts its counters down; nothing that stays is ever missing. Of the deleted "
        f"endpoints the tree still answers for {tree.mean('gone_still_there'):.1%}, which are ordinary false "
        "positives. A plain filter cannot delete; clearing the bits by force would lose "
        f"{plain.mean('lost_by_clearing'):.0%} of the endpoints that stay.",
    )
