"""Section 2.4: systems whose brokers form a tree and match at each hop need O(N) for an event."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

from rookery.papers.broker_trees import BrokerTree
from rookery.papers.figures import chart, lines, reference
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

#: Nobody knows who wants what; one broker wants an event; a tenth; all.
WANTED = ["nothing is known", "by one", "by a tenth", "by all"]
FULL = grid(brokers=[16, 64, 256, 1024], wanted=WANTED, events=20, runs=10)
QUICK = grid(brokers=[16, 256], wanted=WANTED, events=10, runs=2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Send events over a random tree of brokers and count messages."""
    count, wanted, events = parameters["brokers"], parameters["wanted"], parameters["events"]
    tree = BrokerTree(count, random.Random(seed))
    share = {WANTED[1]: 1 / count, WANTED[2]: 0.1, WANTED[3]: 1.0}
    messages, reached = tree.flood(events) if wanted == WANTED[0] else tree.route(events, share[wanted])
    return [{"messages": messages / events, "reached": reached}]


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
