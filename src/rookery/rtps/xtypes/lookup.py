"""The type lookup service (DDS-XTypes 7.6.3.3): questions about types, and answers, as samples of two builtin topics.

*Get types* asks for the objects behind names; *get dependencies* asks which names a type is made of. A question names
its asker and a number, and the answer repeats them. Answers may be anything, so an object is believed only if its hash
is the name that was asked for.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rookery.errors import WireFormatError
from rookery.rtps.cdr import wrap
from rookery.rtps.identity import Guid, guid_from_octets
from rookery.rtps.octets import Cursor
from rookery.rtps.xtypes.identifiers import TypeHash, hash_of, read_identifier, write_identifier
from rookery.rtps.xtypes.information import write_sized
from rookery.rtps.xtypes.writing import Xcdr2Writer, delimited, members

__all__ = [
    "LOOKUP_ENDPOINTS",
    "REPLY_READER",
    "REPLY_WRITER",
    "REQUEST_READER",
    "REQUEST_WRITER",
    "TypeReply",
    "TypeRequest",
    "encode_dependencies",
    "encode_types",
]

REQUEST_WRITER: Final = 0x000300C3
REQUEST_READER: Final = 0x000300C4
REPLY_WRITER: Final = 0x000301C3
REPLY_READER: Final = 0x000301C4
#: Bits of the builtin endpoint set: writer and reader of requests, writer and reader of replies.
LOOKUP_ENDPOINTS: Final = 0xF << 12

#: XCDR2 of a final type.
_CDR2: Final = 0x06
_GET_TYPES: Final = 0x018252D3
_GET_DEPENDENCIES: Final = 0x05AAFB31


def _member_of(name: str) -> int:
    """Return the id that a member has by its name."""
    digest = hashlib.md5(name.encode(), usedforsecurity=False).digest()
    return int(struct.unpack("<I", digest[:4])[0]) & 0x0FFFFFFF


_TYPE_IDS, _TYPES, _PAIRS = _member_of("type_ids"), _member_of("types"), _member_of("complete_to_minimal")
_DEPENDENT, _CONTINUATION = _member_of("dependent_typeids"), _member_of("continuation_point")


@dataclass(frozen=True, slots=True)
class TypeRequest:
    """A question: who asks, its number, and the names; `dependencies` asks what they are made of."""

    asker: Guid
    number: int
    names: tuple[TypeHash, ...]
    dependencies: bool = False

    def encode(self, instance: str) -> bytes:
        """Return the payload; `instance` names the participant that is asked."""
        out = Xcdr2Writer()
        _write_identity(out, self.asker, self.number)
        out.text(instance)
        with out.delimited():
            out.number("i", _GET_DEPENDENCIES if self.dependencies else _GET_TYPES)
            with out.delimited(), out.member(_TYPE_IDS), out.delimited():
                _write_names(out, self.names)
        return wrap(out.octets(), kind=_CDR2)

    @classmethod
    def decode(cls, payload: bytes) -> TypeRequest:
        """Read a question; raise `WireFormatError` where it is none."""
        cursor = _body(payload)
        asker, number = _read_identity(cursor)
        cursor.string()
        call = delimited(cursor)
        call.align(4)
        what = call.i32()
        if what not in (_GET_TYPES, _GET_DEPENDENCIES):
            raise WireFormatError(f"a question of kind 0x{what:08x} about types")
        names: list[TypeHash] = []
        for member, _, inner in members(call):
            if member == _TYPE_IDS:
                names += _read_names(delimited(inner))
        return cls(asker, number, tuple(names), what == _GET_DEPENDENCIES)


@dataclass(frozen=True, slots=True)
class TypeReply:
    """An answer to *get types*: the objects that were found, each believed."""

    asker: Guid
    number: int
    objects: tuple[tuple[TypeHash, bytes], ...]

    @classmethod
    def decode(cls, payload: bytes) -> TypeReply | None:
        """Read an answer; None for one that is not about objects; raise `WireFormatError` where it is wrong."""
        cursor = _body(payload)
        asker, number = _read_identity(cursor)
        cursor.align(4)
        if cursor.i32() != 0:
            return None
        answer = delimited(cursor)
        answer.align(4)
        if answer.i32() != _GET_TYPES:
            return None
        result = delimited(answer)
        result.align(4)
        if result.i32() != 0:
            return None
        objects: list[tuple[TypeHash, bytes]] = []
        for member, _, inner in members(result):
            if member == _TYPES:
                objects += _read_objects(delimited(inner))
        return cls(asker, number, tuple(objects))


def encode_types(request: TypeRequest, objects: Iterable[tuple[TypeHash, bytes]]) -> bytes:
    """Return the payload that answers *get types*."""
    out = _reply(request)
    found = tuple(objects)
    with out.delimited():
        out.number("i", _GET_TYPES)
        with out.delimited():
            out.number("i", 0)
            with out.delimited():
                with out.member(_TYPES), out.delimited():
                    out.number("I", len(found))
                    for name, octets in found:
                        _write_name(out, name)
                        out.number("I", len(octets) - 4)
                        out.raw(octets[4:])
                with out.member(_PAIRS), out.delimited():
                    out.number("I", 0)
    return wrap(out.octets(), kind=_CDR2)


def encode_dependencies(request: TypeRequest, names: Sequence[tuple[TypeHash, int]]) -> bytes:
    """Return the payload that answers *get dependencies*, whole: nothing is left for another question."""
    out = _reply(request)
    with out.delimited():
        out.number("i", _GET_DEPENDENCIES)
        with out.delimited():
            out.number("i", 0)
            with out.delimited():
                with out.member(_DEPENDENT), out.delimited():
                    out.number("I", len(names))
                    for name, size in names:
                        write_sized(out, name, size)
                with out.member(_CONTINUATION):
                    out.number("I", 0)
    return wrap(out.octets(), kind=_CDR2)


def _reply(request: TypeRequest) -> Xcdr2Writer:
    out = Xcdr2Writer()
    _write_identity(out, request.asker, request.number)
    out.number("i", 0)
    return out


def _body(payload: bytes) -> Cursor:
    if len(payload) < 4 or payload[0] != 0 or payload[1] not in range(6, 12):
        raise WireFormatError(f"encapsulation 0x{payload[:2].hex()} of a sample about types")
    return Cursor(payload, little=payload[1] % 2 == 1, start=4)


def _write_identity(out: Xcdr2Writer, asker: Guid, number: int) -> None:
    out.raw(asker.octets())
    out.number("i", number >> 32)
    out.number("I", number & 0xFFFFFFFF)


def _read_identity(cursor: Cursor) -> tuple[Guid, int]:
    return guid_from_octets(cursor.take(16)), cursor.sequence_number()


def _write_names(out: Xcdr2Writer, names: Sequence[TypeHash]) -> None:
    out.number("I", len(names))
    for name in names:
        _write_name(out, name)


def _write_name(out: Xcdr2Writer, name: TypeHash) -> None:
    write_identifier(out, name, kind=name.kind, name=lambda _: name)


def _read_names(cursor: Cursor) -> list[TypeHash]:
    count = cursor.u32()
    if count > cursor.remaining:
        raise WireFormatError(f"{count} names claimed, {cursor.remaining} octets left")
    names = [read_identifier(cursor) for _ in range(count)]
    return [name for name in names if isinstance(name, TypeHash)]


def _read_objects(cursor: Cursor) -> list[tuple[TypeHash, bytes]]:
    count = cursor.u32()
    if count * 5 > cursor.remaining:
        raise WireFormatError(f"{count} objects claimed, {cursor.remaining} octets left")
    objects = []
    for _ in range(count):
        name = read_identifier(cursor)
        cursor.align(4)
        start = cursor.position
        delimited(cursor)
        octets = cursor.data[start : cursor.position]
        if not isinstance(name, TypeHash):
            continue
        if not cursor.little or hash_of(name.kind, octets) != name:
            raise WireFormatError("a type object that is not the one of its name")
        objects.append((name, octets))
    return objects
