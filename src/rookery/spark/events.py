"""Events from files as a DataFrame: CSV, JSON lines or Parquet, schema inferred or given, batch or stream.

An event needs a name. Parquet rows have one by their place, `path#row`, the same in every plan; rows of a CSV or JSON
file have no fixed place once the file is split, so there the column must be named (spec, subscriptions: "The record").
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rookery.errors import PipelineError
from rookery.spark.records import file_format, list_files
from rookery.spark.rules import require_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["default_event_id", "read_events", "stream_events"]


def read_events(
    spark: SparkSession,
    paths: str | Path | Sequence[str | Path],
    *,
    schema: str | None = None,
    event_id: str | None = None,
) -> tuple[DataFrame, str]:
    """Read a batch of events; returns the DataFrame and the name of its id column."""
    files = list_files(paths)
    kind = file_format(files)
    reader = spark.read.schema(schema) if schema else spark.read
    for option, value in _options(kind, inferred=schema is None).items():
        reader = reader.option(option, value)
    named = [str(file.resolve()) for file in files]
    return _with_id(reader.format(kind).load(named), kind, event_id)


def stream_events(
    spark: SparkSession,
    folder: str | Path,
    *,
    schema: str | None = None,
    event_id: str | None = None,
    files_per_batch: int = 16,
) -> tuple[DataFrame, str]:
    """Follow a folder: each new file is read once, at most `files_per_batch` in a micro-batch.

    Without a schema the columns are those of the files that are there now; there must be one.
    """
    root = Path(folder)
    if not root.is_dir():
        raise PipelineError(f"{root} is no folder: a stream follows a folder into which files are moved when complete")
    files = [path for path in root.rglob("*") if path.is_file() and not path.name.startswith(("_", "."))]
    if not files and schema is None:
        raise PipelineError(f"{root} is empty, so its columns are unknown: give them with --schema 'id bigint, …'")
    kind = file_format(files) if files else "parquet"
    if schema is None:
        declared: Any = _columns(spark, sorted(files)[0], kind)
    else:
        declared = schema
    reader = spark.readStream.schema(declared).option("maxFilesPerTrigger", files_per_batch)
    for option, value in _options(kind, inferred=False).items():
        reader = reader.option(option, value)
    return _with_id(reader.format(kind).load(str(root.resolve())), kind, event_id)


def default_event_id(columns: Sequence[str], event_id: str | None) -> str | None:
    """Return the id column: the named one, else `event_id` where there is one."""
    return event_id if event_id is not None else ("event_id" if "event_id" in columns else None)


def _columns(spark: SparkSession, file: Path, kind: str) -> Any:
    """Return the columns of one file as it is."""
    reader = spark.read
    for option, value in _options(kind, inferred=True).items():
        reader = reader.option(option, value)
    return reader.format(kind).load(str(file.resolve())).schema


def _options(kind: str, *, inferred: bool) -> dict[str, str]:
    if kind != "csv":
        return {}
    return {"header": "true", **({"inferSchema": "true"} if inferred else {})}


def _with_id(frame: DataFrame, kind: str, event_id: str | None) -> tuple[DataFrame, str]:
    name = default_event_id(frame.columns, event_id)
    if name is not None:
        require_columns(frame.columns, event_id=name)
        return frame, name
    if kind != "parquet":
        raise PipelineError(
            "the events have no column event_id: name the column that tells one event from another "
            "(event_id=, --event-id)"
        )
    from pyspark.sql.functions import col, concat, lit, regexp_replace, url_decode

    plus_kept = regexp_replace(col("_metadata.file_path"), r"\+", "%2B")
    path = regexp_replace(url_decode(plus_kept), "^file:/+", "/")
    return frame.withColumn("event_id", concat(path, lit("#"), col("_metadata.row_index"))), "event_id"
