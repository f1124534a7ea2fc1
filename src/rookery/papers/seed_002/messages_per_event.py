"""Introduction and conclusion: low overhead, since no gossip is used; membership counted with the events.

Membership of the overlay is measured: everything that nodes send while nobody publishes. That of the others is the
least that they need with the same period: one exchange of views for a node that gossips (two messages), and one
heartbeat along each link of a mesh and to each contact of a hypercube.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import chart, lines
from rookery.papers.overlays import (
    baseline,
    configured,
    measure,
    measure_baseline,
    measure_membership,
    static,
)
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.overlay.configuration import SECOND

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

SYSTEMS = ["overlay", "hypercube", "gossip", "flooding"]
FULL = grid(mode="sound", system=SYSTEMS, peers=[64, 256], events=40, runs=2)
QUICK = grid(mode="sound", system=SYSTEMS, peers=[64, 128], events=20, runs=1)
PERIOD = 5
#: Events of a node in a second.
RATES = (0.0001, 0.001, 0.01, 0.1, 1.0)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Count the messages of an event, and those of a node in a second in which nothing is published."""
    name, peers, events = parameters["system"], parameters["peers"], parameters["events"]
    if name == "overlay":
        found = measure(*static(peers, seed, configuration=configured(parameters["mode"])), events=events)
        beating = configured(parameters["mode"], heartbeat=PERIOD * SECOND)
        membership = measure_membership(peers, seed, configuration=beating)
    else:
        system, market, dice = baseline(name, peers, seed)
        found = measure_baseline(system, market, dice, events=events)
        links = sum(one.spread.degree for one in system.peers)
        membership = (2 if name == "gossip" else links / peers) / PERIOD
    return [{column: found[column] for column in ("delivery", "messages_per_event")} | {"membership": membership}]


def _at(part: Table, rate: float) -> float:
    """Return what an event costs when each node publishes so many in a second."""
    return part.mean("messages_per_event") + part.mean("membership") / rate


def plot(table: Table) -> Any:
    """Draw messages for an event over how often a node publishes."""
    most = table.where(peers=table.most("peers"))
    figure, axes = chart(f"events of a node in a second, N = {table.most('peers'):,}", "messages for an event")
    rows = [
        {"system": name, "rate": rate, "cost": _at(part, rate)} for name, part in most.by("system") for rate in RATES
    ]
    lines(axes, Table(rows), x="rate", y="cost", by="system")
    axes.set_xscale("log")
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """With membership counted the overlay must send fewer than gossip, however often nodes publish."""
    most = table.where(peers=table.most("peers"))
    ours, gossip = most.where(system="overlay"), most.where(system="gossip")
    wins = [_at(ours, rate) < _at(gossip, rate) for rate in RATES]
    delivers = ours.mean("delivery") >= 0.9 * gossip.mean("delivery")
    saved = gossip.mean("messages_per_event") - ours.mean("messages_per_event")
    kept = ours.mean("membership") - gossip.mean("membership")
    verdict = Verdict.CONTRADICTED
    if delivers and any(wins):
        verdict = Verdict.REPRODUCED if all(wins) else Verdict.REGIME
    shown = ", ".join(
        f"{n} {p.mean('messages_per_event'):,.0f} and {p.mean('membership'):.1f}" for n, p in most.by("system")
    )
    return Judgment(
        verdict,
        f"N = {table.most('peers'):,}, for an event and for a node in a second: {shown}",
        f"Messages for an event, and for membership of a node in a second, at N = {table.most('peers'):,}: {shown}. An "
        f"event costs {saved:,.0f} fewer than by gossip with a fan-out of four, which delivers "
        f"{gossip.mean('delivery'):.1%} (the overlay {ours.mean('delivery'):.1%}). To keep the links costs {kept:.1f} "
        "more for each node and second than one exchange of views every five seconds, so that the overlay is the "
        f"cheaper one from one event in {saved / max(kept, 1e-9):,.0f} seconds for each node on.",
    )
