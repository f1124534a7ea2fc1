"""CompiledSet: a set of subscriptions as one buffer, the form that files, brokers and Spark tasks carry.

`buffers.py` says what the buffer looks like. Loading maps the file and makes NumPy views: nothing is copied, and
processes that load the same file share its pages.

Rule 1: a buffer is foreign until proved ours; what is truncated, damaged or hostile is a CompiledSetError at load.
Always checked is the format version and everything that a kernel follows (`checks.py`): no use of a set that loaded can
read or write outside its arrays. `verify=True`, the default, also checks the content hash and proves that the index
answers exactly as its rows and records say (`proofs.py`): whoever makes the hash anew can make another set, never one
that loses a match of its own rows. `verify="texts"` then lowers every text again and compares the rows with it.
Rule 2: a compiled set never changes. `rookery.matcher(compiled)` goes on editing from it.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rookery.errors import CompiledSetError
from rookery.matching.bitmap.build import BitmapIndex, build_index
from rookery.matching.bitmap.engine import BitmapEngine
from rookery.matching.buffers import FORMAT_VERSION, UNREADABLE, content_hash_of, pack, unpack
from rookery.matching.checks import (
    check_header,
    check_index,
    check_inexact,
    check_labels,
    check_programs,
    check_records,
    require,
)
from rookery.matching.codes import CodeSpace
from rookery.matching.explain import Explanation, explain
from rookery.matching.labels import Labels
from rookery.matching.output import match_table
from rookery.matching.plain_ipc import require_plain_stream
from rookery.matching.programs import Programs
from rookery.matching.proofs import prove_index, prove_records, prove_texts
from rookery.matching.ranges import RangeRows, range_rows, single_values
from rookery.matching.records import Records
from rookery.matching.regions import outer_boxes
from rookery.matching.rows import Rows
from rookery.matching.texts.index import NO_TEXT, TEXT, text_attributes
from rookery.matching.view import BY_VALUE, View, used_part
from rookery.model.batches import Events
from rookery.model.expressions import Field, value_text
from rookery.model.schema import Schema
from rookery.space.axes import EventSpace
from rookery.space.boxes import Boxes

__all__ = ["FORMAT_VERSION", "CompiledSet"]

Array = np.ndarray[Any, Any]


#: The arrays of programs, in the order of `Rows`, and where steps go.
_PROGRAM_ARRAYS = ("slot", "start", "attribute", "bounds", "pool", "jumps")


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
        if isinstance(engine, BitmapEngine) and engine.is_packed:
            index = engine.index
        else:
            index = build_index(engine.rows(), len(view.space), view.space.labels)
        return cls(dataclasses.replace(view, engine=BitmapEngine(index), set_version=0))

    def fresh_view(self) -> View:
        """Return a view of its own for a matcher that will edit it: what an edit writes into is shared with nobody."""
        view = self._view
        slots = len(view.records)
        return dataclasses.replace(
            view, alive=np.ones(slots, np.uint8), inexact=view.inexact[:slots].copy(), conditions={}
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
        topics = self._view.records.slim_table()
        return topics["topic"].unique().drop_null().to_pylist() if "topic" in topics.schema.names else []

    @property
    def attributes(self) -> list[str]:
        """The attributes that its filters read, as filters write them."""
        return [value_text(Field(one.path)) for one in self._view.space.read_attributes()]

    @property
    def columns(self) -> list[str]:
        """The columns of events that its filters read."""
        return list(dict.fromkeys(str(one.path[0]) for one in self._view.space.read_attributes()))

    @property
    def version(self) -> int | None:
        """The version that every subscription has, None where they may differ."""
        return None if "version" in self._view.records.slim_table().schema.names else 1

    @property
    def dated(self) -> bool:
        """Whether any subscription has effective dates, so that events need a time."""
        return self._view.dated > 0

    @property
    def nbytes(self) -> int:
        return self._view.nbytes

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
        now: object = None,
    ) -> list[str | int]:
        """Return the ids of the subscriptions that one event satisfies."""
        view = self._view
        return view.records.ids(view.match_event(event, topic=topic, time=time, on_error=on_error, now=now))

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
        now: object = None,
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
            now=now,
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
        now: object = None,
    ) -> tuple[Array, Array]:
        """Return the matches of a batch as two arrays: the event's row in the batch, and the subscription's slot."""
        return self._view.match_batch(
            events, time=time, topic=topic, as_of=as_of, missing=missing, on_error=on_error, now=now
        )

    def names(self, slots: Array) -> tuple[pa.Array, pa.Array]:
        """Return the ids and the versions of slots, as `match_indices` gives them."""
        return self._view.records.names(slots)

    def explain(
        self,
        subscription_id: str | int,
        event: Mapping[str, Any],
        *,
        topic: str | None = None,
        time: object = None,
        version: int | None = None,
        on_error: str = "raise",
        now: object = None,
    ) -> Explanation:
        """Say why an event does or does not match a subscription: each predicate with the event's value."""
        event = self._view.with_now(event, now)
        return explain(self._view, subscription_id, event, topic=topic, time=time, version=version, on_error=on_error)

    def boxes(self, space: EventSpace) -> Boxes:
        """Return the box of each subscription in an event space, never smaller than the truth.

        One that nothing satisfies has lower bounds above its upper ones. For cutting the space into zones.
        """
        return Boxes(*outer_boxes(self._view, space))

    def ranges(self) -> RangeRows:
        """Return its rows as ranges of values, never smaller than the truth (`ranges.py`)."""
        return range_rows(self._view)

    def single_values(self, path: tuple[str | int, ...]) -> tuple[Array, Array, Array, list[Any]]:
        """Return the values of an attribute that its subscriptions confine their events to (`ranges.py`)."""
        return single_values(self._view, path)

    def take(self, slots: Array) -> CompiledSet:
        """Return the set of some of its subscriptions, by slot."""
        slots = np.asarray(slots, np.int64)
        view = self._view
        number = np.full(len(self), -1, np.int64)
        number[slots] = np.arange(len(slots))
        rows = view.engine.rows()
        rows = rows.take(np.flatnonzero(number[rows.slot] >= 0))
        space, rows, programs = used_part(view.space, rows.trimmed(), view.programs.kept(number))
        engine = BitmapEngine(build_index(rows.with_slots(number[rows.slot]), len(space), space.labels))
        inexact = np.flatnonzero(view.inexact[slots] == BY_VALUE)
        return CompiledSet(View.of(space, engine, view.records.taken(slots), inexact.tolist(), programs))

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
        arrays["inexact"] = np.array(view.inexact_slots(), np.int64)
        rows, jumps = view.programs.whole()
        steps = (rows.slot, rows.start, rows.attribute, rows.bounds, rows.pool, jumps)
        arrays.update({f"program_{name}": array for name, array in zip(_PROGRAM_ARRAYS, steps, strict=True)})
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
    def load(cls, path: str | os.PathLike[str], *, verify: bool | str = True) -> CompiledSet:
        """Map a file into memory.

        `verify=False` leaves the content hash unchecked and the index unproved; what a kernel follows is always
        checked. `verify="texts"` lowers every text again, for a set of unknown origin: that takes as long as compiling.
        """
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
    def from_bytes(cls, data: Any, *, verify: bool | str = True) -> CompiledSet:
        """Make a set from a buffer of `to_bytes`, without copying it; `load` says what `verify` does."""
        if verify not in (True, False, "texts"):
            raise ValueError(f"verify is True, False or 'texts', got {verify!r}")
        buffer = data if isinstance(data, pa.Buffer) else pa.py_buffer(data)
        header, arrays = unpack(buffer)
        content_hash = header.pop("hash", None)
        try:
            if verify and content_hash_of(header, arrays) != content_hash:
                raise CompiledSetError("the content does not match its hash: the file is damaged")
        except UNREADABLE as error:
            raise CompiledSetError(str(error)) from None
        loaded = cls.from_parts(header, arrays, verify=verify)
        loaded._hash = content_hash if verify else None
        return loaded

    @classmethod
    def from_parts(cls, header: Mapping[str, Any], arrays: Mapping[str, Array], *, verify: bool | str) -> CompiledSet:
        """Make a set from the header and the arrays of a buffer, whose hash was checked or is not to be."""
        try:
            return cls(_view(header, arrays, verify))
        except CompiledSetError:
            raise
        except UNREADABLE as error:
            raise CompiledSetError(f"not a compiled set, or a damaged one: {error}") from error

    def __reduce__(self) -> tuple[Any, ...]:
        return CompiledSet.from_bytes, (self.to_bytes().to_pybytes(),)


def _table_bytes(table: pa.Table) -> Array:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return np.frombuffer(sink.getvalue(), np.uint8)


def _read_table(data: Array) -> pa.Table:
    """Undo `_table_bytes`; Arrow's own offsets are checked before anything follows them."""
    buffer = pa.py_buffer(data)
    require_plain_stream(buffer)
    table = pa.ipc.open_stream(buffer).read_all()
    table.validate(full=True)
    return table.combine_chunks()


def _view(header: Mapping[str, Any], arrays: Mapping[str, Array], verify: bool | str) -> View:
    check_header(header)
    space = CodeSpace(Schema.from_dict(header["schema"]))
    for path in header["attributes"]:
        space.register(space.attribute(tuple(path)))
    require(
        all(type(number) is int and number in space.labels for number in header["ordered"]), "ordered points outside"
    )
    for number in list(space.labels):
        labels = arrays[f"labels/{number}"]
        texts = check_labels(_read_table(arrays[f"texts/{number}"]), labels, space.attributes[number].text)
        space.labels[number] = Labels.restore(
            texts, labels.tolist(), number in header["ordered"], two=space.attributes[number] is TEXT
        )
    index = BitmapIndex.of(arrays, seed=header["seed"], blocked_rows=header["blocked_rows"])
    known = {*index.arrays(), *(f"{kind}/{number}" for number in space.labels for kind in ("texts", "labels"))}
    known |= {f"program_{name}" for name in _PROGRAM_ARRAYS}
    require(arrays.keys() == known | {"inexact", "records"}, "it has arrays that no one reads")
    table = _read_table(arrays["records"])
    check_records(table, header["slots"])
    check_index(index, attributes=max(1, len(space)), slots=table.num_rows)
    inexact = arrays["inexact"]
    check_inexact(inexact, table)
    *steps, jumps = (arrays[f"program_{name}"] for name in _PROGRAM_ARRAYS)
    check_programs(steps, jumps, attributes=len(space), slots=table.num_rows)
    programs = Programs.of(Rows(*steps), jumps)
    text = space.known(TEXT.path)
    if text is not None:
        require(NO_TEXT in space.labels[text].texts, "it has conditions on texts, and no label for none")
        text_attributes(space.labels[text], space.attribute)
    if verify:
        prove_index(index, space)
        prove_records(index, space, table)
    view = View.of(space, BitmapEngine(index), Records(table), inexact.tolist(), programs)
    if verify == "texts":
        prove_texts(view, index)
    return view
