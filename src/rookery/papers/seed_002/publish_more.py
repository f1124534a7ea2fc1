"""Section V: where events are published at a higher rate than nodes join, this system does better than Mirinae.

Overhead, for both systems alike: every message that does not bring an event to somebody who wants it. For the overlay
that is a join, and what an event costs beyond its deliveries (finding a first receiver, repetitions); for the hypercube
in Mirinae's style what an event costs beyond its deliveries. Its joins are not counted, which favors it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from rookery.papers.figures import chart, lines
from rookery.papers.overlays import baseline, configured, joined, measure, measure_baseline
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.overlay.overhead import crossover, join_overhead, relay_overhead

__all__ = ["FULL", "QUICK", "check", "equal_at", "plot", "run"]

RATIOS = (1, 2, 10, 100, 1000, 10_000)
FULL = grid(mode="sound", peers=[64, 256, 1024], bits=1024, events=100, runs=2)
QUICK = grid(mode="sound", peers=[64, 256], bits=1024, events=40, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Take a join and an event of each system by the formulas, and as they were counted."""
    peers, bits, events = parameters["peers"], parameters["bits"], parameters["events"]
    overlay, market, dice = joined(peers, seed, configuration=configured(parameters["mode"]))
    join = sum(overlay.messages.values()) / peers
    own = measure(overlay, market, dice, events=events)["overhead_per_event"]
    relayed = measure_baseline(*baseline("hypercube", peers, seed), events=events)["overhead_per_event"]
    by_formula = {
        "join": join_overhead(bit_count=bits, peer_count=peers, join_rate=1.0),
        "own_event": 0.0,
        "event": relay_overhead(bit_count=bits, peer_count=peers, publish_rate=1.0),
    }
    return [
        {"source": "formula", **by_formula},
        {"source": "counted", "join": join, "own_event": own, "event": relayed},
    ]


def equal_at(part: Table) -> float:
    """Return λpub/λjoin at which both systems have the same overhead; infinite where the overlay never has less."""
    saved = part.mean("event") - part.mean("own_event")
    return part.mean("join") / saved if saved > 0 else inf


def plot(table: Table) -> Any:
    """Draw both overheads over λpub/λjoin, by formula and as counted."""
    figure, axes = chart("λpub / λjoin", "messages for one join and the events beside it")
    last = table.where(peers=table.most("peers"))
    rows = [
        {"line": f"{system}, {source}", "ratio": ratio, "messages": join + ratio * event}
        for source, part in last.by("source")
        for system, join, event in (
            ("overlay", part.mean("join"), part.mean("own_event")),
            ("Mirinae", 0.0, part.mean("event")),
        )
        for ratio in RATIOS
    ]
    lines(axes, Table(rows), x="ratio", y="messages", by="line")
    axes.set_xscale("log")
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """Above a ratio of one the overlay must have the smaller overhead, at every size, by formula and as counted."""
    equal = {source: {size: equal_at(one) for size, one in part.by("peers")} for source, part in table.by("source")}
    holds = [ratio <= 1 for sizes in equal.values() for ratio in sizes.values()]
    last = table.where(peers=table.most("peers"), source="counted")
    threshold = crossover(bit_count=table.least("bits"))
    shown = ", ".join(f"{ratio:.2f} at N = {size:,}" for size, ratio in equal["counted"].items())
    return Judgment(
        Verdict.REPRODUCED if all(holds) else Verdict.REGIME if any(holds) else Verdict.CONTRADICTED,
        f"equal at λpub/λjoin = {max(equal['formula'].values()):,.0f} by the formulas; as counted {shown}",
        f"By the seed's own formulas a higher rate of events is not enough: the two are equal at {threshold:,.0f}·k "
        "events for each join, and between 1 and that Mirinae has less overhead. As counted, the overlay's own events "
        f"included, they are equal at {shown} (inf: never). At the largest size a join costs {last.mean('join'):.0f} "
        f"messages, an event {last.mean('own_event'):.0f} beyond its deliveries here and {last.mean('event'):.0f} in a "
        "hypercube of the same identities.",
    )
