"""Who is who on the RTPS wire: prefixes, entity ids, GUIDs, versions.

A participant is twelve octets, its prefix. Everything inside it (a reader, a writer, the participant itself) is four
more octets, the entity id, whose last octet says what kind of thing it is (RTPS 2.5, table 9.1). Prefix and entity id
together are a GUID, and a GUID names one thing in the whole domain. Octets have no byte order: an entity id is kept
here as the integer that its four octets spell from left to right.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

__all__ = [
    "BUILTIN_ENDPOINTS",
    "PARTICIPANT",
    "PREFIX_LENGTH",
    "PROTOCOL_VERSION",
    "READER_KEYED",
    "READER_KEYLESS",
    "SEDP_PUBLICATIONS_READER",
    "SEDP_PUBLICATIONS_WRITER",
    "SEDP_SUBSCRIPTIONS_READER",
    "SEDP_SUBSCRIPTIONS_WRITER",
    "SPDP_READER",
    "SPDP_WRITER",
    "UNKNOWN_ENTITY",
    "UNKNOWN_PREFIX",
    "VENDOR",
    "WRITER_KEYED",
    "WRITER_KEYLESS",
    "BuiltinEndpoint",
    "Guid",
    "guid_from_octets",
    "guid_from_text",
    "is_builtin",
    "is_keyed",
    "is_reader",
    "is_writer",
]

PREFIX_LENGTH: Final = 12
UNKNOWN_PREFIX: Final = bytes(PREFIX_LENGTH)

UNKNOWN_ENTITY: Final = 0x00000000
PARTICIPANT: Final = 0x000001C1
SPDP_WRITER: Final = 0x000100C2
SPDP_READER: Final = 0x000100C7
SEDP_PUBLICATIONS_WRITER: Final = 0x000003C2
SEDP_PUBLICATIONS_READER: Final = 0x000003C7
SEDP_SUBSCRIPTIONS_WRITER: Final = 0x000004C2
SEDP_SUBSCRIPTIONS_READER: Final = 0x000004C7

WRITER_KEYED: Final = 0x02
WRITER_KEYLESS: Final = 0x03
READER_KEYLESS: Final = 0x04
READER_KEYED: Final = 0x07
_BUILTIN_KIND: Final = 0xC0

#: Cyclone DDS drops 2.0 and 3.x in silence and takes 2.1 to 2.5; nothing after 2.3 is used here.
PROTOCOL_VERSION: Final = (2, 3)
#: Not assigned to anyone; the ids of other vendors make their peers read vendor parameters in their own way.
VENDOR: Final = b"\x01\x5a"


class BuiltinEndpoint:
    """Bits of the builtin endpoint set (RTPS 2.5, 9.3.2): what a participant has to talk about itself with."""

    PARTICIPANT_ANNOUNCER = 1 << 0
    PARTICIPANT_DETECTOR = 1 << 1
    PUBLICATIONS_ANNOUNCER = 1 << 2
    PUBLICATIONS_DETECTOR = 1 << 3
    SUBSCRIPTIONS_ANNOUNCER = 1 << 4
    SUBSCRIPTIONS_DETECTOR = 1 << 5
    PARTICIPANT_MESSAGE_WRITER = 1 << 10
    PARTICIPANT_MESSAGE_READER = 1 << 11


#: The first six, which is all that Cyclone DDS asks for before it starts SEDP, those of liveliness and of type lookup.
BUILTIN_ENDPOINTS: Final = 0x3F | 0x3 << 10 | 0xF << 12


class Guid(NamedTuple):
    """The name of one entity in the domain."""

    prefix: bytes
    entity: int

    def octets(self) -> bytes:
        """Return the sixteen octets of the wire."""
        return self.prefix + struct.pack(">I", self.entity)

    def __str__(self) -> str:
        return f"{self.prefix.hex()}:{self.entity:08x}"


def guid_from_octets(octets: bytes) -> Guid:
    """Return the GUID that the first sixteen octets spell."""
    return Guid(bytes(octets[:PREFIX_LENGTH]), int.from_bytes(octets[PREFIX_LENGTH : PREFIX_LENGTH + 4], "big"))


def guid_from_text(text: str) -> Guid:
    """Return the GUID that `str` made the text of."""
    prefix, _, entity = text.partition(":")
    return Guid(bytes.fromhex(prefix), int(entity, 16))


def is_builtin(entity: int) -> bool:
    """Say whether the entity is one that the specification defines."""
    return entity & _BUILTIN_KIND == _BUILTIN_KIND


def is_writer(entity: int) -> bool:
    """Say whether the entity writes, with or without a key."""
    return entity & 0x3F in (WRITER_KEYED, WRITER_KEYLESS)


def is_reader(entity: int) -> bool:
    """Say whether the entity reads, with or without a key."""
    return entity & 0x3F in (READER_KEYED, READER_KEYLESS)


def is_keyed(entity: int) -> bool:
    """Say whether the samples of the entity's topic have keys."""
    return entity & 0x3F in (WRITER_KEYED, READER_KEYED)
