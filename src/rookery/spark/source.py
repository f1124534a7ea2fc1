"""`spark.read` and `spark.readStream` with `format("rookery")`: generated workloads and recorded runs, as events.

Both are tapes: rows 0, 1, 2 … that any worker can make or read again. So an offset is one number, a replayed
micro-batch holds the very same rows, and `rowsPerBatch` (admission control) only decides how far one micro-batch goes.

    spark.read.format("rookery").option("workload", "telemetry").option("rows", 1_000_000).load()
    spark.readStream.format("rookery").option("path", "recorded/").option("rowsPerBatch", 5_000).load()

With the option `spool` it reads what `rookery spool` recorded from a DDS topic; see `rookery.spark.spool`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from rookery.errors import PipelineError
from rookery.model.datasets import DataFile, Dataset, complete_batch, find_dataset
from rookery.model.storage import source_of
from rookery.spark.compat import need
from rookery.spark.data_sources import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
    stream_reader,
)
from rookery.spark.types import spark_schema_of
from rookery.spark.workloads import workload

__all__ = ["RecordedTape", "RookerySource", "WorkloadTape"]

#: A stream without `rows` never ends; this is its far end.
ENDLESS = 2**62


@dataclass(frozen=True)
class WorkloadTape:
    """Rows of a generated workload."""

    name: str
    rows: int
    seed: int

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows."""
        return workload(self.name).schema

    def read(self, first: int, last: int) -> Iterator[pa.RecordBatch]:
        """Make the rows from `first` up to `last`."""
        return workload(self.name).events(first, last, seed=self.seed)


@dataclass(frozen=True)
class RecordedTape:
    """Rows of recorded Parquet files, in the order of the files' names. Files must not change once they are named."""

    path: str

    @cached_property
    def _data(self) -> Dataset:
        data = find_dataset(self.path)
        if data.declared is not None:
            raise PipelineError(
                f"{self.path} is a table with a log, and a tape is files that stay: match the table itself, by "
                "match_files or rookery match"
            )
        return data

    @cached_property
    def _groups(self) -> list[tuple[int, DataFile, int]]:
        import pyarrow.parquet as pq

        groups, start = [], 0
        for file in self._data.files:
            try:
                meta = pq.read_metadata(source_of(file.path))
            except (pa.ArrowException, OSError) as error:
                raise PipelineError(
                    f"{file.path}: is no whole Parquet file ({error}); remove it or write it again"
                ) from error
            for group in range(meta.num_row_groups):
                groups.append((start, file, group))
                start += meta.row_group(group).num_rows
        return [*groups, (start, DataFile(Path(), Path()), -1)]

    @property
    def rows(self) -> int:
        """How many rows the files hold."""
        return self._groups[-1][0]

    @property
    def schema(self) -> pa.Schema:
        """The schema of the first file, and the columns of the partition folders."""
        import pyarrow.parquet as pq

        return self._data.schema(pq.read_schema(source_of(self._data.paths[0])).remove_metadata())

    def read(self, first: int, last: int) -> Iterator[pa.RecordBatch]:
        """Read the rows from `first` up to `last`."""
        import pyarrow.parquet as pq

        schema, own = self.schema, pq.read_schema(source_of(self._data.paths[0])).remove_metadata()
        for (start, file, group), (end, _, _) in pairwise(self._groups):
            if start >= last or end <= first:
                continue
            table = pq.ParquetFile(source_of(file.path)).read_row_group(group).cast(own)
            low = max(first - start, 0)
            for batch in table.slice(low, min(last, end) - start - low).to_batches(max_chunksize=65_536):
                yield complete_batch(batch, schema, self._data.constants(file), batch.num_rows)


@dataclass
class SourceRows(InputPartition):
    """The rows that one task reads."""

    first: int
    last: int


class RookerySource(DataSource):
    """The data source `rookery`."""

    @classmethod
    def name(cls) -> str:
        """Return the name that `format()` takes."""
        return "rookery"

    def tape(self) -> WorkloadTape | RecordedTape:
        """Return the tape that the options name."""
        known = {"workload", "rows", "seed", "path", "rowsperbatch", "partitions"}
        unknown = {name.lower() for name in self.options} - known
        if unknown:
            raise PipelineError(f"the source rookery has no option {sorted(unknown)[0]!r}; it has {sorted(known)}")
        if "path" in self.options:
            return RecordedTape(self.options["path"])
        if "workload" not in self.options:
            raise PipelineError(
                "the source rookery needs the option 'workload' (generated), 'path' (recorded) or 'spool' (from DDS)"
            )
        rows = int(self.options.get("rows", ENDLESS))
        return WorkloadTape(workload(self.options["workload"]).name, rows, int(self.options.get("seed", 1)))

    def schema(self) -> StructType:
        """Return the schema of the rows."""
        if "spool" in self.options:
            from rookery.spark.spool import spool_tape

            return spark_schema_of(spool_tape(self.options).schema)
        return spark_schema_of(self.tape().schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch."""
        if "spool" in self.options:
            from rookery.spark.spool import SpoolReader, spool_tape

            return SpoolReader(spool_tape(self.options), self.options)
        return TapeReader(self.tape(), int(self.options.get("partitions", 0)))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return the reader of a stream."""
        if "spool" in self.options:
            from rookery.spark.spool import SpoolStream, spool_tape

            reader: Any = SpoolStream(spool_tape(self.options), self.options)
        else:
            tape = self.tape()
            if tape.rows >= ENDLESS:
                need((4, 2), "a workload without an end, which is admitted block by block", "give the option 'rows'")
            reader = TapeStream(tape, int(self.options.get("partitions", 2)), self.options.get("rowsPerBatch"))
        return stream_reader(reader, option="rowsPerBatch")


def cut(first: int, last: int, pieces: int) -> list[SourceRows]:
    """Cut a span of rows into at most `pieces` nearly equal parts."""
    pieces = max(1, min(pieces, last - first))
    edges = [first + (last - first) * number // pieces for number in range(pieces + 1)]
    return [SourceRows(low, high) for low, high in pairwise(edges) if high > low]


class TapeReader(DataSourceReader):
    """Reads a whole tape."""

    def __init__(self, tape: WorkloadTape | RecordedTape, partitions: int) -> None:
        if tape.rows >= ENDLESS:
            raise PipelineError("a batch of a generated workload needs the option 'rows'")
        self.tape = tape
        self.pieces = partitions or max(1, tape.rows // 250_000)

    def partitions(self) -> Sequence[InputPartition]:
        """Cut the tape into tasks."""
        return cut(0, self.tape.rows, self.pieces)

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Read one task's rows."""
        return self.tape.read(partition.first, partition.last)


class TapeStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a tape in micro-batches; the offset is the next row."""

    def __init__(self, tape: WorkloadTape | RecordedTape, partitions: int, limit: str | None) -> None:
        self.tape, self.pieces = tape, partitions
        self.limit = None if limit is None else int(limit)

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Begin with row 0."""
        return {"row": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Admit `rowsPerBatch` rows, or what there is."""
        return ReadAllAvailable() if self.limit is None else ReadMaxRows(self.limit)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Go as far as the limit lets us. An endless tape without a limit goes one block at a time."""
        row, end = int(start["row"]), self.tape.rows
        allowed = limit.max_rows if isinstance(limit, ReadMaxRows) else (end if end < ENDLESS else 8192)
        return {"row": min(end, row + allowed)}

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Report how far the tape goes."""
        return {"row": self.tape.rows}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Refuse to drain what has no end."""
        if self.tape.rows >= ENDLESS:
            raise PipelineError("an endless workload cannot be drained (availableNow): give the option 'rows'")

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Cut the micro-batch into tasks."""
        return cut(int(start["row"]), int(end["row"]), self.pieces) if end["row"] > start["row"] else []

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Read one task's rows."""
        return self.tape.read(partition.first, partition.last)
