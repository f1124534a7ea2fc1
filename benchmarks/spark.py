"""Matching on Spark against what users write today: nested-loop joins, explode and count, DuckDB, Polars.

`python -m benchmarks spark [--quick] [--part joins|hundred|ceiling] [--long]`. One run on local[2]; every line says how
many events, rules and matches, and the ratio to the better nested-loop join. A peer that would take too long runs on
fewer events and is compared by its rate; `--long` runs the better nested loop on all 2,000,000 events too.

On a machine that others use, seconds measure them as well. So each ratio is also given in CPU seconds, which are those
of the driver, the JVM and its Python workers together.
"""

from __future__ import annotations

import argparse
import os
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
from benchmarks.kill9 import descendants


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement."""

    name: str
    events: int
    rules: int
    matches: int
    seconds: float
    cpu: float = 0.0

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.seconds

    @property
    def cpu_rate(self) -> float:
        """Events a CPU second."""
        return self.events / max(self.cpu, 0.01)


def timed(name: str, events: int, rules: int, run: Callable[[], int], *, best_of: int = 1) -> Line:
    """Run and time; the best of several for what is short."""
    return shown(min((measured(name, events, rules, run) for _ in range(best_of)), key=lambda line: line.seconds))


def measured(name: str, events: int, rules: int, run: Callable[[], int]) -> Line:
    """Run once, and take the seconds and the CPU seconds."""
    used, started = cpu_seconds(), time.perf_counter()
    matches = run()
    seconds = time.perf_counter() - started
    return Line(name, events, rules, matches, seconds, cpu_seconds() - used)


def shown(line: Line) -> Line:
    """Print a measurement."""
    print(
        f"  {line.name:<34} {line.events:>10,} × {line.rules:>9,}  {line.matches:>12,} matches "
        f"{line.seconds:9.2f} s {line.rate:>12,.0f} events/s {line.cpu:8.1f} CPU s",
        flush=True,
    )
    return line


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of all that it started, those included whose end was seen."""
    ticks = 0
    for process in descendants(os.getpid()):
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))  # its own, and those of children that it waited for
    return ticks / os.sysconf("SC_CLK_TCK")


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


class Bench:
    """A session, a folder, and how many events a part has."""

    def __init__(self, spark: Any, folder: Path, divide: int, *, long: bool) -> None:
        self.spark, self.folder, self.long = spark, folder, long
        self.small, self.large, self.few = 100_000 // divide, 2_000_000 // divide, 2_000

    def read(self, rows: int) -> Any:
        """Return so many events of `ranges` as a DataFrame over Parquet."""
        return self.spark.read.parquet(str(write_events("ranges", rows, self.folder)))

    def files(self, source: Path, rules: Any) -> int:
        """Run the files plan and return the number of matches."""
        from rookery.spark import match_files

        return match_files(self.spark, source, rules, self.folder / "out", event_id="event_id", overwrite=True).matches

    def compiled(self, records: pa.Table, events: Any) -> Any:
        """Compile once, as a pipeline does: the set is kept with the rules. The time is a line of its own."""
        from rookery.spark import Subscriptions, match

        rules = Subscriptions.arrow(records)
        started = time.perf_counter()
        match(events, rules)
        print(f"  {len(records):,} rules compiled and sent in {time.perf_counter() - started:.2f} s", flush=True)
        match(events.limit(1_000), rules).count()  # warm: the JVM, the workers, the kernels
        return rules


def joins(bench: Bench) -> bool:
    """Compare with the joins at 10,000 rules."""
    from rookery.spark import match
    from rookery.spark.workloads import workload

    print("\n10,000 rules, three ranges of eight attributes")
    ranges, spark, small, large, few = workload("ranges"), bench.spark, bench.small, bench.large, bench.few
    bounds, raw = ranges.bounds(10_000, 1), ranges.rules(10_000, 1)
    events, tiny, table = bench.read(small), bench.read(few), ranges.table(small)
    rules = bench.compiled(raw, tiny)
    lines = [
        timed("nested loop, 16 comparisons", small, 10_000, lambda: peers.nested_loop_wide(spark, events, bounds)),
        timed("nested loop, 3 looked up", small, 10_000, lambda: peers.nested_loop_indexed(spark, events, bounds)),
        timed("rookery, compiling included", small, 10_000, lambda: match(events, raw).count(), best_of=2),
        timed("rookery match", small, 10_000, lambda: match(events, rules).count(), best_of=2),
        timed("rookery match_files", small, 10_000, lambda: bench.files(bench.folder / f"ranges-{small}", rules)),
        timed("DuckDB join", small, 10_000, lambda: peers.duckdb_join(table, bounds)),
    ]
    fewer = [
        timed("explode and count", few, 10_000, lambda: peers.explode_and_count(spark, tiny, bounds)),
        timed("Polars join_where", few, 10_000, lambda: peers.polars_join(ranges.table(few), bounds)),
        timed("rookery match", few, 10_000, lambda: match(tiny, rules).count()),
    ]
    many = bench.read(large)
    bulk = [
        timed("rookery match", large, 10_000, lambda: match(many, rules).count(), best_of=3),
        timed(
            "rookery match_files",
            large,
            10_000,
            lambda: bench.files(bench.folder / f"ranges-{large}", rules),
            best_of=3,
        ),
    ]
    better, better_cpu = max(line.rate for line in lines[:2]), max(line.cpu_rate for line in lines[:2])
    if bench.long:
        bulk.append(
            timed("nested loop, 3 looked up", large, 10_000, lambda: peers.nested_loop_indexed(spark, many, bounds))
        )
        print(f"  ratio of seconds at {large:,}: match {bulk[2].seconds / bulk[0].seconds:.1f}×")
    print(f"  ratio to the better nested loop at {small:,}: match {lines[3].rate / better:.1f}×")
    print(f"    compiling included {lines[2].rate / better:.1f}×")
    print(f"    in CPU seconds {lines[3].cpu_rate / better_cpu:.1f}×, {lines[2].cpu_rate / better_cpu:.1f}×")
    print(
        f"  ratio of rates at {large:,}: match {bulk[0].rate / better:.1f}×, match_files {bulk[1].rate / better:.1f}×"
    )
    print(f"    in CPU seconds {bulk[0].cpu_rate / better_cpu:.1f}×, {bulk[1].cpu_rate / better_cpu:.1f}×")
    return all(len({line.matches for line in part}) == 1 for part in (lines, fewer, bulk))


def hundred(bench: Bench) -> bool:
    """Compare at 100,000 rules; the join on few events, by its rate."""
    from rookery.spark import match
    from rookery.spark.workloads import workload

    print("\n100,000 rules")
    ranges, small, few = workload("ranges"), bench.small, bench.few
    bounds, tiny, events = ranges.bounds(100_000, 1), bench.read(few), bench.read(2 * small)
    rules = bench.compiled(ranges.rules(100_000, 1), tiny)
    slow = timed("nested loop, 3 looked up", few, 100_000, lambda: peers.nested_loop_indexed(bench.spark, tiny, bounds))
    same = match(tiny, rules).count() == slow.matches
    fast = timed("rookery match", 2 * small, 100_000, lambda: match(events, rules).count())
    source = bench.folder / f"ranges-{2 * small}"
    whole = timed("rookery match_files", 2 * small, 100_000, lambda: bench.files(source, rules))
    print(f"  ratio of rates: match {fast.rate / slow.rate:.1f}×, match_files {whole.rate / slow.rate:.1f}×")
    print(f"    in CPU seconds {fast.cpu_rate / slow.cpu_rate:.1f}×, {whole.cpu_rate / slow.cpu_rate:.1f}×")
    return same and fast.matches == whole.matches


def ceiling(bench: Bench) -> bool:
    """Compare the files plan with handing the same columns to Python and doing nothing."""
    from rookery.spark import match
    from rookery.spark.workloads import workload

    print("\n10,000 selective rules (one device, two thresholds), Parquet in")
    columns = ["event_id", "device", "x", "y"]
    records = workload("devices").rules(10_000, 1)
    same = []
    for count, rounds in ((bench.large, 3), (10 * bench.large, 1)):
        source = write_events("devices", count, bench.folder)
        frame = bench.spark.read.parquet(str(source))
        rules = bench.compiled(records, frame)
        cross(bench.spark, source, columns)
        bench.files(source, rules)
        tops, wholes = [], []
        for _ in range(rounds):  # in turn, so that what else the machine does meets both
            tops.append(
                measured("Spark to Python, nothing done", count, 0, lambda: cross(bench.spark, source, columns))  # noqa: B023
            )
            wholes.append(measured("rookery match_files", count, 10_000, lambda: bench.files(source, rules)))  # noqa: B023
        top, whole = (shown(min(lines, key=lambda line: line.seconds)) for lines in (tops, wholes))
        fast = timed("rookery match", count, 10_000, lambda: match(frame, rules).count())  # noqa: B023
        print(f"  match_files over the ceiling: {whole.rate / top.rate:.2f}×; match: {fast.rate / top.rate:.2f}×")
        each = ", ".join(f"{top.seconds / whole.seconds:.2f}" for top, whole in zip(tops, wholes, strict=True))
        spent = sum(line.cpu for line in tops) / sum(line.cpu for line in wholes)
        print(f"    round by round {each}; in CPU seconds {spent:.2f}×", flush=True)
        same.append(whole.matches == fast.matches)
    return all(same)


PARTS = {"ceiling": ceiling, "joins": joins, "hundred": hundred}


def main(arguments: list[str]) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks spark", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the events")
    parser.add_argument("--part", choices=[*PARTS, "all"], default="all")
    parser.add_argument("--long", action="store_true", help="the nested loop on all events too: minutes to an hour")
    asked = parser.parse_args(arguments)
    from rookery.spark import session

    spark = session(master="local[2,4]", memory="4g")
    folder = Path(tempfile.mkdtemp(prefix="rookery-benchmark-"))
    try:
        bench = Bench(spark, folder, 10 if asked.quick else 1, long=asked.long)
        agree = [part(bench) for name, part in PARTS.items() if asked.part in (name, "all")]
        print(f"\nmatch counts {'identical everywhere' if all(agree) else 'DIFFER'}")
        return 0 if all(agree) else 1
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
