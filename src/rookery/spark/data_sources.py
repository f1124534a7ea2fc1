"""Python data sources as Spark 4.2 has them, on 4.0 and 4.1 too.

The sinks and sources of Rookery are written against 4.2: writers take Arrow batches, readers are asked how far a
micro-batch may go (admission control). `stream_writer` and `stream_reader` give Spark what its version calls: the
object itself where it fits, else one around it that turns rows into batches, or goes to the end each time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from rookery.spark.compat import arrow_batches, has, need

need((4, 0), "a Python data source (format 'rookery', 'rookery.parquet' …)", "use Spark's own sources and sinks")

from pyspark.sql.datasource import (  # noqa: E402 - Spark 3.5 has no such module, and the line above says so
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    InputPartition,
    WriterCommitMessage,
)

if has((4, 1)):
    from pyspark.sql.datasource import DataSourceStreamArrowWriter
else:
    DataSourceStreamArrowWriter = DataSourceStreamWriter

if has((4, 2)):
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
else:
    from dataclasses import dataclass

    class ReadLimit:  # type: ignore[no-redef]
        """How far a micro-batch may go."""

    class ReadAllAvailable(ReadLimit):  # type: ignore[no-redef]
        """To the end."""

    @dataclass
    class ReadMaxRows(ReadLimit):  # type: ignore[no-redef]
        """So many rows."""

        max_rows: int

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """Says that a reader can fix its end."""


__all__ = [
    "DataSource",
    "DataSourceArrowWriter",
    "DataSourceReader",
    "DataSourceStreamArrowWriter",
    "DataSourceStreamReader",
    "InputPartition",
    "ReadAllAvailable",
    "ReadLimit",
    "ReadMaxRows",
    "SupportsTriggerAvailableNow",
    "WriterCommitMessage",
    "stream_reader",
    "stream_writer",
]


def stream_writer(writer: Any, schema: pa.Schema) -> Any:
    """Return a writer of Arrow batches as this Spark calls one."""
    return writer if has((4, 1)) else _RowWriter(writer, schema)


def stream_reader(reader: Any, *, option: str) -> Any:
    """Return a reader with admission control as this Spark calls one; `option` is what sets its `limit`."""
    if has((4, 2)):
        return reader
    if reader.limit is not None:
        need((4, 2), f"admission control ({option})", f"leave {option} out, and each micro-batch goes to the end")
    return _UnlimitedReader(reader)


class _RowWriter(DataSourceStreamWriter):
    """Makes batches of the rows that Spark 4.0 gives a stream's writer."""

    def __init__(self, writer: Any, schema: pa.Schema) -> None:
        self.writer, self.schema = writer, schema

    def write(self, iterator: Iterator[Any]) -> Any:
        return self.writer.write(arrow_batches(iter(iterator), self.schema))

    def commit(self, messages: list[Any], batchId: int) -> None:  # noqa: N803 - Spark's name
        self.writer.commit(messages, batchId)

    def abort(self, messages: list[Any], batchId: int) -> None:  # noqa: N803 - Spark's name
        self.writer.abort(messages, batchId)


class _UnlimitedReader(DataSourceStreamReader):
    """Goes to the end at each micro-batch: before Spark 4.2 a reader is not told where the last one ended."""

    def __init__(self, reader: Any) -> None:
        self.reader = reader

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return dict(self.reader.initialOffset())

    def latestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return dict(self.reader.reportLatestOffset())

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        return list(self.reader.partitions(start, end))

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        found: Iterator[pa.RecordBatch] = self.reader.read(partition)
        return found
