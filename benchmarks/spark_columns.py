"""What columns that no rule reads cost: events with five hundred more beside events with none, batch and stream.

`python -m benchmarks spark_columns [--events N] [--files N] [--columns N] [--rules N]`. The same device readings are
written twice as Parquet, once with so many columns of numbers more. Each is matched as a DataFrame, by the plan
`broadcast`, as a bare scan, and by a stream that takes a file for a micro-batch; a pair takes turns, and the ratio of
the medians by CPU seconds is printed, for the stream those of its micro-batches by the clock too. Returns 1 where the
counts of matches differ.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.spark import Line, measured, shown

__all__ = ["main"]

#: Runs of a call, of which the last half counts; and of a stream.
ROUNDS, STREAMS = 8, 6


def write_events(folder: Path, files: int, events: int, more: int) -> dict[str, Path]:
    """Write the readings without and with more columns, in so many files."""
    from rookery.spark.workloads import workload

    load, generator = workload("devices"), np.random.default_rng(1)
    paths = {"none": folder / "none", f"{more} more": folder / "more"}
    for path in paths.values():
        path.mkdir()
    for number in range(files):
        first, last = (events * one // files for one in (number, number + 1))
        table = pa.Table.from_batches(load.events(first, last), schema=load.schema)
        pq.write_table(table, folder / "none" / f"{number:03d}.parquet")
        values = generator.integers(0, 16, (more, last - first)).astype(np.float64)
        for place in range(more):
            table = table.append_column(f"c{place:03d}", pa.array(values[place]))
        pq.write_table(table, folder / "more" / f"{number:03d}.parquet")
    return paths


def drained(spark: Any, source: Path, rules: Any, folder: Path, took: list[float]) -> int:
    """Match a stream of the files to its end, and add what its micro-batches took; return the matches."""
    from rookery.spark import MatchProgress, match, write_stream

    place = Path(tempfile.mkdtemp(dir=folder))
    schema = spark.read.parquet(str(source)).schema
    events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
    state = str(place / "state")
    hits = match(events, rules, checkpoint=state)
    query = write_stream(hits, str(place / "out"), checkpoint=state, trigger={"availableNow": True})
    query.awaitTermination()
    told = [(one, MatchProgress.of(one)) for one in query.recentProgress]
    took += [one.batchDuration for one, known in told if known is not None and known.events][1:]
    return sum(known.matches for _, known in told if known is not None)


def ratio(name: str, calls: dict[str, Callable[[], int]], events: int, rules: int, rounds: int) -> set[int]:
    """Run a pair of calls in turn and print their ratio; return the counts of matches."""
    seen: dict[str, list[Line]] = {one: [] for one in calls}
    for _ in range(rounds):
        for one, call in calls.items():
            seen[one].append(measured(f"{name}, {one}", events, rules, call))
    last = [sorted(some[len(some) // 2 :], key=lambda line: line.cpu) for some in seen.values()]
    few, many = (shown(some[len(some) // 2]) for some in last)
    print(f"  {name}: {many.cpu / few.cpu:.2f}× the CPU seconds of none", flush=True)
    return {few.matches, many.matches}


def main(arguments: list[str]) -> int:
    """Run each way with and without the columns."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks spark_columns")
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--columns", type=int, default=500)
    parser.add_argument("--rules", type=int, default=10_000)
    asked = parser.parse_args(arguments)
    from rookery.spark import Subscriptions, match, register, session
    from rookery.spark.workloads import workload

    with tempfile.TemporaryDirectory(prefix="rookery-columns-") as place:
        folder = Path(place)
        paths = write_events(folder, asked.files, asked.events, asked.columns)
        spark = session(master="local[2,4]", memory="2g")
        register(spark)
        rules = Subscriptions.arrow(workload("devices").rules(asked.rules, 1))
        scans = {one: spark.read.parquet(str(path)) for one, path in paths.items()}
        counts = set()
        ways: dict[str, Callable[[Any], Any]] = {
            "match, auto, a DataFrame": lambda scan: match(scan.where("event_id >= 0"), rules),
            "match, plan='broadcast'": lambda scan: match(scan.where("event_id >= 0"), rules, plan="broadcast"),
            "match, auto, a bare scan": lambda scan: match(scan, rules),
        }
        for name, way in ways.items():
            calls = {one: lambda way=way, scan=scan: int(way(scan).count()) for one, scan in scans.items()}  # type: ignore[misc]
            counts |= ratio(name, calls, asked.events, asked.rules, ROUNDS)
        took: dict[str, list[float]] = {one: [] for one in paths}
        streams = {
            one: lambda one=one, path=path: drained(spark, path, rules, folder, took[one])  # type: ignore[misc]
            for one, path in paths.items()
        }
        counts |= ratio("a stream", streams, asked.events, asked.rules, STREAMS)
        few, many = (statistics.median(some) for some in took.values())
        print(f"  a micro-batch by the clock: median {few:.0f} ms and {many:.0f} ms, {many / few:.2f}×")
        spark.stop()
    print("match counts " + ("identical everywhere" if len(counts) == 1 else f"DIFFER: {sorted(counts)}"))
    return int(len(counts) > 1)
