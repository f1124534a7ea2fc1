"""Checks that could pass for the wrong reason: given rows that contradict the claim, they must say so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from rookery.experiments.claims import Experiment, chosen
from rookery.experiments.table import Row, Table
from rookery.experiments.verdicts import Verdict


def rows_of(name: str) -> list[dict[str, Any]]:
    """Run the quick parameters of a claim."""
    (claim,) = chosen([name])
    experiment = Experiment.of(claim)
    tasks = experiment.tasks(quick=True, seed=1)
    found = experiment.rows(tasks, [experiment.module.run(task.parameters, task.seed) for task in tasks])
    return [dict(row) for row in found]


def judged(name: str, rows: Sequence[Row]) -> Verdict:
    (claim,) = chosen([name])
    return Experiment.of(claim).check(Table(rows)).verdict


@pytest.fixture(scope="module")
def bound() -> list[dict[str, Any]]:
    return rows_of("seed-000/counter-bound")


def test_the_counters_are_within_their_bounds(bound: list[dict[str, Any]]) -> None:
    assert judged("seed-000/counter-bound", bound) is Verdict.REPRODUCED


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda row: {"share": min(1.0, 1.6 * row["tight_bound"])}, id="shares above equation 3"),
        pytest.param(lambda row: {"share": 0.0 if row["j"] > 2 else 1.0}, id="counters that do not count"),
        pytest.param(lambda row: {"bound": 0.9 * row["tight_bound"]}, id="the right side below the middle"),
        pytest.param(lambda row: {"optimal_bound": 2 * row["optimal_bound"]}, id="equation 4 is not equation 3"),
    ],
)
def test_a_bound_that_fails_is_seen(bound: list[dict[str, Any]], change: Callable[[Row], Row]) -> None:
    assert judged("seed-000/counter-bound", [{**row, **change(row)} for row in bound]) is Verdict.CONTRADICTED


def test_too_few_filters_prove_nothing(bound: list[dict[str, Any]]) -> None:
    assert judged("seed-000/counter-bound", [{**row, "filters": 5} for row in bound]) is Verdict.NOT_TESTABLE


def test_one_rare_counter_is_chance(bound: list[dict[str, Any]]) -> None:
    """A bound of one in a thousand that one of 800 filters meets is not refuted by it."""
    rare = [dict(row) for row in bound]
    one = next(row for row in rare if (row["m"], row["k"], row["j"]) == (1010, 7, 8))
    assert one["tight_bound"] < 0.002
    one["share"] = max(one["share"], 1 / one["filters"])
    assert judged("seed-000/counter-bound", rare) is Verdict.REPRODUCED


def test_a_full_counter_is_an_overflow() -> None:
    """The product's counters stop at 15, so 16 is never read."""
    rows = rows_of("seed-000/counter-overflow")
    assert judged("seed-000/counter-overflow", rows) is Verdict.REPRODUCED
    full = [{**row, "largest": 15} for row in rows]
    assert judged("seed-000/counter-overflow", full) is Verdict.CONTRADICTED
