"""Events that are JSON documents of any shape, on Spark, matched by the task that reads them.

Spark's own JSON reader wants one schema of all events; rules of a dialect name fields that few events have, somewhere
inside. So what Spark hands out are ranges of bytes of files. A worker reads the lines that begin in its range, lays
them out by `model/document_lines.py` in the columns that the rules ask for, and matches them at once: of hundreds of
columns none crosses to the JVM, only matches do.

An event's id is `path#offset`, the byte at which its line begins, the same in every run; or the document's own field,
if one is named. A document with arrays that event patterns choose from has a row for each choice, all with its id and
its number in the batch (`choices.NUMBER`), so that its matches are given once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from rookery.errors import EventError, PipelineError
from rookery.model.choices import NUMBER
from rookery.model.datasets import Paths, find_dataset, table_kind
from rookery.model.document_lines import DocumentLines
from rookery.model.schema import Schema
from rookery.model.storage import ObjectPath, path_of, source_of, walk
from rookery.model.types import StringType, TimestampType
from rookery.spark.events import events_format, file_format
from rookery.spark.names import catalog_name
from rookery.spark.types import spark_schema_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from rookery.spark.columns import Task
    from rookery.spark.subscriptions import Subscriptions

__all__ = [
    "Documents",
    "Events",
    "ReadDocuments",
    "are_documents",
    "documents_schema",
    "read_documents",
    "stream_documents",
]

#: Bytes of one task; a line belongs to the range in which it begins.
RANGE = 16 << 20
#: Documents laid out at a time.
BATCH = 4096
_RANGES = "path string, start bigint, stop bigint"
_FILES = "path string, modificationTime timestamp, length bigint, content binary"


@dataclass(frozen=True, slots=True)
class ReadDocuments:
    """A task: ranges of files in, events out, in the columns of a schema; `named` is the field of their ids."""

    schema: Schema
    named: str | None = None

    @property
    def event_id(self) -> str:
        """The column of the ids, which is no field of the documents that a rule names."""
        return "event_id" if "event_id" not in self.schema else "_event_id"

    @property
    def output(self) -> pa.Schema:
        """The columns of the events."""
        return self.schema.to_arrow().insert(0, pa.field(self.event_id, pa.string()))

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the documents of each range."""
        added = {} if self.named is None or self.named in self.schema else {self.named: StringType()}
        lay_out = DocumentLines(Schema.from_dict({**self.schema.types, **added}))
        for batch in batches:
            for one in batch.to_pylist():
                yield from self._read(lay_out, one["path"], one["start"], one["stop"])

    def _read(self, lay_out: DocumentLines, path: str, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        names: list[str] = []
        lines: list[bytes] = []
        for at, line in _lines(path, start, stop):
            names.append(f"{path}#{at}")
            lines.append(line)
            if len(lines) == BATCH:
                yield self._laid(lay_out, names, lines)
                names, lines = [], []
        if lines:
            yield self._laid(lay_out, names, lines)

    def _laid(self, lay_out: DocumentLines, names: list[str], lines: list[bytes]) -> pa.RecordBatch:
        try:
            table, origins = lay_out(lines)
        except EventError as error:
            raise EventError(f"among the lines from {names[0]} on: {error}") from None
        ids = pa.array(names, pa.string())
        if self.named is not None:
            ids = table[self.named].cast(pa.string())
        elif origins is not None:
            ids = ids.take(pa.array(origins))
        table = table.select(list(self.schema)).add_column(0, self.event_id, ids)
        if origins is not None:
            table = table.append_column(NUMBER, pa.array(origins, pa.int64()))
        return table.combine_chunks().to_batches()[0]


def _lines(path: str, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that begin in a range of a file and are not empty, each with its offset."""
    place = path_of(path)
    with place.open("rb") if not isinstance(place, ObjectPath) else source_of(place) as source:
        at = start
        if start:
            source.seek(start - 1)
            at += len(source.readline()) - 1  # the line that began before
        while at < stop:
            line = source.readline()
            if not line:
                break
            if line.strip():
                yield at, line
            at += len(line)


class Documents:
    """Documents that are still in their files: what stands where a DataFrame of events would."""

    def __init__(self, ranges: DataFrame, reader: ReadDocuments) -> None:
        self.ranges, self.reader = ranges, reader

    @property
    def sparkSession(self) -> SparkSession:  # noqa: N802 - Spark's name
        """The session."""
        return self.ranges.sparkSession

    @property
    def isStreaming(self) -> bool:  # noqa: N802 - Spark's name
        """Whether files are followed."""
        return bool(self.ranges.isStreaming)

    @property
    def columns(self) -> list[str]:
        """The columns of the events."""
        return list(self.reader.output.names)

    @property
    def schema(self) -> StructType:
        """The columns of the events as Spark knows them."""
        return spark_schema_of(self.reader.output, local=True)

    def select(self, *names: str) -> Documents:
        """Return the documents laid out in fewer columns; the id stays."""
        kept = {name.strip("`") for name in names}
        types = {name: kind for name, kind in self.reader.schema.types.items() if name in kept}
        return Documents(self.ranges, replace(self.reader, schema=Schema.from_dict(types)))

    def mapInArrow(self, task: Task, schema: Any) -> DataFrame:  # noqa: N802 - Spark's name
        """Run a task over the events of each range, in the worker that reads it."""
        return self.ranges.mapInArrow(_ReadThen(self.reader, task), schema)

    def frame(self) -> DataFrame:
        """Return the events as a DataFrame: each crosses to the JVM."""
        return self.mapInArrow(_without_number, self.schema)

    def count(self) -> int:
        """Count the documents: lines are found and not read as JSON."""
        counted = self.ranges.mapInArrow(_count, "count bigint")
        return int(counted.groupBy().sum("count").collect()[0][0] or 0)


Events: TypeAlias = "DataFrame | Documents"


@dataclass(frozen=True, slots=True)
class _ReadThen:
    reader: ReadDocuments
    task: Task

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        return self.task(self.reader(batches))


def _without_number(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.select([name for name in batch.schema.names if name != NUMBER])


def _count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        counts = [sum(1 for _ in _lines(one["path"], one["start"], one["stop"])) for one in batch.to_pylist()]
        yield pa.record_batch({"count": pa.array(counts, pa.int64())})


def are_documents(events: Paths, rules: Subscriptions, *, stream: bool = False) -> bool:
    """Say whether events are to be read as documents: JSON lines, for rules that came in a dialect.

    A folder that is to be followed may be empty yet.
    """
    if catalog_name(events) is not None or "source" not in rules.records().column_names:
        return False
    if not stream:
        return events_format(find_dataset(events)) == "json"
    assert not isinstance(events, list | tuple)
    root = path_of(events)  # type: ignore[arg-type]
    if not root.is_dir() or table_kind(root) is not None:
        return False
    there = [inside / name for inside, _, names in walk(root) for name in names if not name.startswith(("_", "."))]
    return not there or file_format(there) == "json"


def documents_schema(
    records: pa.Table, *, columns: Sequence[str] = (), time: str | None = None, topic: str | None = None
) -> Schema:
    """Return the columns that documents are laid out in: what the rules name, and what is asked for beside them.

    `columns` to carry are texts where no rule says otherwise; `time` is an instant; a topic is in the documents' field
    `topic` if rules name topics and `topic` is none for all.
    """
    types = dict(Schema.from_subscriptions(records).types)
    if time is not None:
        types[time] = TimestampType("us")
    if topic is None and "topic" in records.column_names and records["topic"].null_count < len(records):
        types.setdefault("topic", StringType())
    for name in columns:
        if name != "event_id":
            types.setdefault(name, StringType())
    return Schema.from_dict(types)


def read_documents(
    spark: SparkSession, paths: Paths, schema: Schema, *, event_id: str | None = None
) -> tuple[Documents, str]:
    """Read JSON lines in the columns of a schema; returns the events and the name of their id column."""
    _tell_cases_apart(spark, schema)
    ranges = []
    for path in find_dataset(paths).paths:
        state: Any = path.stat()
        size = state["size"] if isinstance(path, ObjectPath) else state.st_size
        ranges += [(str(path.resolve()), start, min(start + RANGE, size)) for start in range(0, size, RANGE)]
    if not ranges:
        raise PipelineError(f"there are no events in {paths}")
    frame = spark.createDataFrame(ranges, _RANGES).repartition(len(ranges))
    reader = ReadDocuments(schema, event_id)
    return Documents(frame, reader), reader.event_id


def stream_documents(
    spark: SparkSession, folder: str, schema: Schema, *, event_id: str | None = None, files_per_batch: int = 16
) -> tuple[Documents, str]:
    """Follow a folder of JSON lines: each new file is read once, at most `files_per_batch` in a micro-batch."""
    from pyspark.sql.functions import col, explode, expr, least, lit, regexp_replace

    _tell_cases_apart(spark, schema)
    reader = spark.readStream.format("binaryFile").schema(_FILES).option("maxFilesPerTrigger", files_per_batch)
    files = reader.load(str(path_of(folder).resolve())).where("length > 0")
    path = regexp_replace(regexp_replace("path", "^file:/+", "/"), "^s3[an]:", "s3:")
    starts = files.select(
        path.alias("path"), "length", explode(expr(f"sequence(0L, length - 1, {RANGE}L)")).alias("start")
    )
    ranges = starts.select("path", "start", least(col("start") + lit(RANGE), col("length")).alias("stop"))
    reader = ReadDocuments(schema, event_id)
    return Documents(ranges, reader), reader.event_id


def _tell_cases_apart(spark: SparkSession, schema: Schema) -> None:
    """Rules name `path` and `Path`, which are two fields of a document and one to a session that folds names."""
    if len({name.lower() for name in schema}) < len(schema):
        spark.conf.set("spark.sql.caseSensitive", "true")
