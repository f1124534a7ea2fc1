"""The times of events, by which effective dates are decided: whole microseconds, rounded down.

An effective date has no part finer than a microsecond, so nothing is lost. What counts as a time is what counts as a
value of a timestamp attribute; NULL is a time that nobody knows, and only subscriptions without dates judge it.
"""

from __future__ import annotations

import pyarrow as pa

from rookery.errors import EventError
from rookery.model.batches import Batch
from rookery.model.event_columns import plain_array, python_values, whole_array
from rookery.model.events import plain_value
from rookery.model.instants import MICROSECONDS, instant_of

__all__ = ["event_time", "event_times"]

_INT64 = 1 << 63


def event_time(value: object, on_error: str = "raise") -> int | None:
    """Return a time in microseconds, None for NULL; EventError says what is wrong with it."""
    try:
        value = plain_value(value)
        if value is None:
            return None
        microseconds = instant_of(value) // MICROSECONDS
        if not -_INT64 <= microseconds < _INT64:
            raise ValueError(f"{value} is past what microseconds can count")
        return microseconds
    except (TypeError, ValueError) as error:
        if on_error == "null":
            return None
        raise EventError(f"the time is wrong: {error}") from None


def event_times(batch: Batch, name: str, on_error: str = "raise") -> pa.Array:
    """Return a column of times as timestamps of microseconds."""
    column = batch.column(name, "which is to hold their time")
    if not isinstance(column, list):
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        try:
            array = whole_array([plain_array(one) for one in chunks] or [pa.nulls(0)])
            kind = array.type
            if pa.types.is_null(kind):
                return pa.nulls(len(array), pa.timestamp("us"))
            if pa.types.is_timestamp(kind) and kind.unit == "ns":
                counts = array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False) // MICROSECONDS
                return pa.array(counts, mask=array.is_null().to_numpy(zero_copy_only=False)).view(pa.timestamp("us"))
            if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
                return array.cast(pa.timestamp("us", tz=getattr(kind, "tz", None)))
        except pa.ArrowException:
            pass  # one of them is past what microseconds can count, perhaps; it will be named
        column = python_values(column)
    return pa.array([event_time(one, on_error) for one in column], pa.int64()).view(pa.timestamp("us"))
