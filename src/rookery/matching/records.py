"""Records: what subscriptions are beside their rows: id, version, topic, text, parameters, dates.

Rule 1: a subscription in the set has a *slot*, its place in these columns; rows and results speak of slots.
Rule 2: `(subscription_id, version)` is unique, and all ids of a set are of one type, string or int64.
Rule 3: what came in bulk stays an Arrow table, without the columns that say nothing (ten million of them must fit);
what came one by one is kept in a list behind it until the table is next asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rookery.errors import DuplicateSubscriptionError, SubscriptionError, UnknownSubscriptionError
from rookery.model.subscriptions import Record, record_schema

__all__ = ["Records"]


class Records:
    """The subscriptions of a set by slot."""

    __slots__ = ("_base", "_slots", "_tail", "_topics", "dated", "id_type")

    def __init__(self, base: pa.Table | None = None) -> None:
        self._base = None if base is None else _slim(base)
        self._tail: list[Record] = []
        self._slots: dict[str | int, list[int]] | None = None if base is not None and base.num_rows else {}
        self.id_type: pa.DataType | None = None if base is None else base.schema.field("subscription_id").type
        self._topics: dict[str, int] = {}
        self.dated = 0
        if base is not None:
            self._count_base(self._base)

    def _count_base(self, base: pa.Table) -> None:
        self._topics, self.dated = {}, 0
        if "topic" in base.schema.names:
            counts = pc.value_counts(base["topic"]).to_pylist()
            self._topics = {one["values"]: one["counts"] for one in counts if one["values"] is not None}
        dates = [pc.is_valid(base[name]) for name in ("valid_from", "valid_to") if name in base.schema.names]
        if dates:
            self.dated = pc.sum(dates[0] if len(dates) == 1 else pc.or_(*dates)).as_py() or 0

    def __len__(self) -> int:
        """Count the slots, the dead ones included."""
        return self._base_rows + len(self._tail)

    @property
    def _base_rows(self) -> int:
        return 0 if self._base is None else int(self._base.num_rows)

    @property
    def topics(self) -> list[str]:
        """The topics that live subscriptions name."""
        return list(self._topics)

    @property
    def nbytes(self) -> int:
        return (0 if self._base is None else self._base.nbytes) + 400 * len(self._tail)

    def __getitem__(self, slot: int) -> Record:
        if slot >= self._base_rows:
            return self._tail[slot - self._base_rows]
        assert self._base is not None
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
        rows = self._base_rows
        base: Any = self._base["subscription_id"].chunk(0) if rows and self._base is not None else None
        return [self._tail[slot - rows].subscription_id if slot >= rows else base[slot].as_py() for slot in slots]

    def slots_of(self, subscription_id: str | int) -> list[int]:
        """Return the live slots of an id; UnknownSubscriptionError if there is none."""
        slots = self._index().get(subscription_id)
        if not slots:
            raise UnknownSubscriptionError(f"no subscription {subscription_id!r} is in the set")
        return slots

    def find(self, subscription_id: str | int) -> list[int]:
        """Return the live slots of an id, none if there is none."""
        return self._index().get(subscription_id, [])

    def _index(self) -> dict[str | int, list[int]]:
        if self._slots is None:
            assert self._base is not None
            self._slots = {}
            for slot, one in enumerate(self._base["subscription_id"].to_pylist()):
                self._slots.setdefault(one, []).append(slot)
        return self._slots

    def check_new(self, record: Record, *, replacing: bool = False) -> None:
        """Refuse a record whose id is of the wrong type or is taken."""
        wanted = pa.string() if isinstance(record.subscription_id, str) else pa.int64()
        if self.id_type is not None and wanted != self.id_type and len(self):
            raise SubscriptionError(
                f"the ids of this set are {self.id_type}, and this one is {wanted}",
                subscription_id=record.subscription_id,
                hint="use one type for all ids",
            )
        if replacing:
            return
        for slot in self.find(record.subscription_id):
            if self[slot].version == record.version:
                raise DuplicateSubscriptionError(
                    f"version {record.version} is in the set already",
                    subscription_id=record.subscription_id,
                    hint="use replace(), or a higher version",
                )

    def check_bulk(self, ids: pa.ChunkedArray) -> None:
        """Refuse a column of ids that holds one twice, or one that the set has."""
        if len(self) and self.id_type is not None and ids.type != self.id_type:
            raise SubscriptionError(f"the ids of this set are {self.id_type}, and these are {ids.type}")
        if pc.count_distinct(ids).as_py() != len(ids):
            counts = pc.value_counts(ids)
            twice = counts.filter(pc.greater(pc.struct_field(counts, "counts"), 1))[0]["values"].as_py()
            raise DuplicateSubscriptionError("the id is given twice", subscription_id=twice)
        if len(self):
            taken = pc.is_in(ids, value_set=self.table()["subscription_id"])
            if pc.any(taken).as_py():
                raise DuplicateSubscriptionError(
                    "the id is in the set already", subscription_id=ids.filter(taken)[0].as_py()
                )

    def append(self, record: Record) -> int:
        """Add a checked record; return its slot."""
        slot = len(self)
        if self.id_type is None or not slot:
            self.id_type = pa.string() if isinstance(record.subscription_id, str) else pa.int64()
        self._index().setdefault(record.subscription_id, []).append(slot)
        self._tail.append(record)
        self._count(record, 1)
        return slot

    def discard(self, slot: int) -> None:
        """Take a slot out of the indexes; its place stays until the set is packed."""
        record = self[slot]
        slots = self._index()[record.subscription_id]
        slots.remove(slot)
        if not slots:
            del self._index()[record.subscription_id]
        self._count(record, -1)

    def _count(self, record: Record, step: int) -> None:
        self.dated += step * record.dated
        if record.topic is not None:
            count = self._topics.get(record.topic, 0) + step
            if count:
                self._topics[record.topic] = count
            else:
                del self._topics[record.topic]

    def _settle(self) -> pa.Table:
        """Move what came one by one into the table, and return that."""
        if self._tail or self._base is None:
            schema = record_schema(self.id_type or pa.string())
            names = schema.names
            columns = {name: [getattr(record, name) for record in self._tail] for name in names}
            tail = pa.table({name: pa.array(columns[name], schema.field(name).type) for name in names}, schema=schema)
            full = (
                tail if self._base is None or not self._base.num_rows else pa.concat_tables([_full(self._base), tail])
            )
            self._base, self._tail = _slim(full.combine_chunks()), []
        return self._base

    def table(self) -> pa.Table:
        """Return all slots as one table of `record_schema`, in slot order."""
        return _full(self._settle())

    def slim_table(self) -> pa.Table:
        """Return the same without the columns that say nothing: optional ones that are null throughout."""
        return self._settle()

    def names(self, slots: pa.Array) -> tuple[pa.ChunkedArray, pa.ChunkedArray | pa.Array]:
        """Return the ids and the versions of slots."""
        base = self._settle()
        ids = base["subscription_id"].take(slots)
        if "version" in base.schema.names:
            return ids, base["version"].take(slots)
        return ids, pa.array(np.ones(len(slots), np.int64))

    def extend(self, table: pa.Table) -> int:
        """Add checked records in bulk (columns of `record_schema`); return the first slot."""
        first = len(self)
        base = self.table() if first else None
        if base is None:
            self.id_type = table.schema.field("subscription_id").type
        joined = table if base is None else pa.concat_tables([base, table])
        fresh = Records(joined.combine_chunks())
        self._base, self._slots, self._topics, self.dated = fresh._base, None, fresh._topics, fresh.dated
        return first


def _slim(table: pa.Table) -> pa.Table:
    """Return a table of records without the columns that say nothing: null throughout, or version 1 throughout."""
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
    return table.drop_columns(silent) if silent else table


def _full(table: pa.Table) -> pa.Table:
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
