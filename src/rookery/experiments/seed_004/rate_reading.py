"""The abstract says 40/s. Read as a rate: does the matrix win only while few subscriptions arrive each second?"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from rookery import Schema
from rookery.experiments.figures import chart, lines
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.matching import matcher as make_matcher

__all__ = ["FULL", "QUICK", "TIMES", "check", "plot", "run"]

FULL = grid(engine=["matrix", "counting", "index"], held=[40, 400], arrivals=200, events=400, runs=5)
QUICK = grid(engine=["matrix", "counting", "index"], held=40, arrivals=20, events=50, runs=1)
TIMES = ("arrival_us", "event_us")
RATES = (1, 10, 40, 100, 400, 1000)
#: Events in each second, beside the arrivals.
EVENT_RATE = 1000


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Time arrivals and matches of the whole engine, text to answer."""
    matcher = make_matcher(Schema(a=float, b=float, c=float), engine=parameters["engine"])
    for number in range(parameters["held"]):
        matcher.add(number, f"a > {number % 20} AND b < {number % 13}")
    event = {"a": float(seed), "b": 5.0, "c": 1.0}
    matcher.match(event)
    began = time.process_time()
    for number in range(parameters["arrivals"]):
        matcher.add(1_000_000 + number, f"a > {number % 20} AND c < {number % 13}")
    arrival = (time.process_time() - began) / parameters["arrivals"]
    began = time.process_time()
    for _ in range(parameters["events"]):
        matcher.match(event)
    spent = (time.process_time() - began) / parameters["events"]
    return [{"arrival_us": 1e6 * arrival, "event_us": 1e6 * spent}]


def _cores(part: Table, rate: int) -> float:
    return (rate * part.mean("arrival_us") + EVENT_RATE * part.mean("event_us")) / 1e6


def plot(table: Table) -> Any:
    """Draw the share of a core."""
    figure, axes = chart("subscriptions that arrive each second", "cores in use, with 1,000 events a second")
    held = table.where(held=40)
    rows = [
        {"rate": rate, "engine": name, "cores": _cores(part, rate)}
        for name, part in held.by("engine")
        for rate in RATES
    ]
    lines(axes, Table(rows), x="rate", y="cores", by="engine")
    axes.set_xscale("log")
    return figure


def check(table: Table) -> Judgment:
    """If the rate decided, forty arrivals would have to weigh something."""
    held = table.where(held=40)
    cores = {name: {rate: _cores(part, rate) for rate in RATES} for name, part in held.by("engine")}
    share = 40 * held.where(engine="matrix").mean("arrival_us") / 1e6
    spread = {
        rate: max(one[rate] for one in cores.values()) / min(one[rate] for one in cores.values()) for rate in RATES
    }
    decides = share > 0.2  # arrivals weigh something beside the events
    return Judgment(
        Verdict.REPRODUCED if decides else Verdict.CONTRADICTED,
        f"40 arrivals a second take {share:.2%} of a core",
        f"Forty subscriptions a second cost the matrix {share:.2%} of one core, parsing included: up to 128 rows each "
        "builds it anew, beyond new rows wait beside it until they are a quarter. The engines differ by a factor of "
        f"{spread[40]:.2f} at 40 a second and {spread[1000]:.2f} at 1,000; no rate near 40 decides between them. So "
        "“40/s” is read as 40 subscriptions under one topic in the other claims.",
    )
