"""The layered ribbon beside every structure of the seeds: bytes on the wire at the rate that each really has."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rookery.papers.endpoints import endpoint_keys
from rookery.papers.figures import chart, lines
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import BloomTree, CuckooFilter, equations, summarize

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

STRUCTURES = ["ribbon", "golomb", "cuckoo", "bloom", "tree", "cuckoo as patented", "tree as printed"]
FULL = grid(structure=STRUCTURES, endpoints=[10, 50, 100, 500, 1000], rate=1 / 128, runs=5)
QUICK = grid(structure=STRUCTURES, endpoints=[50, 250], rate=1 / 128, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Make one summary and compare its payload with the floor n·log2(1/ε) at its own rate."""
    count, name, rate = parameters["endpoints"], parameters["structure"], parameters["rate"]
    keys = endpoint_keys(count, seed=seed)
    made: Any
    if name == "cuckoo as patented":
        made = CuckooFilter.patent(log2_buckets=max(1, math.ceil(math.log2((5 * count + 1) / 8))))
        made.add_many(keys)
    elif name == "tree as printed":
        bits = max(10, equations.optimal_bit_count(n=count, rate=0.03))
        made = BloomTree(
            namespace_size=4 * count, node_size=16, bit_count=bits, hash_count=5, row_capacity=0, mode="paper"
        )
        made.add_many(keys)
    else:
        made = summarize(keys, name, rate)
    true_rate = made.expected_false_positive_rate
    payload = made.size_in_bits / 8
    return [{"bytes": payload, "true_rate": true_rate, "of_floor": 8 * payload / (count * math.log2(1 / true_rate))}]


def plot(table: Table) -> Any:
    """Draw the payload over the floor."""
    figure, axes = chart("endpoints", "payload / n·log2(1/ε)")
    lines(axes, table, x="endpoints", y="of_floor", by="structure")
    axes.set_xscale("log")
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """The ribbon must be nearest to the floor at every size."""
    over = {
        count: {name: one.mean("of_floor") for name, one in part.by("structure")}
        for count, part in table.by("endpoints")
    }
    best = all(min(one, key=one.__getitem__) == "ribbon" for one in over.values())
    most = over[max(over)]
    shown = ", ".join(f"{name} {value:.2f}" for name, value in most.items())
    return Judgment(
        Verdict.REPRODUCED if best and most["ribbon"] < 1.05 else Verdict.CONTRADICTED,
        f"{max(over):,} endpoints, payload over the floor: ribbon {most['ribbon']:.2f}, cuckoo as patented "
        f"{most['cuckoo as patented']:.2f}, tree as printed {most['tree as printed']:.1f}",
        f"No summary with a false-positive rate ε can be smaller than n·log2(1/ε) bits. At {max(over):,} endpoints, "
        f"each at its own rate: {shown} times that. The ribbon's price: it is built anew when something changes.",
    )
