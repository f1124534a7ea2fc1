"""A driver in a process of its own, for tests that kill parts of a cluster.

Usage: python cluster_driver.py MASTER. Each line of stdin is a plan and a folder; the job leaves a mark in the folder
for each task that it begins, so that the test knows when the job is half way. The answer is one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

ROWS, RULES, TASKS = 24_000, 100, 12


class Mark:
    """Leaves a mark for each task and takes its time, so that there is a middle to be killed in."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        (Path(self.folder) / f"task-{context.partitionId()}-{context.attemptNumber()}").touch()
        time.sleep(0.4)
        yield from batches


def main(master: str) -> None:
    from rookery.spark import match, register, session
    from rookery.spark.workloads import oracle, workload

    settings = {
        "spark.executor.memory": "700m",
        "spark.executor.cores": "1",
        "spark.sql.shuffle.partitions": "2",
        "spark.task.maxFailures": "8",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    spark = session(master=master, memory="1g", settings=settings)
    register(spark)
    load = workload("ranges")
    records, expected = load.rules(RULES, 1), oracle(load.table(ROWS), load.bounds(RULES, 1))
    events = (
        spark.read.format("rookery")
        .option("workload", "ranges")
        .option("rows", ROWS)
        .option("partitions", TASKS)
        .load()
    )
    match(events, records).count()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        plan, folder = line.split()
        slow = events.mapInArrow(Mark(folder), events.schema)
        table = match(slow, records, plan=plan, zones=4).select("event_id", "subscription_id", "version").toArrow()
        found = np.column_stack([column.to_numpy() for column in table.columns])
        have, want = ({tuple(row) for row in part.tolist()} for part in (found, expected))
        answer = {
            "matches": len(found),
            "missed": len(want - have),
            "extra": len(have - want) + len(found) - len(have),
            "again": len({path.name.rsplit("-", 1)[1] for path in Path(folder).iterdir()}) > 1,
        }
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
