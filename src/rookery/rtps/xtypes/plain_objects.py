"""Descriptions of types as Fast DDS 2 announces them: whole, in the announcement, in plain XCDR1.

Before the type lookup service was spoken by everybody, a description travelled in the announcement itself (parameter
0x0072). It is the complete type object of DDS-XTypes as `objects` reads it, but written without the lengths that let a
reader pass over what it does not know, and with every annotation in its place. A type that it is made of is named by a
hash alone, and of such a type only that is known here: the endpoint is taken by the name of its type.

Fast DDS 2 sends plain octets, every member in its place, whatever is said of extensibility, ids and optional members,
and has one kind for octets and for whole numbers of eight bits. So none of these is read, or keeps a pair apart.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final

from rookery.errors import TopicError, WireFormatError
from rookery.rtps.octets import Cursor
from rookery.rtps.qos import STANDARD_CONSISTENCY, TypeConsistency
from rookery.rtps.types import (
    CdrArray,
    CdrForeign,
    CdrMember,
    CdrSequence,
    CdrStruct,
    Extensibility,
    Primitive,
    Type,
)
from rookery.rtps.xtypes.assignability import Mismatch, mismatch
from rookery.rtps.xtypes.identifiers import COMPLETE, Identifier, TypeHash, read_identifier

__all__ = ["plain_mismatch", "read_plain_object"]

_STRUCT: Final = 0x51
_KEY: Final = 0x20
_BYTES = (Primitive.OCTET, Primitive.UINT8, Primitive.INT8, Primitive.CHAR)
#: Octets of an annotation's parameter, by the kind of its type; one of any other kind has none.
_PARAMETERS = {
    0x01: 1, 0x02: 1, 0x03: 2, 0x04: 4, 0x05: 8, 0x06: 2, 0x07: 4, 0x08: 8, 0x09: 4, 0x0A: 8, 0x0B: 16, 0x10: 1,
    0x11: 4, 0x40: 4,
}  # fmt: skip
_TEXT: Final = 0x20
_IN_PARTS: Final = CdrForeign("a struct whose parts are named by hashes, and described nowhere")


@lru_cache(maxsize=32)
def read_plain_object(octets: bytes) -> CdrStruct | CdrForeign:
    """Read the parameter; a `CdrForeign` says why the type is not known. Raise `WireFormatError` where it is wrong."""
    if len(octets) < 8 or octets[0] != 0 or octets[1] not in (0, 1):
        raise WireFormatError(f"encapsulation 0x{octets[:2].hex()} of a type")
    cursor = Cursor(octets, little=octets[1] == 1, start=4)
    kind, what = cursor.take(2)
    if kind != COMPLETE:
        raise WireFormatError(f"a type object of kind 0x{kind:02x}")
    if what != _STRUCT:
        return CdrForeign(f"a type of kind 0x{what:02x}")
    cursor.skip(2)  # how it may grow
    base = read_identifier(cursor)
    for _ in range(3):  # where a verbatim text stands, its language, the text
        _text(cursor)
    _pass_annotations(cursor)
    name = _text(cursor)
    cursor.align(4)
    count = cursor.u32()
    if count * 24 > cursor.remaining:
        raise WireFormatError(f"{count} members claimed, {cursor.remaining} octets left")
    fields = tuple(_read_member(cursor) for _ in range(count))
    if base is not None or any(_is_named(field.type) for field in fields):
        return _IN_PARTS
    try:
        return CdrStruct(name, fields)
    except TopicError as error:
        raise WireFormatError(str(error)) from None


def plain_mismatch(
    here: Type, there: CdrStruct, *, we_read: bool, by: TypeConsistency = STANDARD_CONSISTENCY
) -> Mismatch | None:
    """Return what keeps a type of ours and one of theirs apart; None if nothing does."""
    ours, theirs = _as_plain(here), _as_plain(there)
    if isinstance(here, CdrStruct) and isinstance(theirs, CdrStruct) and here.extensibility is Extensibility.APPENDABLE:
        theirs = replace(theirs, extensibility=Extensibility.APPENDABLE)
    return mismatch(ours, theirs, by=by) if we_read else mismatch(theirs, ours, by=by)


def _as_plain(of: Type) -> Type:
    match of:
        case Primitive() if of in _BYTES:
            return Primitive.OCTET
        case CdrSequence() | CdrArray():
            return replace(of, element=_as_plain(of.element))
        case CdrStruct():
            return replace(of, fields=tuple(replace(each, type=_as_plain(each.type), id=None) for each in of.fields))
    return of


def _read_member(cursor: Cursor) -> CdrMember:
    cursor.align(4)
    cursor.skip(4)  # its id
    flags = cursor.u16()
    of = read_identifier(cursor)
    if of is None:
        raise WireFormatError("a member without a type")
    name = _text(cursor)
    _text(cursor)  # its unit
    for _ in range(2):  # the least and the greatest value
        _pass_parameter(cursor)
    _text(cursor)  # what its id is made of
    _pass_annotations(cursor)
    # With a hash in it the whole struct is not known.
    return CdrMember(name, of, key=bool(flags & _KEY))  # type: ignore[arg-type]


def _is_named(of: Identifier) -> bool:
    while isinstance(of, CdrSequence | CdrArray):
        of = of.element
    return isinstance(of, TypeHash)


def _text(cursor: Cursor) -> str:
    cursor.align(4)
    return cursor.string()


def _pass_annotations(cursor: Cursor) -> None:
    cursor.align(4)
    for _ in range(_count(cursor)):
        read_identifier(cursor)
        cursor.align(4)
        for _ in range(_count(cursor)):
            cursor.skip(4)  # the hash of the parameter's name
            _pass_parameter(cursor)
            cursor.align(4)


def _count(cursor: Cursor) -> int:
    count = cursor.u32()
    if count * 4 > cursor.remaining:
        raise WireFormatError(f"{count} annotations claimed, {cursor.remaining} octets left")
    return count


def _pass_parameter(cursor: Cursor) -> None:
    (kind,) = cursor.take(1)
    size = _PARAMETERS.get(kind, 0)
    if kind == _TEXT:
        _text(cursor)
    elif size:
        cursor.align(min(size, 8))
        cursor.skip(size)
