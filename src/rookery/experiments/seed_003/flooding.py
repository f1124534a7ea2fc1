"""Section 2.4: systems whose brokers form a tree and match at each hop need O(N) for an event.

Each broker has one subscription, to a range of one attribute; `wanted` is the share of all brokers that want an event.
A link's table holds the subscriptions behind it, and an event crosses the link if one of them matches. With `wanted` 0
there are no tables and events go everywhere (`rookery.routing.flooding`): N − 1 messages, which holds by construction.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery import Schema
from rookery.experiments.figures import chart, lines, reference
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.routing.flooding import FloodingBroker

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

#: Nobody knows who wants what; one broker wants an event; a tenth; all.
WANTED = ["nothing is known", "by one", "by a tenth", "by all"]
FULL = grid(brokers=[16, 64, 256, 1024], wanted=WANTED, events=20, runs=10)
QUICK = grid(brokers=[16, 256], wanted=WANTED, events=10, runs=2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Send events over a random tree of brokers and count messages."""
    dice, count, wanted = random.Random(seed), parameters["brokers"], parameters["wanted"]
    parent = [0, *(dice.randrange(number) for number in range(1, count))]
    links: list[list[int]] = [[] for _ in range(count)]
    for number in range(1, count):
        links[number].append(parent[number])
        links[parent[number]].append(number)
    if wanted == WANTED[0]:
        starts = [dice.randrange(count) for _ in range(parameters["events"])]
        messages, came = _flood(links, starts)
        return [{"messages": messages / len(starts), "reached": came / len(starts) / count}]
    below = np.eye(count, dtype=bool)
    for number in range(count - 1, 0, -1):
        below[parent[number]] |= below[number]
    share = {WANTED[1]: 1 / count, WANTED[2]: 0.1, WANTED[3]: 1.0}[wanted]
    low = np.array([dice.random() * (1 - share) for _ in range(count)])
    if wanted == WANTED[1]:
        low = np.array(dice.sample([number / count for number in range(count)], count))
    messages = due = reached = 0
    for _ in range(parameters["events"]):
        x = share / 2 + dice.random() * (1 - share)
        match = (low <= x) & (x < low + share)
        came, waiting = {start := dice.randrange(count)}, [start]
        while waiting:
            here = waiting.pop()
            for there in links[here]:
                behind = below[there] if there != parent[here] else ~below[here]
                if there not in came and bool((match & behind).any()):
                    messages += 1
                    came.add(there)
                    waiting.append(there)
        due, reached = due + int(match.sum()), reached + sum(bool(match[number]) for number in came)
    return [{"messages": messages / parameters["events"], "reached": reached / max(1, due)}]


def _flood(links: list[list[int]], starts: list[int]) -> tuple[int, int]:
    schema, messages, reached = Schema(x=float), 0, 0
    brokers = [FloodingBroker(number, schema, peers) for number, peers in enumerate(links)]
    for start in starts:
        brokers[start].publish({"x": 1.0})
        waiting, came = [start], {start}
        while waiting:
            sender = waiting.pop()
            for receiver, message in brokers[sender].messages_to_send():
                messages += 1
                brokers[receiver].receive(message, sender, 0)
                waiting.append(receiver)
                came.add(receiver)
        reached += len(came)
    return messages, reached


def plot(table: Table) -> Any:
    """Draw messages over N."""
    figure, axes = chart("N, brokers", "messages for an event")
    lines(axes, table, x="brokers", y="messages", by="wanted")
    sizes = table.values("brokers")
    reference(axes, sizes, [size - 1 for size in sizes], "N − 1")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    return figure


def check(table: Table) -> Judgment:
    """Messages must grow as N wherever the subscribers are; every one must be reached."""
    least, most = table.least("brokers"), table.most("brokers")
    sent = {
        kind: [part.where(brokers=size).mean("messages") for size in (least, most)] for kind, part in table.by("wanted")
    }
    power = {kind: math.log(high / low) / math.log(most / least) for kind, (low, high) in sent.items()}
    linear = [kind for kind, value in power.items() if value > 0.85]
    if table.least("reached") < 1 or not {WANTED[0], WANTED[2], WANTED[3]} <= set(linear):
        verdict = Verdict.CONTRADICTED
    else:
        verdict = Verdict.REPRODUCED if WANTED[1] in linear else Verdict.REGIME
    shown = ", ".join(f"{high:,.0f} wanted {kind}" for kind, (_, high) in sent.items() if kind != WANTED[0])
    return Judgment(
        verdict,
        f"N = {most:,}: {shown} messages for an event; {sent[WANTED[0]][1]:,.0f} where {WANTED[0]}",
        f"With matching at each hop an event at N = {most:,} takes {shown}; the exponents of N are "
        + ", ".join(f"{value:.2f} ({kind})" for kind, value in power.items())
        + ". So it is O(N) if a share of all brokers want an event, which no router can avoid, since each of them has "
        "to be told. Wanted by one, it is the depth of the tree, about ln N here. Without tables it is N − 1, which "
        "holds by construction.",
    )
