"""Events from files as a DataFrame: CSV, JSON lines or Parquet, schema inferred or given, batch or stream.

An event needs a name. Parquet rows have one by their place, `path#row`, the same in every plan; rows of a CSV or JSON
file have no fixed place once the file is split, so there the column must be named (spec, subscriptions: "The record").

Partition folders `column=value` are columns, of the types that the files plan gives them. A Delta or Iceberg table is
read by its log: Spark is handed the files that count, the columns that the log declares, and each file's partition
values, which are the log's and not those that its folders seem to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rookery.errors import PipelineError
from rookery.model.datasets import DataFile, Dataset, Paths, find_dataset, table_kind
from rookery.model.storage import Location, ObjectPath, parts_below, path_of, plain_name, walk
from rookery.spark.compat import frame_of
from rookery.spark.files import session_zone
from rookery.spark.names import TABLE, catalog_name, default_event_id, folds_names
from rookery.spark.rules import require_columns
from rookery.spark.types import spark_schema_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    Identify = Callable[[DataFrame], DataFrame]

__all__ = ["events_format", "file_format", "read_events", "read_frame", "stream_events"]

#: The formats of events, by the endings of files.
FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}

#: A column of ours beside the events' own: the file that an event is in.
FILE = "_rookery_file"


def read_events(
    spark: SparkSession,
    paths: Paths,
    *,
    schema: str | None = None,
    event_id: str | None = None,
    version: int | None = None,
    at: datetime | None = None,
) -> tuple[DataFrame, str]:
    """Read a batch of events; returns the DataFrame and the name of its id column.

    `table:ops.events` is a table of Spark's catalog, read by Spark, which knows its versions if it has some.
    """
    table = catalog_name(paths)
    if table is not None:
        return _with_id(_read_catalog(spark, table, schema, version, at), TABLE, event_id), event_id or "event_id"
    data = find_dataset(paths, zone=session_zone(spark), version=version, at=at)
    kind = events_format(data)
    frame = _read(spark, data, schema, lambda part: _with_id(part, kind, event_id, also=data.partitions.names))
    return frame, event_id or "event_id"


def read_frame(spark: SparkSession, paths: Paths, *, schema: str | None = None) -> DataFrame:
    """Read files as they are, with the columns of partition folders; text files with the schema, if one is given."""
    data = find_dataset(paths, zone=session_zone(spark))
    return _read(spark, data, None if events_format(data) == "parquet" else schema, lambda part: part)


def stream_events(
    spark: SparkSession,
    folder: str | Path | ObjectPath,
    *,
    schema: str | None = None,
    event_id: str | None = None,
    files_per_batch: int = 16,
) -> tuple[DataFrame, str]:
    """Follow a folder: each new file is read once, at most `files_per_batch` in a micro-batch.

    Without a schema the columns are those of the files that are there now; there must be one. Partition folders are
    columns where there are some now.
    """
    table = catalog_name(folder)
    if table is not None:
        raise PipelineError(
            f"a stream of the table {table} is its own reader's: hand spark.readStream.table({table!r}) to "
            "rookery.spark.match"
        )
    root = path_of(folder)
    if not root.is_dir():
        raise PipelineError(f"{root} is no folder: a stream follows a folder into which files are moved when complete")
    table = table_kind(root)
    if table in ("Delta", "Iceberg"):
        raise PipelineError(
            f"{root} is {'a' if table == 'Delta' else 'an'} {table} table, and a stream of its files would keep what "
            f"is deleted from it: follow it with its own reader, spark.readStream.format({table.lower()!r})"
            f".load({str(root)!r}), for rookery.spark.match"
        )
    there = [inside / name for inside, _, names in walk(root) for name in names if not name.startswith(("_", "."))]
    if table == "streamed":  # Spark itself follows the log of its own sink
        kind = file_format([path for path in there if path.suffix and not _is_hidden(path, root)])
        columns = _columns(spark, [_spark_path(root)], kind, schema)
    elif not there:
        if schema is None:
            raise PipelineError(f"{root} is empty, so its columns are unknown: give them with --schema 'id:int64,…'")
        kind, columns = "parquet", schema
    else:
        data = find_dataset(root, zone=session_zone(spark))
        kind = events_format(data)
        columns = _columns(spark, _named(data.files[:1]), kind, schema)
        columns = _with_partitions(columns, data, given=schema is not None)
    reader = _reader(spark.readStream.schema(columns), kind, inferred=False)
    reader = reader.option("maxFilesPerTrigger", files_per_batch)
    return _with_id(reader.format(kind).load(_spark_path(root)), kind, event_id), event_id or "event_id"


def events_format(data: Dataset) -> str:
    """Return the one format of the events: csv, json or parquet."""
    return "parquet" if data.declared is not None else file_format(data.paths)


def file_format(files: Sequence[Location]) -> str:
    """Return the one format of these files, by their endings."""
    formats = {FORMATS.get(path.suffix.lower(), path.suffix or path.name) for path in files}
    known = formats & set(FORMATS.values())
    if len(formats) != 1 or formats != known:
        raise PipelineError(
            f"files of one kind are needed, with one of the endings {', '.join(FORMATS)}; "
            f"found {', '.join(sorted(formats))}"
        )
    return formats.pop()


def _read(spark: SparkSession, data: Dataset, schema: str | None, identify: Identify) -> DataFrame:
    """Read the files; `identify` is called where the place of a row is still known."""
    if data.declared is not None:
        if schema is not None:
            raise PipelineError("the log of a table says what its columns are: leave the schema out (--schema)")
        return _read_declared(spark, data, identify)
    kind = events_format(data)
    if not data.partitions.names:
        reader = _reader(spark.read.schema(schema) if schema else spark.read, kind, inferred=schema is None)
        return identify(reader.format(kind).load(_named(data.files)))
    columns = _with_partitions(_columns(spark, _named(data.files), kind, schema), data, given=schema is not None)
    parts = []
    for base in dict.fromkeys(file.base for file in data.files):
        reader = _reader(spark.read.schema(columns), kind, inferred=False).option("basePath", _spark_path(base))
        parts.append(identify(reader.format(kind).load(_named(file for file in data.files if file.base == base))))
    return reduce(lambda one, other: one.unionByName(other), parts)


def _read_catalog(
    spark: SparkSession, name: str, schema: str | None, version: int | None, at: datetime | None
) -> DataFrame:
    """Read a table by its name, now or as it was."""
    if schema is not None:
        raise PipelineError("the catalog says what the columns of a table are: leave the schema out (--schema)")
    if not spark.catalog.tableExists(name):
        raise PipelineError(f"there is no table {name!r} in the catalog")
    if version is not None and at is not None:
        raise PipelineError("a table is read at a version or at a time, not both")
    if version is not None:
        return spark.sql(f"select * from {name} version as of {version}")
    if at is not None:
        moment = at.replace(tzinfo=UTC) if at.tzinfo is None else at
        return spark.sql(f"select * from {name} timestamp as of timestamp'{moment.isoformat()}'")
    return spark.table(name)


def _read_declared(spark: SparkSession, data: Dataset, identify: Identify) -> DataFrame:
    """Read a table whose log declares its columns: what a file does not have is its partition's value, or NULL."""
    from pyspark.sql.functions import broadcast

    assert data.declared is not None
    if not data.files:  # Spark reads no empty list of files
        named = "event_id" in data.declared.names
        declared = data.declared if named else data.declared.append(pa.field("event_id", pa.string()))
        return spark.createDataFrame([], spark_schema_of(declared, local=True))
    own = pa.schema([field for field in data.declared if field.name not in data.partitions.names])
    frame = spark.read.schema(spark_schema_of(own, local=True)).parquet(*_named(data.files))
    frame = identify(frame.withColumn(FILE, _file()))
    known = [pa.array([plain_name(file.path) for file in data.files], pa.string())]
    for place, field in enumerate(data.partitions):
        known.append(pa.array([file.values[place] for file in data.files], field.type))
    values = frame_of(spark, pa.table(known, names=[FILE, *data.partitions.names]))
    joined = frame.join(broadcast(values), FILE) if data.partitions.names else frame
    added = [name for name in frame.columns if name not in own.names and name != FILE]
    return joined.select(*(f"`{name}`" for name in [*data.declared.names, *added]))


def _named(files: Any) -> list[str]:
    each: list[DataFile] = list(files)
    return [_spark_path(file.path) for file in each]


def _spark_path(path: Location) -> str:
    """Return how Spark is told of a file or a folder."""
    return str(path.resolve())


def _is_hidden(path: Location, root: Location) -> bool:
    return any(part.startswith(("_", ".")) for part in parts_below(path, root))


def _columns(spark: SparkSession, paths: list[str], kind: str, schema: str | None) -> Any:
    """Return the columns that are given, else those of the files as they are."""
    if schema is not None:
        return spark.createDataFrame([], schema).schema
    return _reader(spark.read, kind, inferred=True).format(kind).load(paths).schema


def _with_partitions(columns: Any, data: Dataset, *, given: bool) -> Any:
    """Add the partition columns; of two with one name the folders' counts, but a type that was given stays."""
    from pyspark.sql.types import StructType

    added = {field.name.lower(): field for field in spark_schema_of(data.partitions)}
    named = {field.name.lower() for field in columns}
    kept = [field if given else added.get(field.name.lower(), field) for field in columns]
    return StructType([*kept, *(field for name, field in added.items() if name not in named)])


def _reader(reader: Any, kind: str, *, inferred: bool) -> Any:
    if kind == "csv":
        reader = reader.option("header", "true")
    return reader.option("inferSchema", "true") if kind == "csv" and inferred else reader


def _file() -> Column:
    """Return where the file of a row is, as the files plan writes it."""
    from pyspark.sql.functions import col, regexp_replace, url_decode

    plus_kept = regexp_replace(col("_metadata.file_path"), r"\+", "%2B")
    return regexp_replace(regexp_replace(url_decode(plus_kept), "^file:/+", "/"), "^s3[an]:", "s3:")


def _with_id(frame: DataFrame, kind: str, event_id: str | None, *, also: Sequence[str] = ()) -> DataFrame:
    """Return the events with the column that names them; `also` are columns that they are yet to get."""
    columns = [*frame.columns, *also]
    known = default_event_id(columns, event_id, folded=folds_names(frame.sparkSession))
    if known is not None:
        require_columns(columns, event_id=known)
        return frame
    if kind != "parquet":
        raise PipelineError(
            "the events have no column event_id: name the column that tells one event from another "
            "(event_id=, --event-id)"
        )
    from pyspark.sql.functions import col, concat, lit

    return frame.withColumn("event_id", concat(_file(), lit("#"), col("_metadata.row_index")))
