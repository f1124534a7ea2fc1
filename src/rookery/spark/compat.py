"""The Sparks that Rookery runs on, 3.5 to 4.3: what an older one lacks, in one place.

What differs, by the version that brought it:

    4.0   Python data sources (`format("rookery")`, `rookery.parquet` …); `toArrow`, `createDataFrame` of Arrow;
          table functions that see the columns of their table
    4.1   `repartitionById`; data source writers of streams that take Arrow; table and scalar functions over Arrow
    4.2   admission control of Python sources (`rowsPerBatch`, `maxOffsetsPerTrigger`); checkpoint classes moved

Where an older Spark has another way to the same answer it is taken here; where it has none, the caller is told which
version he needs. Nothing else in the package asks for a version.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rookery.errors import PipelineError, SparkUnavailableError
from rookery.spark.types import arrow_schema_of, spark_schema_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "OLDEST",
    "arrow_batches",
    "arrow_value",
    "check_version",
    "checkpoint_file_manager",
    "frame_of",
    "has",
    "need",
    "partition_by",
    "table_of",
]

Version = tuple[int, int]

#: The oldest Spark.
OLDEST: Version = (3, 5)

#: Rows that become one batch where Spark hands over rows.
BATCH_ROWS = 10_000


@functools.cache
def version() -> Version:
    """Return the version of the installed PySpark."""
    import pyspark

    major, minor, *_ = pyspark.__version__.split(".")
    return int(major), int(minor)


def check_version() -> None:
    """Refuse, in one line, a PySpark that is too old."""
    import pyspark

    if version() < OLDEST:
        raise SparkUnavailableError(
            f"PySpark {pyspark.__version__} is too old: Rookery runs on PySpark 3.5, 4.0, 4.1, 4.2 and 4.3 "
            "(`pip install 'pyspark>=3.5,<4.4'`, the version of your cluster)"
        )


def has(since: Version) -> bool:
    """Say whether the installed PySpark is of this version or newer."""
    return version() >= since


def need(since: Version, what: str, instead: str) -> None:
    """Refuse what the installed PySpark does not have."""
    if not has(since):
        now, then = (".".join(map(str, one)) for one in (version(), since))
        raise PipelineError(f"{what} came with Spark {then}, and this is {now}: {instead}")


def checkpoint_file_manager() -> str:
    """Return the class that keeps checkpoints by plain renames."""
    package = "org.apache.spark.sql.execution.streaming"
    return f"{package}.{'checkpointing.' if has((4, 1)) else ''}FileSystemBasedCheckpointFileManager"


def table_of(frame: DataFrame) -> pa.Table:
    """Collect a DataFrame as Arrow."""
    if has((4, 0)):
        return frame.toArrow()
    schema = arrow_schema_of(frame.schema)
    return pa.Table.from_batches(arrow_batches(iter(frame.collect()), schema), schema)


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return an Arrow table as a DataFrame."""
    if has((4, 0)):
        return spark.createDataFrame(table)
    rows = [tuple(row.values()) for row in table.to_pylist()]
    return spark.createDataFrame(rows, spark_schema_of(table.schema))


def partition_by(frame: DataFrame, count: int, column: str) -> DataFrame:
    """Send each row to the partition whose number a column gives.

    Before 4.1 Spark can only hash the number, so one partition may get several: they come one after the other.
    """
    if has((4, 1)):
        return frame.repartitionById(count, column)
    return frame.repartition(count, column).sortWithinPartitions(column)


def arrow_batches(rows: Iterator[Any], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Make Arrow batches of Spark's rows."""
    while block := list(islice(rows, BATCH_ROWS)):
        columns = [
            pa.array([arrow_value(row[place], one.type) for row in block], one.type)
            for place, one in enumerate(schema)
        ]  # fmt: skip
        yield pa.record_batch(columns, schema=schema)


def arrow_value(value: Any, kind: pa.DataType) -> Any:
    """Return a value of a row as Arrow takes it: Spark gives an instant as local time without a zone."""
    if value is None:
        return None
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return value.astimezone()
    if pa.types.is_struct(kind):
        return {one.name: arrow_value(value[place], one.type) for place, one in enumerate(kind)}
    if pa.types.is_list(kind):
        return [arrow_value(each, kind.value_type) for each in value]
    if pa.types.is_map(kind):
        return [(arrow_value(k, kind.key_type), arrow_value(v, kind.item_type)) for k, v in value.items()]
    return value
