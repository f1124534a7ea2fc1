"""Proposition 3: in Mirinae a node gets an event that it does not want with p, and relaying costs p·ln n for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import charts, lines, reference
from rookery.papers.overlays import baseline, measure_baseline
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.overlay.overhead import relay_overhead, unwanted_probability

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(peers=[64, 256, 1024], events=60, runs=5)
QUICK = grid(peers=[64, 256], events=20, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Build a hypercube of the same identities, and count receipts by nodes that do not want the event."""
    peers = parameters["peers"]
    found = measure_baseline(*baseline("hypercube", peers, seed), events=parameters["events"])
    return [
        {
            **found,
            "share_of_nodes": found["uninterested_per_event"] / peers,
            "stated_probability": unwanted_probability(1024),
            "stated_messages": relay_overhead(bit_count=1024, peer_count=peers, publish_rate=1.0),
        }
    ]


def plot(table: Table) -> Any:
    """Draw measured relaying and the formula."""
    figure, (left, right) = charts(
        ("N, nodes", "nodes that relay an unwanted event, share"), ("N, nodes", "unwanted receipts for an event")
    )
    lines(left, table, x="peers", y="share_of_nodes", label="hypercube, measured")
    lines(right, table, x="peers", y="uninterested_per_event", label="hypercube, measured")
    sizes = table.values("peers")
    reference(left, sizes, [table.mean("stated_probability") for _ in sizes], "p of equations 3 to 6")
    reference(right, sizes, [table.where(peers=size).mean("stated_messages") for size in sizes], "p·ln n")
    left.set_ylim(0, 1.05)
    right.set_yscale("log")
    for axes in (left, right):
        axes.set_xscale("log", base=2)
    return figure


def check(table: Table) -> Judgment:
    """p must come out of the sum, and the messages should be near p·ln n."""
    p = table.mean("stated_probability")
    last = table.where(peers=table.most("peers"))
    measured, stated = last.mean("uninterested_per_event"), last.mean("stated_messages")
    verdict = Verdict.REPRODUCED if 0.5 < measured / stated < 2 else Verdict.CONTRADICTED
    return Judgment(
        verdict,
        f"p = {p:.4f}; {measured:,.0f} unwanted receipts for an event at N = {table.most('peers'):,}, p·ln n = "
        f"{stated:.1f}",
        f"The sum gives p = {p:.4f}, which tends to 1 − e^(−½). But p·ln n = {stated:.1f} messages counts one path of "
        "ln n steps, while an event is spread over a tree: in a hypercube built on the same identities "
        f"{measured:,.0f} nodes of {table.most('peers'):,} got an event that they did not want. Identities are sparse "
        "here, and the proof assumes that half of all bits are set. So the formula favors Mirinae.",
    )
