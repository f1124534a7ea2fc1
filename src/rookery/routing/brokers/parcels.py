"""Parcels: events that travel together, and what brokers say to each other about them.

A publisher sends its events in parcels, numbered by itself: an event is named by its publisher and its sequence number
for good, so whoever gets it twice can tell. A parcel holds its events as columns, encoded once by the publisher; a
broker that passes a parcel on whole never looks inside. Where the events of a parcel go different ways it is divided,
and each part knows which of the parcel's events it has (`offsets`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import msgspec

from rookery.routing.brokers.zones import Path, Point

__all__ = [
    "NOTHING",
    "Accepted",
    "Again",
    "Carry",
    "Columns",
    "Confirm",
    "Copied",
    "Copy",
    "Forget",
    "Holding",
    "Notice",
    "Parcel",
    "ParcelKey",
    "ParcelMessage",
    "Placed",
    "Refused",
    "columns_of",
    "events_of",
    "is_readable",
    "parcel_of",
    "part_of",
]

Columns: TypeAlias = dict[str, list[Any]]
#: Publisher and first sequence number.
ParcelKey: TypeAlias = tuple[int, int]
#: No parcel has more events than this; a larger one from the wire is refused when decoded.
MOST_EVENTS = 1 << 16
Offsets: TypeAlias = Annotated[tuple[int, ...], msgspec.Meta(max_length=MOST_EVENTS)]

_COLUMNS: msgspec.msgpack.Decoder[Columns] = msgspec.msgpack.Decoder(Columns)
_encode = msgspec.msgpack.Encoder().encode
#: The columns of a parcel of which only the numbers are kept.
NOTHING = msgspec.Raw(_encode({}))


class Parcel(msgspec.Struct, frozen=True, array_like=True):
    """Events of one publisher; event number i has the sequence number first + (offsets[i] if there are any, else i)."""

    publisher: int
    first: int
    count: int
    columns: msgspec.Raw
    offsets: Offsets = ()

    @property
    def key(self) -> ParcelKey:
        """The parcel that this is, or is a part of."""
        return self.publisher, self.first

    def sequences(self) -> Sequence[int]:
        """Return the sequence numbers of its events."""
        if self.offsets:
            return [self.first + offset for offset in self.offsets]
        return range(self.first, self.first + self.count)

    def numbers(self) -> Sequence[int]:
        """Return which events of the whole parcel these are."""
        return self.offsets or range(self.count)


def parcel_of(publisher: int, first: int, events: Sequence[dict[str, Any]]) -> Parcel:
    """Put events into a parcel; an attribute that an event does not have is NULL there."""
    names = events[0].keys()
    if any(event.keys() != names for event in events):
        names = dict.fromkeys(name for event in events for name in event).keys()
        columns = {name: [event.get(name) for event in events] for name in names}
    else:
        columns = {name: [event[name] for event in events] for name in names}
    return Parcel(publisher, first, len(events), msgspec.Raw(_encode(columns)))


def columns_of(parcel: Parcel) -> Columns:
    """Take the columns out; none where they cannot be read or are not as long as the parcel says."""
    try:
        columns = _COLUMNS.decode(parcel.columns)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return columns if all(len(column) == parcel.count for column in columns.values()) else {}


def events_of(parcel: Parcel) -> list[dict[str, Any]]:
    """Take the events out."""
    columns = columns_of(parcel)
    if not columns:
        return [{} for _ in range(parcel.count)]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def part_of(parcel: Parcel, rows: Sequence[int], columns: Columns | None = None) -> Parcel:
    """Return the part with the events in these rows; the parcel itself if that is all of them."""
    if len(rows) == parcel.count:
        return parcel
    if columns is None:
        columns = columns_of(parcel)
    part = {name: [column[row] for row in rows] for name, column in columns.items()}
    numbers = parcel.numbers()
    return Parcel(
        parcel.publisher,
        parcel.first,
        len(rows),
        msgspec.Raw(_encode(part)),
        tuple(numbers[row] for row in rows),
    )


def is_readable(parcel: Parcel) -> bool:
    """Tell whether a parcel from the wire is what it says."""
    if not 0 < parcel.count <= MOST_EVENTS or parcel.first < 0:
        return False
    return not parcel.offsets or len(parcel.offsets) == parcel.count


# ---- messages ------------------------------------------------------------------------------------------------------


class Carry(msgspec.Struct, frozen=True, array_like=True, tag=30):
    """A parcel on its way to the owners of its events' points; `origin` wants to know when they have it."""

    parcel: Parcel
    points: tuple[Point, ...]
    origin: int
    visited: tuple[int, ...] = ()


class Accepted(msgspec.Struct, frozen=True, array_like=True, tag=31):
    """These events of a parcel are safe; all of them where no offsets are said."""

    publisher: int
    first: int
    offsets: Offsets = ()


class Refused(msgspec.Struct, frozen=True, array_like=True, tag=32):
    """This parcel cannot be taken, and why; or not yet, where that is not final."""

    publisher: int
    first: int
    reason: str
    final: bool = True


class Copy(msgspec.Struct, frozen=True, array_like=True, tag=33):
    """Keep copies of these parcels of mine, on your disk, for the day I am gone."""

    parts: tuple[tuple[int, Parcel], ...]


class Copied(msgspec.Struct, frozen=True, array_like=True, tag=34):
    """They are on my disk."""

    parts: tuple[int, ...]


class Forget(msgspec.Struct, frozen=True, array_like=True, tag=35):
    """These need no copy any more: everyone who wants their events has them."""

    parts: tuple[int, ...]


class Holding(msgspec.Struct, frozen=True, array_like=True, tag=36):
    """I hold copies of yours, these; asked at a beat to learn whether you are there and still want them kept."""

    parts: tuple[int, ...]


class Notice(msgspec.Struct, frozen=True, array_like=True, tag=37):
    """Events for clients of yours: all of the parcel for the names in `every`, row by row for the others."""

    part: int
    parcel: Parcel
    every: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    names: tuple[str, ...] = ()


class Confirm(msgspec.Struct, frozen=True, array_like=True, tag=38):
    """The clients have what these notices said."""

    parts: tuple[int, ...]


class Again(msgspec.Struct, frozen=True, array_like=True, tag=39):
    """These clients can take events again: tell me once more what I have not confirmed."""

    names: tuple[str, ...]


class Placed(msgspec.Struct, frozen=True, array_like=True, tag=41):
    """Your subscription is stored in this zone."""

    subscription_id: str
    version: int
    path: Path


ParcelMessage: TypeAlias = (
    Carry | Accepted | Refused | Copy | Copied | Forget | Holding | Notice | Confirm | Again | Placed
)
