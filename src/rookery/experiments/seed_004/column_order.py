"""Rows and columns are ordered, the common ones first: how many evaluations does the order of the columns save?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.experiments.figures import chart, lines
from rookery.experiments.sweeps import grid
from rookery.experiments.table import Row, Table
from rookery.experiments.telemetry import ATTRIBUTES, alive, events, subscriptions
from rookery.experiments.verdicts import Judgment, Verdict
from rookery.matching.baselines.plain import PlainMatrix

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

SIZES = [5, 10, 20, 40, 80, 160, 320, 640, 1000]
FULL = grid(subscriptions=SIZES, limits=["shared", "distinct"], events=100, runs=5)
QUICK = grid(subscriptions=[5, 40, 160], limits=["shared", "distinct"], events=30, runs=2)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Match the same events with the columns as described, and as they come."""
    rows = subscriptions(parameters["subscriptions"], seed, limits=parameters["limits"])
    codes, living = events(parameters["events"], seed), alive(rows)
    found: list[Row] = []
    for order, common_first in (("common ones first", True), ("as they come", False)):
        one = PlainMatrix(rows, ATTRIBUTES, common_first=common_first)
        matches = len(one.probe(codes, living))
        found.append({"order": order, "tests": one.tests / parameters["events"], "matches": matches})
    return found


def plot(table: Table) -> Any:
    """Draw the evaluations."""
    figure, axes = chart("subscriptions under the topic", "predicates evaluated for an event")
    lines(axes, table.where(limits="shared"), x="subscriptions", y="tests", by="order")
    axes.set_xscale("log")
    axes.set_yscale("log")
    return figure


def check(table: Table) -> Judgment:
    """The order must save evaluations, and change no answer."""
    first, plain = (table.where(order=order) for order in ("common ones first", "as they come"))
    same = first.list("matches") == plain.list("matches")
    saved = {
        (limits, count): 1 - one.mean("tests") / plain.where(limits=limits, subscriptions=count).mean("tests")
        for limits, part in first.by("limits")
        for count, one in part.by("subscriptions")
    }
    shared = {count: value for (limits, count), value in saved.items() if limits == "shared"}
    most = max(shared)
    gains = [value > 0 for value in shared.values()]
    verdict = Verdict.REPRODUCED if all(gains) else Verdict.REGIME if any(gains) else Verdict.CONTRADICTED
    return Judgment(
        verdict if same else Verdict.CONTRADICTED,
        f"the order saves {shared[40]:.0%} of the evaluations at 40 subscriptions, {shared[most]:.0%} at {most:,}",
        "A failed predicate that many rows hold deletes many rows, so it pays to ask for it first: the order saves "
        + ", ".join(f"{value:.0%} at {count:,}" for count, value in shared.items())
        + f" where limits are shared; where each limit is its own, {saved['distinct', most]:.0%} at {most:,}, since no "
        "column is more common than another. The answers are the same.",
    )
