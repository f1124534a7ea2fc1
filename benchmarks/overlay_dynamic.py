"""The overlay's dynamic benchmarks: joins one by one, a mass crash, churn."""

from __future__ import annotations

import argparse
import random
from statistics import fmean

from benchmarks.overlay_runs import SIZES, market_of, publish, report

from rookery.overlay.configuration import SECOND, OverlayConfiguration
from rookery.overlay.identity import SemanticSpace
from rookery.overlay.state import Phase
from rookery.papers.seed_002.workload import StockMarket
from rookery.simulated.links import LinkConditions
from rookery.simulated.overlay import SimulatedOverlay

__all__ = ["churn", "crash", "join"]


def mode(options: argparse.Namespace) -> str:
    return " arc" if options.arc else ""


def join(options: argparse.Namespace) -> dict[int, float]:
    """One by one; the mean over all joins so far, and messages by kind."""
    sizes = options.peers or SIZES
    market, dice = market_of(options.alpha, 0), random.Random("join")
    overlay = SimulatedOverlay(
        seed=0,
        space=SemanticSpace(cell_count=market.cell_count),
        configuration=OverlayConfiguration(heartbeat=None, arc=options.arc),
    )
    means = {}
    for count in range(1, max(sizes) + 1):
        overlay.join(market.draw_interests(dice))
        overlay.settle()
        if count in sizes:
            total = sum(overlay.messages.values())
            means[count] = total / count
            kinds = ", ".join(f"{kind} {amount / count:.1f}" for kind, amount in overlay.messages.most_common())
            links = fmean(len(p.state.table.chosen) for p in overlay if p.state.phase is Phase.ACTIVE)
            print(
                f"N={count}: {total / count:.1f} messages per join (mean of all); links {links:.1f}; {kinds}",
                flush=True,
            )
    report(
        "after the last join",
        [publish(overlay, market, dice, [dice.randrange(max(sizes)) for _ in range(options.events)])],
    )
    return means


def dynamic_overlay(peers: int, seed: int, *, arc: bool) -> tuple[SimulatedOverlay, StockMarket, random.Random]:
    market, dice = StockMarket(), random.Random(f"dynamic {seed}")
    overlay = SimulatedOverlay(
        seed=seed,
        space=SemanticSpace(cell_count=market.cell_count),
        configuration=OverlayConfiguration(arc=arc),
        conditions=LinkConditions(latency=5_000, jitter=45_000, datagrams=True),
    )
    for _ in range(peers):
        overlay.join(market.draw_interests(dice))
        overlay.run(50_000)
    overlay.run(30 * SECOND)
    return overlay, market, dice


class Watch:
    """Events and who should get them: those who had their place when it was published and are still there."""

    def __init__(self, overlay: SimulatedOverlay) -> None:
        self.overlay = overlay
        self.events: list = []

    def publish(self, market: StockMarket, dice: random.Random) -> None:
        quote = market.draw_quote(dice)
        audience = self.overlay.audience(quote)
        self.events.append((self.overlay.publish(dice.choice(self.overlay.ready), quote), audience))

    def delivery(self) -> tuple[float, int]:
        wanted = missed = 0
        for event, audience in self.events:
            here = {node for node in audience if node in self.overlay.peers}
            wanted, missed = wanted + len(here), missed + len(here - set(self.overlay.deliveries[event]))
        return 1 - missed / max(1, wanted), wanted


def measure(overlay: SimulatedOverlay, market: StockMarket, dice: random.Random, events: int) -> tuple[float, int]:
    watch = Watch(overlay)
    for _ in range(events):
        watch.publish(market, dice)
        overlay.run(10_000)
    overlay.run(30 * SECOND)
    return watch.delivery()


def crash(options: argparse.Namespace) -> None:
    peers = (options.peers or [1024])[0]
    for seed in range(options.runs):
        overlay, market, dice = dynamic_overlay(peers, seed, arc=options.arc)
        overlay.crash(dice.sample(sorted(overlay.peers), int(0.3 * peers)))
        watch = Watch(overlay)
        for _ in range(options.events):
            watch.publish(market, dice)
        overlay.run(8 * SECOND)  # before anybody has noticed
        before = watch.delivery()[0]
        overlay.run(40 * SECOND)
        late = watch.delivery()[0]
        after, due = measure(overlay, market, dice, options.events)
        print(
            f"N={peers} seed={seed}{mode(options)}: 30 % crashed; events published then: {before:.4f} of deliveries",
            end="",
        )
        print(f" made in 8 s, {late:.4f} in 48 s; events published after repair: {after:.4f} of {due}", flush=True)


def churn(options: argparse.Namespace) -> None:
    peers = (options.peers or [1024])[0]
    for seed in range(options.runs):
        overlay, market, dice = dynamic_overlay(peers, seed, arc=options.arc)
        watch = Watch(overlay)
        due = 0.0
        for _ in range(options.minutes * 60):
            due += peers / 600
            while due >= 1:
                due -= 1
                victim = dice.choice(sorted(overlay.peers))
                overlay.crash([victim]) if dice.random() < options.crashes else overlay.leave(victim)
                overlay.join(market.draw_interests(dice))
            for _ in range(5):
                watch.publish(market, dice)
                overlay.run(SECOND // 5)
        overlay.run(60 * SECOND)
        flight, due = watch.delivery()
        rest, after = measure(overlay, market, dice, options.events)
        print(
            f"N={peers} seed={seed}{mode(options)}: 10 %/min, {options.minutes} min, {options.crashes:.0%} crashes: ",
            end="",
        )
        print(f"in flight {flight:.4f} of {due}, at rest {rest:.4f} of {after}; repeated {overlay.repeated}")
        print(f"    {dict(overlay.counters)}", flush=True)
