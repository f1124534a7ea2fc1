"""The short way to read what comes a hundred thousand times: DATA without inline QoS, HEARTBEAT, INFO_TS, INFO_DST.

Each reader here takes the body of one submessage with exactly the flags that it is listed under, in one or two calls of
`struct`. What is not quite regular it declines (None): then the decoder of `submessages` reads it, or says what is
wrong with it. So both ways read the same, and only one of them knows errors.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final

from rookery.rtps.submessages import DATA, HEARTBEAT, INFO_DST, INFO_TS, Data, Heartbeat, InfoTimestamp, ToParticipant

__all__ = ["QUICK"]

_ENTITIES = struct.Struct(">II")
_DATA_HEAD = struct.Struct("<HH8xiI")
_HEARTBEAT_BODY = struct.Struct("<8xiIiII")
_TIME = struct.Struct("<II")

_Quick = Callable[[bytes, int, int], Data | Heartbeat | InfoTimestamp | ToParticipant | None]


def _data(data: bytes, at: int, end: int) -> Data | None:
    if end - at < 20:
        return None
    _, offset, high, low = _DATA_HEAD.unpack_from(data, at)
    sequence = (high << 32) | low
    if offset != 16 or sequence < 1:
        return None
    reader, writer = _ENTITIES.unpack_from(data, at + 4)
    return Data(reader, writer, sequence, data[at + 20 : end])


def _heartbeat(data: bytes, at: int, end: int, final: bool) -> Heartbeat | None:
    if end - at < 28:
        return None
    high, low, last_high, last_low, count = _HEARTBEAT_BODY.unpack_from(data, at)
    first, last = (high << 32) | low, (last_high << 32) | last_low
    if first < 1 or last < first - 1:
        return None
    reader, writer = _ENTITIES.unpack_from(data, at)
    return Heartbeat(reader, writer, first, last, count, final)


def _timestamp(data: bytes, at: int, end: int) -> InfoTimestamp | None:
    if end - at < 8:
        return None
    seconds, fraction = _TIME.unpack_from(data, at)
    return InfoTimestamp(seconds * 1_000_000 + ((fraction * 1_000_000) >> 32))


def _destination(data: bytes, at: int, end: int) -> ToParticipant | None:
    return ToParticipant(data[at : at + 12]) if end - at >= 12 else None


#: By the first two octets of a submessage: its id and, behind it, its flags.
QUICK: Final[dict[bytes, _Quick]] = {
    bytes((DATA, 0x05)): _data,
    bytes((HEARTBEAT, 0x01)): lambda data, at, end: _heartbeat(data, at, end, False),
    bytes((HEARTBEAT, 0x03)): lambda data, at, end: _heartbeat(data, at, end, True),
    bytes((INFO_TS, 0x01)): _timestamp,
    bytes((INFO_DST, 0x01)): _destination,
}
