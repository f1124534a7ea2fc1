"""A spool of `rookery spool` as events in Spark: `format("rookery")` with the option `spool`.

    events = spark.readStream.format("rookery").option("spool", "spool/").load()

The offset of a micro-batch is the next offset of the spool, together with the spool's own id. Records never change and
never move, so a micro-batch that is replayed after a crash holds the very same rows, and each task reads its own range
from the files. A stream begins with the oldest record that is there (`startingOffset` = `earliest`), the next one to
come (`latest`), or a number; `rowsPerBatch` bounds a micro-batch. A batch reads from `startingOffset` up to
`endingOffset`.

All workers must see the folder. Records that retention deleted before they were read are an error, never a gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from rookery.errors import CheckpointError, PipelineError
from rookery.live.spool import Spool
from rookery.spark.data_sources import (
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from rookery.spark.source import cut
from rookery.spark.types import widened

__all__ = ["SpoolReader", "SpoolStream", "SpoolTape", "spool_tape"]

_OPTIONS = frozenset({"spool", "startingoffset", "endingoffset", "rowsperbatch", "partitions"})
_ROWS_PER_TASK = 250_000


@dataclass(frozen=True)
class SpoolTape:
    """A spool by its folder; the files are opened where they are read."""

    folder: str

    @cached_property
    def spool(self) -> Spool:
        """The spool."""
        return Spool(self.folder)

    @property
    def schema(self) -> pa.Schema:
        """The columns, as Spark can hold them."""
        return pa.schema([column.with_type(widened(column.type)) for column in self.spool.schema])

    def read(self, first: int, last: int) -> Iterator[pa.RecordBatch]:
        """Read the records from `first` up to `last`."""
        schema = self.schema
        for batch in self.spool.read(first, last):
            yield batch if batch.schema == schema else batch.cast(schema)

    def place(self, given: str) -> int:
        """Return the offset that an option names."""
        if given == "earliest":
            return self.spool.first
        if given == "latest":
            return self.spool.end
        if given.isdigit():
            return int(given)
        raise PipelineError(f"an offset of a spool is a number, 'earliest' or 'latest', not {given!r}")


def spool_tape(options: Mapping[str, str]) -> SpoolTape:
    """Return the spool that the options of the source name."""
    unknown = {name.lower() for name in options} - _OPTIONS
    if unknown:
        raise PipelineError(f"a spool has no option {sorted(unknown)[0]!r}; it has {sorted(_OPTIONS)}")
    return SpoolTape(options["spool"])


class SpoolReader(DataSourceReader):
    """Reads a range of a spool as it is when the job is planned."""

    def __init__(self, tape: SpoolTape, options: Mapping[str, str]) -> None:
        self.tape = tape
        self.first = tape.place(options.get("startingOffset", "earliest"))
        self.last = tape.place(options.get("endingOffset", "latest"))
        if self.last < self.first:
            raise PipelineError(f"endingOffset {self.last} lies before startingOffset {self.first}")
        self.pieces = int(options.get("partitions", 0)) or -(-(self.last - self.first) // _ROWS_PER_TASK)

    def partitions(self) -> Sequence[InputPartition]:
        """Cut the range into tasks."""
        return cut(self.first, self.last, self.pieces)

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Read one task's records."""
        return self.tape.read(partition.first, partition.last)


class SpoolStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows a spool in micro-batches; the offset is the next record's, and the spool's id."""

    def __init__(self, tape: SpoolTape, options: Mapping[str, str]) -> None:
        self.tape = tape
        self.starting = options.get("startingOffset", "earliest")
        self.pieces = int(options.get("partitions", 2))
        limit = options.get("rowsPerBatch")
        self.limit = None if limit is None else int(limit)
        if self.limit is not None and self.limit < 1:
            raise PipelineError(f"rowsPerBatch is at least 1, not {self.limit}")
        self.target: int | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Begin where the option says."""
        return self._offset(self.tape.place(self.starting))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Admit `rowsPerBatch` records, or what there is."""
        return ReadAllAvailable() if self.limit is None else ReadMaxRows(self.limit)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Go to the end of what counts, or as far as the limit lets us."""
        first = self._number(start)
        end = self.tape.spool.end if self.target is None else self.target
        if first > end and self.target is None:
            raise CheckpointError(
                f"{self.tape.folder} ends at {end}, but this stream has read up to {first}: records that counted are "
                "gone; restore the spool, or start with a new checkpoint"
            )
        if isinstance(limit, ReadMaxRows):
            end = min(end, first + limit.max_rows)
        return self._offset(max(first, end))

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Report how far the spool goes."""
        return self._offset(self.tape.spool.end)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Fix the end."""
        self.target = self.tape.spool.end

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Cut the micro-batch into tasks."""
        return cut(self._number(start), self._number(end), self.pieces)

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Read one task's records."""
        return self.tape.read(partition.first, partition.last)

    def _offset(self, number: int) -> dict[str, Any]:
        return {"offset": number, "spool": self.tape.spool.description.spool_id}

    def _number(self, offset: dict[str, Any]) -> int:
        ours = self.tape.spool.description.spool_id
        if offset["spool"] != ours:
            raise CheckpointError(
                f"this checkpoint belongs to the spool {offset['spool']}, and {self.tape.folder} is {ours}: "
                "give the folder of that spool, or start with a new checkpoint"
            )
        return int(offset["offset"])
