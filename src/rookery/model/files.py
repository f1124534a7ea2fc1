"""Files of subscriptions, as they are: CSV, TSV, JSON lines, Parquet and Arrow, one file, several, or a folder.

Rule 1: nothing is guessed. A cell of a text file is text, whatever it looks like (`NA`, `007`, `2026-01-01`), and an
empty cell, quoted or not, is missing; a value in a JSON file has the type that JSON gives it. What the values mean is
for `tables.py` to say.
Rule 2: a file that is cut short or is something else is an error that names it. A row that is at odds with its header
is a fault of that row alone.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa

from rookery.errors import RookeryError, SubscriptionError
from rookery.model.datasets import Dataset, Paths, find_dataset
from rookery.model.storage import Location, is_remote, source_of

__all__ = ["KINDS", "Columns", "columns_of_rows", "read_files"]

#: The kinds of files, by their endings.
KINDS = {
    ".csv": "CSV",
    ".txt": "CSV",
    ".tsv": "TSV",
    ".jsonl": "JSON",
    ".ndjson": "JSON",
    ".json": "JSON",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow",
    ".ipc": "Arrow",
    ".feather": "Arrow",
    ".yml": "YAML",
    ".yaml": "YAML",
}
#: Where a document of a YAML file ends and another begins.
_BREAK = re.compile(r"^---[ \t]*$", re.MULTILINE)

#: Characters of a cell, at most: Python's own bound of 131,072 is less than a condition may have.
CELL = 1 << 24


@dataclass(frozen=True, slots=True)
class Columns:
    """What was found: each column as Arrow, or as Python values where the file gives a type to each value."""

    columns: dict[str, pa.ChunkedArray | list[Any]]
    count: int
    #: What is wrong with a row whatever its values mean: message and hint.
    faults: dict[int, tuple[str, str | None]] = field(default_factory=dict)
    #: Whether an empty text cannot be told from a missing one.
    is_text: bool = False
    #: The files and how many rows each has.
    files: tuple[tuple[str, int], ...] = ()

    def place(self, row: int) -> str:
        """Return where a row is, for people: `row 3`, or `row 3 of b.csv` where there are several files."""
        if len(self.files) > 1:
            for name, count in self.files:
                if row < count:
                    return f"row {row + 1} of {name}"
                row -= count
        return f"row {row + 1}"


def read_files(paths: Paths) -> Columns:
    """Read files of one kind, or the files of folders."""
    data = find_dataset(paths, error=SubscriptionError)
    files = data.paths
    if data.declared is not None:
        return _typed(data, "Parquet")
    kinds = {KINDS.get(path.suffix.lower(), path.suffix or path.name) for path in files}
    if len(kinds) != 1 or not kinds <= set(KINDS.values()):
        raise SubscriptionError(
            f"files of one kind are needed, with one of the endings {', '.join(KINDS)}; "
            f"{files[0] if len(files) == 1 else files[0].parent} has {', '.join(sorted(kinds))}"
        )
    kind = kinds.pop()
    if kind in ("Parquet", "Arrow"):
        return _typed(data, kind)
    parts = [_checked(path, kind) for path in files]
    for part, file in zip(parts, data.files, strict=True):
        # In a text file all is text, what its folder says of it too.
        part.columns.update({name: _told(value, kind, part.count) for name, value in data.constants(file).items()})
    names = list(dict.fromkeys(name for part in parts for name in part.columns))
    faults: dict[int, tuple[str, str | None]] = {}
    before = 0
    for part in parts:
        faults |= {before + row: fault for row, fault in part.faults.items()}
        before += part.count
    columns: dict[str, Any] = {
        name: [value for part in parts for value in part.columns.get(name, [None] * part.count)] for name in names
    }
    counts = tuple((path.name, part.count) for path, part in zip(files, parts, strict=True))
    return Columns(columns, before, faults, is_text=kind in ("CSV", "TSV"), files=counts)


def _checked(path: Location, kind: str) -> Columns:
    try:
        if kind == "YAML":
            return _rules(path)
        return _json(path) if kind == "JSON" else _text(path, "\t" if kind == "TSV" else ",")
    except (OSError, ValueError, csv.Error, RecursionError) as error:
        if isinstance(error, RookeryError):
            raise
        raise SubscriptionError(f"{path}: cannot be read as {kind}: {error}") from error


def _text(path: Location, delimiter: str) -> Columns:
    if csv.field_size_limit() < CELL:
        csv.field_size_limit(CELL)
    with path.open(encoding="utf-8-sig", newline="") as stream:
        lines = csv.reader(stream, delimiter=delimiter, strict=True)
        try:
            header = next((cells for cells in lines if cells), None)
            if header is None:
                raise SubscriptionError(f"{path}: is empty; the first line names the columns")
            if len(set(header)) != len(header):
                raise SubscriptionError(f"{path}: the header names a column twice: {', '.join(header)}")
            rows, faults = _cells(lines, len(header))
        except csv.Error as error:
            raise SubscriptionError(f"{path}, line {lines.line_num}: cannot be read: {error}") from error
    columns: dict[str, Any] = {name: [cells[place] for cells in rows] for place, name in enumerate(header)}
    return Columns(columns, len(rows), faults)


def _cells(lines: Iterator[list[str]], width: int) -> tuple[list[list[str | None]], dict[int, Any]]:
    rows: list[list[str | None]] = []
    faults: dict[int, tuple[str, str | None]] = {}
    for cells in lines:
        if not cells:
            continue
        if any(cells[width:]):
            faults[len(rows)] = (
                f"the row has {len(cells)} cells and the header {width}",
                "a cell with a separator in it is written in double quotes",
            )
        rows.append([cell or None for cell in cells[:width]] + [None] * (width - len(cells)))
    return rows, faults


def _json(path: Location) -> Columns:
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), 1):
        if not line.strip():
            continue
        try:
            # Decimal, since a parameter is a text: 0.1 stays what is written.
            row = json.loads(line, parse_float=Decimal)
        except (ValueError, RecursionError) as error:
            raise SubscriptionError(f"{path}, line {number}: cannot be read as JSON: {error}") from error
        if not isinstance(row, dict):
            raise SubscriptionError(f"{path}, line {number}: a line is an object of columns and values")
        rows.append(row)
    return columns_of_rows(rows)


def _rules(path: Location) -> Columns:
    """Read a file of rules in YAML, a document each, which `dialects` reads on; Sigma is the one that is so written."""
    text = path.read_text(encoding="utf-8-sig")
    found, line = [], 0
    for part in _BREAK.split(text):
        # The lines before it are kept as empty ones, so that the place of a fault is its line in the file.
        if part.strip():
            found.append("\n" * line + part)
        line += part.count("\n")
    count = len(found)
    return Columns({"where": found, "source": [str(path)] * count, "dialect": ["sigma"] * count}, count)


def columns_of_rows(rows: Sequence[Any]) -> Columns:
    """Return rows as columns; a key that a row does not have is missing there."""
    names = dict.fromkeys(name for row in rows for name in row)
    return Columns({name: [row.get(name) for row in rows] for name in names}, len(rows))


def _told(value: Any, kind: str, count: int) -> list[Any]:
    """Return a column of what a partition folder says of all rows of a file."""
    return [value if value is None or kind in ("JSON", "YAML") else str(value)] * count


def _typed(data: Dataset, kind: str) -> Columns:
    tables, files = [], data.paths
    for path in files:
        try:
            if kind == "Parquet":
                import pyarrow.parquet

                tables.append(pyarrow.parquet.read_table(source_of(path), partitioning=None))
            else:
                tables.append(_arrow(path))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise SubscriptionError(f"{path}: cannot be read as {kind}: {error}") from error
    for place, file in enumerate(data.files):
        for column, value in zip(data.partitions, file.values, strict=True):
            told = pa.repeat(pa.scalar(value, column.type), tables[place].num_rows)
            hidden = [column.name] if column.name in tables[place].column_names else []
            tables[place] = tables[place].drop_columns(hidden).append_column(column, told)
    if data.declared is not None:
        tables = [data.declared.empty_table(), *tables]
    try:
        table = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise SubscriptionError(f"{files[0].parent}: the files do not go together: {error}") from error
    counts = tuple((path.name, one.num_rows) for path, one in zip(files, tables[-len(files) :], strict=False))
    return Columns(dict(zip(table.column_names, table.columns, strict=True)), table.num_rows, files=counts)


def _arrow(path: Location) -> pa.Table:
    with pa.PythonFile(source_of(path)) if is_remote(path) else pa.OSFile(str(path)) as source:
        if source.read(6) == b"ARROW1":
            return pa.ipc.open_file(source).read_all()
        source.seek(0)
        return pa.ipc.open_stream(source).read_all()
