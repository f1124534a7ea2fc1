"""How a sample becomes octets: XCDR in both versions (DDS-XTypes 7.4), behind a header that says which.

The header's first two octets name the version, the byte order, and whether the outermost struct is final, appendable
(XCDR2 alone tells these apart) or mutable. The two low bits of its last octet are how many octets were added to fill
the payload up to a multiple of four: without them Cyclone DDS takes a payload followed by another submessage for
malformed. XCDR1 is written of plain types; XCDR2, which every stack since DDS-XTypes 1.2 reads, of types that may grow
or have optional members.

Values are plain Python: a struct is a `dict`, an enumeration its member's name, octet sequences are `bytes`, other
sequences and arrays lists, an absent optional member None. The caller's wrong value raises `EventError` with the path
to it; a peer's wrong octets raise `WireFormatError`, which the participant turns into a rejection.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from rookery.errors import WireFormatError
from rookery.rtps.cdr_decoding import CdrDecoder
from rookery.rtps.cdr_encoding import CdrEncoder
from rookery.rtps.octets import Cursor
from rookery.rtps.qos import XCDR1, XCDR2
from rookery.rtps.types import CdrArray, CdrSequence, CdrStruct, Extensibility, Type, largest_size

__all__ = ["decode_key", "decode_sample", "encode_key", "encode_sample", "key_hash", "representation_of", "wrap"]

#: The second octet of the header, without the byte order, by version and extensibility (DDS-XTypes 7.6.3.1.2).
_KINDS: Final = {
    (XCDR1, Extensibility.FINAL): 0x00,
    (XCDR1, Extensibility.APPENDABLE): 0x00,
    (XCDR1, Extensibility.MUTABLE): 0x02,
    (XCDR2, Extensibility.FINAL): 0x06,
    (XCDR2, Extensibility.APPENDABLE): 0x08,
    (XCDR2, Extensibility.MUTABLE): 0x0A,
}


def representation_of(of: Type) -> int:
    """Return the version in which a type is written unless another is asked for: XCDR2 if anything in it may differ."""
    match of:
        case CdrSequence() | CdrArray():
            return representation_of(of.element)
        case CdrStruct():
            grows = of.extensibility is not Extensibility.FINAL or of.has_optional
            return XCDR2 if grows or any(representation_of(field.type) == XCDR2 for field in of.fields) else XCDR1
    return XCDR1


def wrap(body: bytes, *, little: bool = True, kind: int = 0) -> bytes:
    """Put the encapsulation header before a CDR body and pad it to a multiple of four."""
    padding = -len(body) % 4
    return bytes((0, kind | little, 0, padding)) + body + bytes(padding)


def encode_sample(
    of: CdrStruct, value: Mapping[str, Any], *, little: bool = True, representation: int | None = None
) -> bytes:
    """Return the payload of DATA: header, body, padding; in the version that suits the type unless it is given."""
    if representation is None:
        representation = representation_of(of)
    encoder = CdrEncoder(little=little, is_second=representation == XCDR2)
    encoder.encode(of, value, of.name)
    return wrap(bytes(encoder.out), little=little, kind=_KINDS[representation, of.extensibility])


def decode_sample(of: CdrStruct, payload: bytes) -> dict[str, Any]:
    """Read a payload of either version; more than three octets left over are malformed."""
    if len(payload) < 4:
        raise WireFormatError("a payload without encapsulation header")
    little, kind = payload[1] & 1 == 1, payload[1] & 0xFE
    is_second = kind > 2
    if payload[0] != 0 or kind != _KINDS[XCDR2 if is_second else XCDR1, of.extensibility]:
        raise WireFormatError(
            f"encapsulation 0x{payload[:2].hex()} is not that of a {of.extensibility.name.lower()} type"
        )
    end = len(payload)
    if kind == 0 and of.extensibility is Extensibility.APPENDABLE:
        end = max(4, end - (payload[3] & 3))  # what was added to fill up is no member that is shorter there
    cursor = Cursor(payload, little=little, start=4, end=end)
    value = CdrDecoder(is_second=is_second).outermost(of, cursor)
    if cursor.remaining > 3:
        raise WireFormatError(f"{cursor.remaining} octets after a {of.name}")
    return value


def encode_key(
    of: CdrStruct, value: Mapping[str, Any], *, little: bool = True, representation: int | None = None
) -> bytes:
    """Return the payload that carries the key fields alone, as dispose and unregister do."""
    if representation is None:
        representation = representation_of(of)
    return encode_sample(of.key_type(), value, little=little, representation=representation)


def decode_key(of: CdrStruct, payload: bytes) -> dict[str, Any]:
    """Read a payload that carries the key fields alone."""
    return decode_sample(of.key_type(), payload)


def key_hash(of: CdrStruct, value: Mapping[str, Any], *, representation: int | None = None) -> bytes:
    """Return the sixteen octets that name an instance (RTPS 2.5, 9.6.4.8; DDS-XTypes 7.6.8).

    They are the big-endian key itself, as if of a final type and in the order of member ids, where every key of the
    type fits, else the MD5 of it.
    """
    if representation is None:
        representation = representation_of(of)
    keys = _plain_keys(of.key_type())
    encoder = CdrEncoder(little=False, is_second=representation == XCDR2)
    encoder.encode(keys, value, of.name)
    largest = largest_size(keys, widest=4 if representation == XCDR2 else 8)
    if largest is not None and largest <= 16:
        return bytes(encoder.out).ljust(16, b"\0")
    return hashlib.md5(encoder.out, usedforsecurity=False).digest()


def _plain_keys(of: CdrStruct) -> CdrStruct:
    fields = of.fields
    if of.extensibility is Extensibility.MUTABLE:
        fields = tuple(field for _, field in sorted(of.numbered, key=lambda one: one[0]))
    plain = tuple(
        replace(field, type=_plain_keys(field.type)) if isinstance(field.type, CdrStruct) else field for field in fields
    )
    return replace(of, fields=plain, extensibility=Extensibility.FINAL)
