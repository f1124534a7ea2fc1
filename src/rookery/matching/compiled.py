"""CompiledSet: a set of subscriptions as one buffer, the form that files, brokers and Spark tasks carry.

`buffers.py` says what the buffer looks like. Loading maps the file and makes NumPy views: nothing is copied, and
processes that load the same file share its pages.

Rule 1: a buffer is foreign until proved ours. Format version, content hash, and then every offset that a kernel would
follow are checked (`checks.py`) before the first match; a truncated, damaged or hostile file is a CompiledSetError.
Rule 2: a compiled set never changes. `rookery.matcher(compiled)` goes on editing from it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rookery.errors import CompiledSetError, SchemaError
from rookery.matching.bitmap.build import BitmapIndex, build_index
from rookery.matching.bitmap.engine import BitmapEngine
from rookery.matching.buffers import FORMAT_VERSION, UNREADABLE, content_hash_of, pack, unpack
from rookery.matching.checks import check_index
from rookery.matching.codes import CodeSpace
from rookery.matching.explain import Explanation, explain
from rookery.matching.labels import Labels
from rookery.matching.output import match_table
from rookery.matching.records import Records, record_schema
from rookery.matching.regions import outer_boxes
from rookery.matching.view import View
from rookery.model.batches import Events
from rookery.model.schema import Schema

__all__ = ["FORMAT_VERSION", "CompiledSet"]

Array = np.ndarray[Any, Any]


class CompiledSet:
    """An immutable set of subscriptions, ready to match."""

    __slots__ = ("_hash", "_view")

    def __init__(self, view: View, content_hash: str | None = None) -> None:
        self._view = view
        self._hash = content_hash

    @classmethod
    def of(cls, view: View) -> CompiledSet:
        """Compile what a matcher holds (it must be packed: no dead subscriptions)."""
        engine = view.engine
        if isinstance(engine, BitmapEngine) and not engine.tail_rows:
            index = engine.index
        else:
            index = build_index(engine.rows(), len(view.space))
        return cls(
            View(
                view.space.copy(),
                BitmapEngine(index),
                Records(view.records.slim_table()),
                np.ones(len(view.records), np.uint8),
                set(view.inexact),
                {},
            )
        )

    def fresh_view(self) -> View:
        """Return a view of its own for a matcher that will edit it."""
        view = self._view
        engine = view.engine
        assert isinstance(engine, BitmapEngine)
        return View(
            view.space.copy(),
            BitmapEngine(engine.index),
            Records(view.records.slim_table()),
            view.alive.copy(),
            set(view.inexact),
            {},
        )

    # ---- what it holds -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._view.records)

    def __repr__(self) -> str:
        return f"CompiledSet({len(self):,} subscriptions, {self.nbytes:,} bytes, {self.content_hash[:12]})"

    @property
    def schema(self) -> Schema:
        return self._view.space.schema

    @property
    def subscriptions(self) -> pa.Table:
        """The records, one row per slot."""
        return self._view.records.table()

    @property
    def topics(self) -> list[str]:
        return self._view.records.topics

    @property
    def attributes(self) -> list[str]:
        """The attributes that its filters test, as text."""
        return [one.text for one in self._view.space.attributes if not one.text.startswith("$")]

    @property
    def version(self) -> int | None:
        """The version that every subscription has, None where they may differ."""
        return None if "version" in self._view.records.slim_table().schema.names else 1

    @property
    def dated(self) -> bool:
        """Whether any subscription has effective dates, so that events need a time."""
        return self._view.records.dated > 0

    @property
    def nbytes(self) -> int:
        return self._view.engine.nbytes + self._view.records.nbytes

    @property
    def content_hash(self) -> str:
        """A hash of all that decides a match; equal sets that were built alike have equal hashes."""
        if self._hash is None:
            header, arrays = self._parts()
            self._hash = content_hash_of(header, arrays)
        return self._hash

    # ---- matching ------------------------------------------------------------------------------------------------

    def match(
        self,
        event: Mapping[str, Any],
        *,
        topic: str | None = None,
        time: object = None,
        on_error: str = "raise",
    ) -> list[str | int]:
        """Return the ids of the subscriptions that one event satisfies."""
        slots = self._view.match_event(event, topic=topic, time=time, on_error=on_error)
        return self._view.records.ids(slots)

    def match_many(
        self,
        events: Events,
        *,
        event_id: str = "event_id",
        time: str | None = None,
        topic: str | None = None,
        as_of: object = None,
        missing: str = "error",
        on_error: str = "raise",
    ) -> pa.Table:
        """Return the matches of a batch: event_id, subscription_id, version, by event and then by subscription."""
        return match_table(
            self._view,
            events,
            event_id=event_id,
            time=time,
            topic=topic,
            as_of=as_of,
            missing=missing,
            on_error=on_error,
        )

    def match_indices(
        self,
        events: Events,
        *,
        time: str | None = None,
        topic: str | None = None,
        as_of: object = None,
        missing: str = "error",
        on_error: str = "raise",
    ) -> tuple[Array, Array]:
        """Return the matches of a batch as two arrays: the event's row in the batch, and the subscription's slot."""
        return self._view.match_batch(events, time=time, topic=topic, as_of=as_of, missing=missing, on_error=on_error)

    def names(self, slots: Array) -> tuple[pa.Array, pa.Array]:
        """Return the ids and the versions of slots, as `match_indices` gives them."""
        ids, versions = self._view.records.names(pa.array(slots))
        return _whole(ids), _whole(versions)

    def explain(
        self,
        subscription_id: str | int,
        event: Mapping[str, Any],
        *,
        topic: str | None = None,
        time: object = None,
        version: int | None = None,
        on_error: str = "raise",
    ) -> Explanation:
        """Say why an event does or does not match a subscription: each predicate with the event's value."""
        return explain(self._view, subscription_id, event, topic=topic, time=time, version=version, on_error=on_error)

    def boxes(self, attributes: list[str]) -> tuple[Array, Array]:
        """Return lower and upper bounds per subscription and attribute as doubles, never narrower than the truth.

        An attribute that a subscription does not bound, and any string, is ±infinity. For cutting the event space
        into zones.
        """
        return outer_boxes(self._view, attributes)

    def take(self, slots: Array) -> CompiledSet:
        """Return the set of some of its subscriptions, by slot."""
        slots = np.asarray(slots, np.int64)
        view = self._view
        number = np.full(len(self), -1, np.int64)
        number[slots] = np.arange(len(slots))
        rows = view.engine.rows()
        rows = rows.take(np.flatnonzero(number[rows.slot] >= 0))
        rows = rows.with_slots(number[rows.slot])
        records = Records(view.records.slim_table().take(pa.array(slots)))
        inexact = {int(number[slot]) for slot in view.inexact if number[slot] >= 0}
        engine = BitmapEngine(build_index(rows, len(view.space)))
        return CompiledSet(View(view.space, engine, records, np.ones(len(slots), np.uint8), inexact, {}))

    # ---- as bytes ------------------------------------------------------------------------------------------------

    def _parts(self) -> tuple[dict[str, Any], dict[str, Array]]:
        view = self._view
        engine = view.engine
        assert isinstance(engine, BitmapEngine)
        index = engine.index
        space = view.space
        header = {
            "format": FORMAT_VERSION,
            "schema": space.schema.to_dict(),
            "attributes": [list(one.path) for one in space.attributes],
            "ordered": [number for number, labels in space.labels.items() if labels.ordered],
            "seed": index.seed,
            "blocked_rows": index.blocked_rows,
            "slots": len(view.records),
        }
        arrays = dict(index.arrays())
        arrays["inexact"] = np.array(sorted(view.inexact), np.int64)
        for number, labels in space.labels.items():
            arrays[f"labels/{number}"] = np.array(labels.values, np.int64)
            texts = pa.table({"text": pa.array(labels.texts, pa.string())})
            arrays[f"texts/{number}"] = _table_bytes(texts)
        arrays["records"] = _table_bytes(view.records.slim_table())
        return header, arrays

    def to_bytes(self) -> pa.Buffer:
        """Return the set as one buffer."""
        header, arrays = self._parts()
        if self._hash is None:
            self._hash = content_hash_of(header, arrays)
        return pack({**header, "hash": self._hash}, arrays)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the set to a file, whole or not at all."""
        target = Path(path)
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            with open(temporary, "wb") as stream:
                stream.write(self.to_bytes())
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, target)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise CompiledSetError(f"{target}: cannot write the compiled set: {error.strerror or error}") from error

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = True) -> CompiledSet:
        """Map a file into memory. `verify=False` leaves the content hash unchecked (the offsets are always checked)."""
        try:
            with pa.memory_map(os.fspath(path)) as mapped:
                buffer = mapped.read_buffer()
        except OSError as error:
            raise CompiledSetError(f"{path}: cannot read the compiled set: {error}") from error
        try:
            return cls.from_bytes(buffer, verify=verify)
        except CompiledSetError as error:
            raise CompiledSetError(f"{path}: {error}") from None

    @classmethod
    def from_bytes(cls, data: Any, *, verify: bool = True) -> CompiledSet:
        """Make a set from a buffer of `to_bytes`, without copying it."""
        buffer = data if isinstance(data, pa.Buffer) else pa.py_buffer(data)
        header, arrays = unpack(buffer)
        content_hash = header.pop("hash", None)
        if verify and content_hash_of(header, arrays) != content_hash:
            raise CompiledSetError("the content does not match its hash: the file is damaged")
        try:
            view = _view(header, arrays)
        except CompiledSetError:
            raise
        except UNREADABLE as error:
            raise CompiledSetError(f"not a compiled set, or a damaged one: {error}") from error
        return cls(view, content_hash)

    def __reduce__(self) -> tuple[Any, ...]:
        return CompiledSet.from_bytes, (self.to_bytes().to_pybytes(),)


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column as one array; one chunk is not copied."""
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _table_bytes(table: pa.Table) -> Array:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)


def _read_table(data: Array) -> pa.Table:
    """Undo `_table_bytes`; Arrow's own offsets are checked before anything follows them."""
    table = pa.ipc.open_stream(pa.py_buffer(data)).read_all()
    table.validate(full=True)
    return table.combine_chunks()


def _view(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> View:
    schema = Schema.from_dict(header["schema"])
    space = CodeSpace(schema)
    for path in header["attributes"]:
        space.register(space.attribute(tuple(path)))
    for number in list(space.labels):
        texts = _read_table(arrays[f"texts/{number}"])["text"].to_pylist()
        labels = arrays[f"labels/{number}"].tolist()
        if len(texts) != len(labels) or texts != sorted(set(texts)) or labels != sorted(set(labels)):
            raise CompiledSetError(f"the labels of {space.attributes[number].text} are out of order")
        space.labels[number] = Labels.restore(texts, labels, number in header["ordered"])
    index = BitmapIndex.of(arrays, seed=int(header["seed"]), blocked_rows=int(header["blocked_rows"]))
    table = _read_table(arrays["records"])
    wanted = record_schema(table.schema.field("subscription_id").type)
    if any(field.name not in wanted.names or field.type != wanted.field(field.name).type for field in table.schema):
        raise SchemaError("the records have other columns")
    if table.num_rows != header["slots"]:
        raise CompiledSetError(f"{table.num_rows} records for {header['slots']} subscriptions")
    check_index(index, attributes=max(1, len(space)), slots=table.num_rows)
    inexact = {int(slot) for slot in arrays["inexact"]}
    if inexact and not 0 <= min(inexact) <= max(inexact) < table.num_rows:
        raise CompiledSetError("a subscription to verify is not in the set")
    return View(space, BitmapEngine(index), Records(table), np.ones(table.num_rows, np.uint8), inexact, {})
