"""Overlays for the claims of seed 002: its stock market, static and dynamic networks, and what an event costs.

The seed's setting: stock quotes (name, price) on a grid, identities of 1024 bits, interests drawn evenly or by a Pareto
law. Grid and widths of subscriptions are ours (the seed gives none): 64 stocks × 16 price buckets, one to three
subscriptions of half a bucket to six buckets for each peer.
"""

from __future__ import annotations

import random
from statistics import fmean
from typing import Any

from rookery.overlay.configuration import SECOND, OverlayConfiguration
from rookery.overlay.identity import SemanticSpace
from rookery.overlay.state import Phase
from rookery.papers.seed_002.baseline_world import SimulatedBaseline
from rookery.papers.seed_002.baselines import build_hypercube, build_mesh
from rookery.papers.seed_002.workload import StockMarket
from rookery.simulated.overlay import SimulatedOverlay

__all__ = ["MODES", "baseline", "configured", "joined", "measure", "measure_baseline", "measure_membership", "static"]

#: `sound`, the default of the product, and `paper`, what the seed prints: each in all its parts.
MODES = ("sound", "paper")

#: The messages that bring an event from its publisher to those who want it.
EVENT_MESSAGES = ("CellEvent", "RingEvent", "Lookup", "LookupReply", "Inject", "Injected")
#: Those of them that look for the first one who wants it.
ENTRY_MESSAGES = ("Lookup", "LookupReply", "Inject", "Injected")


def configured(mode: str, **changes: Any) -> OverlayConfiguration:
    """Return the configuration of a mode, without heartbeats unless they are given."""
    changes = {"heartbeat": None, **changes}
    return OverlayConfiguration.paper(**changes) if mode == "paper" else OverlayConfiguration(**changes)


def _market(alpha: float, seed: int) -> StockMarket:
    return StockMarket.pareto(alpha, random.Random(f"catalog {seed}")) if alpha else StockMarket()


def static(
    peers: int,
    seed: int,
    *,
    alpha: float = 0,
    hash_count: int = 4,
    configuration: OverlayConfiguration | None = None,
) -> tuple[SimulatedOverlay, StockMarket, random.Random]:
    """Return an overlay whose peers know everybody; `alpha` 0 draws interests evenly."""
    market, dice = _market(alpha, seed), random.Random(f"static {seed}")
    space = SemanticSpace(cell_count=market.cell_count, hash_count=hash_count)
    overlay = SimulatedOverlay(
        seed=seed, space=space, configuration=configuration or OverlayConfiguration(heartbeat=None)
    )
    overlay.install([market.draw_interests(dice) for _ in range(peers)])
    return overlay, market, dice


def joined(
    peers: int, seed: int, *, configuration: OverlayConfiguration | None = None
) -> tuple[SimulatedOverlay, StockMarket, random.Random]:
    """Return an overlay that its peers joined one by one, each when the one before has its place."""
    market, dice = StockMarket(), random.Random(f"dynamic {seed}")
    overlay = SimulatedOverlay(
        seed=seed,
        space=SemanticSpace(cell_count=market.cell_count),
        configuration=configuration or OverlayConfiguration(heartbeat=None),
    )
    for _ in range(peers):
        overlay.join(market.draw_interests(dice))
        overlay.settle()
    return overlay, market, dice


def measure(
    overlay: SimulatedOverlay, market: StockMarket, dice: random.Random, *, events: int, spacing: int | None = None
) -> dict[str, Any]:
    """Publish events from random peers; return delivery, depth, tables, false positives and messages.

    `spacing` microseconds pass after each event; without it the overlay runs until nothing is left to happen.
    """
    wanted = missed = unwanted = made = most = 0
    hops: list[int] = []
    before = overlay.messages.copy()
    notes = {kind: overlay.counters[f"false positive: {kind}"] for kind in ("cell", "bloom")}
    for _ in range(events):
        quote = market.draw_quote(dice)
        audience = overlay.audience(quote)
        sent = _sum(overlay, EVENT_MESSAGES)
        event = overlay.publish(dice.choice(overlay.ready), quote)
        if spacing is None:
            overlay.settle()
        else:
            overlay.run(spacing)
        reached = set(overlay.deliveries[event])
        hops += overlay.deliveries[event].values()
        made += len(reached - {event[0]})  # who publishes what it wants needs no message
        most = max(most, _sum(overlay, EVENT_MESSAGES) - sent)
        wanted, missed, unwanted = (
            wanted + len(audience),
            missed + len(audience - reached),
            unwanted + len(reached - audience),
        )
    tables = [(len(p.state.table.chosen), len(p.descriptor.cells)) for p in overlay if p.state.phase is Phase.ACTIVE]
    cell, bloom = (overlay.counters[f"false positive: {kind}"] - notes[kind] for kind in ("cell", "bloom"))
    received = max(1, len(hops) + cell + bloom)
    spent, entering = (
        _sum(overlay, kinds) - sum(before[k] for k in kinds) for kinds in (EVENT_MESSAGES, ENTRY_MESSAGES)
    )
    return {
        "wanted": wanted,
        "missed": missed,
        "unwanted": unwanted,
        "delivery": 1 - missed / max(1, wanted),
        "depth": fmean(hops or [0]),
        "deepest": max(hops or [0]),
        "links": fmean(size for size, _ in tables),
        "most_links": max(size for size, _ in tables),
        "of_sound_bound": max(size / (4 * cells + 1) for size, cells in tables),
        "false_positives": (cell + bloom) / received,
        "bloom_false_positives": bloom / received,
        "cell_false_positives": cell,
        "primaries": len(tables),
        "messages_per_event": spent / events,
        "entry_per_event": entering / events,
        "overhead_per_event": (spent - made) / events,
        "most_messages": most,
        "given_up": overlay.counters["injection given up"],
    }


def measure_membership(peers: int, seed: int, *, configuration: OverlayConfiguration, periods: int = 6) -> float:
    """Return the messages of a node in a second that publishes nothing: heartbeats, tables, leases, walks."""
    market, dice = StockMarket(), random.Random(f"dynamic {seed}")
    overlay = SimulatedOverlay(
        seed=seed, space=SemanticSpace(cell_count=market.cell_count), configuration=configuration
    )
    for _ in range(peers):
        overlay.join(market.draw_interests(dice))
        overlay.run(SECOND // 10)
    overlay.run(30 * SECOND)
    before, began = sum(overlay.messages.values()), overlay.now
    overlay.run(periods * (configuration.heartbeat or SECOND))
    return (sum(overlay.messages.values()) - before) / peers / ((overlay.now - began) / SECOND)


def _sum(overlay: SimulatedOverlay, kinds: tuple[str, ...]) -> int:
    return sum(overlay.messages[kind] for kind in kinds)


def baseline(name: str, peers: int, seed: int) -> tuple[SimulatedBaseline, StockMarket, random.Random]:
    """Return flooding, gossip or the hypercube over the interests that `static` draws for the same seed."""
    market, dice = StockMarket(), random.Random(f"static {seed}")
    interests = [market.draw_interests(dice) for _ in range(peers)]
    if name == "hypercube":
        space = SemanticSpace(cell_count=market.cell_count)
        described = [space.describe(node=node, random_id=node, cells=one.cells) for node, one in enumerate(interests)]
        return SimulatedBaseline(build_hypercube(described, interests, space, dice)), market, dice
    fanout = None if name == "flooding" else 4
    return SimulatedBaseline(build_mesh(interests, dice, degree=12, fanout=fanout)), market, dice


def measure_baseline(
    run: SimulatedBaseline, market: StockMarket, dice: random.Random, *, events: int
) -> dict[str, Any]:
    """Publish events; return what they cost."""
    wanted = reached = made = 0
    for _ in range(events):
        quote, node = market.draw_quote(dice), dice.randrange(len(run.peers))
        found = run.deliveries[run.publish(node, quote)]
        wanted, reached, made = (
            wanted + len(run.audience(quote)),
            reached + len(found),
            made + len(found.keys() - {node}),
        )
    idle = run.counters["uninterested"] + run.counters["relay"]
    return {
        "delivery": reached / max(1, wanted),
        "messages_per_event": run.messages / events,
        "overhead_per_event": (run.messages - made) / events,
        "uninterested_per_event": idle / events,
        "cell_false_positives": run.counters["false positive: cell"],
    }
