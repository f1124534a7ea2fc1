"""Columns are ordered, those that most subscriptions have first: how many evaluations does that save?

The seed gives no rule for columns that equally many subscriptions have, and where limits differ nearly all are such.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rookery.papers.figures import charts, lines
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.telemetry import DOMAINS, alive, events, subscriptions
from rookery.papers.verdicts import Judgment, Verdict
from rookery.matching.baselines.plain import PlainMatrix

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

SIZES = [5, 10, 20, 40, 80, 160, 320, 640, 1000]
FULL = grid(subscriptions=SIZES, limits=["shared", "distinct"], events=100, runs=5)
QUICK = grid(subscriptions=[40, 160, 320], limits=["shared", "distinct"], events=20, runs=4)
ORDERS: dict[str, Callable[[int, int], Any]] = {
    "common first": lambda count, first: (-count, first),
    "common first, ties by limit": lambda count, first: -count,
    "as they come": lambda count, first: first,
}


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Match the same events with the columns in each order."""
    rows = subscriptions(parameters["subscriptions"], seed, limits=parameters["limits"])
    codes, living = events(parameters["events"], seed), alive(rows)
    found: list[Row] = []
    for order, rank in ORDERS.items():
        one = PlainMatrix(rows, DOMAINS, rank=rank)
        matches = len(one.probe(codes, living))
        found.append({"order": order, "tests": one.tests / parameters["events"], "matches": matches})
    return found


def _savings(table: Table) -> Table:
    """Return what each order saves against the columns as they come, by limits and size."""
    rows: list[Row] = []
    for limits, part in table.by("limits"):
        for count, one in part.by("subscriptions"):
            plain = one.where(order="as they come").mean("tests")
            for order, same in one.by("order"):
                saved = 1 - same.mean("tests") / plain
                rows.append({"limits": limits, "subscriptions": count, "order": order, "saved": saved})
    return Table(rows)


def plot(table: Table) -> Any:
    """Draw the savings."""
    labels = ("subscriptions under the topic", "evaluations saved, as a share")
    figure, axes = charts(labels, labels, titles=["limits from a catalog", "each limit its own"])
    for one, limits in zip(axes, ("shared", "distinct"), strict=True):
        lines(one, _savings(table).where(limits=limits), x="subscriptions", y="saved", by="order")
        one.set_xscale("log")
    return figure


def check(table: Table) -> Judgment:
    """The order must save evaluations, and change no answer."""
    answers = [part.list("matches") for _, part in table.by("order")]
    savings = _savings(table)
    mine = savings.where(order="common first")
    shared, distinct = (mine.where(limits=limits).list("saved") for limits in ("shared", "distinct"))
    worst = savings.where(order="common first, ties by limit", limits="distinct").least("saved")
    if answers[0] != answers[1] or answers[0] != answers[2] or shared[-1] < 0.02:
        verdict = Verdict.CONTRADICTED
    else:
        verdict = Verdict.REPRODUCED if min(shared + distinct) > 0.02 else Verdict.REGIME
    most = table.most("subscriptions")
    shown = ", ".join(f"{row['saved']:.0%} at {row['subscriptions']:,}" for row in mine.where(limits="shared"))
    return Judgment(
        verdict,
        f"the order saves {shared[-1]:.0%} of the tests at {most:,} subscriptions, {distinct[-1]:.0%} if limits differ",
        "A failed predicate that many rows hold deletes many rows, so asking for it first should pay. Against columns "
        f"as they come it saves {shown} where limits come from a catalog, and at most "
        f"{max(distinct):.0%} where each limit is its own: there no column is more common than another, and what "
        f"decides is the order among equals. Going up by limit, it costs {-worst:.0%} more than no order at all, "
        "because a narrow predicate covers little. The answers are the same in every order.",
    )
