"""How many predicates each algorithm evaluates for an event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import chart, lines
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.telemetry import DOMAINS, INTERPRETED, alive, events, subscriptions
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(subscriptions=[5, 10, 20, 40, 80, 160, 320, 640, 1000], events=100, limits=["shared", "distinct"], runs=5)
QUICK = grid(subscriptions=[5, 20, 40, 160, 640], events=30, limits=["shared", "distinct"], runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Count the evaluations of the plain algorithms."""
    rows = subscriptions(parameters["subscriptions"], seed, limits=parameters["limits"])
    codes, living = events(parameters["events"], seed), alive(rows)
    found: list[Row] = []
    for name, build in INTERPRETED.items():
        one = build(rows, DOMAINS)
        one.probe(codes, living)
        found.append({"algorithm": name, "tests": one.tests / parameters["events"]})
    return found


def plot(table: Table) -> Any:
    """Draw the evaluations."""
    figure, axes = chart("subscriptions under the topic", "predicates evaluated for an event")
    lines(axes, table.where(limits="shared"), x="subscriptions", y="tests", by="algorithm")
    axes.set_xscale("log")
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """The matrix must evaluate fewer than counting and fewer than the scan."""
    shared = table.where(limits="shared")
    tests = {
        count: {name: one.mean("tests") for name, one in part.by("algorithm")}
        for count, part in shared.by("subscriptions")
    }
    below = {
        name: [count for count, one in tests.items() if one["matrix"] < one[name]]
        for name in ("counting", "index", "scan")
    }
    forty, most = tests[40], tests[max(tests)]
    everywhere = all(len(counts) == len(tests) for counts in below.values())
    against = [name for name, counts in below.items() if len(counts) == len(tests)]
    verdict = Verdict.REPRODUCED if everywhere else Verdict.REGIME if "counting" in against else Verdict.CONTRADICTED
    index = f"up to {max(below['index']):,} subscriptions" if below["index"] else "nowhere"
    return Judgment(
        verdict,
        f"40 subscriptions: {forty['matrix']:.0f} of {forty['counting']:.0f} distinct predicates; "
        f"{max(tests):,}: {most['matrix']:.0f} of {most['counting']:.0f}",
        f"With 40 subscriptions the matrix evaluates {forty['matrix']:.0f} predicates for an event, counting "
        f"{forty['counting']:.0f}, the index {forty['index']:.0f} and the scan {forty['scan']:.0f}; with "
        f"{max(tests):,} it is {most['matrix']:.0f}, {most['counting']:.0f}, {most['index']:.0f} and "
        f"{most['scan']:.0f}; of the index it is what its searches compare and find. Fewer than the counting method at "
        f"every size; fewer than the index {index}.",
    )
