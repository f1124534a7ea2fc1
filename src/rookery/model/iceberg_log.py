"""The files of an Iceberg table by its metadata, read with the package `pyiceberg`.

Rule 1: a snapshot alone says which files count. What their rows cannot tell by themselves (delete files, columns that
were renamed, values that a file does not hold) is refused, never overlooked.
Rule 2: which metadata is the newest only a catalog knows for certain. In a folder it is what `version-hint.text` says,
else the greatest number; two of one number are refused.
"""

from __future__ import annotations

import logging
import os
import re
from datetime import datetime
from typing import Any

import pyarrow as pa

from rookery.errors import RookeryError
from rookery.extras import need
from rookery.model.storage import Location, names_in, path_of, plain_name

__all__ = ["iceberg_version", "newest_metadata", "read_iceberg_log"]

NUMBERED = re.compile(r"v?(\d+)(?:-[0-9a-fA-F-]+)?(?:\.gz)?\.metadata\.json(?:\.gz)?")


def newest_metadata(folder: Location, *, error: type[RookeryError]) -> Location:
    """Return where the newest metadata of the table in a folder is."""
    place = folder / "metadata"
    names = names_in(place)
    found = [(int(match[1]), name) for name in names if (match := NUMBERED.fullmatch(name))]
    if "version-hint.text" in names:
        said = (place / "version-hint.text").read_text(encoding="utf-8").strip()
        found = [(number, name) for number, name in found if str(number) == said] or found
    if not found:
        raise error(f"{folder}: this Iceberg table has no metadata that can be told apart; {_otherwise(folder)}")
    last = max(found)[0]
    newest = [name for number, name in found if number == last]
    if len(newest) > 1:
        raise error(
            f"{folder}: which metadata of this Iceberg table is in force only its catalog knows ({newest[0]} or "
            f"{newest[1]}); {_otherwise(folder)}"
        )
    return place / newest[0]


def iceberg_version(folder: Location, *, error: type[RookeryError]) -> str:
    """Return a sign of the table's newest state; another one after every change."""
    return f"iceberg:{newest_metadata(folder, error=error).name}"


def read_iceberg_log(
    folder: Location, *, version: int | None, at: datetime | None, error: type[RookeryError]
) -> tuple[list[Location], pa.Schema]:
    """Return the files of a snapshot, by default of the current one, and its columns."""
    need("pyiceberg", f"{folder}, an Iceberg table, whose metadata says which of its files count,")
    from pyiceberg.table import StaticTable

    metadata = newest_metadata(folder, error=error)
    try:
        logging.getLogger("pyiceberg").setLevel(logging.ERROR)
        table = StaticTable.from_metadata(plain_name(metadata), properties=_properties())
        snapshot = _snapshot(table, folder, version, at, error)
        scan = table.scan() if snapshot is None else table.scan(snapshot_id=snapshot)
        tasks = [] if table.current_snapshot() is None else list(scan.plan_files())
        schema = scan.projection()
    except RookeryError:
        raise
    except Exception as fault:  # what a damaged or foreign file raises has no common ancestor
        said = " ".join(str(fault).split())[:200]
        raise error(
            f"{folder}: the metadata of this Iceberg table cannot be read: {said}; {_otherwise(folder)}"
        ) from fault
    _refuse(table, tasks, schema, folder, error)
    columns = pa.schema([pa.field(one.name, _plain(one.type), one.nullable) for one in schema.as_arrow()])
    return sorted(path_of(task.file.file_path) for task in tasks), columns


def _snapshot(
    table: Any, folder: Location, version: int | None, at: datetime | None, error: type[RookeryError]
) -> int | None:
    if version is not None:
        if table.snapshot_by_id(version) is None:
            known = ", ".join(str(one.snapshot_id) for one in table.snapshots()) or "none"
            raise error(f"{folder}: this Iceberg table has no snapshot {version}; it has {known}")
        return version
    if at is not None:
        found = table.snapshot_as_of_timestamp(round(at.timestamp() * 1000))
        if found is None:
            raise error(f"{folder}: this Iceberg table has no snapshot as old as {at}")
        return int(found.snapshot_id)
    return None


def _refuse(table: Any, tasks: list[Any], schema: Any, folder: Location, error: type[RookeryError]) -> None:
    said = plain_name(path_of(table.location()))
    if said != plain_name(folder.resolve()):
        raise error(f"{folder}: this Iceberg table says that it is in {said}: name that, or load it by its catalog")
    if any(task.delete_files for task in tasks):
        raise error(
            f"{folder}: this Iceberg table has delete files, rows that its data files still hold: rewrite its data "
            f"files (CALL … rewrite_data_files); or {_otherwise(folder)}"
        )
    other = sorted({str(task.file.file_format.value) for task in tasks} - {"PARQUET"})
    if other:
        raise error(f"{folder}: this Iceberg table has files of {other[0]}, not Parquet; {_otherwise(folder)}")
    if "schema.name-mapping.default" in table.properties:
        raise error(f"{folder}: this Iceberg table has files from elsewhere (a name mapping); {_otherwise(folder)}")
    names = {schema.find_field(name).field_id: name for name in schema.column_names}
    for earlier in table.metadata.schemas:
        for name in earlier.column_names:
            number = earlier.find_field(name).field_id
            if names.get(number, name) != name or (name in names.values() and names.get(number) != name):
                raise error(
                    f"{folder}: the column {name} of this Iceberg table was renamed, or dropped and added again, so "
                    f"that older files name it otherwise; {_otherwise(folder)}"
                )
    for name in schema.column_names:
        if getattr(schema.find_field(name), "initial_default", None) is not None:
            raise error(f"{folder}: the column {name} has a default that files do not hold; {_otherwise(folder)}")


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type with which files are read: pyiceberg names the large twin of each."""
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_large_list(kind) or pa.types.is_list(kind):
        return pa.list_(pa.field("element", _plain(kind.value_type), kind.value_field.nullable))
    if pa.types.is_map(kind):
        return pa.map_(_plain(kind.key_type), _plain(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(one.name, _plain(one.type), one.nullable) for one in kind])
    return kind


def _properties() -> dict[str, str]:
    """Return what pyiceberg does not take from the environment by itself."""
    names = {
        "s3.endpoint": "AWS_ENDPOINT_URL",
        "s3.access-key-id": "AWS_ACCESS_KEY_ID",
        "s3.secret-access-key": "AWS_SECRET_ACCESS_KEY",
        "s3.session-token": "AWS_SESSION_TOKEN",
        "s3.region": "AWS_REGION",
    }
    return {name: os.environ[given] for name, given in names.items() if given in os.environ}


def _otherwise(folder: Location) -> str:
    return (
        f"load it as a DataFrame with Spark's own reader, spark.read.format('iceberg').load({str(folder)!r}), "
        "for rookery.spark.match (rules: Subscriptions.dataframe)"
    )
