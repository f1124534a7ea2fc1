"""Below 40 subscriptions under a topic the matrix is faster than counting and index: in interpreted code."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import chart, lines
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.telemetry import (
    COMPILED,
    DOMAINS,
    INTERPRETED,
    alive,
    events,
    nanoseconds_each,
    subscriptions,
)
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "TIMES", "check", "judge", "measure", "plot", "run"]

SIZES = [5, 10, 20, 30, 40, 60, 80, 160, 320, 1000]
FULL = grid(subscriptions=SIZES, events=200, rounds=5, runs=5)
QUICK = grid(subscriptions=[5, 20, 40, 160], events=100, rounds=3, runs=1)
TIMES = ("ns",)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Time the plain algorithms."""
    return measure(INTERPRETED, parameters, seed)


def measure(algorithms: Mapping[str, Any], parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Time some algorithms in turn, on the same rows and events."""
    assert algorithms in (COMPILED, INTERPRETED)
    rows = subscriptions(parameters["subscriptions"], seed)
    codes, living = events(parameters["events"], seed), alive(rows)
    built = {name: build(rows, DOMAINS) for name, build in algorithms.items()}
    probes = {name: functools.partial(one.probe, codes, living) for name, one in built.items()}
    spent = nanoseconds_each(probes, events=len(codes), rounds=parameters["rounds"])
    return [{"algorithm": name, "ns": value} for name, value in spent.items()]


def plot(table: Table) -> Any:
    """Draw the times."""
    figure, axes = chart("subscriptions under the topic", "ns of CPU for an event")
    lines(axes, table, x="subscriptions", y="ns", by="algorithm")
    axes.set_xscale("log")
    axes.set_yscale("log")
    return figure


def _ratios(table: Table) -> dict[str, dict[int, float]]:
    """Return the time of each algorithm over that of the matrix, by size."""
    ratio: dict[str, dict[int, float]] = {"counting": {}, "index": {}, "scan": {}}
    for count, part in table.by("subscriptions"):
        mine = part.where(algorithm="matrix").mean("ns")
        for name, by_count in ratio.items():
            by_count[count] = part.where(algorithm=name).mean("ns") / mine
    return ratio


def _verdict(ratio: Mapping[str, Mapping[int, float]]) -> Verdict:
    """Up to 40 subscriptions the matrix must win against both; against counting alone it is a regime."""
    small = [count for count in ratio["counting"] if count <= 40]
    wins = {name: all(ratio[name][count] > 1 for count in small) for name in ("counting", "index")}
    if all(wins.values()):
        return Verdict.REPRODUCED
    return Verdict.REGIME if wins["counting"] else Verdict.CONTRADICTED


def judge(table: Table, form: str) -> Judgment:
    """Compare the matrix with counting and index below 40 and above, over all draws and for each."""
    ratio = _ratios(table)
    verdict = _verdict(ratio)
    each = [_verdict(_ratios(part)) for _, part in table.by("seed")]
    small = [count for count in ratio["counting"] if count <= 40]
    last = max(ratio["counting"])
    lost = [count for count in ratio["counting"] if min(ratio["counting"][count], ratio["index"][count]) < 1]
    turn = f"one of the two is faster at {', '.join(f'{count:,}' for count in lost)}" if lost else "neither is faster"
    shown = "; ".join(
        f"{name} {min(by[c] for c in small):.2f} to {max(by[c] for c in small):.2f}, {by[last]:.2f} at {last:,}"
        for name, by in ratio.items()
    )
    return Judgment(
        verdict,
        f"matrix against counting {ratio['counting'][40]:.2f}×, index {ratio['index'][40]:.2f}× at 40 ({form})",
        f"Time of each over the time of the matrix ({form}; above 1 the matrix is faster), up to 40 subscriptions and "
        f"at the largest: {shown}. The ratios change slowly with the size, and of the sizes measured {turn}. Taken one "
        f"by one, {each.count(verdict)} of {len(each)} draws of subscriptions give this verdict. Counting tests every "
        "distinct comparison once, the index searches sorted limits by attribute and operator.",
    )


def check(table: Table) -> Judgment:
    """Judge the interpreted form."""
    return judge(table, "interpreted")
