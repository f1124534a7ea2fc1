"""Introduction and conclusion: low overhead, since no gossip is used: messages for one event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.experiments.figures import chart, lines
from rookery.experiments.overlays import baseline, measure, measure_baseline, static
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.routing.overlay.configuration import OverlayConfiguration

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

SYSTEMS = ["overlay, each its arc", "overlay, flooding the cell", "hypercube", "gossip", "flooding"]
FULL = grid(system=SYSTEMS, peers=[64, 256, 1024], events=40, runs=3)
QUICK = grid(system=SYSTEMS, peers=[64, 256], events=20, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Publish the same kind of events in each system."""
    name, peers, events = parameters["system"], parameters["peers"], parameters["events"]
    if name.startswith("overlay"):
        configuration = OverlayConfiguration(heartbeat=None, arc=name == SYSTEMS[0])
        found = measure(*static(peers, seed, configuration=configuration), events=events)
    else:
        found = measure_baseline(*baseline(name, peers, seed), events=events)
    columns = ("delivery", "messages_per_event", "cell_false_positives")
    return [{column: found[column] for column in columns}]


def plot(table: Table) -> Any:
    """Draw messages over N."""
    figure, axes = chart("N, nodes", "messages for an event")
    lines(axes, table, x="peers", y="messages_per_event", by="system")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """The overlay must send fewer than gossip, and deliver more."""
    most = table.where(peers=table.most("peers"))
    cost = {name: part.mean("messages_per_event") for name, part in most.by("system")}
    delivery = {name: part.mean("delivery") for name, part in most.by("system")}
    holds = cost[SYSTEMS[1]] < cost["gossip"] and delivery[SYSTEMS[1]] == 1
    shown = ", ".join(f"{name} {value:,.0f}" for name, value in cost.items())
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"N = {table.most('peers'):,}: {shown}",
        f"Messages for an event at N = {table.most('peers'):,}, injection included: {shown}. Gossip with a fan-out of "
        f"four delivers {delivery['gossip']:.1%}, the overlay {delivery[SYSTEMS[1]]:.1%}. Heartbeats and joins are not "
        "counted here.",
    )
