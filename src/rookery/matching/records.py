"""Records: what subscriptions are beside their rows: id, version, topic, text, parameters, dates.

Rule 1: a subscription in the set has a *slot*, its place in these columns; rows and results speak of slots.
Rule 2: `(subscription_id, version)` is unique, and all ids of a set are of one type, string or int64.
Rule 3: what came in bulk stays an Arrow table, without the columns that say nothing (ten million of them must fit);
what came one by one is kept in a list behind it. When that has become long it joins the table, which whoever has the
time for it does beside the records (`settled`, `joined`).
"""

from __future__ import annotations

from sys import getsizeof
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rookery.model.subscriptions import Record, record_schema

__all__ = ["Records", "full_table", "records_to_table"]

#: Records that stay a list at least; a larger table has a part of itself beside it.
LEAST_TAIL = 8192
TAIL_PART = 32
#: Ids that are asked for one by one.
FEW_IDS = 16
#: Records that become columns at a time: Arrow holds the interpreter lock as long as it takes.
AT_ONCE = 1024
#: Versions of slots that have the first one, for all who ask for no more than these.
_ONES = pa.array(np.ones(1 << 17, np.int64))


class Records:
    """The subscriptions of a set by slot, as they stood when the set was in one state.

    Records never change. Those of the next state share the table, and the list behind it as far as this state reaches:
    the list only grows, and whoever would append behind another's back takes a copy.
    """

    __slots__ = ("_base", "_column", "_first_ones", "_named", "_tail", "_tail_count", "id_type")

    def __init__(self, base: pa.Table | None = None) -> None:
        self._base = record_schema(pa.string()).empty_table() if base is None else _slim(base)
        #: The ids of the table.
        self._column = _in_one(self._base["subscription_id"])
        self._tail: list[Record] = []
        self._tail_count = 0
        #: Ids and versions of the list, once many have been asked for.
        self._named: tuple[pa.Array, pa.Array] | None = None
        #: Whether all of the list have version 1, once its names are known.
        self._first_ones = False
        #: The type of all ids; None while there is none.
        self.id_type: pa.DataType | None = None if base is None else base.schema.field("subscription_id").type

    def __len__(self) -> int:
        """Count the slots, the dead ones included."""
        return int(self._base.num_rows) + self._tail_count

    @property
    def nbytes(self) -> int:
        sample = self._tail[: self._tail_count : self._tail_count // 64 + 1]
        record = sum(map(_size_of, sample)) // max(1, len(sample))
        return int(self._base.nbytes) + (record + 8) * self._tail_count

    def __getitem__(self, slot: int) -> Record:
        rows = self._base.num_rows
        if slot >= rows:
            found: Record = self._tail[slot - rows]
            return found
        row: dict[str, Any] = {name: self._base.column(name)[slot] for name in self._base.schema.names}
        for name in ("valid_from", "valid_to"):
            if name in row:
                row[name] = row[name].value
        named = {name: value.as_py() if isinstance(value, pa.Scalar) else value for name, value in row.items()}
        if named.get("parameters") is not None:
            named["parameters"] = tuple(named["parameters"])
        named.setdefault("where", None)
        return Record(**named)

    def ids(self, slots: list[int]) -> list[str | int]:
        """Return the ids of slots."""
        if not slots:
            return []
        base = self._column
        rows = len(base)
        if len(slots) > FEW_IDS and max(slots) < rows:
            if pa.types.is_integer(base.type):
                numbers: list[str | int] = base.to_numpy()[slots].tolist()
                return numbers
            texts: list[str | int] = pc.take(base, pa.array(slots, pa.int64()), boundscheck=False).to_pylist()
            return texts
        return [self._tail[slot - rows].subscription_id if slot >= rows else base[slot].as_py() for slot in slots]

    def named(self, slots: np.ndarray[Any, Any]) -> tuple[pa.Array, pa.Array | pa.ChunkedArray]:
        """Return the ids and the versions of slots; where all have the first one, no memory is written for versions."""
        column, first_ones = self._column, "version" not in self._base.schema.names
        if self._tail_count:
            if self._base.num_rows or len(slots) < self._tail_count:
                return self.names(slots)
            column, first_ones = self._tail_names()[0], self._first_ones
        if not len(slots) or not first_ones:
            return self.names(slots)
        return pc.take(column, pa.array(slots), boundscheck=False), _ones(len(slots))

    def _tail_names(self) -> tuple[pa.Array, pa.Array]:
        """Return the ids and the versions of the list, and keep them."""
        if self._named is None:
            named = _names(self._tail[: self._tail_count], self.id_type)
            self._first_ones = pc.all(pc.equal(named[1], 1)).as_py() is True
            self._named = named  # last: others read too
        return self._named

    def numbers(self, slots: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the ids of slots, which are whole numbers in this set."""
        if not len(slots):
            return np.empty(0, np.int64)
        rows = len(self._column)
        newer = slots >= rows
        if not newer.any():
            all_older: np.ndarray[Any, Any] = self._column.to_numpy()[slots]
            return all_older
        found = np.empty(len(slots), np.int64)
        if rows:
            older = ~newer
            found[older] = self._column.to_numpy()[slots[older]]
        found[newer] = [self._tail[place].subscription_id for place in (slots[newer] - rows).tolist()]
        return found

    def names(self, slots: np.ndarray[Any, Any]) -> tuple[pa.Array, pa.Array]:
        """Return the ids and the versions of slots, each in one piece."""
        rows = self._base.num_rows
        newer = np.flatnonzero(slots >= rows) if self._tail_count else ()
        if not len(newer):
            return self._base_names(slots)
        places = slots[newer] - rows
        if self._named is None and len(places) >= self._tail_count:  # most are named more than once
            self._tail_names()
        if self._named is None:
            newer_ids, newer_versions = _names([self._tail[place] for place in places.tolist()], self.id_type)
        else:
            newer_ids, newer_versions = (one.take(pa.array(places)) for one in self._named)
        if len(newer) == len(slots):
            return newer_ids, newer_versions
        older = np.flatnonzero(slots < rows)
        ids, versions = self._base_names(slots[older])
        order = np.empty(len(slots), np.int64)
        order[older], order[newer] = np.arange(len(older)), np.arange(len(older), len(slots))
        return (
            pa.concat_arrays([ids, newer_ids]).take(pa.array(order)),
            pa.concat_arrays([versions, newer_versions]).take(pa.array(order)),
        )

    def _base_names(self, slots: np.ndarray[Any, Any]) -> tuple[pa.Array, pa.Array]:
        base = self._base
        if not len(slots):
            return pa.array([], self.id_type or pa.string()), pa.array([], pa.int64())
        places = pa.array(slots)
        ids = pc.take(self._column, places, boundscheck=False)
        if "version" in base.schema.names:
            return ids, pc.take(base["version"].chunk(0), places, boundscheck=False)
        return ids, _in_one(_ones(len(slots)))

    def find(self, subscription_id: str | int, first: int = 0, last: int | None = None) -> list[int]:
        """Return the slots of an id, the dead ones too, by looking at all of them, or at those of a range."""
        wanted = pa.string() if isinstance(subscription_id, str) else pa.int64()
        if wanted != self.id_type:
            return []
        try:
            asked = pa.scalar(subscription_id, wanted)
        except (OverflowError, ValueError, pa.ArrowException):
            return []  # no int64, or no Unicode: no set has such an id
        rows = int(self._base.num_rows)
        last = len(self) if last is None else last
        slots: list[int] = []
        if rows > first:  # a table without rows says nothing of the type of ids
            column = self._base["subscription_id"].slice(first, last - first)
            slots = [first + place for place in pc.indices_nonzero(pc.equal(column, asked)).to_pylist()]
        tail = self._tail
        newer = range(max(0, first - rows), last - rows)
        return slots + [rows + i for i in newer if tail[i].subscription_id == subscription_id]

    def find_many(self, ids: list[str | int], first: int, last: int) -> list[int]:
        """Return the slots of a range that have one of some ids, the dead ones too, by looking at all once."""
        kind = str if self.id_type == pa.string() else int
        try:
            asked = pa.array([one for one in ids if type(one) is kind], self.id_type)
        except (OverflowError, ValueError, pa.ArrowException):
            return [slot for one in ids for slot in self.find(one, first, last)]
        rows, named = int(self._base.num_rows), set(asked.to_pylist())
        column = self._column.slice(first, max(0, min(last, rows) - first))
        slots = (first + np.flatnonzero(pc.is_in(column, value_set=asked).to_numpy(zero_copy_only=False))).tolist()
        newer = range(max(0, first - rows), last - rows)
        return slots + [rows + place for place in newer if self._tail[place].subscription_id in named]

    def id_column(self) -> pa.Array:
        """Return the ids of the table, the list behind it left out."""
        return self._column

    def table(self) -> pa.Table:
        """Return all slots as one table of `record_schema`, in slot order."""
        return full_table(self.slim_table())

    def slim_table(self) -> pa.Table:
        """Return the same without the columns that say nothing: optional ones that are null throughout."""
        if not self._tail_count:
            return self._base
        tail = [
            records_to_table(self._tail[begin : min(self._tail_count, begin + AT_ONCE)], self.id_type)
            for begin in range(0, self._tail_count, AT_ONCE)
        ]
        return _slim(pa.concat_tables([full_table(self._base), *tail] if self._base.num_rows else tail))

    # ---- records of other states ---------------------------------------------------------------------------------

    def appended(self, records: list[Record]) -> Records:
        """Return these records and more of them behind, which must have been checked."""
        if not records:
            return self
        others = Records.__new__(Records)
        others._base, others._column, others._named, others.id_type = self._base, self._column, None, self.id_type
        others._first_ones = False
        if not len(self):
            others.id_type = pa.string() if isinstance(records[0].subscription_id, str) else pa.int64()
        others._tail = self._tail if len(self._tail) == self._tail_count else self._tail[: self._tail_count]
        others._tail += records
        others._tail_count = self._tail_count + len(records)
        if len(records) > LEAST_TAIL:
            return others.settled()
        return others

    @property
    def is_long(self) -> bool:
        """Whether the list behind the table is to join it."""
        return self._tail_count > max(LEAST_TAIL, int(self._base.num_rows) // TAIL_PART)

    def settled(self) -> Records:
        """Return the same records with all of them in the table."""
        return Records(self.slim_table()) if self._tail_count else self

    def joined(self, settled: Records, later: Records) -> Records | None:
        """Return later records with `settled`, which is these settled, as their table; None if they do not follow."""
        if later._base is not self._base or later._tail is not self._tail:
            return None
        joined = Records.__new__(Records)
        joined._base, joined._column, joined._named, joined.id_type = (
            settled._base, settled._column, None, settled.id_type,
        )  # fmt: skip
        joined._first_ones = False
        joined._tail = later._tail[self._tail_count : later._tail_count]
        joined._tail_count = len(joined._tail)
        return joined

    def extended(self, table: pa.Table) -> Records:
        """Return these records and a table behind them, which may lack columns that say nothing."""
        return Records(pa.concat_tables([self.table(), full_table(table)]) if len(self) else table)

    def taken(self, slots: np.ndarray[Any, Any]) -> Records:
        """Return the records of some slots, in that order."""
        return Records(self.slim_table().take(pa.array(slots)))


def _in_one(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as an array; one that is in one piece, or empty, is not copied."""
    if column.num_chunks > 1:
        return column.combine_chunks()
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def _size_of(record: Record) -> int:
    """Return about how many bytes a record takes as a Python object with its texts."""
    values = [getattr(record, name) for name in record.__struct_fields__]
    parameters = record.parameters or ()
    return getsizeof(record) + sum(getsizeof(one) for one in (*values, *parameters) if one is not None)


def records_to_table(records: list[Record], id_type: pa.DataType | None) -> pa.Table:
    """Return records as a table."""
    if id_type is None or records:
        id_type = pa.string() if records and isinstance(records[0].subscription_id, str) else pa.int64()
    schema = record_schema(id_type)
    return pa.table(
        {name: pa.array([getattr(one, name) for one in records], schema.field(name).type) for name in schema.names},
        schema=schema,
    )


def _names(records: list[Record], id_type: pa.DataType | None) -> tuple[pa.Array, pa.Array]:
    """Return the ids and the versions of records."""
    ids = pa.array([one.subscription_id for one in records], id_type)
    return ids, pa.array([one.version for one in records], pa.int64())


def _ones(count: int) -> pa.ChunkedArray:
    """Return the versions of so many slots that have the first one, one at least."""
    whole, rest = divmod(count, len(_ONES))
    return pa.chunked_array([_ONES] * whole + [_ONES.slice(0, rest)] * (rest > 0))


def _slim(table: pa.Table) -> pa.Table:
    """Return a table of records, in one piece, without columns that say nothing: null, or version 1, throughout."""
    rows = table.num_rows
    silent = [
        name
        for name in table.schema.names
        if name != "subscription_id"
        and (
            table[name].null_count == rows
            or (name == "version" and pc.min_max(table[name]).as_py() == {"min": 1, "max": 1})
        )
    ]
    return (table.drop_columns(silent) if silent else table).combine_chunks()


def full_table(table: pa.Table) -> pa.Table:
    """Return a table of records with all its columns."""
    schema = record_schema(table.schema.field("subscription_id").type)
    columns: list[Any] = []
    for field in schema:
        if field.name in table.schema.names:
            columns.append(table[field.name])
        elif field.name == "version":
            columns.append(pa.array(np.ones(table.num_rows, np.int64)))
        else:
            columns.append(pa.nulls(table.num_rows, field.type))
    return pa.table(columns, schema=schema)
