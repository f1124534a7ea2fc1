"""Batches: events that travel together, and what brokers say to each other about them.

A publisher sends its events in batches, numbered by itself: an event is named by its publisher and its sequence number
for good, so whoever gets it twice can tell. A batch holds its events as columns, encoded once by the publisher; a
broker that passes a batch on whole never looks inside. Where the events of a batch go different ways it is divided,
and each part knows which of the batch's events it has (`offsets`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, TypeAlias

import msgspec
import numpy as np

from rookery.brokers.versions import Version
from rookery.space.zones import Path

__all__ = [
    "MALFORMED",
    "NOTHING",
    "POINT_SIZE",
    "Accepted",
    "Acknowledge",
    "BatchKey",
    "BatchMessage",
    "Columns",
    "DeliverBatch",
    "Discard",
    "EventBatch",
    "FetchReplicas",
    "Placed",
    "Redeliver",
    "Refused",
    "ReplicasFetched",
    "ReplicasHeld",
    "Replicate",
    "Replicated",
    "RoutedBatch",
    "Superseded",
    "batch_of",
    "columns_of",
    "emptied",
    "events_of",
    "is_readable",
    "packed",
    "unpacked",
]

Array: TypeAlias = np.ndarray[Any, Any]
Columns: TypeAlias = Mapping[str, Sequence[Any]]
#: Publisher and first sequence number.
BatchKey: TypeAlias = tuple[int, int]
#: No batch has more events than this; a larger one from the wire is refused when decoded.
MOST_EVENTS = 1 << 16
#: Bytes of one coordinate.
POINT_SIZE = 8
Offsets: TypeAlias = Annotated[tuple[int, ...], msgspec.Meta(max_length=MOST_EVENTS)]

#: What decoding raises for bytes of a peer that make no sense; a text that is no UTF-8 is not msgspec's own error.
MALFORMED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_COLUMNS: msgspec.msgpack.Decoder[dict[str, list[Any]]] = msgspec.msgpack.Decoder(dict[str, list[Any]])
_CLOSED_COLUMNS: msgspec.msgpack.Decoder[dict[str, msgspec.Raw]] = msgspec.msgpack.Decoder(dict[str, msgspec.Raw])
_COLUMN: msgspec.msgpack.Decoder[list[Any]] = msgspec.msgpack.Decoder(list[Any])
_encode = msgspec.msgpack.Encoder().encode
#: The columns of a batch of which only the numbers are kept.
NOTHING = msgspec.Raw(_encode({}))


class EventBatch(msgspec.Struct, frozen=True, array_like=True):
    """Events of one publisher; event number i has the sequence number first + (offsets[i] if there are any, else i)."""

    publisher: int
    first: int
    count: int
    columns: msgspec.Raw
    offsets: Offsets = ()

    @property
    def key(self) -> BatchKey:
        """The batch that this is, or is a part of."""
        return self.publisher, self.first

    @property
    def size(self) -> int:
        """How many bytes its columns have."""
        return memoryview(self.columns).nbytes

    def sequences(self) -> Sequence[int]:
        """Return the sequence numbers of its events."""
        if self.offsets:
            return [self.first + offset for offset in self.offsets]
        return range(self.first, self.first + self.count)

    def numbers(self) -> Sequence[int]:
        """Return which events of the whole batch these are."""
        return self.offsets or range(self.count)


def batch_of(publisher: int, first: int, events: Sequence[dict[str, Any]]) -> EventBatch:
    """Put events into a batch; an attribute that an event does not have is NULL there."""
    names = events[0].keys()
    if any(event.keys() != names for event in events):
        names = dict.fromkeys(name for event in events for name in event).keys()
        columns = {name: [event.get(name) for event in events] for name in names}
    else:
        columns = {name: [event[name] for event in events] for name in names}
    return EventBatch(publisher, first, len(events), msgspec.Raw(_encode(columns)))


def columns_of(batch: EventBatch, names: Collection[str] | None = None) -> Columns:
    """Take the columns out, all or some; none where they cannot be read or are not as long as the batch says."""
    try:
        if names is None:
            columns = _COLUMNS.decode(batch.columns)
            return columns if all(len(column) == batch.count for column in columns.values()) else {}
        closed = {name: bytes(column) for name, column in _CLOSED_COLUMNS.decode(batch.columns).items()}
        if any(_header(column)[0] != batch.count for column in closed.values()):
            return {}
        return {name: _COLUMN.decode(column) for name, column in closed.items() if name in names}
    except MALFORMED:
        return {}


def _header(column: bytes | memoryview) -> tuple[int, int]:
    """Return how many values an encoded list has and where the first begins; -1 values where it is no list."""
    tag = column[0]
    if tag & 0xF0 == 0x90:
        return tag & 0x0F, 1
    if tag == 0xDC:
        return int.from_bytes(column[1:3], "big"), 3
    return (int.from_bytes(column[1:5], "big"), 5) if tag == 0xDD else (-1, 0)


def events_of(batch: EventBatch) -> list[dict[str, Any]]:
    """Take the events out."""
    columns = columns_of(batch)
    if not columns:
        return [{} for _ in range(batch.count)]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def packed(points: Array) -> bytes:
    """Return the points of a batch, a row each, as doubles one after the other."""
    return points.astype("<f8", copy=False).tobytes()


def unpacked(points: bytes, dimensions: int) -> Array:
    """Return points by row."""
    return np.frombuffer(points, "<f8").reshape(-1, dimensions).astype(np.float64)  # a copy: kernels know one kind


def emptied(batch: EventBatch) -> EventBatch:
    """Return a batch of which only the numbers are kept."""
    return EventBatch(batch.publisher, batch.first, batch.count, NOTHING, batch.offsets)


def is_readable(batch: EventBatch) -> bool:
    """Tell whether a batch from the wire is what it says: as many events as every column has values.

    Without columns there is one event at most: a number that nothing stands behind would cost work and no bytes.
    """
    if not 0 < batch.count <= MOST_EVENTS or batch.first < 0:
        return False
    if batch.offsets and len(batch.offsets) != batch.count:
        return False
    try:
        columns = _CLOSED_COLUMNS.decode(batch.columns)
    except MALFORMED:
        return False
    if not columns:
        return batch.count == 1
    return all(_header(memoryview(column))[0] == batch.count for column in columns.values())


# ---- messages ------------------------------------------------------------------------------------------------------


class RoutedBatch(msgspec.Struct, frozen=True, array_like=True, tag=30):
    """A batch on its way to the owners of its events' points; `origin` wants to know when they have it."""

    batch: EventBatch
    #: Where its events lie, `packed`.
    points: bytes
    origin: int
    visited: tuple[int, ...] = ()


class Accepted(msgspec.Struct, frozen=True, array_like=True, tag=31):
    """These events of a batch are safe; all of them where no offsets are said."""

    publisher: int
    first: int
    offsets: Offsets = ()


class Refused(msgspec.Struct, frozen=True, array_like=True, tag=32):
    """This batch cannot be taken, and why; or not yet, where that is not final.

    With offsets it is these events of the batch that cannot, and the others go on.
    """

    publisher: int
    first: int
    reason: str
    final: bool = True
    offsets: Offsets = ()


class Replicate(msgspec.Struct, frozen=True, array_like=True, tag=33):
    """Keep replicas of these batches of mine, on your disk, for the day I am gone."""

    batches: tuple[tuple[int, EventBatch], ...]


class Replicated(msgspec.Struct, frozen=True, array_like=True, tag=34):
    """They are on my disk."""

    numbers: tuple[int, ...]


class Discard(msgspec.Struct, frozen=True, array_like=True, tag=35):
    """These need no replica any more: everyone who wants their events has them."""

    numbers: tuple[int, ...]


class ReplicasHeld(msgspec.Struct, frozen=True, array_like=True, tag=36):
    """I have replicas of yours, these; said at a beat to learn whether you are there and still want them."""

    numbers: tuple[int, ...]


class DeliverBatch(msgspec.Struct, frozen=True, array_like=True, tag=37):
    """Events for clients of yours: all of the batch for the names in `every`, row by row for the others."""

    number: int
    batch: EventBatch
    every: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    names: tuple[str, ...] = ()


class Acknowledge(msgspec.Struct, frozen=True, array_like=True, tag=38):
    """The clients have what was delivered under these numbers."""

    numbers: tuple[int, ...]


class Redeliver(msgspec.Struct, frozen=True, array_like=True, tag=39):
    """Clients can take events again: deliver once more what has these numbers."""

    numbers: tuple[int, ...]


class Placed(msgspec.Struct, frozen=True, array_like=True, tag=41):
    """Your subscriptions are stored in this zone, in these versions."""

    path: Path
    subscriptions: tuple[tuple[str, Version], ...]


class Superseded(msgspec.Struct, frozen=True, array_like=True, tag=42):
    """This version of your subscription is not stored: one as great or greater stands in its way; go above it."""

    subscription_id: str
    version: Version
    stored: Version


class FetchReplicas(msgspec.Struct, frozen=True, array_like=True, tag=43):
    """My disk cannot read these batches of mine any more: send me your replicas."""

    numbers: tuple[int, ...]


class ReplicasFetched(msgspec.Struct, frozen=True, array_like=True, tag=44):
    """My replicas of batches of yours, which you have asked for."""

    batches: tuple[tuple[int, EventBatch], ...]


BatchMessage: TypeAlias = (
    RoutedBatch
    | Accepted
    | Refused
    | Replicate
    | Replicated
    | Discard
    | ReplicasHeld
    | DeliverBatch
    | Acknowledge
    | Redeliver
    | Placed
    | Superseded
    | FetchReplicas
    | ReplicasFetched
)
