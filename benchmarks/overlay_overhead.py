"""The overlay beside others: flooding, gossip and a hypercube; and the overhead of the seed's section V."""

from __future__ import annotations

import argparse
import random
from statistics import fmean

from benchmarks.overlay_dynamic import join
from benchmarks.overlay_runs import SIZES, market_of, publish, static_overlay

from rookery.overlay.identity import SemanticSpace
from rookery.papers.seed_002.baseline_world import SimulatedBaseline
from rookery.papers.seed_002.baselines import build_hypercube, build_mesh
from rookery.papers.seed_002.overhead import crossover, join_overhead, relay_overhead, unwanted_probability
from rookery.papers.seed_002.workload import StockMarket

__all__ = ["baselines", "overhead"]


def baselines(options: argparse.Namespace) -> None:
    for peers in options.peers or [256, 1024, 4096]:
        for name in ("flooding", "gossip", "hypercube"):
            rows = []
            for seed in range(options.runs):
                market, dice = market_of(None, seed), random.Random(f"static {seed}")
                interests = [market.draw_interests(dice) for _ in range(peers)]
                rows.append(run_baseline(name, market, interests, dice, options.events))
            print(
                f"N={peers} {name:<10} " + "  ".join(f"{key} {fmean(row[key] for row in rows):.4g}" for key in rows[0]),
                flush=True,
            )


def run_baseline(name: str, market: StockMarket, interests: list, dice: random.Random, events: int) -> dict[str, float]:
    space = SemanticSpace(cell_count=market.cell_count)
    if name == "hypercube":
        described = [space.describe(node=n, random_id=n, cells=one.cells) for n, one in enumerate(interests)]
        run = SimulatedBaseline(build_hypercube(described, interests, space, dice))
    else:
        run = SimulatedBaseline(build_mesh(interests, dice, degree=12, fanout=None if name == "flooding" else 4))
    wanted = reached = 0
    hops: list[int] = []
    for _ in range(events):
        quote = market.draw_quote(dice)
        found = run.deliveries[run.publish(dice.randrange(len(interests)), quote)]
        wanted, reached = wanted + len(run.audience(quote)), reached + len(found)
        hops += found.values()
    idle = run.counters["uninterested"] + run.counters["relay"]
    return {
        "delivery": reached / max(1, wanted),
        "depth": fmean(hops or [0]),
        "messages/event": run.messages / events,
        "uninterested/event": idle / events,
        "uninterested share of N": idle / events / len(interests),
        "msgs/recv": run.messages / max(1, reached),
    }


def overhead(options: argparse.Namespace) -> None:
    """Section V: formulas, then the measured messages, with the ratio of publish to join rate where they cross."""
    p = unwanted_probability(1024)
    print(f"formula: p = {p:.4f}; crossover λpub/λjoin = k·d/(2p) = {crossover(bit_count=1024):.0f}·k")
    for peers in SIZES:  # the seed's Figure 6(a) fixes p·λpub / (k·λjoin·d/2) = 0.7
        ours = join_overhead(bit_count=1024, peer_count=peers, join_rate=1 / (0.7 * 512))
        theirs = relay_overhead(bit_count=1024, peer_count=peers, publish_rate=1 / p)
        print(f"  N={peers}: at Figure 6(a)'s ratio 0.7, p·λpub = 1: overlay {ours:.1f}, Mirinae {theirs:.1f}")
    joins = join(argparse.Namespace(peers=options.peers or SIZES, alpha=None, events=50, arc=True))
    for peers, per_join in joins.items():
        market, dice = StockMarket(), random.Random("overhead")
        interests = [market.draw_interests(dice) for _ in range(peers)]
        cube = run_baseline("hypercube", market, interests, dice, options.events)
        overlay, market, dice = static_overlay(peers, 0, arc=True)
        mine = publish(overlay, market, dice, [dice.randrange(peers) for _ in range(options.events)])
        kinds = ("CellEvent", "RingEvent", "Lookup", "LookupReply", "Inject", "Injected")
        per_event = sum(overlay.messages[kind] for kind in kinds) / options.events
        theirs, idle = cube["messages/event"], cube["uninterested/event"]
        gain = theirs - per_event
        crossing = f"{per_join / gain:.1f}" if gain > 0 else "none: the hypercube sends less"
        print(f"N={peers}: {per_join:.1f} messages per join; per event: overlay (arc, injection included) ", end="")
        print(f"{per_event:.1f}, hypercube {theirs:.1f} with {idle:.1f} receipts by peers that do not want it ", end="")
        print(f"(delivery {mine['delivery']:.4f} / {cube['delivery']:.4f})")
        print(f"    crossover λpub/λjoin: joins against such receipts {per_join / idle:.2f}; all messages {crossing}")
