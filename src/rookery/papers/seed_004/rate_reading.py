"""The abstract says 40/s. Read as a rate: does the matrix win only while few subscriptions arrive each second?

It has cheaper events and dearer arrivals than counting and index, or it has not; if so, there is a rate of arrivals at
which they are even, and it is so many for each thousand events. The seed gives no rate of events; here it is a thousand
a second.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from rookery import Schema
from rookery.papers.figures import chart, lines
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.matching import matcher as make_matcher

__all__ = ["FULL", "QUICK", "TIMES", "check", "plot", "run"]

FULL = grid(engine=["matrix", "counting", "index"], held=40, events=400, rounds=10, runs=5)
QUICK = grid(engine=["matrix", "counting", "index"], held=40, events=400, rounds=5, runs=1)
TIMES = ("arrival_us", "event_us")
RATES = (1, 10, 40, 100, 400)
#: Events in each second, beside the arrivals.
EVENT_RATE = 1000
STATED = 40


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Time arrivals and matches of the whole engine, text to answer; the least of some rounds."""
    event = {"a": float(seed % 20), "b": 5.0, "c": 1.0}
    arrival = spent = float("inf")
    for _ in range(parameters["rounds"]):
        matcher = make_matcher(Schema(a=float, b=float, c=float), engine=parameters["engine"])
        for number in range(parameters["held"]):
            matcher.add(number, f"a > {number % 20} AND b < {number % 13}")
        matcher.match(event)
        began = time.process_time()
        for _ in range(parameters["events"]):
            matcher.match(event)
        spent = min(spent, (time.process_time() - began) / parameters["events"])
        began = time.process_time()
        for number in range(STATED):
            matcher.add(1_000_000 + number, f"a > {number % 20} AND c < {number % 13}")
        matcher.match(event)
        arrival = min(arrival, (time.process_time() - began) / STATED)
    return [{"arrival_us": 1e6 * arrival, "event_us": 1e6 * spent}]


def plot(table: Table) -> Any:
    """Draw the share of a core."""
    figure, axes = chart("subscriptions that arrive each second", "cores in use, with 1,000 events a second")
    rows = [
        {
            "rate": rate,
            "engine": name,
            "cores": (rate * part.mean("arrival_us") + EVENT_RATE * part.mean("event_us")) / 1e6,
        }
        for name, part in table.by("engine")
        for rate in RATES
    ]
    lines(axes, Table(rows), x="rate", y="cores", by="engine")
    axes.set_xscale("log")
    return figure


def check(table: Table) -> Judgment:
    """There must be a rate up to which the matrix is the cheapest, and it should be forty."""
    mean = {name: (part.mean("arrival_us"), part.mean("event_us")) for name, part in table.by("engine")}
    mine = mean.pop("matrix")
    dearer = {name: mine[0] - arrival for name, (arrival, _) in mean.items()}
    cheaper = {name: event - mine[1] for name, (_, event) in mean.items()}
    if min(*dearer.values(), *cheaper.values()) > 0:
        even = min(EVENT_RATE * cheaper[name] / dearer[name] for name in mean)
        verdict = Verdict.REPRODUCED if abs(even / STATED - 1) < 0.2 else Verdict.SHAPE
        figure = f"the matrix is the cheapest up to {even:.0f} arrivals for each {EVENT_RATE:,} events"
        reading = f"40 a second would be so at {STATED / even * EVENT_RATE:,.0f} events a second"
    else:
        verdict, figure = Verdict.CONTRADICTED, "no rate of arrivals decides between the engines"
        reading = "so 40 a second cannot be where they are even"
    shown = ", ".join(f"{name} {arrival:.0f} and {event:.1f}" for name, (arrival, event) in mean.items())
    return Judgment(
        verdict,
        figure,
        f"With {table.least('held')} subscriptions an arrival takes the matrix {mine[0]:.0f} µs, parsing included, and "
        f"an event {mine[1]:.1f} µs, in a call that takes one event; {shown}. A small matrix is built anew for every "
        f"arrival. In short: {figure}; {reading}. The seed gives no rate of events, so in the other claims “40/s” is "
        "read as 40 subscriptions under one topic.",
    )
