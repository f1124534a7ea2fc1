"""Parts of a batch: some of its rows, cut out of the columns as they travel.

Rule: no value is read. A kernel finds once where the values of a batch lie, and a part is the bytes of its rows one
behind the other; so a relay, and an owner whose subscribers want different rows, make no object for an event.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import msgspec
import numpy as np

from rookery.brokers.batches import NOTHING, Array, EventBatch
from rookery.brokers.row_kernels import find_values, gather_rows

__all__ = ["RowCuts", "part_of"]


class RowCuts:
    """The parts of one batch."""

    __slots__ = ("_batch", "_data", "_places")

    def __init__(self, batch: EventBatch) -> None:
        self._batch = batch
        self._data: Array | None = None
        #: Where the values of each column lie, as `find_values` says; None where they are no columns.
        self._places: Array | None = None

    def part(self, rows: Sequence[int]) -> EventBatch:
        """Return the part with the events in these rows; the batch itself if that is all of them."""
        batch = self._batch
        if len(rows) == batch.count:
            return batch
        if self._data is None:
            self._find()
        raw = NOTHING
        if self._places is not None:
            raw = msgspec.Raw(gather_rows(self._data, self._places, np.array(rows, np.int64)).tobytes())
        numbers = tuple(rows)
        if batch.offsets:
            picked: Any = itemgetter(*rows)(batch.offsets)
            numbers = picked if len(rows) > 1 else (picked,)
        return EventBatch(batch.publisher, batch.first, len(rows), raw, numbers)

    def _find(self) -> None:
        self._data = data = np.frombuffer(bytes(self._batch.columns), np.uint8)
        columns, first = _head(bytes(data[:5]))
        if columns and columns * self._batch.count <= len(data):  # else it is no batch, and might want much room
            places = np.empty((columns, self._batch.count + 3), np.int64)
            if find_values(data, first, places):
                self._places = places


def _head(data: bytes) -> tuple[int, int]:
    """Return how many columns a map has and where the first begins; none where it is no map."""
    if not data:
        return 0, 0
    if data[0] & 0xF0 == 0x80:
        return data[0] & 0x0F, 1
    if data[0] in (0xDE, 0xDF):
        size = 2 if data[0] == 0xDE else 4
        return int.from_bytes(data[1 : 1 + size], "big"), 1 + size
    return 0, 0


def part_of(batch: EventBatch, rows: Sequence[int]) -> EventBatch:
    """Return the part with the events in these rows; the batch itself if that is all of them."""
    return RowCuts(batch).part(rows)
