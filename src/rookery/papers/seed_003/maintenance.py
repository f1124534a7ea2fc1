"""Section 2.3: heartbeats keep the routing tables, splits and merges the queues, while brokers come and go."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from rookery import Schema
from rookery.brokers.configuration import BrokerConfiguration
from rookery.papers.figures import charts, lines
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.simulated.brokers import SimulatedBrokers
from rookery.space.axes import Axis, EventSpace
from rookery.space.zones import inside

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(change=["join", "leave", "crash"], brokers=64, changed=[0.1, 0.3, 0.5], events=200, runs=3)
QUICK = grid(change=["join", "leave", "crash"], brokers=12, changed=[0.25, 0.5], events=40, runs=1)
SECOND = 1_000_000


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Let brokers come or go, a second between two of them; then look at every queue, and publish."""
    space = EventSpace(Schema(x=float, y=float), [Axis("x", 0, 1), Axis("y", 0, 1)])
    network, dice = SimulatedBrokers(BrokerConfiguration(space=space), seed=seed), random.Random(f"maintenance {seed}")
    for _ in range(parameters["brokers"]):
        network.join()
        network.run(SECOND)
    network.run(120 * SECOND)
    for _ in range(round(parameters["changed"] * parameters["brokers"])):
        if parameters["change"] == "join":
            network.join()
        else:
            getattr(network, parameters["change"])(dice.choice(sorted(network.brokers)))
        network.run(SECOND if parameters["change"] != "crash" else 30 * SECOND)
    network.run(300 * SECOND)
    zones = [owned for broker in network.brokers.values() for owned in broker.owned.values()]
    entries = [(zone, held) for owned in zones for level in owned.levels[1:] for zone, held in level.items()]
    homes = {owned.ownership.owner: owned.path for owned in zones}
    right = sum(any(inside(homes.get(ownership.owner, ()), zone) for ownership in held) for zone, held in entries)
    for number, broker in enumerate(sorted(network.brokers)):
        network.subscribe(broker, f"s{number}", f"x < {(number + 1) / len(network.brokers)}")
    network.run(10 * SECOND)
    count, due = len(network.brokers), 0
    for _ in range(parameters["events"]):
        event = {"x": dice.random(), "y": dice.random()}
        due += sum(event["x"] < (number + 1) / count for number in range(count))
        network.publish(dice.choice(sorted(network.brokers)), event)
    network.run(30 * SECOND)
    return [{"entries": len(entries), "right": right / len(entries), "due": due, "delivered": len(network.delivered)}]


def plot(table: Table) -> Any:
    """Draw the state of the queues, and what is delivered."""
    figure, (left, right) = charts(
        ("share of the brokers that came or went", "entries of the queues with a resident of the zone"),
        ("share of the brokers that came or went", "deliveries that are made"),
    )
    shares = Table([{**row, "share": row["delivered"] / row["due"]} for row in table])
    for axes, column in ((left, "right"), (right, "share")):
        lines(axes, shares, x="changed", y=column, by="change")
        axes.set_ylim(0, 1.05)
    return figure


def check(table: Table) -> Judgment:
    """Nearly every entry must name a resident, and every event must arrive."""
    right, due, made = table.mean("right"), table.total("due"), table.total("delivered")
    return Judgment(
        Verdict.REPRODUCED if made == due and right > 0.95 else Verdict.CONTRADICTED,
        f"{made:,} of {due:,} deliveries made; {right:.1%} of the queues' entries name a resident",
        f"Five minutes after up to {table.most('changed'):.0%} of the brokers have come, left or crashed, {right:.1%} "
        f"of all entries of the queues name a broker that lives in the zone, and {made:,} of {due:,} deliveries are "
        "made. Crashes are half a minute apart here, so that each is noticed before the next.",
    )
