"""An RTPS message: twenty octets of header, then submessages to the end of the datagram.

`decode_message` never raises. A malformed submessage makes the rest of its message invalid but not what came before it
(RTPS 2.5, 8.3.4.1), so the answer holds both: the submessages that were read and the fault that stopped the reading.
Unknown submessages are skipped by their length, which is how the protocol grows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache

import msgspec

from rookery.errors import WireFormatError
from rookery.rtps.identity import PREFIX_LENGTH, PROTOCOL_VERSION, VENDOR
from rookery.rtps.octets import Cursor
from rookery.rtps.quick import QUICK
from rookery.rtps.submessages import DECODERS, INFO_TS, PAD, Submessage

__all__ = [
    "HEADER_LENGTH",
    "MAX_DATAGRAM",
    "Message",
    "decode_message",
    "decode_shared_message",
    "encode_header",
    "encode_message",
]

HEADER_LENGTH = 20
#: The largest UDP payload over IPv4.
MAX_DATAGRAM = 65_507
_SUBMESSAGE_HEADERS = {True: struct.Struct("<BBH"), False: struct.Struct(">BBH")}


class Message(msgspec.Struct, frozen=True):
    """What a datagram said: its sender, its submessages in order, and why reading stopped early, if it did."""

    prefix: bytes
    version: tuple[int, int]
    vendor: bytes
    submessages: tuple[Submessage, ...]
    fault: str | None = None


def encode_header(prefix: bytes, *, version: tuple[int, int] = PROTOCOL_VERSION, vendor: bytes = VENDOR) -> bytes:
    """Return the twenty octets that open a message of the participant `prefix`."""
    return b"RTPS" + bytes(version) + vendor + prefix


def encode_message(prefix: bytes, submessages: Iterable[Submessage], *, little: bool = True) -> bytes:
    """Return one whole message."""
    return encode_header(prefix) + b"".join(submessage.encode(little=little) for submessage in submessages)


def decode_message(data: bytes) -> Message:
    """Read a datagram; anything at all may be in it."""
    if len(data) < HEADER_LENGTH or data[:4] != b"RTPS":
        return Message(bytes(PREFIX_LENGTH), (0, 0), b"\0\0", (), "no RTPS header")
    version, vendor, prefix = (data[4], data[5]), data[6:8], data[8:HEADER_LENGTH]
    if version[0] != 2:
        return Message(prefix, version, vendor, (), f"RTPS version {version[0]}.{version[1]}")
    submessages: list[Submessage] = []
    position, end = HEADER_LENGTH, len(data)
    while position < end:
        if end - position < 4:
            return Message(prefix, version, vendor, tuple(submessages), "a submessage header cut short")
        little = bool(data[position + 1] & 1)
        identity, flags, length = _SUBMESSAGE_HEADERS[little].unpack_from(data, position)
        position += 4
        after = position + length
        if length == 0 and identity not in (PAD, INFO_TS):
            after = end
        if after > end:
            fault = f"submessage 0x{identity:02x} of {length} octets, {end - position} left"
            return Message(prefix, version, vendor, tuple(submessages), fault)
        quick = QUICK.get(data[position - 4 : position - 2])
        submessage = None if quick is None else quick(data, position, after)
        if submessage is not None:
            submessages.append(submessage)
            position = after
            continue
        decoder = DECODERS.get(identity)
        if decoder is not None:
            try:
                submessages.append(decoder(Cursor(data, little=little, start=position, end=after), flags))
            except WireFormatError as error:
                fault = f"submessage 0x{identity:02x}: {error}"
                return Message(prefix, version, vendor, tuple(submessages), fault)
        position = after
    return Message(prefix, version, vendor, tuple(submessages))


#: For what goes to everyone: the participants of one process read it once. At most some megabytes are kept.
decode_shared_message = lru_cache(maxsize=1_024)(decode_message)
