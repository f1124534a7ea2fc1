"""Events as they travel: octets, read by whoever has to look into them.

Rule 1: an event is packed once, by its publisher; peers that pass it on do not pack it again.
Rule 2: what is unpacked is what was published: decimals, dates and times without a zone, which msgpack does not have,
travel as extensions of it.
Rule 3: octets that are no event raise `EventError`, which a peer counts and drops (`soundness`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec

from rookery.errors import EventError
from rookery.overlay.interests import WhereInterests

__all__ = ["PackedInterests", "pack", "unpack"]

_DECIMAL, _LOCAL_TIME, _DATE = 1, 2, 3


def pack(event: Mapping[str, Any]) -> bytes:
    """Return an event as octets."""
    try:
        return _ENCODE(_prepare(dict(event)))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise EventError(f"the event cannot be sent: {error}") from None


def unpack(octets: bytes) -> dict[str, Any]:
    """Return the event of octets."""
    try:
        event = _DECODE(octets)
    except (msgspec.MsgspecError, ValueError, TypeError, InvalidOperation, RecursionError, OverflowError) as error:
        raise EventError(f"these octets are no event: {error}") from None
    if type(event) is not dict or not all(type(name) is str for name in event):
        raise EventError("these octets are no event")
    return event


class PackedInterests:
    """Interests that read packed events; the same as those inside in every other way."""

    __slots__ = ("_event", "_payload", "where")

    def __init__(self, where: WhereInterests) -> None:
        self.where = where
        self._payload: bytes | None = None
        self._event: dict[str, Any] = {}

    @property
    def cells(self) -> frozenset[int]:
        """The cells that hold an event which can satisfy a condition."""
        return self.where.cells

    def cell(self, payload: bytes) -> int:
        """Return the cell of an event."""
        return self.where.cell(self._read(payload))

    def matching(self, payload: bytes) -> list[str | int]:
        """Return the ids of the conditions that an event satisfies."""
        return self.where.matching(self._read(payload))

    def _read(self, payload: bytes) -> dict[str, Any]:
        if payload is not self._payload:  # one event is looked at several times in a row
            if not isinstance(payload, bytes):
                raise EventError("these octets are no event")
            self._event = unpack(payload)
            self._payload = payload
        return self._event


def _prepare(value: Any) -> Any:
    """Mark what msgpack would turn into text."""
    if isinstance(value, dict):
        return {name: _prepare(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_prepare(one) for one in value]
    if isinstance(value, Decimal):
        return msgspec.msgpack.Ext(_DECIMAL, str(value).encode())
    if isinstance(value, datetime):
        return value if value.tzinfo is not None else msgspec.msgpack.Ext(_LOCAL_TIME, value.isoformat().encode())
    return msgspec.msgpack.Ext(_DATE, value.isoformat().encode()) if isinstance(value, date) else value


def _plain(value: Any) -> Any:
    """Return what msgpack can hold of a value that it cannot: NumPy scalars are numbers."""
    item = getattr(value, "item", None)
    if item is None:
        raise TypeError(f"{value!r} has no place in an event")
    return item()


def _extension(code: int, data: memoryview) -> Any:
    text = bytes(data).decode("ascii")
    if code == _DECIMAL:
        return Decimal(text)
    if code == _LOCAL_TIME:
        return datetime.fromisoformat(text)
    if code == _DATE:
        return date.fromisoformat(text)
    raise ValueError(f"an extension of type {code}")


_ENCODE = msgspec.msgpack.Encoder(enc_hook=_plain).encode
_DECODE = msgspec.msgpack.Decoder(ext_hook=_extension).decode
