"""Edits of a set of rules: which ids an edit touches, and all that the set is to hold of them from then on.

Rule 1: an edit speaks of whole ids. What it does not touch stays as it is; of an id that it touches, the records of the
edit are all that there are, none where it was removed. So edits that follow each other make one: of each id the last.
Rule 2: an edited set means what the edited records mean when they are compiled anew. No rule depends on another one but
by its id, so a part can be compiled for itself.
Rule 3: where an edit cannot be told, or is a good part of the set, there is none, and the set is compiled whole.

Edits come from a folder of edits (`EditFolder`), a file for each, taken in the order of their names and never changed;
or by comparing the records with those of before (`changed`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rookery.errors import SubscriptionError
from rookery.model.files import read_files
from rookery.model.storage import Location, absolute, create, names_in, path_of, source_of
from rookery.model.tables import FAULT, read_subscriptions

__all__ = ["EditFolder", "SetEdit", "Taken", "changed", "edited", "write_edits"]

#: The column of an edit that says that the set is to hold nothing of an id.
REMOVED = "removed"
#: Files that are read as one table at the most.
AT_ONCE = 4_096
_SAID = {True: True, "true": True, "1": True, None: False, False: False, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class SetEdit:
    """The ids that an edit touches, each once, and all records of them from then on."""

    touched: pa.Array
    records: pa.Table


@dataclass(frozen=True, slots=True)
class Taken:
    """How far a source with edits was read: the sign of its files, how many edits, and a hash of their names."""

    files: str
    edits: int
    names: str

    def fingerprint(self) -> str:
        """Return the sign of what was read."""
        return blake2b(f"{self.files}|{self.edits}|{self.names}".encode(), digest_size=16).hexdigest()


def edited(records: pa.Table, edit: SetEdit) -> pa.Table:
    """Return records after an edit."""
    kept = records.filter(pc.invert(pc.is_in(records["subscription_id"], value_set=edit.touched)))
    return _together([kept, edit.records])


def _together(tables: Sequence[pa.Table]) -> pa.Table:
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise SubscriptionError(f"an edit has a column of another type than the rules: {error}") from error


def changed(before: pa.Table, after: pa.Table) -> SetEdit | None:
    """Return the edit that makes one table of records of another; None where their columns differ."""
    if before.schema.remove_metadata() != after.schema.remove_metadata():
        return None
    old, new = before["subscription_id"], after["subscription_id"]
    counts = [_counts(one) for one in (old, new)]
    uneven = _uneven(*counts)
    left, right = (one.filter(pc.invert(pc.is_in(one["subscription_id"], value_set=uneven))) for one in (before, after))
    if not left["subscription_id"].equals(right["subscription_id"]):
        left, right = _by_id(left), _by_id(right)
    differs = _differing(left, right)
    touched = pa.concat_arrays([uneven, left["subscription_id"].filter(differs).combine_chunks()]).unique()
    return SetEdit(touched, after.filter(pc.is_in(new, value_set=touched)))


def _counts(ids: pa.ChunkedArray) -> pa.Table:
    return pa.table({"id": ids}).group_by("id").aggregate([([], "count_all")])


def _uneven(old: pa.Table, new: pa.Table) -> pa.Array:
    """Return the ids that two columns do not have equally often."""
    names = ["id", "count_all"]
    if old["id"].null_count or new["id"].null_count:  # a join never finds NULL
        nothing = pa.array([None], old["id"].type)
    else:
        nothing = pa.array([], old["id"].type)
    parts = [one.join(two, names, join_type="left anti")["id"] for one, two in ((old, new), (new, old))]
    found = [one.combine_chunks() for one in parts if one.length()]
    flat = [chunk for one in found for chunk in (one.chunks if isinstance(one, pa.ChunkedArray) else [one])]
    return pa.concat_arrays([nothing, *flat]).unique()


def _by_id(records: pa.Table) -> pa.Table:
    """Return records by their ids, those of one id in the order that they have."""
    keys = pa.table({"id": records["subscription_id"], "row": pa.array(range(records.num_rows), pa.int64())})
    return records.take(pc.sort_indices(keys, [("id", "ascending"), ("row", "ascending")]))


def _differing(left: pa.Table, right: pa.Table) -> pa.Array:
    """Say of each row whether two tables differ in it."""
    differs: Any = pa.repeat(False, left.num_rows)
    for name in left.column_names:
        one, other = left[name], right[name]
        if one.null_count == other.null_count == left.num_rows or one.equals(other):
            continue
        if pa.types.is_nested(one.type):
            unequal: Any = pa.array(
                [a != b for a, b in zip(one.to_pylist(), other.to_pylist(), strict=True)], pa.bool_()
            )
        else:
            unequal = pc.or_(
                pc.fill_null(pc.not_equal(one, other), False), pc.not_equal(pc.is_null(one), pc.is_null(other))
            )
        differs = pc.or_(differs, unequal)
    return differs.combine_chunks() if isinstance(differs, pa.ChunkedArray) else differs


@dataclass(frozen=True, slots=True)
class EditFolder:
    """A folder of edits, with the ids of the rules that they are of (`id_type`), in the dialect given."""

    path: str
    dialect: str | None = None

    @property
    def folder(self) -> Location:
        """Where the files are."""
        return path_of(self.path)

    def names(self) -> list[str]:
        """Return the files of the edits in their order."""
        return [name for name in names_in(self.folder) if not name.startswith((".", "_"))]

    def read(self, names: Sequence[str], id_type: pa.DataType) -> SetEdit:
        """Return the edit that some files make together."""
        kind = "int" if pa.types.is_integer(id_type) else "string"
        # Files as `write_edits` makes them are read as one table: what a call costs is most of what an edit does.
        plain = [number for number, name in enumerate(names) if name.endswith(".parquet")]
        parts = [self._part(names, number, kind) for number in set(range(len(names))).difference(plain)]
        for first in range(0, len(plain), AT_ONCE):
            parts.append(self._parquet(names, plain[first : first + AT_ONCE], kind))
        last: dict[Any, int] = {}
        for table, numbers in parts:
            for one, number in zip(table["subscription_id"].to_pylist(), numbers, strict=True):
                last[one] = max(number, last.get(one, 0))
        kept = []
        for table, numbers in parts:
            removed = self._removed(table, [names[number] for number in numbers])
            rows = zip(table["subscription_id"].to_pylist(), numbers, removed, strict=True)
            mine = pa.array([not gone and last[one] == number for one, number, gone in rows], pa.bool_())
            kept.append((table.drop_columns([REMOVED]) if REMOVED in table.column_names else table).filter(mine))
        records = _together(kept)
        if FAULT in records.column_names and records[FAULT].null_count == records.num_rows:
            records = records.drop_columns([FAULT])  # what has no condition was removed
        return SetEdit(pa.array(list(last), id_type), records)

    def _parquet(self, names: Sequence[str], numbers: Sequence[int], kind: str) -> tuple[pa.Table, list[int]]:
        """Read files of Parquet as one table, with the number of each row's file."""
        tables = []
        try:
            for number in numbers:
                table = pq.ParquetFile(source_of(self.folder / names[number])).read(use_threads=False)
                tables.append(table if "where" in table.column_names else _without_condition(table))
        except (pa.ArrowException, OSError) as error:
            raise SubscriptionError(f"{self.folder / names[number]}: {error}") from error
        table = read_subscriptions(_together(tables), id_type=kind, dialect=self.dialect)
        return table, [number for number, one in zip(numbers, tables, strict=True) for _ in range(one.num_rows)]

    def _part(self, names: Sequence[str], number: int, kind: str) -> tuple[pa.Table, list[int]]:
        table = self._file(names[number], kind)
        return table, [number] * table.num_rows

    def _file(self, name: str, kind: str) -> pa.Table:
        """Read one file of any kind."""
        path = self.folder / name
        try:
            found = read_files(path)
            if "where" in found.columns or REMOVED not in found.columns:
                return read_subscriptions(str(path), id_type=kind, dialect=self.dialect)
            return read_subscriptions({**found.columns, "where": [None] * found.count}, id_type=kind)
        except SubscriptionError as error:
            raise SubscriptionError(f"{path}: {error}") from error

    def _removed(self, table: pa.Table, names: list[str]) -> list[bool]:
        """Say of each row whether it says that its id is removed; `names` are the files of the rows."""
        said = table[REMOVED].to_pylist() if REMOVED in table.column_names else [None] * table.num_rows
        known = [one.lower() if isinstance(one, str) else one for one in said]
        for one, name in zip(known, names, strict=True):
            if one not in _SAID:
                raise SubscriptionError(f"{self.folder / name}: {REMOVED} is true or false, not {one!r}")
        return [_SAID[one] for one in known]


def _without_condition(table: pa.Table) -> pa.Table:
    return table.append_column("where", pa.nulls(table.num_rows, pa.string()))


def taken(files: str, names: Sequence[str]) -> Taken:
    """Return how far a source is read that has taken these edits."""
    return Taken(files, len(names), blake2b("\n".join(names).encode(), digest_size=16).hexdigest())


def write_edits(
    folder: str, records: Any = None, *, removed: Iterable[str | int] = (), after: str | None = None
) -> str:
    """Add an edit to a folder, whole, behind all that are there; return its name.

    `records` are those that take the place of all that the rules hold of their ids, in any form of a table of
    subscriptions; of the ids of `removed` nothing stays. Who is the only one to write gives the name that the last call
    returned, `after`: the folder, which may have many files, is not listed then.
    """
    parts = []
    if records is not None:
        table = read_subscriptions(records)
        parts.append(table.append_column(REMOVED, pa.array([False] * table.num_rows)))
    gone = list(removed)
    if gone:
        parts.append(pa.table({"subscription_id": gone, "where": [""] * len(gone), REMOVED: [True] * len(gone)}))
    if not parts:
        raise SubscriptionError("an edit puts records or removes ids: this one does neither")
    sink = pa.BufferOutputStream()
    pq.write_table(_together(parts).replace_schema_metadata(None), sink)
    edits = EditFolder(absolute(folder))
    if isinstance(edits.folder, Path):
        edits.folder.mkdir(parents=True, exist_ok=True)
    while True:
        names = edits.names() if after is None else [after]
        last, after = names[-1].partition(".")[0] if names else "0", None
        if not last.isdigit():
            raise SubscriptionError(
                f"{folder}: the last edit is called {names[-1]}, and the next would not be behind it"
            )
        name = f"{int(last) + 1:012d}.parquet"
        if create(edits.folder / name, sink.getvalue().to_pybytes()):
            return name
