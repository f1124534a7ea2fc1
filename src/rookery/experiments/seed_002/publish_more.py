"""Section V: where events are published at a higher rate than nodes join, this system does better than Mirinae."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.experiments.figures import chart, lines
from rookery.experiments.overlays import baseline, joined, measure_baseline
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.routing.overlay.overhead import crossover, join_overhead, relay_overhead

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

RATIOS = (1, 2, 10, 100, 1000, 10_000)
FULL = grid(peers=[256, 1024], bits=1024, events=100, runs=2)
QUICK = grid(peers=[64, 128], bits=1024, events=20, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Take a join and an event of each system by the formulas, and as they were counted."""
    peers, bits = parameters["peers"], parameters["bits"]
    overlay, _, _ = joined(peers, seed)
    relayed = measure_baseline(*baseline("hypercube", peers, seed), events=parameters["events"])
    costs = {
        "formula": (
            join_overhead(bit_count=bits, peer_count=peers, join_rate=1.0),
            relay_overhead(bit_count=bits, peer_count=peers, publish_rate=1.0),
        ),
        "counted": (sum(overlay.messages.values()) / peers, relayed["uninterested_per_event"]),
    }
    return [{"source": name, "join": join, "event": event} for name, (join, event) in costs.items()]


def plot(table: Table) -> Any:
    """Draw both overheads over λpub/λjoin, by formula and as counted."""
    figure, axes = chart("λpub / λjoin", "messages for one join and the events beside it")
    last = table.where(peers=table.most("peers"))
    rows = [
        {"line": f"{system}, {source}", "ratio": ratio, "messages": cost * (ratio if system == "Mirinae" else 1)}
        for source, part in last.by("source")
        for system, cost in (("overlay", part.mean("join")), ("Mirinae", part.mean("event")))
        for ratio in RATIOS
    ]
    lines(axes, Table(rows), x="ratio", y="messages", by="line")
    axes.set_xscale("log")
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """Above a ratio of one the overlay must have the smaller overhead."""
    equal = {
        source: max(one.mean("join") / one.mean("event") for _, one in part.by("peers"))
        for source, part in table.by("source")
    }
    holds = [source for source, ratio in equal.items() if ratio <= 1]
    last = table.where(peers=table.most("peers"), source="counted")
    threshold = crossover(bit_count=table.least("bits"))
    verdict = Verdict.REPRODUCED if len(holds) == 2 else Verdict.REGIME if holds else Verdict.CONTRADICTED
    return Judgment(
        verdict,
        f"equal at λpub/λjoin = {equal['formula']:,.0f} by the formulas, at {equal['counted']:.2f} as counted",
        f"By the seed's own formulas a higher rate of events is not enough: the two are equal at {threshold:,.0f}·k "
        "events for each join, and between 1 and that Mirinae has less overhead. As counted here the statement is "
        f"true: at N = {table.most('peers'):,} a join costs {last.mean('join'):.0f} messages and an event in a "
        f"hypercube of the same identities {last.mean('event'):.0f} unwanted receipts, which is equal at "
        f"{equal['counted']:.2f} events for each join.",
    )
