"""Matching on Spark against what users write today: nested-loop joins, explode and count, DuckDB, Polars.

`python -m benchmarks spark [--quick]`. One run on local[2]; every line says how many events, rules and matches, and the
ratio to the better nested-loop join. A peer that would take too long runs on fewer events and is compared by its rate.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks import spark_peers as peers


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement."""

    name: str
    events: int
    rules: int
    matches: int
    seconds: float

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.seconds


def timed(name: str, events: int, rules: int, run: Callable[[], int], *, best_of: int = 1) -> Line:
    """Run and time; the best of several for what is short."""
    best, matches = float("inf"), 0
    for _ in range(best_of):
        started = time.perf_counter()
        matches = run()
        best = min(best, time.perf_counter() - started)
    line = Line(name, events, rules, matches, best)
    print(
        f"  {name:<34} {events:>10,} × {rules:>9,}  {matches:>12,} matches {best:9.2f} s {line.rate:>12,.0f} events/s",
        flush=True,
    )
    return line


def write_events(name: str, rows: int, folder: Path) -> Path:
    """Write a workload's events as Parquet, in files of a million rows, once."""
    from rookery.spark.workloads import workload

    target = folder / f"{name}-{rows}"
    if not target.exists():
        target.mkdir(parents=True)
        load = workload(name)
        for number, first in enumerate(range(0, rows, 1_000_000)):
            with pq.ParquetWriter(target / f"{number:04d}.parquet", load.schema) as writer:
                table = pa.Table.from_batches(load.events(first, min(rows, first + 1_000_000)), schema=load.schema)
                writer.write_table(table, row_group_size=250_000)
    return target


def count_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Take the rows into Python and return only their number: the ceiling of every plan that crosses the JVM."""
    yield pa.record_batch({"rows": pa.array([sum(batch.num_rows for batch in batches)], pa.int64())})


def cross(spark: Any, path: Path, columns: list[str]) -> int:
    """Read with Spark, hand to Python, return nothing."""
    frame = spark.read.parquet(str(path)).select(*columns)
    return int(frame.mapInArrow(count_rows, "rows long").groupBy().sum("rows").collect()[0][0])


def main(arguments: list[str]) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks spark", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the events")
    asked = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="rookery-benchmark-"))
    try:
        return run(folder, 10 if asked.quick else 1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(folder: Path, divide: int) -> int:
    """Run all parts and print the ratios."""
    from rookery.spark import Subscriptions, match, match_files, session
    from rookery.spark.workloads import workload

    spark = session(master="local[2,4]", memory="4g")
    ranges, devices = workload("ranges"), workload("devices")
    small, large, few = 100_000 // divide, 2_000_000 // divide, 2_000
    ten, hundred = ranges.bounds(10_000, 1), ranges.bounds(100_000, 1)

    def read(rows: int) -> Any:
        return spark.read.parquet(str(write_events("ranges", rows, folder)))

    def files(source: Path, rules: Any) -> int:
        return match_files(spark, source, rules, folder / "out", event_id="event_id", overwrite=True).matches

    def compiled(records: pa.Table, events: Any) -> Any:
        """Compile once, as a pipeline does: the set is kept with the rules. The time is a line of its own."""
        rules = Subscriptions.arrow(records)
        started = time.perf_counter()
        match(events, rules)
        print(f"  {len(records):,} rules compiled and sent in {time.perf_counter() - started:.2f} s", flush=True)
        return rules

    records = compiled(ranges.rules(10_000, 1), read(few))
    match(read(few), records).count()  # warm: the JVM, the workers, the kernels
    files(write_events("ranges", few, folder), records)

    print("\n10,000 rules, three ranges of eight attributes")
    events = read(small)
    wide = timed("nested loop, 16 comparisons", small, 10_000, lambda: peers.nested_loop_wide(spark, events, ten))
    narrow = timed("nested loop, 3 looked up", small, 10_000, lambda: peers.nested_loop_indexed(spark, events, ten))
    raw = ranges.rules(10_000, 1)
    whole = timed("rookery match, compiling included", small, 10_000, lambda: match(events, raw).count(), best_of=2)
    here = timed("rookery match", small, 10_000, lambda: match(events, records).count(), best_of=2)
    here_files = timed(
        "rookery match_files", small, 10_000, lambda: files(folder / f"ranges-{small}", records), best_of=2
    )
    table = ranges.table(small)
    duck = timed("DuckDB join", small, 10_000, lambda: peers.duckdb_join(table, ten))
    tiny = read(few)
    timed("explode and count", few, 10_000, lambda: peers.explode_and_count(spark, tiny, ten))
    timed("Polars join_where", few, 10_000, lambda: peers.polars_join(ranges.table(few), ten))
    same = {line.matches for line in (wide, narrow, whole, here, here_files, duck)}
    better = max(wide.rate, narrow.rate)
    events = read(large)
    bulk = timed("rookery match", large, 10_000, lambda: match(events, records).count())
    bulk_files = timed("rookery match_files", large, 10_000, lambda: files(folder / f"ranges-{large}", records))
    same_bulk = {bulk.matches, bulk_files.matches}

    print("\n100,000 rules")
    large_rules = compiled(ranges.rules(100_000, 1), tiny)
    tiny_wide = timed("nested loop, 3 looked up", few, 100_000, lambda: peers.nested_loop_indexed(spark, tiny, hundred))
    tiny_here = match(tiny, large_rules).count()
    events = read(2 * small)
    most = timed("rookery match", 2 * small, 100_000, lambda: match(events, large_rules).count())
    most_files = timed(
        "rookery match_files", 2 * small, 100_000, lambda: files(folder / f"ranges-{2 * small}", large_rules)
    )

    print("\n10,000 selective rules (one device, two thresholds), Parquet in")
    source = write_events("devices", large, folder)
    selective = compiled(devices.rules(10_000, 1), spark.read.parquet(str(source)))
    ceiling = timed(
        "Spark to Python, nothing done",
        large,
        10_000,
        lambda: cross(spark, source, ["event_id", "device", "x", "y"]),
        best_of=2,
    )
    picked = timed("rookery match_files", large, 10_000, lambda: files(source, selective), best_of=2)
    picked_frame = timed(
        "rookery match", large, 10_000, lambda: match(spark.read.parquet(str(source)), selective).count()
    )
    spark.stop()

    agree = (
        len(same) == len(same_bulk) == 1
        and tiny_wide.matches == tiny_here
        and most.matches == most_files.matches
        and picked.matches == picked_frame.matches
    )
    print("\nratios")
    print(f"  match / better nested loop at {small:,}          {here.rate / better:8.1f}×")
    print(f"  the same, compiling included                  {whole.rate / better:8.1f}×")
    print(f"  match / better nested loop at {large:,}        {bulk.rate / better:8.1f}×  (rates)")
    print(f"  match_files / better nested loop at {large:,}  {bulk_files.rate / better:8.1f}×  (rates)")
    print(f"  match / nested loop, 100,000 rules            {most.rate / tiny_wide.rate:8.1f}×  (rates)")
    print(f"  match_files / Spark-to-Python ceiling         {picked.rate / ceiling.rate:8.1f}×")
    print(f"  match counts {'identical everywhere' if agree else 'DIFFER'}")
    return 0 if agree else 1
