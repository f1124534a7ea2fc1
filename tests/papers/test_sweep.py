"""The sweep on real Spark: the same rows however it is cut, and nothing finished is run again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rookery.errors import ExperimentError
from rookery.papers import sweep as module
from rookery.papers.claims import chosen
from rookery.papers.experiments import Task
from rookery.papers.journal import Journal
from rookery.papers.sweep import run_here, sweep

pytestmark = pytest.mark.spark

TASKS = [
    task
    for claim in chosen(["seed-000/deletion", "seed-001/walk-through", "seed-002/figure-6a"])
    for task in claim.experiment.tasks(quick=True, seed=3)
]


@pytest.fixture
def submitted(monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """Every task that goes to Spark."""
    seen: list[Task] = []
    original = module._run_job

    def counted(spark: Any, tasks: Any) -> Any:
        seen.extend(tasks)
        return original(spark, tasks)

    monkeypatch.setattr(module, "_run_job", counted)
    return seen


def rows_of(outcomes: dict[str, Any]) -> dict[str, Any]:
    return {key: rows for key, (rows, _) in outcomes.items()}


def test_the_result_does_not_depend_on_the_partitioning(spark: Any, tmp_path: Path) -> None:
    here = {task.key(""): run_here(task)[0] for task in TASKS}
    for size in (1, 5, len(TASKS)):
        found = sweep(spark, TASKS, Journal(tmp_path / str(size)), job_size=size)
        assert rows_of(found) == here


def test_a_task_that_two_claims_share_runs_once(spark: Any, tmp_path: Path, submitted: list[Task]) -> None:
    sweep(spark, TASKS[:2] + TASKS[:2], Journal(tmp_path))
    assert submitted == TASKS[:2]


def test_an_interrupted_sweep_goes_on_where_it_stood(spark: Any, tmp_path: Path, submitted: list[Task]) -> None:
    def interrupt(done: int, total: int) -> None:
        if done >= 3:
            raise KeyboardInterrupt

    journal = Journal(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        sweep(spark, TASKS, journal, progress=interrupt)
    finished = [task for task in TASKS if journal.find(task) is not None]
    assert 3 <= len(finished) < len(TASKS)
    submitted.clear()
    reports: list[tuple[int, int]] = []
    found = sweep(spark, TASKS, journal, progress=lambda done, total: reports.append((done, total)))
    assert not set(map(id, submitted)) & set(map(id, finished))
    assert len(submitted) == len(TASKS) - len(finished)
    assert reports[0] == (len(finished), len(TASKS))
    assert reports[-1] == (len(TASKS), len(TASKS))
    assert rows_of(found) == {task.key(""): run_here(task)[0] for task in TASKS}


def test_tasks_that_are_timed_run_last_and_alone(spark: Any, tmp_path: Path, submitted: list[Task]) -> None:
    timed = TASKS[0].maker
    sweep(spark, TASKS, Journal(tmp_path), alone=frozenset([timed]), job_size=4)
    places = [place for place, task in enumerate(submitted) if task.maker == timed]
    assert places == list(range(len(TASKS) - len(places), len(TASKS)))


def test_a_failed_experiment_is_named(spark: Any, tmp_path: Path) -> None:
    broken = Task(TASKS[0].maker, {"nodes": "many"}, 1)
    with pytest.raises(ExperimentError, match=r"seed_000\.nodes:deletion failed"):
        sweep(spark, [broken], Journal(tmp_path))


def test_other_code_does_not_use_what_the_journal_has(tmp_path: Path) -> None:
    Journal(tmp_path, code="one").keep(TASKS[0], [{"x": 1}], 0.5)
    assert Journal(tmp_path, code="one").find(TASKS[0]) == ([{"x": 1}], 0.5)
    assert Journal(tmp_path, code="other").find(TASKS[0]) is None
    Journal(tmp_path, code="one").clear()
    assert not tmp_path.exists()
