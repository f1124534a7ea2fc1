"""Where the events of a batch lie in the space, by column; and which of them cannot be read.

Rule: an event fits if each attribute that spans the space has a value of its type, or none. One that does not fit has
no place: it is named by its row, and does no harm to the others of its batch. Other attributes are not looked at here;
a value that is odd there satisfies no condition (`conditions.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from rookery.brokers.batches import MALFORMED, Array, EventBatch, columns_of, events_of
from rookery.brokers.fitting import plain_kind, struct_of
from rookery.errors import EventError
from rookery.model.batches import Batch
from rookery.space.axes import EventSpace

__all__ = ["EventPlaces"]

#: Events of a batch from which on columns are faster than rows.
FEW = 48


class EventPlaces:
    """The places of events in a space."""

    def __init__(self, space: EventSpace) -> None:
        self._space = space
        self._names = {str(attribute.path[0]) for attribute in space.attributes}
        self._plain = _decoder(space)

    def fits(self, batch: EventBatch) -> bool:
        """Tell whether all events of a batch certainly fit, at the price of reading the columns of the axes."""
        if self._plain is None:
            return False
        try:
            self._plain.decode(batch.columns)
        except MALFORMED:
            return False
        return True

    def points(self, batch: EventBatch) -> tuple[Array, list[int]]:
        """Return where events lie, by row, and the rows of those that do not fit, whose place means nothing."""
        if batch.count >= FEW:
            columns = columns_of(batch, self._names)
            names, values = list(columns), list(columns.values())
            try:
                return self._space.points(Batch(names, batch.count, values.__getitem__)), []
            except (EventError, pa.ArrowException, TypeError, OverflowError, UnicodeError):
                pass  # some value is odd: look at each event by itself
        points, bad = np.zeros((batch.count, self._space.dimensions)), []
        for row, event in enumerate(events_of(batch)):
            try:
                points[row] = self._space.point(event)
            except EventError:
                bad.append(row)
        return points, bad

    def some(self, batch: EventBatch, rows: Sequence[int]) -> Array:
        """Return where the events in some rows of a batch lie, all of which fit."""
        columns = columns_of(batch, self._names)
        names, values = list(columns), [[column[row] for row in rows] for column in columns.values()]
        return self._space.points(Batch(names, len(rows), values.__getitem__))


def _decoder(space: EventSpace) -> msgspec.msgpack.Decoder[Any] | None:
    """Return a decoder that takes columns of values that fit, of nearly all kinds, and nothing that does not.

    None where an axis is of a type whose values MessagePack does not tell apart.
    """
    fields: dict[str, tuple[Any, Any]] = {}
    for attribute in space.attributes:
        kind = plain_kind(attribute.type) if len(attribute.path) == 1 else None
        if kind is None:
            return None
        fields[str(attribute.path[0])] = (list[kind], [])  # type: ignore[valid-type]
    return msgspec.msgpack.Decoder(struct_of(fields))
