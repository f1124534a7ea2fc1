"""Batches: events in whatever their owner holds them, as columns by name.

A batch is an Arrow table, record batch or reader, a pandas or Polars frame, anything else with Arrow's C stream (or
array) interface, a dict of columns, or a list of dicts.

Rule 1: a column is looked at when somebody asks for it, so what no condition names never matters.
Rule 2: a column is either Arrow's or a list of raw values, and then each value is read as that of a dict event is: no
type is inferred from neighbors. A list of dicts is its events, one by one: a missing key is NULL.
Rule 3: a column that a subscription needs and the batch does not have is an error: a misspelt column would otherwise
match nothing in silence.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from rookery.errors import EventError
from rookery.model.event_columns import plain_array, read_column
from rookery.model.events import shown_value
from rookery.model.expressions import NOW_PATH
from rookery.model.instants import instant_of
from rookery.model.schema import Attribute

__all__ = ["Batch", "Column", "Events", "batch_of", "event_column", "event_ids"]

#: What `match_many` takes.
Events: TypeAlias = Any
#: Arrow's, or raw values.
Column: TypeAlias = pa.Array | pa.ChunkedArray | list[Any]

_SHOWN_NAMES = 12


class Batch:
    """Events as columns by name; those that nobody asks for are never made."""

    __slots__ = ("_first", "_known", "_make", "_rows", "names", "num_rows")

    def __init__(
        self,
        names: Sequence[str],
        count: int,
        make: Callable[[int], Column],
        *,
        rows: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        self.names = names
        self.num_rows = count
        self._make = make
        self._rows = rows
        self._first = 0
        self._known: dict[str, Column] = {}

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def column(self, name: str, purpose: str = "which subscriptions test") -> Column:
        """Return a column by its name; EventError says which ones there are."""
        column = self._known.get(name)
        if column is None:
            column = self._known[name] = self._find(name, purpose)
        if self._first == 0 and len(column) == self.num_rows:
            return column
        return column[self._first : self._first + self.num_rows]

    def _find(self, name: str, purpose: str) -> Column:
        places = [place for place, one in enumerate(self.names) if one == name]
        if len(places) > 1:
            raise EventError(f"the events have {len(places)} columns named {name!r}")
        if places:
            return self._make(places[0])
        if self._rows is not None:
            return [None] * len(self._rows)
        raise EventError(f"the events have no column {name!r}, {purpose}; they have {self.shown_names()}")

    def shown_names(self) -> str:
        """Return the names of the columns, cut to what an error can show."""
        return ", ".join(map(str, self.names[:_SHOWN_NAMES])) or "none"

    def lacking(self, name: str) -> np.ndarray[Any, Any] | None:
        """Return which events have no such key, None where a column is there for all or for none."""
        if self._rows is None or name == NOW_PATH[0]:
            return None
        mine = self._rows[self._first : self._first + self.num_rows]
        return np.array([name not in event for event in mine], np.bool_)

    def slice(self, first: int, count: int) -> Batch:
        """Return a part of the events; its columns are those of the whole."""
        part = Batch(self.names, max(0, min(count, self.num_rows - first)), self._make, rows=self._rows)
        part._first = self._first + first
        part._known = self._known
        return part

    def at(self, now: object) -> Batch:
        """Return the events with the wall time of their batch, which `now()` is."""
        moment = pa.scalar(instant_of(now), pa.int64()).cast(pa.timestamp("ns", tz="UTC"))
        names = [name for name in self.names if name != NOW_PATH[0]]

        def make(place: int) -> Column:
            return pa.repeat(moment, self.num_rows) if place == len(names) else self.column(names[place])

        return Batch([*names, NOW_PATH[0]], self.num_rows, make, rows=self._rows)

    def pick(self, rows: Iterable[int]) -> Batch:
        """Return some events by their rows: for few of them, since they are picked one by one."""
        wanted = list(rows)

        def make(place: int) -> Column:
            column = self.column(self.names[place])
            if isinstance(column, list):
                return [column[row] for row in wanted]
            parts = [column.slice(row, 1) for row in wanted]
            chunks = [chunk for one in parts for chunk in (one.chunks if isinstance(one, pa.ChunkedArray) else [one])]
            return pa.chunked_array(chunks, column.type)

        return Batch(self.names, len(wanted), make)


def batch_of(events: Events) -> Batch:
    """Return events as a batch, whatever they come in."""
    if isinstance(events, Batch):
        return events
    if isinstance(events, pa.Table | pa.RecordBatch):
        return Batch(events.schema.names, events.num_rows, events.column)
    if _is_a(events, "pandas", "DataFrame"):
        return Batch(list(events.columns), len(events), lambda place: _values(events.iloc[:, place]))
    if _is_a(events, "polars", "DataFrame"):
        return Batch(events.columns, events.height, lambda place: _values(events.to_series(place)))
    if isinstance(events, Mapping):
        return _of_columns(events)
    if isinstance(events, list | tuple):
        return _of_rows(events)
    try:
        if hasattr(events, "__arrow_c_stream__"):
            return batch_of(pa.RecordBatchReader.from_stream(events).read_all())
        if hasattr(events, "__arrow_c_array__"):
            return batch_of(pa.record_batch(events))
    except (pa.ArrowException, TypeError, OSError) as error:
        raise EventError(f"the events cannot be read from their Arrow stream: {error}") from error
    raise EventError(
        f"events are a table, and these are {type(events).__name__}: give an Arrow table, batch or reader, a pandas or "
        "Polars frame (collect() a lazy one), an object with __arrow_c_stream__, a dict of columns or a list of dicts"
    )


def _is_a(value: object, package: str, name: str) -> bool:
    """Say whether a value is of a class of a package, which need not be installed."""
    module = sys.modules.get(package)
    return module is not None and isinstance(value, getattr(module, name))


def _of_columns(events: Mapping[str, Any]) -> Batch:
    columns = list(events.values())
    lengths = set()
    for name, column in events.items():
        if isinstance(column, str | bytes | Mapping) or not hasattr(column, "__len__"):
            raise EventError(
                f"{name}: {type(column).__name__} is no column; one event is for match(), not match_many()"
            )
        lengths.add(len(column))
    if len(lengths) > 1:
        shown = ", ".join(f"{name}: {len(column)}" for name, column in list(events.items())[:_SHOWN_NAMES])
        raise EventError(f"the columns differ in length: {shown}")
    return Batch(list(events), lengths.pop() if lengths else 0, lambda place: _values(columns[place]))


def _of_rows(events: Sequence[Any]) -> Batch:
    names: dict[str, None] = {}
    for event in events:
        if not isinstance(event, Mapping):
            raise EventError(f"an event is a mapping, and this has {shown_value(event)}")
        names.update(dict.fromkeys(event))
    known = list(names)
    return Batch(known, len(events), lambda place: [event.get(known[place]) for event in events], rows=events)


def _values(column: Any) -> Column:
    """Return a column of a frame or a dict as Arrow's where its type says what it holds, as raw values elsewhere."""
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return column
    try:
        if _is_a(column, "pandas", "Series"):
            # An object column is whatever it holds, and Arrow would read a period as its number.
            if column.dtype != object and type(column.dtype).__name__ not in ("PeriodDtype", "IntervalDtype"):
                return pa.array(column, from_pandas=True)
        elif isinstance(column, np.ndarray):
            if column.dtype != object and column.ndim == 1:
                return pa.array(column)
        elif hasattr(column, "__arrow_c_stream__") or hasattr(column, "__arrow_c_array__"):
            return pa.chunked_array(column) if hasattr(column, "__arrow_c_stream__") else pa.array(column)
    except (pa.ArrowException, TypeError, ValueError):
        pass  # a type that Arrow does not have; its values may still be read
    return list(column)


# ---- what a match reads ----------------------------------------------------------------------------------------------


def event_column(events: Events, attribute: Attribute, *, on_error: str = "raise", missing: str = "error") -> pa.Array:
    """Return an attribute of a batch as one Arrow array of the schema's type (a dictionary of strings stays one)."""
    batch = batch_of(events)
    name = str(attribute.path[0])
    if missing == "null" and name not in batch:
        return read_column(attribute, pa.nulls(batch.num_rows))
    return read_column(attribute, batch.column(name), on_error=on_error, missing=missing)


def event_ids(batch: Batch, name: str, rows: pa.Array) -> pa.Array | pa.ChunkedArray:
    """Return the ids of some events by their rows, in the type that their column has (a view as what it views)."""
    column = batch.column(name, "which names the events: say event_id=")
    if isinstance(column, list):
        try:
            return pa.array(column).take(rows)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise EventError(f"{name}: the ids of events are values of one type: {error}") from None
    try:
        return column.take(rows)
    except pa.ArrowNotImplementedError:
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    try:
        return pa.chunked_array([plain_array(one) for one in chunks]).take(rows)
    except pa.ArrowNotImplementedError:
        raise EventError(f"{name}: Arrow's {column.type} cannot name events") from None
