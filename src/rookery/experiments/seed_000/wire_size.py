"""Abstract and section 3: the packet that HBF_ADA sends, beside SDP's list and BF_SDP's filter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.experiments.endpoints import announcement, endpoint_keys
from rookery.experiments.figures import chart, lines
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.filters import BloomFilter, BloomTree, equations

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(endpoints=[5, 10, 50, 100, 500, 1000], rate=0.03, runs=10)
QUICK = grid(endpoints=[5, 50, 300, 1000], rate=0.03, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Measure the packets of one participant."""
    count, rate = parameters["endpoints"], parameters["rate"]
    keys = endpoint_keys(count, seed=seed)
    bloom, own = BloomFilter.sized_for(count, rate), BloomTree.sized_for(count, rate)
    bits = equations.optimal_bit_count(n=count, rate=rate)
    printed = BloomTree(
        namespace_size=4 * count, node_size=16, bit_count=max(bits, 10), hash_count=5, row_capacity=0, mode="paper"
    )
    for made in (bloom, own, printed):
        made.add_many(keys)
    sizes = {
        "SDP: list of endpoints": sum(len(announcement(number)) for number in range(count)),
        "BF_SDP: one filter": len(bloom.to_bytes()),
        "HBF_ADA as printed": len(printed.to_bytes()),
        "HBF_ADA, own rows only": len(own.to_bytes()),
    }
    return [{"packet": name, "bytes": size} for name, size in sizes.items()]


def plot(table: Table) -> Any:
    """Draw the sizes."""
    figure, axes = chart("endpoints of the participant", "bytes of its packet")
    lines(axes, table, x="endpoints", y="bytes", by="packet")
    axes.set_xscale("log")
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """The tree should be smaller than both."""
    sizes = {
        count: {name: one.mean("bytes") for name, one in part.by("packet")} for count, part in table.by("endpoints")
    }
    tree, bloom, simple = "HBF_ADA as printed", "BF_SDP: one filter", "SDP: list of endpoints"
    below_filter = [count for count, one in sizes.items() if one[tree] < one[bloom]]
    below_list = [count for count, one in sizes.items() if one[tree] < one[simple]]
    most = max(sizes)
    smallest_own = min(one["HBF_ADA, own rows only"] / one[bloom] for one in sizes.values())
    return Judgment(
        Verdict.REPRODUCED if len(below_filter) == len(below_list) == len(sizes) else Verdict.CONTRADICTED,
        f"{most:,} endpoints: {sizes[most][tree]:,.0f} B as printed, {sizes[most][bloom]:,.0f} B for one filter, "
        f"{sizes[most][simple]:,.0f} B for the list",
        "The printed tree gives each of its nodes a filter of one size, large enough for the root, so it grows with "
        f"the square of the endpoints: it is below SDP's list up to {max(below_list):,} endpoints, and never below one "
        "plain filter of the same rate. Sending each node's own rows alone makes it linear, but still "
        f"{smallest_own:.1f} times the filter at best. N = 4 E names and 16 in a node are our assumption; the paper "
        "gives none.",
    )
