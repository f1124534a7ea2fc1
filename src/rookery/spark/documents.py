"""Events that are JSON documents of any shape, on Spark, in the columns that a set of subscriptions asks for.

Spark's own JSON reader wants one schema of all events; rules of a dialect name fields that few events have, somewhere
inside. So the lines are read by the workers themselves, each a range of bytes of a file, and laid out by
`model/documents.py`. An event's id is `path#offset`, the byte at which its line begins, the same in every run; or the
document's own field, if one is named. A document with arrays that event patterns choose from has a row for each choice,
all with its id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rookery.errors import EventError, PipelineError
from rookery.model.datasets import Paths, find_dataset
from rookery.model.documents import documents_of, laid_out
from rookery.model.schema import Schema
from rookery.model.storage import ObjectPath, path_of, source_of
from rookery.model.types import StringType
from rookery.spark.events import events_format
from rookery.spark.names import catalog_name
from rookery.spark.types import spark_schema_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rookery.spark.subscriptions import Subscriptions

__all__ = ["ReadDocuments", "are_documents", "read_documents"]

#: Bytes of one task; a line belongs to the range in which it begins.
RANGE = 16 << 20
#: Documents laid out at a time.
BATCH = 4096


def are_documents(events: Paths, rules: Subscriptions) -> bool:
    """Say whether events are to be read as documents: JSON lines, for rules that came in a dialect."""
    if catalog_name(events) is not None or "source" not in rules.records().column_names:
        return False
    return events_format(find_dataset(events)) == "json"


def read_documents(
    spark: SparkSession, paths: Paths, schema: Schema, *, event_id: str | None = None
) -> tuple[DataFrame, str]:
    """Read JSON lines in the columns of a schema; returns the DataFrame and the name of its id column."""
    if len({name.lower() for name in schema}) < len(schema):
        # Rules name `path` and `Path`, which are two fields of a document and one to a session that folds names.
        spark.conf.set("spark.sql.caseSensitive", "true")
    ranges = []
    for path in find_dataset(paths).paths:
        state: Any = path.stat()
        size = state["size"] if isinstance(path, ObjectPath) else state.st_size
        ranges += [(str(path.resolve()), start, min(start + RANGE, size)) for start in range(0, size, RANGE)]
    if not ranges:
        raise PipelineError(f"there are no events in {paths}")
    frame = spark.createDataFrame(ranges, "path string, start bigint, stop bigint").repartition(len(ranges))
    read = ReadDocuments(schema, event_id)
    return frame.mapInArrow(read, spark_schema_of(read.output, local=True)), "event_id"


class ReadDocuments:
    """A task: ranges of files in, events out."""

    def __init__(self, schema: Schema, event_id: str | None) -> None:
        self.schema, self.named = schema, event_id
        added = {} if event_id is None or event_id in schema else {event_id: StringType()}
        self.wanted = Schema.from_dict({**schema.types, **added})
        self.output = schema.to_arrow().insert(0, pa.field("event_id", pa.string()))

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for one in batch.to_pylist():
                yield from self._read(one["path"], one["start"], one["stop"])

    def _read(self, path: str, start: int, stop: int) -> Iterator[pa.RecordBatch]:
        names: list[str] = []
        lines: list[bytes] = []
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
                    names.append(f"{path}#{at}")
                    lines.append(line)
                at += len(line)
                if len(lines) == BATCH:
                    yield self._laid(names, lines)
                    names, lines = [], []
        if lines:
            yield self._laid(names, lines)

    def _laid(self, names: list[str], lines: list[bytes]) -> pa.RecordBatch:
        try:
            table, origins = laid_out(documents_of(lines), self.wanted)
        except EventError as error:
            raise EventError(f"among the lines from {names[0]} on: {error}") from None
        if origins is not None:
            names = [names[place] for place in origins]
        ids = pa.array(names, pa.string()) if self.named is None else table[self.named].cast(pa.string())
        table = table.select(list(self.schema)).add_column(0, "event_id", ids)
        return table.combine_chunks().to_batches()[0]
