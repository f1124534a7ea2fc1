"""A Spark stream, recorded: each micro-batch with its rows, its time and the version of the rules that judged it.

Spark keeps the last hundred progress reports of a query, and the log of set versions beside the checkpoint says which
set judged which batch. Both are read from a thread of their own, so that the stream is not held up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rookery.web import records
from rookery.web.recorder import Recorder

__all__ = ["record_batches", "record_skew", "watch_stream"]

#: Seconds between two looks; a query that makes more than a hundred batches between two would lose some.
PERIOD = 0.25


def record_batches(recorder: Recorder, query: Any, history: dict[int, int], *, name: str, after: int = -1) -> int:
    """Record the batches that are finished and newer than `after`; return the newest."""
    for progress in query.recentProgress:
        number = int(progress.batchId)
        if number <= after or not progress.numInputRows:
            continue
        seconds = progress.durationMs.get("triggerExecution", 0) / 1000
        recorder.write(
            records.BatchRecord(
                at=recorder.clock(),
                query=name,
                number=number,
                rows=progress.numInputRows,
                seconds=seconds,
                rows_per_second=progress.numInputRows / seconds if seconds else 0.0,
                set_version=history.get(number, 0),
            )
        )
        after = number
    return after


def watch_stream(recorder: Recorder, query: Any, checkpoint: str, *, name: str = "stream") -> Callable[[], None]:
    """Record the batches of a query while it runs; call what is returned when it has stopped."""
    from rookery.spark.versions import VersionLog

    log = VersionLog(checkpoint)
    ended = threading.Event()

    def watch() -> None:
        after = -1
        while True:
            last = ended.wait(PERIOD)
            after = record_batches(recorder, query, log.history(), name=name, after=after)
            if last:
                return

    thread = threading.Thread(target=watch, name="rookery-stream-watch", daemon=True)
    thread.start()

    def finish() -> None:
        ended.set()
        thread.join()

    return finish


def record_skew(recorder: Recorder, events: Any, rules: Any, *, name: str, time: str | None = None) -> None:
    """Cut zones for a job as the zoned plan would, and record what each carries; runs a Spark job."""
    from rookery.spark.zones import zone_stats

    rows = zone_stats(events, rules, time=time).select("events", "subscriptions", "load", "skew").collect()
    zones = tuple((row["events"], row["subscriptions"], row["load"], float(row["skew"])) for row in rows)
    recorder.write(records.SkewRecord(at=recorder.clock(), query=name, zones=zones))
