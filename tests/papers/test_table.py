"""The table answers the questions of plots and checks, and the sweep of parameters is the product of its choices."""

from __future__ import annotations

from rookery.papers.experiments import Task, grid
from rookery.papers.table import Table

ROWS = Table(
    [{"n": 1, "kind": "a", "x": 2.0}, {"n": 2, "kind": "a", "x": 4.0}, {"n": 1, "kind": "b", "x": 9.0, "y": 1}]
)


def test_questions() -> None:
    assert ROWS.columns == ("n", "kind", "x", "y")
    assert ROWS.where(kind="a").list("x") == [2.0, 4.0]
    assert [(kind, part.mean("x")) for kind, part in ROWS.by("kind")] == [("a", 3.0), ("b", 9.0)]
    assert (ROWS.least("x"), ROWS.most("x"), ROWS.total("n")) == (2.0, 9.0, 4)
    assert ROWS.without(["x", "y"]).columns == ("n", "kind")
    assert ROWS.to_arrow().column("y").to_pylist() == [None, None, 1]


def test_a_grid_is_the_product_of_its_lists() -> None:
    sweep = grid(n=[1, 2], kind=["a", "b"], fixed=7, runs=3)
    assert len(sweep.configurations) == 4
    assert sweep.configurations[0] == {"n": 1, "kind": "a", "fixed": 7}
    assert sweep.runs == 3


def test_a_task_is_named_by_its_parameters_seed_and_code() -> None:
    task = Task("m", {"a": 1, "b": 2}, 3)
    assert task.key("code") == Task("m", {"b": 2, "a": 1}, 3).key("code")
    others = [Task("m", {"a": 1, "b": 2}, 4), Task("m", {"a": 1, "b": 3}, 3), Task("n", {"a": 1, "b": 2}, 3)]
    assert len({one.key("code") for one in [task, *others]} | {task.key("other")}) == 5
