"""The sink `rookery.delta`: matches into a Delta Lake table through `deltalake`, exactly once, without any jar.

Tasks write Parquet files straight into the table's folder, where no reader looks before the log names them. The driver
adds them in one commit that also carries (query, batch) as an application transaction; a batch whose number the table's
log already has is dropped. A file that no commit names is an orphan, and `VACUUM` removes it.
"""

from __future__ import annotations

import json
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from rookery.errors import SinkError
from rookery.model.storage import ObjectPath, absolute, path_of, plain_name, put_file, store_options
from rookery.spark.data_sources import DataSource, DataSourceStreamArrowWriter, WriterCommitMessage, stream_writer
from rookery.spark.sinks import arrow_of

__all__ = ["DeltaSink"]


@dataclass
class Added(WriterCommitMessage):
    """What one task wrote: the file's name, its bytes and rows; no name when it had no row."""

    name: str | None
    size: int
    rows: int


class DeltaSink(DataSource):
    """The sink `rookery.delta`."""

    @classmethod
    def name(cls) -> str:
        """Return the name that `format()` takes."""
        return "rookery.delta"

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: N802
        """Return the writer of a stream."""
        for option in ("path", "query"):
            if option not in self.options:
                raise SinkError(f"the sink rookery.delta needs the option {option!r} (write_stream sets it)")
        columns = arrow_of(schema)
        return stream_writer(DeltaWriter(absolute(self.options["path"]), self.options["query"], columns), columns)


class DeltaWriter(DataSourceStreamArrowWriter):
    """Writes a stream into one Delta table, one commit a micro-batch."""

    def __init__(self, path: str, query: str, schema: pa.Schema) -> None:
        self.path, self.query, self.schema = path, query, schema

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write one task's rows to a file of the table's folder."""
        import pyarrow.parquet as pq

        name = f"part-{uuid.uuid4().hex}.parquet"
        target = path_of(self.path) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        # In a store a file appears whole: it is made on this machine first.
        path = Path(tempfile.gettempdir()) / f"rookery-{name}" if isinstance(target, ObjectPath) else target
        rows = 0
        try:
            with pq.ParquetWriter(path, self.schema, compression="zstd") as writer:
                for batch in iterator:
                    writer.write_batch(batch.cast(self.schema))
                    rows += batch.num_rows
        except BaseException as error:
            path.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise SinkError(error.errno, f"cannot write {self.path}: {error.strerror or error}") from error
            raise
        size = path.stat().st_size
        if isinstance(target, ObjectPath) and rows:
            put_file(path, target)
        if isinstance(target, ObjectPath) or not rows:
            path.unlink()
        return Added(name, size, rows) if rows else Added(None, 0, 0)

    def commit(self, messages: list[Any], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Add the batch's files to the table in one commit, unless the table already has this batch."""
        from deltalake import CommitProperties, DeltaTable, Transaction
        from deltalake.transaction import AddAction, create_table_with_add_actions

        added = [message for message in messages if message is not None and message.name is not None]
        actions = [
            AddAction(
                path=message.name,
                size=message.size,
                partition_values={},
                modification_time=time.time_ns() // 1_000_000,
                data_change=True,
                stats=json.dumps({"numRecords": message.rows}),
            )
            for message in added
        ]
        properties = CommitProperties(app_transactions=[Transaction(app_id=self.query, version=batchId)])
        place, options = plain_name(path_of(self.path)), store_options()
        if not DeltaTable.is_deltatable(place, options):
            path_of(self.path).mkdir(parents=True, exist_ok=True)
            create_table_with_add_actions(
                place, schema=self._delta_schema(), add_actions=actions, mode="error", commit_properties=properties,
                storage_options=options,
            )  # fmt: skip
            return
        table = DeltaTable(place, storage_options=options)
        last = table.transaction_version(self.query)
        if last is not None and last >= batchId:
            self.abort(messages, batchId)
            return
        if actions:
            table.create_write_transaction(
                actions, mode="append", schema=self._delta_schema(), commit_properties=properties
            )

    def abort(self, messages: list[Any], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Remove what the tasks wrote."""
        for message in messages:
            if message is not None and message.name is not None:
                (path_of(self.path) / message.name).unlink(missing_ok=True)

    def _delta_schema(self) -> Any:
        from deltalake import Schema

        return Schema.from_arrow(self.schema)
