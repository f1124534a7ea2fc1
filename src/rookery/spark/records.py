"""Subscription records as Arrow tables: read from files, brought to one set of types.

The columns are those of the specification's record.
Rule: nothing is guessed and nothing is dropped. A column that the record does not know is an error with the nearest
name; a file that is cut short is an error that names it. `parameters` may be a list or, in a CSV file, a JSON
list in text; a naive timestamp is UTC. Three optional columns belong to the trigger of a stream: `key`, `trigger` and
`cooldown`.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from rookery.errors import PipelineError
from rookery.model.datasets import find_dataset

__all__ = [
    "FORMATS",
    "RECORD",
    "TRIGGER_COLUMNS",
    "file_format",
    "list_files",
    "normalize",
    "read_records",
    "read_table",
]

INSTANT = pa.timestamp("us", tz="UTC")

#: The record's columns but for `subscription_id`, which is a string or an int64.
RECORD: dict[str, pa.DataType] = {
    "topic": pa.string(),
    "where": pa.string(),
    "parameters": pa.list_(pa.string()),
    "subscriber": pa.string(),
    "version": pa.int64(),
    "valid_from": INSTANT,
    "valid_to": INSTANT,
    "key": pa.string(),
    "trigger": pa.string(),
    "cooldown": pa.float64(),
}

TRIGGER_COLUMNS = ("key", "trigger", "cooldown")

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}


def list_files(paths: str | Path | Iterable[str | Path]) -> list[Path]:
    """Return the data files below `paths`, sorted; names that begin with `_` or `.` are nobody's data."""
    return find_dataset(paths).paths


def file_format(files: Sequence[Path]) -> str:
    """Return the one format of these files, by their endings."""
    formats = {FORMATS.get(path.suffix.lower(), path.suffix or path.name) for path in files}
    known = formats & set(FORMATS.values())
    if len(formats) != 1 or formats != known:
        raise PipelineError(
            f"files of one kind are needed, with one of the endings {', '.join(FORMATS)}; "
            f"found {', '.join(sorted(formats))}"
        )
    return formats.pop()


def read_table(files: Sequence[Path]) -> pa.Table:
    """Read CSV, JSON lines or Parquet files of one kind into one table."""
    kind = file_format(files)
    tables = []
    for path in files:
        try:
            if kind == "parquet":
                import pyarrow.parquet as pq

                tables.append(pq.read_table(path, partitioning=None))
            elif kind == "csv":
                import pyarrow.csv

                texts = {name: pa.string() for name in ("where", "parameters", "topic", "subscriber", "key", "trigger")}
                options = pyarrow.csv.ConvertOptions(column_types=texts, strings_can_be_null=True)
                tables.append(pyarrow.csv.read_csv(path, convert_options=options))
            else:
                import pyarrow.json

                tables.append(pyarrow.json.read_json(path))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise PipelineError(f"{path}: cannot be read as {kind}: {error}") from error
    return pa.concat_tables(tables, promote_options="permissive")


def read_records(paths: str | Path | Iterable[str | Path]) -> pa.Table:
    """Read subscription records from files or folders."""
    return normalize(read_table(list_files(paths)))


def normalize(table: pa.Table) -> pa.Table:
    """Bring a table of subscriptions to the record's types; optional columns that are absent stay absent."""
    for name in ("subscription_id", "where"):
        if name not in table.column_names:
            near = difflib.get_close_matches(name, table.column_names, n=1, cutoff=0.4)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise PipelineError(f"a table of subscriptions needs the column {name!r}{hint}")
    columns: dict[str, Any] = {"subscription_id": _identity(table["subscription_id"])}
    for name in table.column_names:
        if name == "subscription_id":
            continue
        if name not in RECORD:
            near = difflib.get_close_matches(name, RECORD, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; the record has {', '.join(RECORD)}"
            raise PipelineError(f"a table of subscriptions has no column {name!r}{hint}")
        columns[name] = _cast(name, table[name])
    return pa.table(columns)


def _identity(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if column.null_count:
        raise PipelineError(f"{column.null_count} subscriptions have no subscription_id")
    if pa.types.is_integer(column.type):
        return column.cast(pa.int64())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_dictionary(column.type):
        return column.cast(pa.string())
    raise PipelineError(f"subscription_id must be a string or an integer, not {column.type}")


def _cast(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    wanted = RECORD[name]
    if column.type == wanted:
        cast = column
    elif name == "parameters" and (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        cast = pa.chunked_array([pa.array([_parameters(text) for text in column.to_pylist()], wanted)])
    else:
        try:
            if pa.types.is_timestamp(wanted) and pa.types.is_string(column.type):
                column = pc.strptime(column, format="%Y-%m-%dT%H:%M:%SZ", unit="us", error_is_null=False)
            if pa.types.is_timestamp(column.type) and column.type.tz is None:
                column = pc.assume_timezone(column.cast(pa.timestamp("us")), "UTC")
            cast = column.cast(wanted)
        except pa.ArrowException as error:
            raise PipelineError(f"the column {name!r} must be {wanted}, and it is {column.type}: {error}") from error
    if name == "version":
        cast = pc.fill_null(cast, 1)
    if name == "where":
        cast = pc.fill_null(cast, "")
    return cast


def _parameters(text: str | None) -> list[str] | None:
    if text is None or not text.strip():
        return None
    try:
        values = json.loads(text)
    except ValueError as error:
        raise PipelineError(f"parameters must be a JSON list of strings, got {text!r}") from error
    if not isinstance(values, list):
        raise PipelineError(f"parameters must be a JSON list of strings, got {text!r}")
    return [value if isinstance(value, str) else json.dumps(value) for value in values]
