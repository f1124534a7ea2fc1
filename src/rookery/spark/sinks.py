"""Sinks as Python data sources: `rookery.parquet` and `rookery.jsonl`, two-phase and exact in the raw files.

    hits.writeStream.format("rookery.parquet").option("checkpointLocation", c).option("query", q).start(out)

`commit` runs on the driver, perhaps again for a batch that was published just before a crash; `staging` makes that
harmless. `query` binds the folder to one stream (`write_stream` sets it from the checkpoint).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
from pyspark.sql.types import StructType

from rookery.errors import SinkError
from rookery.model.storage import absolute
from rookery.spark.data_sources import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
    stream_writer,
)
from rookery.spark.jobs import free_query_name
from rookery.spark.manifests import Output, output_of
from rookery.spark.staging import Staged
from rookery.spark.types import arrow_schema_of
from rookery.spark.versions import VersionLog

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

__all__ = ["JsonLinesSink", "ParquetSink", "write_stream"]


@dataclass
class Written(WriterCommitMessage):
    """What one task reports."""

    staged: Staged


class ParquetSink(DataSource):
    """The sink `rookery.parquet`."""

    format: Literal["parquet", "jsonl"] = "parquet"

    @classmethod
    def name(cls) -> str:
        """Return the name that `format()` takes."""
        return "rookery.parquet"

    def output(self) -> Output:
        """Return the folder that the options name."""
        if "path" not in self.options:
            raise SinkError(f"the sink {self.name()} needs a folder: .start(path) or .save(path)")
        return output_of(self.options["path"], self.format)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Return the writer of a batch job."""
        output = self.output()
        output.check_free(overwrite=overwrite)
        return StagedWriter(output, arrow_of(schema), overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: N802
        """Return the writer of a stream."""
        output = self.output()
        if "query" not in self.options:
            raise SinkError(
                f"the sink {self.name()} needs the option 'query', a name that belongs to this stream alone: it keeps "
                "another stream from writing to the same folder (write_stream sets it)"
            )
        output.claim(self.options["query"])
        columns = arrow_of(schema)
        return stream_writer(StagedStreamWriter(output, columns), columns)


class JsonLinesSink(ParquetSink):
    """The sink `rookery.jsonl`."""

    format = "jsonl"

    @classmethod
    def name(cls) -> str:
        """Return the name that `format()` takes."""
        return "rookery.jsonl"


def arrow_of(schema: StructType) -> pa.Schema:
    """Return the Arrow schema of the rows that the sink is given."""
    return arrow_schema_of(schema)


class StagedWriter(DataSourceArrowWriter):
    """Writes the result of a batch job."""

    def __init__(self, output: Output, schema: pa.Schema, overwrite: bool) -> None:
        self.staged_output, self.schema, self.overwrite = output, schema, overwrite

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's rows."""
        return Written(self.staged_output.write(iterator, self.schema))

    def commit(self, messages: list[Any]) -> None:
        """Publish the folder."""
        staged = [message.staged for message in messages if message is not None]
        self.staged_output.publish(staged, self.schema, overwrite=self.overwrite)

    def abort(self, messages: list[Any]) -> None:
        """Remove what the tasks wrote."""
        names = [message.staged.name for message in messages if message is not None and message.staged.name]
        self.staged_output.discard(names)


class StagedStreamWriter(DataSourceStreamArrowWriter):
    """Writes a stream, one folder a micro-batch."""

    def __init__(self, output: Output, schema: pa.Schema) -> None:
        self.staged_output, self.schema = output, schema

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's rows."""
        return Written(self.staged_output.write(iterator, self.schema))

    def commit(self, messages: list[Any], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Publish one micro-batch, unless a run before a crash already did."""
        staged = [message.staged for message in messages if message is not None]
        self.staged_output.publish_batch(staged, batchId, self.schema)

    def abort(self, messages: list[Any], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Remove what the tasks wrote."""
        names = [message.staged.name for message in messages if message is not None and message.staged.name]
        self.staged_output.discard(names)


def write_stream(
    matches: DataFrame,
    out: str,
    *,
    checkpoint: str,
    format: str = "parquet",
    trigger: dict[str, Any] | None = None,
) -> StreamingQuery:
    """Start the stream into a two-phase sink: `format` is parquet, jsonl or delta; exact whatever is killed when."""
    from rookery.spark.sql import register_sources

    register_sources(matches.sparkSession, f"rookery.{format}")
    known = VersionLog(checkpoint).query()
    if known is None:
        raise SinkError("write_stream takes the result of match(…, checkpoint=…) and the same checkpoint")
    query = known["query"]
    if format in ("parquet", "jsonl"):
        output = output_of(out, "parquet" if format == "parquet" else "jsonl")
        output.claim(query)  # here, so that the mistake is the caller's and not one of a task
        output.sweep()
    kept = [name for name in matches.columns if name != "zone"]
    writer = (
        matches.select(*kept)
        .writeStream.format(f"rookery.{format}")
        .option("checkpointLocation", absolute(checkpoint))
        .option("query", query)
        .outputMode("append")
    )
    name = free_query_name(matches.sparkSession, f"matches to {out}")
    writer = writer if name is None else writer.queryName(name)
    return writer.trigger(**(trigger or {"processingTime": "0 seconds"})).start(absolute(out))
