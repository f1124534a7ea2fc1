"""One compiled set, one answer: live on DDS, in the simulators, and on Spark, pair for pair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import bars, chart
from rookery.papers.one_workload import ROUTES, conditions, quotes
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(route=list(ROUTES), subscriptions=60, events=400, runs=1)
QUICK = grid(route=list(ROUTES), subscriptions=20, events=60, runs=1)


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Send the same events through one route, and compare with the oracle."""
    rules, events = conditions(parameters["subscriptions"], seed), quotes(parameters["events"], seed)
    expected = ROUTES["scan"](rules, events)
    found = ROUTES[parameters["route"]](rules, events)
    if found is None or expected is None:
        return []  # this machine lets nobody join a DDS domain
    return [{"pairs": len(found), "missed": len(expected - found), "extra": len(found - expected)}]


def plot(table: Table) -> Any:
    """Draw the pairs of each route."""
    figure, axes = chart("pairs of event and subscription", "")
    bars(axes, {row["route"]: row["pairs"] for row in table}, form="{:,.0f}")
    return figure


def check(table: Table) -> Judgment:
    """Some pairs; nothing missed, nothing extra, anywhere."""
    missed, extra = table.total("missed"), table.total("extra")
    absent = [route for route in ROUTES if route not in table.values("route")]
    left_out = f" Not run here: {', '.join(absent)}." if absent else ""
    return Judgment(
        Verdict.REPRODUCED if table.least("pairs") and not missed + extra else Verdict.CONTRADICTED,
        f"{table.least('pairs'):,} pairs by {len(table)} routes; {missed} missed, {extra} extra",
        f"The same {table.least('subscriptions')} WHERE clauses and {table.least('events')} events through "
        f"{', '.join(table.values('route'))}: {table.least('pairs'):,} pairs each, {missed} missed and {extra} extra "
        f"against a scan that evaluates every condition.{left_out}",
    )
