"""The data files that a path names: one file, a folder, a folder of Hive partitions, a table by its log.

Rule 1: a folder with a table log is read by its log (Delta, Iceberg) or refused with what to do (Hudi, the sink of a
Spark stream); its files taken one by one would bring back what was deleted. That holds for a path inside a table and
for a table inside a folder too.
Rule 2: partition folders `column=value` are columns, one value for all rows of a file. Only folders below the path
that was named count, and as in Spark a partition column hides one of the same name in the file.
Rule 3: names that begin with `_` or `.` are nobody's data, but for a partition column such as `_day=1`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from rookery.errors import PipelineError, RookeryError
from rookery.model.delta_log import delta_version, read_delta_log
from rookery.model.iceberg_log import iceberg_version, read_iceberg_log
from rookery.model.partitions import partition_columns, split_folders
from rookery.model.storage import Location, ObjectPath, names_in, parts_below, paths_of, sign_of, walk

__all__ = ["DataFile", "Dataset", "complete_batch", "dataset_sign", "find_dataset", "table_kind"]

#: The folders that hold a table's log; Iceberg's has a name that others use too, and is known by its files.
_LOGS = {"Delta": "_delta_log", "Hudi": ".hoodie", "streamed": "_spark_metadata"}

#: The tables that are read, and how those that are refused are loaded instead.
_READ = {"Delta": "a Delta table", "Iceberg": "an Iceberg table"}
_READERS = {
    "Hudi": "spark.read.format('hudi').load({0!r})",
    "streamed": "spark.read.parquet({0!r})",
}
_NAMES = {"Hudi": "a Hudi table", "streamed": "the output of a Spark stream"}

Paths = str | Path | ObjectPath | Iterable[str | Path | ObjectPath]


class DataFile(NamedTuple):
    """One file: where it is, the folder that its partition folders are in, and its values of the partition columns."""

    path: Location
    base: Location
    values: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Dataset:
    """Files, the columns that their folders or their log add, and all columns where a table's log declares them."""

    files: tuple[DataFile, ...]
    partitions: pa.Schema
    declared: pa.Schema | None = None

    @property
    def paths(self) -> list[Location]:
        """Where the files are."""
        return [file.path for file in self.files]

    def schema(self, data: pa.Schema) -> pa.Schema:
        """Return all columns, given those of the files."""
        if self.declared is not None:
            return self.declared
        hiding = {field.name.lower(): field for field in self.partitions}
        named = {field.name.lower() for field in data}
        shown = [hiding.get(field.name.lower(), field) for field in data]
        return pa.schema([*shown, *(field for name, field in hiding.items() if name not in named)])

    def constants(self, file: DataFile) -> dict[str, Any]:
        """Return what holds for all rows of a file."""
        return dict(zip(self.partitions.names, file.values, strict=True))


def complete_batch(
    batch: pa.RecordBatch | None, columns: pa.Schema, constants: Mapping[str, Any], rows: int
) -> pa.RecordBatch:
    """Return the columns asked for: constants, what the batch has, and NULL where it has none."""
    arrays = []
    for field in columns:
        if field.name in constants:
            arrays.append(pa.repeat(pa.scalar(constants[field.name], field.type), rows))
        elif batch is None or field.name not in batch.schema.names:
            arrays.append(pa.nulls(rows, field.type))
        else:
            column = batch.column(field.name)
            arrays.append(column if column.type == field.type else column.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


def table_kind(folder: Location, names: Sequence[str] | None = None) -> str | None:
    """Say which kind of table keeps its log in this folder, if any; `names` are those of the folders in it."""
    for kind, log in _LOGS.items():
        if (names is None or log in names) and _is_folder(folder / log):
            return kind
    if (names is None or "metadata" in names) and _is_folder(folder / "metadata"):
        return "Iceberg" if any(name.endswith(".metadata.json") for name in names_in(folder / "metadata")) else None
    return None


def _is_folder(folder: Location) -> bool:
    return folder.is_dir() if isinstance(folder, ObjectPath) else os.path.isdir(folder)  # False where it may not look


def find_dataset(
    paths: Paths,
    *,
    zone: str = "UTC",
    version: int | None = None,
    at: datetime | None = None,
    error: type[RookeryError] = PipelineError,
) -> Dataset:
    """Return the data files below `paths`, sorted in each; partition folders named by times are read in `zone`.

    Of a Delta or Iceberg table they are those of a `version` (of Iceberg, the id of a snapshot), or of the one that was
    in force `at` a time, else of the newest.
    """
    roots = paths_of(paths)
    for root in roots:
        _refuse_inside(root, error)
    kinds = [table_kind(root) for root in roots]
    for root, kind in zip(roots, kinds, strict=True):
        if kind in _READ and len(roots) > 1:
            raise error(f"{root} is {_READ[kind]}: match it by itself, not with other files")
    if version is not None and at is not None:
        raise error("a table is read at a version or at a time, not both")
    if at is not None and at.tzinfo is None:
        at = at.replace(tzinfo=UTC)
    if kinds == ["Delta"]:
        return _delta(roots[0], version, at, error)
    if kinds == ["Iceberg"]:
        files, schema = read_iceberg_log(roots[0], version=version, at=at, error=error)
        return Dataset(tuple(DataFile(file, roots[0]) for file in files), pa.schema([]), schema)
    if version is not None or at is not None:
        raise error(f"{roots[0]} is no Delta or Iceberg table, so that it has no versions: leave the version out")
    found = [(root, path) for root in roots for path in _walk(root, error)]
    if not found:
        raise error(f"{', '.join(map(str, roots))}: the folder holds no files")
    return _partitioned(found, zone, error)


def dataset_sign(paths: Paths, *, error: type[RookeryError] = PipelineError) -> str:
    """Return a sign that differs whenever the data may have changed: a table's version, else each file's own sign."""
    roots = paths_of(paths)
    kinds = [table_kind(root) for root in roots]
    if kinds == ["Delta"]:
        return delta_version(roots[0], error=error)
    if kinds == ["Iceberg"]:
        return iceberg_version(roots[0], error=error)
    return "\n".join(f"{path}|{sign_of(path)}" for path in find_dataset(roots, error=error).paths)


def _delta(folder: Location, version: int | None, at: datetime | None, error: type[RookeryError]) -> Dataset:
    files, schema, names = read_delta_log(folder, version=version, at=at, error=error)
    partitions = pa.schema([schema.field(name) for name in names])
    return Dataset(tuple(DataFile(file.path, folder, file.values) for file in files), partitions, schema)


def _partitioned(found: list[tuple[Location, Location]], zone: str, error: type[RookeryError]) -> Dataset:
    split = [(root, path, *split_folders(parts_below(path, root)[:-1])) for root, path in found]
    bases: dict[Location, Location] = {}
    names: dict[tuple[str, ...], Location] = {}
    for root, path, begin, parts in split:
        base = root.joinpath(*parts_below(path, root)[:begin])
        columns = tuple(name for name, _ in parts)
        names.setdefault(columns, path)
        if len(set(map(str.lower, columns))) < len(columns):
            raise error(f"{path}: its partition folders name a column twice; rename one")
        if len(names) > 1:
            one, other = names.items()
            raise error(
                f"{one[1]} and {other[1]} are partitioned by {_listed(one[0])} and by {_listed(other[0])}: a rule "
                "on such a column would miss files; name folders of one layout"
            )
        if parts and bases.setdefault(root, base) != base:
            raise error(f"{root} holds two partitioned tables, {bases[root]} and {base}: name one of them")
    schema, values = partition_columns([parts for _, _, _, parts in split], zone=zone, error=error)
    files = zip(split, values, strict=True)
    return Dataset(tuple(DataFile(path, bases.get(root, root), one) for (root, path, _, _), one in files), schema)


def _listed(columns: tuple[str, ...]) -> str:
    return "/".join(columns) or "none"


def _walk(root: Location, error: type[RookeryError]) -> Iterator[Location]:
    if root.is_file():
        yield root
        return
    if not root.is_dir():
        raise error(f"{root}: no such file or folder")
    inside: list[Location] = []
    for folder, folders, files in walk(root):
        kind = table_kind(folder, folders)
        if kind is not None:
            raise error(_refusal(folder, kind, None if folder == root else f"{root} holds a table in {folder}"))
        folders[:] = [one for one in folders if _counts(one)]
        inside += [folder / one for one in files if _counts(one)]
    yield from sorted(inside)


def _counts(name: str) -> bool:
    return not name.startswith(".") and (not name.startswith("_") or "=" in name)


def _refuse_inside(root: Location, error: type[RookeryError]) -> None:
    whole = root.resolve()
    for folder in whole.parents:
        kind = table_kind(folder)
        if kind is not None:
            raise error(_refusal(folder, kind, f"{root} is inside a table, {folder}"))


def _refusal(folder: Location, kind: str, found: str | None) -> str:
    if kind in _READ:
        return f"{found}, whose log says which files count: name {folder} itself"
    return (
        f"{found or folder}: {_NAMES[kind]}, whose log says which files count; load it as a DataFrame with Spark's own "
        f"reader, {_READERS[kind].format(str(folder))}, for rookery.spark.match (rules: Subscriptions.dataframe)"
    )
