"""Abstract and section 3: the packet that HBF_ADA sends, beside SDP's list and BF_SDP's filter.

The structures are made for 3 %, what participants announce live for 2⁻¹¹; each has the rate that it has, which is
measured and stands beside its bytes. N = 4 E names and 16 in a node are our assumption: the paper gives none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.discovery.carriage import decode_summary
from rookery.discovery.protocols import summary_of
from rookery.papers.endpoints import absent_keys, announcement, endpoint_keys
from rookery.papers.figures import chart, lines
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import BloomFilter, BloomTree, equations

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(endpoints=[5, 10, 50, 100, 500, 1000], rate=0.03, asked=50_000, runs=10)
QUICK = grid(endpoints=[5, 50, 300, 1000], rate=0.03, asked=50_000, runs=1)
LIST, FILTER, PRINTED, OWN = "SDP: list of endpoints", "BF_SDP: one filter", "HBF_ADA as printed", "HBF_ADA, own rows"
LIVE_FILTER, LIVE_TREE, SAME_RATE = "live: bloom", "live: tree", "one filter of the live tree's rate"


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Measure the packets of one participant, and how often each says yes to a key that it does not hold."""
    count, rate = parameters["endpoints"], parameters["rate"]
    keys, others = endpoint_keys(count, seed=seed), absent_keys(parameters["asked"], seed=seed)
    bits = equations.optimal_bit_count(n=count, rate=rate)
    made: dict[str, BloomFilter | BloomTree] = {
        FILTER: BloomFilter.sized_for(count, rate),
        PRINTED: BloomTree(
            namespace_size=4 * count, node_size=16, bit_count=max(bits, 10), hash_count=5, row_capacity=0, mode="paper"
        ),
        OWN: BloomTree.sized_for(count, rate),
    }
    packets = {}
    for name, structure in made.items():
        structure.add_many(keys)
        packets[name] = structure.to_bytes()
    for name, protocol in ((LIVE_FILTER, "bloom"), (LIVE_TREE, "tree")):
        summary = summary_of(protocol)
        assert summary is not None
        for key in keys:
            summary.add(key)
        packets[name] = summary.encode(epoch=1, room=1 << 16)
    measured = {name: float(decode_summary(packet).contains_many(others).mean()) for name, packet in packets.items()}
    sizes = {LIST: sum(len(announcement(number)) for number in range(count))}
    sizes |= {name: len(packet) for name, packet in packets.items()}
    sizes[SAME_RATE] = len(BloomFilter.sized_for(count, max(measured[LIVE_TREE], 1 / len(others))).to_bytes())
    measured |= {LIST: 0.0, SAME_RATE: measured[LIVE_TREE]}
    return [{"packet": name, "bytes": size, "measured": measured[name]} for name, size in sizes.items()]


def plot(table: Table) -> Any:
    """Draw the sizes."""
    figure, axes = chart("endpoints of the participant", "bytes of its packet")
    lines(axes, table, x="endpoints", y="bytes", by="packet")
    axes.set_xscale("log")
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """The tree should be smaller than both others, as printed or with its own rows alone or live."""
    sizes = {
        count: {name: one.mean("bytes") for name, one in part.by("packet")} for count, part in table.by("endpoints")
    }
    rates = {name: part.mean("measured") for name, part in table.by("packet")}
    pairs = ((PRINTED, FILTER), (OWN, FILTER), (LIVE_TREE, SAME_RATE))
    smaller = {
        tree: [count for count, one in sizes.items() if one[tree] < min(one[plain], one[LIST])] for tree, plain in pairs
    }
    most, below_list = max(sizes), [count for count, one in sizes.items() if one[PRINTED] < one[LIST]]
    live = {name: part.mean("measured") for name, part in table.where(endpoints=most).by("packet")}
    ratio = {tree: [one[tree] / one[plain] for one in sizes.values()] for tree, plain in pairs}
    if not any(smaller.values()):
        verdict = Verdict.CONTRADICTED
    else:
        verdict = Verdict.REPRODUCED if all(len(one) == len(sizes) for one in smaller.values()) else Verdict.REGIME
    return Judgment(
        verdict,
        f"{most:,} endpoints: {sizes[most][PRINTED]:,.0f} B as printed, {sizes[most][FILTER]:,.0f} B for one filter, "
        f"{sizes[most][LIST]:,.0f} B for the list",
        "The printed tree gives each of its nodes a filter of one size, large enough for the root, so it grows with "
        f"the square of the endpoints: it is below SDP's list up to {max(below_list, default=0):,} endpoints, and "
        f"{min(ratio[PRINTED]):.1f} times one plain filter at best (measured rates {rates[PRINTED]:.2%} and "
        f"{rates[FILTER]:.2%}). Sending each node's own rows alone makes it linear, but still {min(ratio[OWN]):.1f} "
        f"times the filter at best, at {rates[OWN]:.2%}. What participants announce live is made for 0.049 %: "
        f"{sizes[most][LIVE_TREE]:,.0f} B with {live[LIVE_TREE]:.3%} measured for a tree of {most:,}, "
        f"{sizes[most][LIVE_FILTER]:,.0f} B with {live[LIVE_FILTER]:.3%} for a filter; the tree has "
        f"{min(ratio[LIVE_TREE]):.1f} to {max(ratio[LIVE_TREE]):.1f} times the bytes of a filter of its own rate.",
    )
