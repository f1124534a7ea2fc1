"""The sweep on Spark: one task = one (configuration, seed).

Rule 1: a task's rows depend on its parameters and its seed alone, and tables are put together in the order of the task
list, so neither the master nor the partitioning shows in the result.
Rule 2: each finished task is recorded by the driver at once (`journal.py`); a run that was interrupted goes on where it
stood. Several Spark jobs are in flight, one for each core that the master has, so that an outcome arrives when it is
there and not when the slowest of a stage is.
Rule 3: tasks whose claims rest on a time run last and one at a time, with nothing of ours beside them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rookery.errors import ExperimentError
from rookery.papers.experiments import Task
from rookery.papers.journal import Journal, Outcome
from rookery.spark.failures import plain_failure

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Progress", "run_here", "sweep"]

#: Called with the number of finished tasks and of all tasks.
Progress = Callable[[int, int], None]

_SCHEMA = "number long, rows string, seconds double"


def run_here(task: Task) -> Outcome:
    """Run one task in this process."""
    began = time.process_time()
    rows = task.rows()
    return rows, time.process_time() - began


@dataclass(frozen=True, slots=True)
class _RunTasks:
    """What runs inside a worker: row n of the partition is task n of the job."""

    tasks: tuple[Task, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the tasks of one partition."""
        import pyarrow as pa

        for batch in batches:
            for number in batch.column("id").to_pylist():
                rows, seconds = run_here(self.tasks[number])
                arrays = [pa.array([number], pa.int64()), pa.array([json.dumps(rows)]), pa.array([seconds])]
                yield pa.RecordBatch.from_arrays(arrays, names=["number", "rows", "seconds"])


def _run_job(spark: Any, tasks: Sequence[Task]) -> list[Outcome]:
    """Run some tasks as one Spark job, one partition for each; the outcomes come in the order of the tasks."""
    frame = spark.range(0, len(tasks), 1, len(tasks))
    try:
        found = frame.mapInArrow(_RunTasks(tuple(tasks)), _SCHEMA).collect()
    except Exception as error:
        named = ", ".join(sorted({task.maker.rpartition("papers.")[2] for task in tasks}))
        raise ExperimentError(f"the experiment {named} failed: {plain_failure(error)}") from error
    return [(json.loads(row["rows"]), row["seconds"]) for row in sorted(found, key=lambda row: row["number"])]


def sweep(
    spark: Any,
    tasks: Sequence[Task],
    journal: Journal,
    *,
    alone: frozenset[str] = frozenset(),
    job_size: int = 1,
    progress: Progress | None = None,
) -> dict[str, Outcome]:
    """Run the tasks that the journal does not have; return the outcome of each by its key for no code.

    `alone` are the makers of rows whose tasks run one at a time, at the end. `job_size` tasks make one Spark job.
    """
    outcomes: dict[str, Outcome] = {}
    waiting: list[Task] = []
    distinct = {task.key(""): task for task in tasks}
    for key, task in distinct.items():
        kept = journal.find(task)
        if kept is None:
            waiting.append(task)
        else:
            outcomes[key] = kept

    def finish(part: Sequence[Task], found: Sequence[Outcome]) -> None:
        for task, outcome in zip(part, found, strict=True):
            journal.keep(task, *outcome)
            outcomes[task.key("")] = outcome
        if progress is not None:
            progress(len(outcomes), len(distinct))

    if progress is not None:
        progress(len(outcomes), len(distinct))
    together = [task for task in waiting if task.maker not in alone]
    jobs = [together[first : first + job_size] for first in range(0, len(together), job_size)]
    with ThreadPoolExecutor(max_workers=_width(spark)) as pool:
        running: dict[Future[list[Outcome]], list[Task]] = {pool.submit(_run_job, spark, job): job for job in jobs}
        try:
            for done in as_completed(running):
                finish(running[done], done.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            _cancel(spark)
            raise
    # In a thread as well: an interruption then meets nobody who is in the middle of a talk with Spark.
    with ThreadPoolExecutor(max_workers=1) as pool:
        for task in waiting:
            if task.maker in alone:
                finish([task], pool.submit(_run_job, spark, [task]).result())
    return outcomes


def _width(spark: Any) -> int:
    """Return how many jobs are in flight: one for each core of the master."""
    try:
        return max(1, int(spark.sparkContext.defaultParallelism))
    except Exception:  # Spark Connect has no context
        return 4


def _cancel(spark: Any) -> None:
    try:
        spark.sparkContext.cancelAllJobs()
    except Exception:  # Spark Connect, or a session that is gone: its tasks end by themselves
        return
