"""An experiment's tasks: which they are, what they make, and which claims share them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rookery.papers.experiments import Experiment, Parameters, Sweep, grid, several, table_of
from rookery.papers.figures import chart
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict, judge


def one_row(parameters: Parameters, seed: int) -> Row:
    return {"sum": parameters["n"] + seed}


def two_rows(parameters: Parameters, seed: int) -> list[Row]:
    return [{"part": part, "n": parameters["n"]} for part in (1, 2)]


def not_a_number(parameters: Parameters, seed: int) -> Row:
    return {"rate": float("nan")}


def holds(table: Table) -> Judgment:
    return judge(table.total("sum") == 29, "sum", "why")


MADE = Experiment(rows=one_row, full=grid(n=[1, 2], runs=2), quick=grid(n=1), check=holds, figure=chart("n", "sum"))


def test_a_task_is_a_configuration_with_a_seed() -> None:
    tasks = MADE.tasks(quick=False, seed=5)
    assert [(task.parameters["n"], task.seed) for task in tasks] == [(1, 5), (1, 6), (2, 5), (2, 6)]
    assert len(MADE.tasks(quick=True, seed=5)) == 1
    table = table_of(tasks, [task.rows() for task in tasks])
    assert next(iter(table)) == {"n": 1, "seed": 5, "sum": 6}
    assert table.list("sum") == [6, 7, 7, 8]


def test_rows_come_one_or_several_and_only_as_numbers_that_json_has() -> None:
    (task,) = replace(MADE, rows=two_rows).tasks(quick=True, seed=1)
    assert task.rows() == [{"part": 1, "n": 1}, {"part": 2, "n": 1}]
    (wrong,) = replace(MADE, rows=not_a_number).tasks(quick=True, seed=1)
    with pytest.raises(ValueError, match="JSON"):
        wrong.rows()


def test_claims_that_have_one_maker_share_its_tasks() -> None:
    other = replace(MADE, quick=grid(n=[1, 7]))
    assert MADE.tasks(quick=True, seed=1)[0] == other.tasks(quick=True, seed=1)[0]
    assert replace(MADE, rows=two_rows).tasks(quick=True, seed=1) != MADE.tasks(quick=True, seed=1)


def test_several_sweeps_are_one_after_the_other() -> None:
    assert several(grid(n=[1, 2], runs=9), grid(m=3), runs=4) == Sweep(({"n": 1}, {"n": 2}, {"m": 3}), 4)


def test_a_claim_holds_or_does_not() -> None:
    assert holds(Table([{"sum": 29}])) == Judgment(Verdict.REPRODUCED, "sum", "why")
    assert holds(Table([{"sum": 28}])).verdict is Verdict.CONTRADICTED
