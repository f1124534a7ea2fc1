"""The data files that a path names: one file, a folder, a folder of Hive partitions, a table by its log.

Rule 1: a folder with a table log (Delta, Iceberg, Hudi, the sink of a Spark stream) is read by its log or refused with
what to do; its files taken one by one would bring back what was deleted. That holds for a path inside a table and for
a table inside a folder too.
Rule 2: partition folders `column=value` are columns, one value for all rows of a file. Only folders below the path
that was named count, and as in Spark a partition column hides one of the same name in the file.
Rule 3: names that begin with `_` or `.` are nobody's data, but for a partition column such as `_day=1`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from rookery.errors import PipelineError, RookeryError
from rookery.model.delta_log import read_delta_log
from rookery.model.partitions import partition_columns, split_folders

__all__ = ["DataFile", "Dataset", "complete_batch", "find_dataset", "table_kind"]

#: The folders that hold a table's log; Iceberg's has a name that others use too, and is known by its files.
_LOGS = {"Delta": "_delta_log", "Hudi": ".hoodie", "streamed": "_spark_metadata"}

#: How the tables that are refused are loaded instead.
_READERS = {
    "Iceberg": "spark.read.format('iceberg').load({0!r})",
    "Hudi": "spark.read.format('hudi').load({0!r})",
    "streamed": "spark.read.parquet({0!r})",
}
_NAMES = {"Iceberg": "an Iceberg table", "Hudi": "a Hudi table", "streamed": "the output of a Spark stream"}


class DataFile(NamedTuple):
    """One file: where it is, the folder that its partition folders are in, and its values of the partition columns."""

    path: Path
    base: Path
    values: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Dataset:
    """Files, the columns that their folders or their log add, and all columns where a table's log declares them."""

    files: tuple[DataFile, ...]
    partitions: pa.Schema
    declared: pa.Schema | None = None

    @property
    def paths(self) -> list[Path]:
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


def table_kind(folder: Path) -> str | None:
    """Say which kind of table keeps its log in this folder, if any."""
    for kind, log in _LOGS.items():
        if os.path.isdir(folder / log):  # False where it may not be looked at, unlike Path.is_dir
            return kind
    return "Iceberg" if any((folder / "metadata").glob("*.metadata.json")) else None


def find_dataset(
    paths: str | Path | Iterable[str | Path], *, zone: str = "UTC", error: type[RookeryError] = PipelineError
) -> Dataset:
    """Return the data files below `paths`, sorted in each; partition folders named by times are read in `zone`."""
    roots = [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
    for root in roots:
        _refuse_inside(root, error)
    kinds = [table_kind(root) for root in roots]
    if "Delta" in kinds:
        if len(roots) > 1:
            raise error(f"{roots[kinds.index('Delta')]} is a Delta table: match it by itself, not with other files")
        return _delta(roots[0], error)
    found = [(root, path) for root in roots for path in _walk(root, error)]
    if not found:
        raise error(f"{', '.join(map(str, roots))}: the folder holds no files")
    return _partitioned(found, zone, error)


def _delta(folder: Path, error: type[RookeryError]) -> Dataset:
    files, schema, names = read_delta_log(folder, error=error)
    partitions = pa.schema([schema.field(name) for name in names])
    return Dataset(tuple(DataFile(file.path, folder, file.values) for file in files), partitions, schema)


def _partitioned(found: list[tuple[Path, Path]], zone: str, error: type[RookeryError]) -> Dataset:
    split = [(root, path, *split_folders(path.relative_to(root).parts[:-1])) for root, path in found]
    bases: dict[Path, Path] = {}
    names: dict[tuple[str, ...], Path] = {}
    for root, path, begin, parts in split:
        base = root.joinpath(*path.relative_to(root).parts[:begin])
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


def _walk(root: Path, error: type[RookeryError]) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    if not root.is_dir():
        raise error(f"{root}: no such file or folder")
    inside: list[Path] = []
    for name, folders, files in os.walk(root):
        folder = Path(name)
        kind = table_kind(folder)
        if kind is not None:
            raise error(_refusal(folder, kind, None if folder == root else f"{root} holds a table in {folder}"))
        folders[:] = [one for one in folders if _counts(one)]
        inside += [folder / one for one in files if _counts(one) and (folder / one).is_file()]
    yield from sorted(inside)


def _counts(name: str) -> bool:
    return not name.startswith(".") and (not name.startswith("_") or "=" in name)


def _refuse_inside(root: Path, error: type[RookeryError]) -> None:
    whole = root.resolve()
    for folder in whole.parents:
        kind = table_kind(folder)
        if kind is not None:
            raise error(_refusal(folder, kind, f"{root} is inside a table, {folder}"))


def _refusal(folder: Path, kind: str, found: str | None) -> str:
    if kind == "Delta":
        return f"{found}, whose log says which files count: name {folder} itself"
    return (
        f"{found or folder}: {_NAMES[kind]}, whose log says which files count; load it as a DataFrame with Spark's own "
        f"reader, {_READERS[kind].format(str(folder))}, for rookery.spark.match (rules: Subscriptions.dataframe)"
    )
