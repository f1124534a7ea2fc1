"""A progress bar for a Spark job: tasks done of tasks known, on stderr, only where a person is watching."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

from rookery.cli.silence import suspended

__all__ = ["task_progress"]


@contextlib.contextmanager
def task_progress(spark: Any) -> Iterator[None]:
    """Show the tasks of the session's jobs while the block runs."""
    if not sys.stderr.isatty() or "connect" in type(spark).__module__:
        yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    ended = threading.Event()
    tracker = spark.sparkContext.statusTracker()
    columns = (
        TextColumn("matching"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} tasks"),
        TimeElapsedColumn(),
    )

    def watch(progress: Progress, bar: Any) -> None:
        while not ended.wait(0.2):
            stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
            known = [stage for stage in stages if stage is not None]
            if known:
                total, done = sum(s.numTasks for s in known), sum(s.numCompletedTasks for s in known)
                progress.update(bar, total=total, completed=done)

    with suspended(), Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        thread = threading.Thread(target=watch, args=(progress, progress.add_task("tasks", total=None)), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
