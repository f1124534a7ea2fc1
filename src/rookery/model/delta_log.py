"""The files of a Delta table by its log, read with the package `deltalake`.

Rule: the log alone says which files count, which columns they have and which partition a file is of. What a file's
rows cannot tell by themselves (deletion vectors, column mapping) is refused, never overlooked.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from rookery.errors import RookeryError
from rookery.extras import need
from rookery.model.storage import Location, names_in, plain_name, sign_of, store_options

__all__ = ["DeltaFile", "delta_version", "read_delta_log"]

#: What a table may ask of its readers without changing what its Parquet files say. Deletion vectors are looked for.
HONOURED = frozenset(
    {"columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "v2Checkpoint", "vacuumProtocolCheck"}
)


class DeltaFile(NamedTuple):
    """One file that counts: where it is, and its values of the partition columns."""

    path: Location
    values: tuple[Any, ...]


def delta_version(folder: Location, *, error: type[RookeryError]) -> str:
    """Return a sign of the table's newest version, another one after every commit; no file is opened for it."""
    log = folder / "_delta_log"
    commits = [name for name in names_in(log) if re.fullmatch(r"\d{20}\.(json|checkpoint\..*)", name)]
    if not commits:
        raise error(f"{folder}: the log of this Delta table has no commit; {_otherwise(folder)}")
    return f"delta:{max(commits)}:{sign_of(log / max(commits))}"


def read_delta_log(
    folder: Location, *, version: int | None = None, at: datetime | None = None, error: type[RookeryError]
) -> tuple[list[DeltaFile], pa.Schema, list[str]]:
    """Return the files of a version, by default of the latest, its columns, and the names of its partition columns."""
    table = _table(folder, version, error)
    try:
        if at is not None:
            table.load_as_version(at)
        features = set(table.protocol().reader_features or ())
        mapping = table.metadata().configuration.get("delta.columnMapping.mode", "none")
        deleted = "deletionVectors" in features and _any_row(table.deletion_vectors())
        schema = pa.schema(table.schema().to_arrow()).remove_metadata()
        partitions = list(table.metadata().partition_columns)
        actions = pa.table(table.get_add_actions(flatten=True))
    except Exception as fault:  # deltalake's errors have no common ancestor of their own
        raise error(f"{folder}: the log of this Delta table cannot be read: {fault}; {_otherwise(folder)}") from fault
    if deleted:
        raise error(
            f"{folder}: this Delta table has deletion vectors, rows that its files still hold: run "
            f"REORG TABLE … APPLY (PURGE) on it; or {_otherwise(folder)}"
        )
    if mapping != "none":
        raise error(
            f"{folder}: this Delta table maps its columns (delta.columnMapping.mode is {mapping!r}), so its files name "
            f"them otherwise; {_otherwise(folder)}"
        )
    if features - HONOURED:
        raise error(f"{folder}: this Delta table needs {', '.join(sorted(features - HONOURED))}; {_otherwise(folder)}")
    found = []
    columns = [actions[f"partition.{name}"].cast(schema.field(name).type).to_pylist() for name in partitions]
    for place, path in enumerate(actions["path"].to_pylist()):
        if "://" in path or path.startswith(("file:", "/")):
            raise error(f"{folder}: this Delta table has files elsewhere ({path}); {_otherwise(folder)}")
        found.append(DeltaFile(folder / unquote(path), tuple(column[place] for column in columns)))
    return sorted(found), schema, partitions


def _table(folder: Location, version: int | None, error: type[RookeryError]) -> Any:
    need("deltalake", f"{folder}, a Delta table, whose log says which of its files count,")
    from deltalake import DeltaTable

    try:
        return DeltaTable(plain_name(folder), version=version, storage_options=store_options())
    except Exception as fault:  # deltalake's errors have no common ancestor of their own
        raise error(f"{folder}: the log of this Delta table cannot be read: {fault}; {_otherwise(folder)}") from fault


def _any_row(vectors: Any) -> bool:
    return any(pa.record_batch(batch).num_rows for batch in vectors)


def _otherwise(folder: Location) -> str:
    return (
        f"load it as a DataFrame with Delta's own reader, spark.read.format('delta').load({str(folder)!r}), "
        "for rookery.spark.match"
    )
