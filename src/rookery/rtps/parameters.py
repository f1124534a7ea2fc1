"""Parameter lists: the extensible part of RTPS, in inline QoS and in everything that discovery says.

A parameter is a 16-bit id, a 16-bit length that is a multiple of four, and that many octets; id 1 ends the list, id 0
is padding (RTPS 2.5, 9.4.2.11). Who does not know an id leaves it out, unless bit 0x4000 says "must understand": then
the whole list is refused. Bit 0x8000 marks ids that belong to a vendor.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from rookery.errors import WireFormatError
from rookery.rtps.octets import Cursor

__all__ = [
    "MUST_UNDERSTAND",
    "VENDOR_SPECIFIC",
    "Parameter",
    "ParameterId",
    "encode_list",
    "encode_string",
    "encode_strings",
    "read_inline_list",
    "read_list",
]

MUST_UNDERSTAND = 0x4000
VENDOR_SPECIFIC = 0x8000
_MAX_LENGTH = 0xFFFC


class ParameterId(IntEnum):
    """The ids that are read or written here (RTPS 2.5, table 9.18 and following; DDS-XTypes 7.6.3.2)."""

    PAD = 0x0000
    SENTINEL = 0x0001
    LEASE_DURATION = 0x0002
    TIME_BASED_FILTER = 0x0004
    TOPIC_NAME = 0x0005
    OWNERSHIP_STRENGTH = 0x0006
    TYPE_NAME = 0x0007
    DOMAIN_ID = 0x000F
    PROTOCOL_VERSION = 0x0015
    VENDOR = 0x0016
    RELIABILITY = 0x001A
    LIVELINESS = 0x001B
    DURABILITY = 0x001D
    OWNERSHIP = 0x001F
    PRESENTATION = 0x0021
    DEADLINE = 0x0023
    DESTINATION_ORDER = 0x0025
    LATENCY_BUDGET = 0x0027
    PARTITION = 0x0029
    LIFESPAN = 0x002B
    USER_DATA = 0x002C
    UNICAST_LOCATOR = 0x002F
    MULTICAST_LOCATOR = 0x0030
    DEFAULT_UNICAST_LOCATOR = 0x0031
    METATRAFFIC_UNICAST_LOCATOR = 0x0032
    CONTENT_FILTER_PROPERTY = 0x0035
    HISTORY = 0x0040
    DEFAULT_MULTICAST_LOCATOR = 0x0048
    PARTICIPANT_GUID = 0x0050
    BUILTIN_ENDPOINT_SET = 0x0058
    PROPERTY_LIST = 0x0059
    ENDPOINT_GUID = 0x005A
    ENTITY_NAME = 0x0062
    KEY_HASH = 0x0070
    STATUS = 0x0071
    TYPE_OBJECT = 0x0072
    DATA_REPRESENTATION = 0x0073
    TYPE_CONSISTENCY = 0x0074
    TYPE_INFORMATION = 0x0075
    DOMAIN_TAG = 0x4014


_PAD, _SENTINEL = int(ParameterId.PAD), int(ParameterId.SENTINEL)
_HEADS = {True: struct.Struct("<HH"), False: struct.Struct(">HH")}


class Parameter(NamedTuple):
    """One parameter: its id and its octets, padding included."""

    id: int
    value: bytes

    def cursor(self, *, little: bool) -> Cursor:
        """Return a cursor over the value."""
        return Cursor(self.value, little=little)


def read_list(cursor: Cursor) -> list[Parameter]:
    """Read up to and including the sentinel; leave padding out."""
    # The inner loop of discovery, a thousand endpoints being ten thousand parameters: the cursor is not asked for each.
    data, position, end = cursor.data, cursor.position, cursor.end
    unpack = _HEADS[cursor.little].unpack_from
    parameters: list[Parameter] = []
    while position + 4 <= end:
        identity, length = unpack(data, position)
        position += 4
        if identity == _SENTINEL:
            cursor.position = position
            return parameters
        after = position + length
        if length % 4 or after > end:
            raise WireFormatError(f"parameter 0x{identity:04x} has length {length}, with {end - position} octets left")
        if identity != _PAD:
            parameters.append(Parameter(identity, data[position:after]))
        position = after
    raise WireFormatError("a parameter list without an end: 4 octets expected")


def read_inline_list(cursor: Cursor) -> list[Parameter]:
    """Read inline QoS, where an unknown must-understand parameter makes the sample unreadable."""
    parameters = read_list(cursor)
    for parameter in parameters:
        if parameter.id & MUST_UNDERSTAND:
            raise WireFormatError(f"inline parameter 0x{parameter.id:04x} must be understood and is not")
    return parameters


def encode_list(parameters: Iterable[Parameter], *, little: bool) -> bytes:
    """Return the octets of the list with its sentinel; values are padded to a multiple of four."""
    layout = struct.Struct("<HH" if little else ">HH")
    parts: list[bytes] = []
    for parameter in parameters:
        padded = parameter.value + bytes(-len(parameter.value) % 4)
        if len(padded) > _MAX_LENGTH:
            raise WireFormatError(
                f"parameter 0x{parameter.id:04x} has {len(padded)} octets; the limit is {_MAX_LENGTH}"
            )
        parts += (layout.pack(parameter.id, len(padded)), padded)
    parts.append(layout.pack(ParameterId.SENTINEL, 0))
    return b"".join(parts)


def encode_string(text: str, *, little: bool) -> bytes:
    """Return a CDR string, padded to a multiple of four."""
    octets = text.encode("utf-8") + b"\0"
    return struct.pack("<I" if little else ">I", len(octets)) + octets + bytes(-len(octets) % 4)


def encode_strings(texts: Iterable[str], *, little: bool) -> bytes:
    """Return a CDR sequence of strings."""
    items = [encode_string(text, little=little) for text in texts]
    return struct.pack("<I" if little else ">I", len(items)) + b"".join(items)
