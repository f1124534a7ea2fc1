"""Section III-C: the shared interest makes a route between any two nodes, so joiners find their nearest."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import bars, chart
from rookery.papers.overlays import configured, joined, measure
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.overlay.state import Phase
from rookery.simulated.overlay import SimulatedOverlay

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(mode="sound", peers=[64, 256, 512], events=80, runs=10)
QUICK = grid(mode="sound", peers=[64, 128], events=40, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Let nodes join one by one; see whom they found, whether links lead everywhere, and what is delivered."""
    overlay, market, dice = joined(parameters["peers"], seed, configuration=configured(parameters["mode"]))
    sides, nearest = _nearest(overlay)
    row = {"sides": sides, "nearest": nearest, "routes": _routes(overlay)}
    return [{**row, **measure(overlay, market, dice, events=parameters["events"])}]


def _nearest(overlay: SimulatedOverlay) -> tuple[int, int]:
    """Count the rings' sides that have somebody, and those where the node knows who really is the nearest there."""
    primaries = [peer for peer in overlay if peer.state.phase is Phase.ACTIVE]
    rings: dict[int, list[int]] = defaultdict(list)
    for peer in sorted(primaries, key=lambda one: one.descriptor.position):
        for cell in peer.descriptor.cells:
            rings[cell].append(peer.descriptor.position)
    sides = found = 0
    for peer in primaries:
        for cell in peer.descriptor.cells:
            ring, table = rings[cell], peer.state.table
            place = bisect_left(ring, peer.descriptor.position)
            after, before = table.ring_next(cell), table.ring_before(cell)
            for known, true in ((after, ring[(place + 1) % len(ring)]), (before, ring[place - 1])):
                if true != peer.descriptor.position:
                    sides += 1
                    found += known is not None and known.position == true
    return sides, found


def _routes(overlay: SimulatedOverlay) -> float:
    """Return the share of the nodes that links lead to from the first one."""
    links = {peer.node: peer.state.table.chosen | peer.state.table.incoming for peer in overlay}
    links |= {p.node: {p.state.primary.node} for p in overlay if p.state.primary is not None}
    for node, chosen in list(links.items()):
        for other in chosen:
            links[other].add(node)
    seen, edge = set(), {min(links)}
    while edge:
        seen |= edge
        edge = {other for node in edge for other in links[node]} - seen
    return len(seen) / len(links)


def plot(table: Table) -> Any:
    """Draw all three."""
    most = table.where(peers=table.most("peers"))
    figure, axes = chart(f"share, N = {table.most('peers')}", "")
    shown = {
        "nodes that links lead to": most.mean("routes"),
        "nearest that are known": most.total("nearest") / most.total("sides"),
        "deliveries that are made": most.mean("delivery"),
    }
    bars(axes, shown, form="{:.1%}")
    return figure


def check(table: Table) -> Judgment:
    """There must be a route everywhere, and every joiner must know who is nearest on each of its rings."""
    routes, nearest = table.least("routes"), table.total("nearest") / table.total("sides")
    share = 1 - table.total("missed") / table.total("wanted")
    holds = routes == 1 and nearest > 0.99 and share > 0.99
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"links lead to {routes:.0%} of the nodes; joiners know {nearest:.1%} of their nearest; {share:.1%} delivered",
        f"The shared interest connects everybody: links lead to {routes:.0%} of the nodes. Of those who stand next to "
        f"a joiner on the rings of its cells it knows {nearest:.1%}, and {share:.1%} of the deliveries are made. "
        + (
            "Here the shared interest is a ring with fingers and a directory."
            if table.values("mode") == ["sound"]
            else "The metric has no gradient: two nodes that share one rare interest look as far apart as two that "
            "share none, so going down it seldom meets the holder of a rare cell, and rings are left open."
        ),
    )
