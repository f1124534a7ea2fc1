"""A driver in a process of its own, for tests that kill parts of a cluster.

Usage: python cluster_driver.py MASTER. Each line of stdin is a plan (or `stream`) and a folder; the job leaves a mark
in the folder for each task that it begins, so that the test knows when the job is half way. The answer is one line of
JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[2]))  # for the stream's oracle, which the benchmark of kills has

ROWS, RULES, TASKS = 24_000, 100, 12
BATCHES = 5
#: While this file is in the folder of a job, some of its tasks wait.
HOLD = "hold"


class Mark:
    """Leaves a mark for each task and takes its time, so that there is a middle to be killed in."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        batch = context.getLocalProperty("streaming.sql.batchId") or "none"
        mark = Path(self.folder) / f"{batch}-{context.partitionId()}-{context.attemptNumber()}"
        mark.write_text(str(os.getppid()))  # the fork server: one for each executor
        # From the third on they wait for the blow, so that it falls on a task however late it comes.
        while (Path(self.folder) / HOLD).exists() and len(list(Path(self.folder).glob("*-*-*"))) > 2:
            time.sleep(0.05)
        time.sleep(0.4)
        yield from batches


def again(folder: str) -> bool:
    """Tell whether any task ran twice."""
    return len({path.name.rsplit("-", 1)[1] for path in Path(folder).glob("*-*-*")}) > 1


def stream(spark: Any, folder: str) -> dict[str, Any]:
    """Match files that Spark itself streams, several tasks a batch, while the rules change all the time."""
    from benchmarks.kill9 import ROWS_PER_BATCH, Ground, rule_file, verify

    from rookery.spark import Subscriptions, VersionLog, match, write_stream
    from rookery.spark.workloads import workload

    load, work = workload("ranges"), Path(folder) / "stream"
    ground = Ground(work, work, {})
    (work / "events").mkdir(parents=True)
    for number in range(BATCHES):
        batches = load.events(number * ROWS_PER_BATCH, (number + 1) * ROWS_PER_BATCH)
        path = work / "events" / f"{number}.parquet"
        pq.write_table(pa.Table.from_batches(batches, schema=load.schema), path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))  # Spark takes files in the order of their time
    rule_file(ground, 0)
    schema = spark.read.parquet(str(work / "events")).schema
    events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(work / "events"))
    slow = events.repartition(4).mapInArrow(Mark(folder), schema)
    checkpoint = str(work / "checkpoint")
    hits = match(slow, Subscriptions.files(work / "rules.parquet"), checkpoint=checkpoint)
    query = write_stream(hits, str(work / "out"), checkpoint=checkpoint, trigger={"availableNow": True})
    edit = seen = 0
    while not query.awaitTermination(0.1):
        marks = len(list(Path(folder).glob("*-*-*")))
        if marks > seen:
            edit, seen = edit + 1, marks
            rule_file(ground, edit)
    matches, missed, extra = verify(ground, BATCHES * ROWS_PER_BATCH)
    homes: dict[str, set[str]] = {}
    for path in Path(folder).glob("*-*-*"):
        homes.setdefault(path.name.split("-")[0], set()).add(path.read_text())
    return {
        "matches": matches,
        "missed": missed,
        "extra": extra,
        "again": again(folder),
        "sets": len(set(VersionLog(checkpoint).history().values())),
        "executors": max(len(one) for one in homes.values()),
    }


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
        if plan == "stream":
            sys.stdout.write(json.dumps(stream(spark, folder)) + "\n")
            sys.stdout.flush()
            continue
        slow = events.mapInArrow(Mark(folder), events.schema)
        table = match(slow, records, plan=plan, zones=4).select("event_id", "subscription_id", "version").toArrow()
        found = np.column_stack([column.to_numpy() for column in table.columns])
        have, want = ({tuple(row) for row in part.tolist()} for part in (found, expected))
        answer = {
            "matches": len(found),
            "missed": len(want - have),
            "extra": len(have - want) + len(found) - len(have),
            "again": again(folder),
        }
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
