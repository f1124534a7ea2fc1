"""What the benchmarks of the overlay share: static overlays, events checked against the oracle, a line of results."""

from __future__ import annotations

import random
from statistics import fmean

from rookery.overlay.configuration import OverlayConfiguration
from rookery.overlay.identity import SemanticSpace
from rookery.overlay.state import Phase
from rookery.papers.seed_002.workload import StockMarket
from rookery.simulated.overlay import SimulatedOverlay

__all__ = ["SIZES", "market_of", "publish", "report", "static_overlay"]

SIZES = [64, 128, 256, 512, 1024, 2048, 4096]


def market_of(alpha: float | None, seed: int) -> StockMarket:
    return StockMarket() if alpha is None else StockMarket.pareto(alpha, random.Random(f"catalog {seed}"))


def static_overlay(
    peers: int,
    seed: int,
    *,
    alpha: float | None = None,
    hash_count: int = 4,
    window: int | None = None,
    **settings: object,
) -> tuple[SimulatedOverlay, StockMarket, random.Random]:
    market, dice = market_of(alpha, seed), random.Random(f"static {seed}")
    configuration = settings.pop("configuration", None) or OverlayConfiguration(heartbeat=None, **settings)  # type: ignore[arg-type]
    space = SemanticSpace(cell_count=market.cell_count, hash_count=hash_count)
    overlay = SimulatedOverlay(seed=seed, space=space, configuration=configuration)  # type: ignore[arg-type]
    overlay.install([market.draw_interests(dice) for _ in range(peers)], window=window)
    return overlay, market, dice


def publish(
    overlay: SimulatedOverlay, market: StockMarket, dice: random.Random, publishers: list[int]
) -> dict[str, float]:
    """Let each publish once; return delivery, depth, links, tables (links and shortcuts), false positives, messages."""
    wanted = missed = 0
    hops: list[int] = []
    spread = 0
    for node in publishers:
        quote = market.draw_quote(dice)
        audience = overlay.audience(quote)
        event = overlay.publish(node, quote)
        overlay.settle()
        reached = overlay.deliveries.pop(event)
        assert set(reached) <= audience
        wanted, missed = wanted + len(audience), missed + len(audience - set(reached))
        hops += reached.values()
        spread += overlay.received.pop(event)
    active = [peer.state for peer in overlay if peer.state.phase is Phase.ACTIVE]
    tables = [(len(one.table.chosen | set(one.shortcuts.known)), 4 * len(one.own.cells) + 1) for one in active]
    cell, bloom = overlay.counters["false positive: cell"], overlay.counters["false positive: bloom"]
    received = max(1, len(hops) + cell + bloom)
    return {
        "delivery": 1 - missed / max(1, wanted),
        "depth": fmean(hops or [0]),
        "deepest": max(hops or [0]),
        "links": fmean(len(one.table.chosen) for one in active),
        "table": fmean(size for size, _ in tables),
        "most": max(size for size, _ in tables),
        "of bound": max(size / bound for size, bound in tables),
        "FP cell": cell / received,
        "FP bloom": bloom / received,
        "msgs/recv": spread / max(1, len(hops)),
        "primaries": len(tables),
        "no entry": overlay.counters["injection given up"],
        "repeated": overlay.repeated,
    }


def report(label: str, rows: list[dict[str, float]]) -> None:
    pooled = {
        key: (max if key in ("deepest", "most", "of bound", "repeated") else fmean)([row[key] for row in rows])
        for key in rows[0]
    }
    print(
        f"{label:<27} "
        + "  ".join(
            f"{key} {value:.4f}" if key in ("delivery", "FP cell", "FP bloom", "of bound") else f"{key} {value:.2f}"
            for key, value in pooled.items()
        ),
        flush=True,
    )
