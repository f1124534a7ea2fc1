"""Section 2.4: systems that route along a tree of brokers need O(N) for an event."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from rookery import Schema
from rookery.experiments.figures import chart, lines, reference
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.routing.flooding import FloodingBroker

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(brokers=[16, 64, 256, 1024], events=3, runs=10)
QUICK = grid(brokers=[16, 64, 256], events=2, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Send events over a random tree of brokers and count messages."""
    dice, count = random.Random(seed), parameters["brokers"]
    links: list[list[int]] = [[] for _ in range(count)]
    for number in range(1, count):
        parent = dice.randrange(number)
        links[number].append(parent)
        links[parent].append(number)
    schema = Schema(x=float)
    brokers = [FloodingBroker(number, schema, peers) for number, peers in enumerate(links)]
    messages = 0
    for _ in range(parameters["events"]):
        start = dice.randrange(count)
        brokers[start].publish({"x": 1.0})
        waiting = [start]
        while waiting:
            sender = waiting.pop()
            for receiver, message in brokers[sender].messages_to_send():
                messages += 1
                brokers[receiver].receive(message, sender, 0)
                waiting.append(receiver)
    return [{"messages": messages / parameters["events"]}]


def plot(table: Table) -> Any:
    """Draw messages over N."""
    figure, axes = chart("N, brokers", "messages for an event")
    lines(axes, table, x="brokers", y="messages", label="along the tree")
    sizes = table.values("brokers")
    reference(axes, sizes, [size - 1 for size in sizes], "N − 1")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    return figure


def check(table: Table) -> Judgment:
    """Messages must be N - 1."""
    holds = all(row["messages"] == row["brokers"] - 1 for row in table)
    most = table.most("brokers")
    return Judgment(
        Verdict.REPRODUCED if holds else Verdict.CONTRADICTED,
        f"N = {most:,}: {table.where(brokers=most).mean('messages'):,.0f} messages for an event",
        "Without knowledge of where subscribers are, an event crosses every link of the tree: N − 1 messages. Systems "
        "that match at each hop prune this, down to the links that lead to a subscriber; O(N) is their worst case.",
    )
