"""Proof of Proposition 2: the overlay is like a random graph, with a diameter of O(ln n)."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import chart, lines, reference
from rookery.papers.overlays import configured, static
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.overlay.state import Phase

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(mode="sound", peers=[64, 128, 256, 512, 1024, 2048, 4096], asked=20, runs=3)
QUICK = grid(mode="sound", peers=[64, 256, 1024], asked=10, runs=2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Walk the links of the routing tables from some nodes; record the farthest and the mean distance."""
    overlay, _, _ = static(parameters["peers"], seed, configuration=configured(parameters["mode"]))
    links: dict[int, set[int]] = {
        peer.descriptor.node: set(peer.state.table.chosen) for peer in overlay if peer.state.phase is Phase.ACTIVE
    }
    for node, chosen in list(links.items()):
        for other in chosen:
            links[other].add(node)
    nodes = sorted(links)
    far = total = met = 0
    for start in random.Random(seed).sample(nodes, min(parameters["asked"], len(nodes))):
        seen, edge, hops = {start}, {start}, 0
        while edge := {other for node in edge for other in links[node]} - seen:
            hops += 1
            seen |= edge
            total += hops * len(edge)
        far, met = max(far, hops), met + len(seen) - 1
    asked = min(parameters["asked"], len(nodes))
    return [
        {
            "farthest": far,
            "mean_distance": total / met,
            "reached": met / (asked * (len(nodes) - 1)),
            "over_ln_n": far / math.log(parameters["peers"]),
        }
    ]


def plot(table: Table) -> Any:
    """Draw the distances beside ln n."""
    figure, axes = chart("N, nodes", "links between two nodes")
    lines(axes, table, x="peers", y="farthest", label="the farthest")
    lines(axes, table, x="peers", y="mean_distance", label="mean", first=1)
    sizes = table.values("peers")
    reference(axes, sizes, [math.log(size) for size in sizes], "ln n")
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    return figure


def check(table: Table) -> Judgment:
    """The farthest over ln n must not grow by more than a tenth and one link, and everybody must be within reach."""
    ratio = {size: part.mean("over_ln_n") for size, part in table.by("peers")}
    low, high = min(ratio), max(ratio)
    last = table.where(peers=high)
    holds = last.mean("farthest") <= 1.1 * ratio[low] * math.log(high) + 1 and table.least("reached") == 1
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"N = {high:,}: {last.mean('farthest'):.1f} links to the farthest, {last.mean('mean_distance'):.1f} on average "
        f"(ln n = {math.log(high):.1f})",
        f"Along the links of the tables, the shared interest among them, everybody is within reach, and the farthest "
        f"is {ratio[low]:.2f}·ln n links away at N = {low} and {ratio[high]:.2f}·ln n at N = {high:,}.",
    )
