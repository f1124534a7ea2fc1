"""Figure 3: mean delay from building the packet to the remote match (equation 7), against the layers.

Ten nodes with five applications: each of nine sends its packet 100 times to a joiner, which reads it and looks for ten
topics, half of which the sender has. A node of L layers has 2^L − 1 entities for each application, and its tree L
levels. A structure is built once and sent 100 times, so T_i is a hundredth of the building, and encoding, decoding and
matching. The wire itself takes no time here.
The search is compiled under all three: a walk over the list by CPython's `in`, the filter and the tree by their kernels
(`search_us`). Around it are the product's own codecs, which read and write a record or a node at a time.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from rookery.papers.endpoints import absent_keys
from rookery.papers.figures import charts, lines
from rookery.papers.joiners import APPLICATIONS, PEERS, SENDS
from rookery.papers.packets import SENDERS
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import endpoint_key

__all__ = ["FULL", "QUICK", "TIMES", "check", "plot", "run"]

FULL = grid(layers=[1, 2, 3, 4, 5, 6, 7], applications=APPLICATIONS, senders=PEERS, sends=SENDS)
QUICK = grid(layers=[1, 2, 3, 5, 6], applications=APPLICATIONS, senders=1, sends=10)
TIMES = ("delay_us", "search_us")


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Send, receive and match as each protocol does; return the mean times."""
    applications, sends, senders = (parameters[name] for name in ("applications", "sends", "senders"))
    count = ((1 << parameters["layers"]) - 1) * applications
    rows: list[Row] = []
    for protocol in SENDERS:
        spent, searching, missed, levels = 0.0, 0.0, 0, 0
        for sender in range(senders):
            topics = [f"rt/node{sender}/topic_{number}" for number in range(count)]
            there = [endpoint_key(kind="W", topic=topic, type_name="T") for topic in topics[:: max(1, count // 5)][:5]]
            wanted = there + absent_keys(5, seed=seed)
            made = protocol(topics, node_size=applications, rate=0.03)
            made.match(made.receive(made.packet()), wanted)  # kernels are compiled or loaded before the clock runs
            began = time.process_time()
            made = protocol(topics, node_size=applications, rate=0.03)
            for _ in range(sends):
                received = made.receive(made.packet())
                matching = time.process_time()
                found = made.match(received, wanted)
                searching += time.process_time() - matching
            spent += time.process_time() - began
            missed, levels = missed + len(set(there) - set(found)), made.levels
        times = {"delay_us": 1e6 * spent / sends / senders, "search_us": 1e6 * searching / sends / senders}
        rows.append({"protocol": protocol.name, "entities": count, "levels": levels, "missed": missed, **times})
    return rows


def plot(table: Table) -> Any:
    """Draw the delays."""
    figure, axes = charts(("layers", "mean delay (equation 7), µs of CPU"), ("layers", "of that the search, µs of CPU"))
    for one, column in zip(axes, TIMES, strict=True):
        lines(one, table, x="layers", y=column, by="protocol")
        one.set_yscale("log")
    return figure


def _least(table: Table, column: str) -> dict[int, str]:
    """Return which protocol has the smallest mean of a column, by layers."""
    means = {n: {name: one.mean(column) for name, one in part.by("protocol")} for n, part in table.by("layers")}
    return {layer: min(found, key=found.__getitem__) for layer, found in means.items()}


def check(table: Table) -> Judgment:
    """SDP must be the smallest below four layers; beyond, all must grow and HBF_ADA be the smallest, ever more."""
    first, searched = _least(table, "delay_us"), _least(table, "search_us")
    shallow, deep = sorted(one for one in first if one < 4), sorted(one for one in first if one > 4)
    delay = {name: {n: one.mean("delay_us") for n, one in part.by("layers")} for name, part in table.by("protocol")}
    gap = [min(delay[name][layer] for name in ("SDP", "BF_SDP")) / delay["HBF_ADA"][layer] for layer in deep]
    grow = all(one[deep[0]] < one[deep[-1]] for one in delay.values())
    above = grow and all(first[layer] == "HBF_ADA" for layer in deep) and gap == sorted(gap)
    below = all(first[layer] == "SDP" for layer in shallow)
    levels = all(row["levels"] == row["layers"] for row in table.where(protocol="HBF_ADA"))
    verdict = Verdict.REPRODUCED if above and below else Verdict.REGIME if above else Verdict.CONTRADICTED
    shown = ", ".join(f"{name} {one[deep[-1]]:,.0f} µs" for name, one in delay.items())
    alone = ", ".join(f"{part.mean('search_us'):,.0f}" for _, part in table.where(layers=deep[-1]).by("protocol"))
    return Judgment(
        verdict if levels and not table.total("missed") else Verdict.CONTRADICTED,
        f"{deep[-1]} layers: {shown}",
        f"The smallest delay is that of {_told(first)} layers; of the search alone, compiled under all three, that of "
        f"{_told(searched)}. At {deep[-1]} layers the delays are {shown}, of which the searches are {alone}. One "
        "filter is one thing to read and one step; the tree has a filter for each node, to be written, read and "
        "searched. In steps it does win against the list (see search-steps).",
    )


def _told(least: dict[int, str]) -> str:
    names = dict.fromkeys(least.values())
    return " and ".join(f"{name} at {', '.join(str(n) for n, who in least.items() if who == name)}" for name in names)
