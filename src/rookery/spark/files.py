"""The *files* plan: Parquet in, Parquet out, and no row crosses the JVM.

A task is a number; the list of row groups travels with the code, and each task takes its share of it. A worker reads
its row groups with Arrow, only the columns that the rules name, matches them in slices, writes the matches to staging
and returns one line of manifest. The hop from the JVM to Python, the ceiling of every other plan, carries one number
a task, and the job has a single stage. Memory is bounded by one slice of events and its matches.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from rookery.errors import PipelineError
from rookery.model.datasets import Dataset, Paths, complete_batch, find_dataset
from rookery.model.storage import Location, path_of, plain_name, source_of
from rookery.spark.carried import Carried, rule_columns_of
from rookery.spark.carriers import Carrier, carry
from rookery.spark.jobs import job_description
from rookery.spark.manifests import Output, output_of
from rookery.spark.names import default_event_id, folds_names
from rookery.spark.outputs import MANIFEST, publish_staged
from rookery.spark.rules import (
    CompiledRules,
    OnError,
    Reading,
    check_quarantined,
    require_all,
    require_columns,
    schema_of,
)
from rookery.spark.subscriptions import Subscriptions
from rookery.spark.worker import flat, loaded, match_schema, matches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rookery import CompiledSet

__all__ = ["Outcome", "match_files", "parquet_schema"]

log = logging.getLogger("rookery.spark")

#: Events that a worker holds at a time, and the fewest that it matches at a time.
SLICE, SMALLEST = 262_144, 8_192

#: Rows that are worth a task of their own, and the most tasks for each that can run at once: a task costs some tens of
#: milliseconds, and a few of them for each core even out what is slow.
TASK_ROWS, TASKS_PER_CORE = 500_000, 4

#: Matches per event above which the next piece is smaller, and below which it is larger: a broad set must not fill the
#: worker's memory with one slice's matches, and a selective one goes faster in large pieces.
DENSE, SPARSE = 16, 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a job did: events read, matches written, matches by subscription (the most frequent first)."""

    events: int
    matches: int
    top: tuple[tuple[Any, int], ...]
    quarantined: tuple[dict[str, Any], ...]
    plan: str
    reason: str

    def _repr_html_(self) -> str:
        """Return what happened for a notebook: the sums, the most frequent rules, and what was set aside."""
        lines = [
            f"<p>{self.matches:,} matches of {self.events:,} events ({escape(self.plan)}: {escape(self.reason)})</p>"
        ]
        rows = "".join(f"<tr><td>{escape(str(name))}</td><td>{count:,}</td></tr>" for name, count in self.top)
        lines.append(f"<table><tr><th>subscription_id</th><th>matches</th></tr>{rows}</table>")
        for bad in self.quarantined:
            lines.append(f"<p>quarantined {escape(str(bad['subscription_id']))}: {escape(str(bad['reason']))}</p>")
        return "".join(lines)


def parquet_schema(data: Dataset) -> pa.Schema:
    """Return the columns of the events; a file whose own differ or that is cut short is named."""
    import pyarrow.parquet as pq

    if data.declared is not None:
        return data.declared
    first: pa.Schema | None = None
    for path in data.paths:
        try:
            schema = pq.read_schema(source_of(path)).remove_metadata()
        except (pa.ArrowException, OSError) as error:
            raise PipelineError(f"{path}: is no whole Parquet file ({error}); remove it or write it again") from error
        if first is None:
            first = schema
        elif not schema.equals(first):
            changed = sorted({*schema} ^ {*first}, key=lambda field: field.name)
            raise PipelineError(
                f"{path}: its columns differ from those of {data.paths[0]} ({changed[0]}): match the two kinds apart"
            )
    assert first is not None
    return data.schema(first)


def match_files(
    spark: SparkSession,
    paths: Paths,
    rules: Any,
    out: str | Path,
    *,
    version: int | None = None,
    at: datetime | None = None,
    event_id: str | None = None,
    time: str | None = None,
    topic: str | None = None,
    as_of: datetime | None = None,
    engine: str = "bitmap",
    columns: Sequence[str] = (),
    subscription_columns: Sequence[str] = (),
    on_error: OnError = "quarantine",
    overwrite: bool = False,
) -> Outcome:
    """Match Parquet files into a folder of Parquet files `event_id, subscription_id, version` and what they carry.

    `paths` are files, folders (partition folders `column=value` are columns) or a Delta or Iceberg table, read at a
    `version` (of Iceberg, a snapshot's id) or as it was `at` a time. Events are named by `event_id`, by default the
    column of that name; where there is none by their place, `path#row`. `columns`, `subscription_columns` and
    `on_error` are as in `match`.
    """
    data = find_dataset(paths, zone=session_zone(spark), version=version, at=at)
    schema = parquet_schema(data)
    folded = folds_names(spark)
    event_id = default_event_id(schema.names, event_id, folded=folded)
    reading = Reading(
        event_id=event_id or "event_id", time=time, topic=topic, as_of=as_of, engine=engine, folded=folded
    ).named(schema.names)
    columns = reading.carried(columns, schema.names)
    require_columns(schema.names, event_id=event_id, time=reading.time)
    compiled = Subscriptions.of(rules).compiled(schema_of(schema), reading)
    check_quarantined(compiled, on_error)
    return run_files(
        spark, data, schema, compiled, reading, output_of(out), event_id,
        columns=columns, subscription_columns=subscription_columns, overwrite=overwrite,
    )  # fmt: skip


def run_files(
    spark: SparkSession,
    data: Dataset,
    schema: pa.Schema,
    rules: CompiledRules,
    reading: Reading,
    output: Output,
    event_id: str | None,
    *,
    columns: Sequence[str] = (),
    subscription_columns: Sequence[str] = (),
    overwrite: bool = False,
) -> Outcome:
    """Run the plan on a compiled set and publish the result."""
    from rookery.spark.plans import choose
    from rookery.spark.rules import describe

    output.check_free(overwrite=overwrite)
    plan = choose(rules.compiled, plan="files", paths=True)
    groups = row_groups(data)
    id_type = pa.string() if event_id is None else schema.field(event_id).type
    require_all(schema.names, columns)
    carried = Carried(tuple(columns), rule_columns_of(rules.records, subscription_columns))
    needed = reading.columns([*rules.columns, *columns], schema.names)
    tasks = task_count(groups, spark_parallelism(spark))
    task = MatchGroups(
        carry(spark, rules.compiled),
        reading,
        output,
        carried.schema(match_schema(id_type, rules.id_type), schema),
        pa.schema([schema.field(name) for name in needed]),
        event_id,
        carried,
        tuple(tuple(groups[turn::tasks]) for turn in range(tasks)),
    )
    with job_description(spark, f"{len(rules.compiled):,} rules over {len(data.files):,} files to {output.path}"):
        manifest = publish_staged(spark.range(0, tasks, 1, tasks), task, output, overwrite=overwrite)
    return Outcome(
        events=sum(line["events"] for line in manifest),
        matches=sum(line["matches"] for line in manifest),
        top=merge_top(line["top"] for line in manifest),
        quarantined=tuple(describe(error) for error in rules.quarantined),
        plan=plan.name,
        reason=plan.reason,
    )


class RowGroup(NamedTuple):
    """One row group of one file: where it is, its first row in the file, its rows, and what holds for all of them.

    `groups` is how many the file has: one that was written anew since is not read in part.
    """

    path: str
    number: int
    first: int
    rows: int
    groups: int
    constants: dict[str, Any]


def row_groups(data: Dataset) -> list[RowGroup]:
    """Return every row group, the largest first: a late large task would hold up the job."""
    groups = [group for file in data.files for group in groups_of(file.path, data.constants(file))]
    return sorted(groups, key=lambda group: -group.rows)


def groups_of(path: Location, constants: dict[str, Any]) -> list[RowGroup]:
    """Return the row groups of one file."""
    import pyarrow.parquet as pq

    try:
        meta = pq.read_metadata(source_of(path))
    except (pa.ArrowException, OSError) as error:
        raise PipelineError(f"{path}: cannot be read as Parquet: {error}") from error
    groups, start, name = [], 0, plain_name(path)
    for number in range(meta.num_row_groups):
        rows = meta.row_group(number).num_rows
        groups.append(RowGroup(name, number, start, rows, meta.num_row_groups, constants))
        start += rows
    return groups


def task_count(groups: Sequence[RowGroup], cores: int) -> int:
    """Return into how many tasks the row groups are dealt."""
    worth = sum(group.rows for group in groups) // TASK_ROWS
    return max(1, min(len(groups), max(cores, min(TASKS_PER_CORE * cores, worth))))


def session_zone(spark: SparkSession) -> str:
    """Return the time zone in which Spark reads times without one, as in the names of partition folders."""
    return str(spark.conf.get("spark.sql.session.timeZone"))


def spark_parallelism(spark: SparkSession) -> int:
    """Return how many tasks run at once, as far as the session tells."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no SparkContext
        return 4


@dataclass(frozen=True, slots=True)
class MatchGroups:
    """The task of the files plan."""

    carrier: Carrier
    reading: Reading
    output_folder: Output
    output: pa.Schema
    columns: pa.Schema
    event_id: str | None
    carried: Carried
    shares: tuple[tuple[RowGroup, ...], ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match the row groups of the task's numbers, each share into one staged file, and report it."""
        for batch in batches:
            for share in batch.column(0).to_pylist():
                count = Count()
                staged = self.output_folder.write(self._matches(self.shares[share], count), self.output)
                yield pa.record_batch([[staged.name], [count.events], [staged.rows], [count.top()]], schema=MANIFEST)

    def _matches(self, groups: Sequence[RowGroup], count: Count) -> Iterator[pa.Table]:
        compiled = loaded(self.carrier, self.reading)
        for group in groups:
            try:
                for batch in read_group(group, self.columns, named=self.event_id is not None):
                    yield from self._pieces(compiled, batch, count)
            except (pa.ArrowInvalid, OSError) as error:
                raise PipelineError(f"{group.path}: cannot be read as Parquet: {error}") from error

    def _found(self, compiled: CompiledSet, piece: pa.RecordBatch) -> pa.Table:
        if not self.carried:
            return matches(compiled, piece, self.reading)
        columns, rules = self.carried.columns, self.carried.rules
        return flat(compiled, piece, self.reading, columns=columns, rule_columns=rules).rename_columns(
            self.output.names
        )

    def _pieces(self, compiled: CompiledSet, batch: pa.RecordBatch, count: Count) -> Iterator[pa.Table]:
        """Match one slice in pieces whose size follows the density of the matches."""
        place = 0
        while place < batch.num_rows:
            piece = batch.slice(place, count.piece)
            found = self._found(compiled, piece)
            place += piece.num_rows
            count.add(piece.num_rows, found)
            if found.num_rows > DENSE * piece.num_rows:
                count.piece = max(SMALLEST, count.piece // 2)
            elif found.num_rows < SPARSE * piece.num_rows:
                count.piece = min(SLICE, 2 * count.piece)
            yield found


def read_group(group: RowGroup, columns: pa.Schema, *, named: bool) -> Iterator[pa.RecordBatch]:
    """Read the columns asked for in slices, and name the events by their place unless a column does."""
    row = group.first
    for batch, rows in _slices(group, columns):
        whole = complete_batch(batch, columns, group.constants, rows)
        if not named:
            places = pa.array([f"{group.path}#{row + index}" for index in range(rows)], pa.string())
            whole = pa.record_batch([*whole.columns, places], names=[*columns.names, "event_id"])
        row += rows
        yield whole


def _slices(group: RowGroup, columns: pa.Schema) -> Iterator[tuple[pa.RecordBatch | None, int]]:
    """Read what the file itself has of the columns; where that is none, its rows are only counted."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(source_of(path_of(group.path))) as file:
        meta = file.metadata
        if meta.num_row_groups != group.groups or meta.row_group(group.number).num_rows != group.rows:
            raise PipelineError(f"{group.path}: was written anew while it was matched: run the job again")
        held = [name for name in columns.names if name not in group.constants and name in file.schema_arrow.names]
        if held:
            for batch in file.iter_batches(SLICE, row_groups=[group.number], columns=held):
                yield batch, batch.num_rows
            return
    for first in range(0, group.rows, SLICE):
        yield None, min(SLICE, group.rows - first)


class Count:
    """Events and matches of one task, its most frequent subscriptions, and the size of the next piece."""

    def __init__(self) -> None:
        self.events = 0
        self.piece = 32_768
        self.hits: dict[Any, int] = {}

    def add(self, events: int, found: pa.Table) -> None:
        """Count one slice."""
        self.events += events
        if found.num_rows:
            for entry in found["subscription_id"].value_counts().to_pylist():
                self.hits[entry["values"]] = self.hits.get(entry["values"], 0) + entry["counts"]

    def top(self) -> str:
        """Return the counts as JSON; exact below 10,000 subscriptions, else of the most frequent ones."""
        kept = sorted(self.hits.items(), key=lambda item: (-item[1], str(item[0])))[:10_000]
        return json.dumps(kept)


def merge_top(parts: Iterator[str], *, count: int = 10) -> tuple[tuple[Any, int], ...]:
    """Add up the tasks' counts and return the most frequent subscriptions."""
    total: dict[Any, int] = {}
    for part in parts:
        for name, hits in json.loads(part):
            total[name] = total.get(name, 0) + hits
    return tuple(sorted(total.items(), key=lambda item: (-item[1], str(item[0])))[:count])
