"""The interest-oriented overlay: static and dynamic curves, paper mode, baselines, overhead, a hundred thousand peers.

python -m benchmarks overlay PART [--runs R] [--peers N ...] [--events E]; parts: static, pareto, paper, baselines,
join, crash, churn, overhead, scale. Counts are exact and depend on the seed alone; only `scale` reports time and
memory.
"""

from __future__ import annotations

import argparse
import gc
import random
import resource
import time
from statistics import fmean

from rookery.network.simulated_baselines import SimulatedBaseline
from rookery.network.simulated_overlay import SimulatedOverlay
from rookery.routing.overlay.baselines import build_hypercube, build_mesh
from rookery.routing.overlay.configuration import SECOND, OverlayConfiguration
from rookery.routing.overlay.identity import SemanticSpace
from rookery.routing.overlay.overhead import crossover, join_overhead, relay_overhead, unwanted_probability
from rookery.routing.overlay.selection import Rule
from rookery.routing.overlay.state import Phase
from rookery.routing.overlay.workload import StockMarket

__all__ = ["main"]

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
    """Let each publish once; return delivery, depth, links, false positives and messages."""
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
    tables = [
        (len(p.state.table.chosen), 4 * len(p.descriptor.cells) + 1) for p in overlay if p.state.phase is Phase.ACTIVE
    ]
    cell, bloom = overlay.notes["false positive: cell"], overlay.notes["false positive: bloom"]
    received = max(1, len(hops) + cell + bloom)
    return {
        "delivery": 1 - missed / max(1, wanted),
        "depth": fmean(hops or [0]),
        "deepest": max(hops or [0]),
        "links": fmean(size for size, _ in tables),
        "most": max(size for size, _ in tables),
        "of bound": max(size / bound for size, bound in tables),
        "FP cell": cell / received,
        "FP bloom": bloom / received,
        "msgs/recv": spread / max(1, len(hops)),
        "primaries": len(tables),
        "no entry": overlay.notes["injection given up"],
        "repeated": overlay.repeated,
    }


def report(label: str, rows: list[dict[str, float]]) -> None:
    pooled = {
        key: (max if key in ("deepest", "most", "of bound", "repeated") else fmean)([row[key] for row in rows])
        for key in rows[0]
    }
    print(
        f"{label:<26}"
        + "  ".join(
            f"{key} {value:.4f}" if key in ("delivery", "FP cell", "FP bloom", "of bound") else f"{key} {value:.2f}"
            for key, value in pooled.items()
        ),
        flush=True,
    )


def static(options: argparse.Namespace) -> None:
    for peers in options.peers or SIZES:
        rows = []
        for seed in range(options.runs):
            overlay, market, dice = static_overlay(peers, seed, arc=options.arc)
            rows.append(publish(overlay, market, dice, [dice.randrange(peers) for _ in range(options.events)]))
        report(f"N={peers} runs={options.runs}{' arc' if options.arc else ''}", rows)


def pareto(options: argparse.Namespace) -> None:
    """The seed's set-up: 4000 nodes, none of which publishes more than 10 events."""
    peers = (options.peers or [4000])[0]
    for alpha in (None, 1.0, 1.5, 2.0, 3.0, 4.0):
        rows = []
        for seed in range(options.runs):
            overlay, market, dice = static_overlay(peers, seed, alpha=alpha, arc=True)
            publishers = dice.sample([node for node in range(peers) for _ in range(10)], options.events)
            rows.append(publish(overlay, market, dice, publishers))
        report(f"N={peers} alpha={alpha or 'uniform'} runs={options.runs}", rows)


def paper(options: argparse.Namespace) -> None:
    """The printed text beside the sound reading, on the same peers and events."""
    peers = (options.peers or [1024])[0]
    for alpha in (None, 1.5):
        for hash_count in (1, 2, 4):
            for name, configuration in (
                ("sound", OverlayConfiguration(heartbeat=None)),
                ("paper", OverlayConfiguration.paper(heartbeat=None)),
                ("paper + reset", OverlayConfiguration.paper(heartbeat=None, rule=Rule(by_cells=False))),
                ("paper, one way", OverlayConfiguration.paper(heartbeat=None, both_ways=False)),
            ):
                rows = []
                for seed in range(options.runs):
                    overlay, market, dice = static_overlay(
                        peers, seed, alpha=alpha, hash_count=hash_count, configuration=configuration
                    )
                    rows.append(publish(overlay, market, dice, [dice.randrange(peers) for _ in range(options.events)]))
                report(f"{alpha or 'uniform'} k={hash_count} {name}", rows)


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
    idle = run.notes["uninterested"] + run.notes["relay"]
    return {
        "delivery": reached / max(1, wanted),
        "depth": fmean(hops or [0]),
        "messages/event": run.messages / events,
        "uninterested/event": idle / events,
        "uninterested share of N": idle / events / len(interests),
        "msgs/recv": run.messages / max(1, reached),
    }


def join(options: argparse.Namespace) -> dict[int, float]:
    """One by one; the mean over all joins so far, and messages by kind."""
    sizes = options.peers or SIZES
    market, dice = market_of(options.alpha, 0), random.Random("join")
    overlay = SimulatedOverlay(
        seed=0, space=SemanticSpace(cell_count=market.cell_count), configuration=OverlayConfiguration(heartbeat=None)
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


def dynamic_overlay(peers: int, seed: int) -> tuple[SimulatedOverlay, StockMarket, random.Random]:
    market, dice = StockMarket(), random.Random(f"dynamic {seed}")
    overlay = SimulatedOverlay(
        seed=seed, space=SemanticSpace(cell_count=market.cell_count), shortest_delay=5_000, longest_delay=50_000
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
        overlay, market, dice = dynamic_overlay(peers, seed)
        overlay.crash(dice.sample(sorted(overlay.peers), int(0.3 * peers)))
        watch = Watch(overlay)
        for _ in range(options.events):
            watch.publish(market, dice)
        overlay.run(8 * SECOND)  # before anybody has noticed
        before = watch.delivery()[0]
        overlay.run(40 * SECOND)
        late = watch.delivery()[0]
        after, due = measure(overlay, market, dice, options.events)
        print(f"N={peers} seed={seed}: 30 % crashed at once; events published then: {before:.4f} of deliveries", end="")
        print(f" made in 8 s, {late:.4f} in 48 s; events published after repair: {after:.4f} of {due}", flush=True)


def churn(options: argparse.Namespace) -> None:
    peers = (options.peers or [1024])[0]
    for seed in range(options.runs):
        overlay, market, dice = dynamic_overlay(peers, seed)
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
            f"N={peers} seed={seed}: 10 % per minute for {options.minutes} min, {options.crashes:.0%} crashes: ", end=""
        )
        print(f"in flight {flight:.4f} of {due}, at rest {rest:.4f} of {after}; repeated {overlay.repeated}")
        print(f"    {dict(overlay.notes)}", flush=True)


def overhead(options: argparse.Namespace) -> None:
    """Section V: formulas, then the measured messages, with the ratio of publish to join rate where they cross."""
    p = unwanted_probability(1024)
    print(f"formula: p = {p:.4f}; crossover λpub/λjoin = k·d/(2p) = {crossover(bit_count=1024):.0f}·k")
    for peers in SIZES:  # the seed's Figure 6(a) fixes p·λpub / (k·λjoin·d/2) = 0.7
        ours = join_overhead(bit_count=1024, peer_count=peers, join_rate=1 / (0.7 * 512))
        theirs = relay_overhead(bit_count=1024, peer_count=peers, publish_rate=1 / p)
        print(f"  N={peers}: at Figure 6(a)'s ratio 0.7, p·λpub = 1: overlay {ours:.1f}, Mirinae {theirs:.1f}")
    joins = join(argparse.Namespace(peers=options.peers or SIZES, alpha=None, events=50))
    for peers, per_join in joins.items():
        market, dice = StockMarket(), random.Random("overhead")
        interests = [market.draw_interests(dice) for _ in range(peers)]
        cube = run_baseline("hypercube", market, interests, dice, options.events)
        overlay, market, dice = static_overlay(peers, 0, arc=True)
        mine = publish(overlay, market, dice, [dice.randrange(peers) for _ in range(options.events)])
        kinds = ("Event", "RingEvent", "Lookup", "Contacts", "Inject", "Injected")
        per_event = sum(overlay.messages[kind] for kind in kinds) / options.events
        theirs, idle = cube["messages/event"], cube["uninterested/event"]
        gain = theirs - per_event
        crossing = f"{per_join / gain:.1f}" if gain > 0 else "none: the hypercube sends less"
        print(f"N={peers}: {per_join:.1f} messages per join; per event: overlay (arc, injection included) ", end="")
        print(f"{per_event:.1f}, hypercube {theirs:.1f} with {idle:.1f} receipts by peers that do not want it ", end="")
        print(f"(delivery {mine['delivery']:.4f} / {cube['delivery']:.4f})")
        print(f"    crossover λpub/λjoin: joins against such receipts {per_join / idle:.2f}; all messages {crossing}")


def scale(options: argparse.Namespace) -> None:
    peers = (options.peers or [100_000])[0]
    gc.disable()
    before, begun = _resident(), time.perf_counter()
    overlay, market, dice = static_overlay(peers, 0, window=options.window, arc=True)
    built = time.perf_counter() - begun
    print(
        f"N={peers}: tables built in {built:.0f} s; {(_resident() - before) / peers / 1024:.1f} KiB resident per peer",
        flush=True,
    )
    begun = time.perf_counter()
    report(
        f"N={peers} window={options.window}",
        [publish(overlay, market, dice, [dice.randrange(peers) for _ in range(options.events)])],
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{options.events} events in {time.perf_counter() - begun:.0f} s; peak {peak:.0f} MiB")


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def main(arguments: list[str]) -> int:
    parts = {f.__name__: f for f in (static, pareto, paper, baselines, join, crash, churn, overhead, scale)}
    parser = argparse.ArgumentParser(prog="python -m benchmarks overlay", description=__doc__)
    parser.add_argument("part", choices=parts)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--peers", type=int, nargs="*")
    parser.add_argument("--events", type=int, default=300)
    parser.add_argument("--alpha", type=float)
    parser.add_argument("--minutes", type=int, default=3)
    parser.add_argument("--crashes", type=float, default=0.5)
    parser.add_argument("--window", type=int, default=24)
    parser.add_argument("--arc", action="store_true")
    options = parser.parse_args(arguments)
    parts[options.part](options)
    return 0
