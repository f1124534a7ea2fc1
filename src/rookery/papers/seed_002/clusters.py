"""Section III-B: nodes of one identity form a cluster behind its first member; the next in order follows it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import bars, chart
from rookery.papers.overlays import configured
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.overlay.configuration import SECOND
from rookery.overlay.identity import SemanticSpace
from rookery.overlay.state import Phase
from rookery.overlay.workload import StockMarket
from rookery.simulated.overlay import SimulatedOverlay

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(mode="sound", members=[3, 8, 20], others=30, runs=10)
QUICK = grid(mode="sound", members=[3, 8], others=10, runs=2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Let nodes of the same mind join among others, then let the primary crash."""
    market, dice = StockMarket(), random.Random(seed)
    overlay = SimulatedOverlay(
        seed=seed,
        space=SemanticSpace(cell_count=market.cell_count),
        configuration=configured(parameters["mode"], heartbeat=5 * SECOND),
    )
    shared, cluster = market.draw_interests(dice), []
    for number in range(parameters["others"]):
        overlay.join(market.draw_interests(dice))
        overlay.run(SECOND // 2)
        if number < parameters["members"]:
            cluster.append(overlay.join(shared).node)
            overlay.run(SECOND // 2)
    while len(cluster) < parameters["members"]:
        cluster.append(overlay.join(shared).node)
        overlay.run(SECOND // 2)
    overlay.run(30 * SECOND)
    first = [node for node in cluster if overlay.peers[node].state.phase is Phase.ACTIVE]
    stock, low, high = shared.boxes[0]
    quote = (stock, (low + high) / 2)
    once = _reached(overlay, quote, cluster)
    overlay.crash([cluster[0]])
    overlay.run(60 * SECOND)
    second = [node for node in cluster[1:] if overlay.peers[node].state.phase is Phase.ACTIVE]
    return [
        {
            "first_is_primary": first == cluster[:1],
            "next_follows": second == cluster[1:2],
            "reached_before": once,
            "reached_after": _reached(overlay, quote, cluster[1:]),
        }
    ]


def _reached(overlay: SimulatedOverlay, quote: tuple[int, float], cluster: list[int]) -> float:
    outside = next(node for node in overlay.ready if node not in cluster)
    event = overlay.publish(outside, quote)
    overlay.run(5 * SECOND)
    return sum(node in overlay.deliveries[event] for node in cluster) / len(cluster)


def plot(table: Table) -> Any:
    """Draw how often it holds."""
    figure, axes = chart("share of the runs, or of the members", "")
    shown = {
        "the first to join is the primary": table.mean("first_is_primary"),
        "the next to join follows it": table.mean("next_follows"),
        "members reached before": table.mean("reached_before"),
        "members reached after the crash": table.mean("reached_after"),
    }
    bars(axes, shown, form="{:.0%}")
    return figure


def check(table: Table) -> Judgment:
    """All four must hold in every run."""
    share = {name: table.mean(name) for name in ("first_is_primary", "next_follows", "reached_before", "reached_after")}
    return Judgment(
        Verdict.REPRODUCED if all(value == 1 for value in share.values()) else Verdict.CONTRADICTED,
        f"first is primary {share['first_is_primary']:.0%}, next follows {share['next_follows']:.0%}, members reached "
        f"{share['reached_after']:.0%}",
        "Nodes with the same interests stand behind the one that joined first; when it crashes the one that joined "
        "next takes its place, and an event from outside reaches all members before and after. In `sound` "
        "mode a cluster is one of equal cells, in `paper` mode one of equal identities.",
    )
