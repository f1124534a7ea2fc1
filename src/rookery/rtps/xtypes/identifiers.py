"""Type identifiers (DDS-XTypes 7.3.4.2): the short name of a type.

A primitive, a string, and a collection of such says all of itself; a struct or an enumeration is named by a hash of
its description, the *type object*. Of each there are two: *minimal* without names, by which types are compared, and
*complete* with them. Here an identifier is a type of `rookery.rtps.types` in which `TypeHash` stands for what only
its object describes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final, NamedTuple, cast

from rookery.errors import WireFormatError
from rookery.rtps.octets import Cursor
from rookery.rtps.types import (
    CdrArray,
    CdrEnum,
    CdrForeign,
    CdrSequence,
    CdrString,
    CdrStruct,
    Primitive,
    Type,
)
from rookery.rtps.xtypes.writing import Xcdr2Writer, delimited

__all__ = ["COMPLETE", "MINIMAL", "Identifier", "TypeHash", "hash_of", "read_identifier", "write_identifier"]

MINIMAL: Final = 0xF1
COMPLETE: Final = 0xF2
_BOTH: Final = 0xF3
_DIGEST: Final = 14
#: Collections inside collections; nobody has more, and a hostile description would be read recursively.
_DEEPEST: Final = 16

_KINDS = {
    Primitive.BOOLEAN: 0x01,
    Primitive.OCTET: 0x02,
    Primitive.INT16: 0x03,
    Primitive.INT32: 0x04,
    Primitive.INT64: 0x05,
    Primitive.UINT16: 0x06,
    Primitive.UINT32: 0x07,
    Primitive.UINT64: 0x08,
    Primitive.FLOAT32: 0x09,
    Primitive.FLOAT64: 0x0A,
    Primitive.INT8: 0x0C,
    Primitive.UINT8: 0x0D,
    Primitive.CHAR: 0x10,
}
_PRIMITIVES = {number: primitive for primitive, number in _KINDS.items()}
_STRING_SMALL, _STRING_LARGE, _WSTRING_SMALL, _WSTRING_LARGE = 0x70, 0x71, 0x72, 0x73
_SEQUENCE_SMALL, _SEQUENCE_LARGE, _ARRAY_SMALL, _ARRAY_LARGE, _MAP_SMALL, _MAP_LARGE = (
    0x80,
    0x81,
    0x90,
    0x91,
    0xA0,
    0xA1,
)
_COMPONENT: Final = 0xB0
_SMALL: Final = 256
#: Elements that cannot be made make the sample fail: the default of the standard.
_DISCARD: Final = 1


class TypeHash(NamedTuple):
    """The name of a struct or an enumeration: `kind` is `MINIMAL` or `COMPLETE`."""

    kind: int
    digest: bytes


#: A type in which a hash may stand for a struct or an enumeration; None where there is none.
Identifier = Type | TypeHash | None


def hash_of(kind: int, type_object: bytes) -> TypeHash:
    """Return the name of a type object."""
    return TypeHash(kind, hashlib.md5(type_object, usedforsecurity=False).digest()[:_DIGEST])


def write_identifier(
    out: Xcdr2Writer, of: Identifier, *, kind: int, name: Callable[[CdrStruct | CdrEnum], TypeHash]
) -> None:
    """Write the identifier of a type; `name` gives the hashes of structs and enumerations."""
    match of:
        case None:
            out.number("B", 0)
        case TypeHash():
            out.number("B", of.kind)
            out.raw(of.digest)
        case Primitive():
            out.number("B", _KINDS[of])
        case CdrString():
            bound = of.bound or 0
            out.number("B", _STRING_SMALL if bound < _SMALL else _STRING_LARGE)
            out.number("B" if bound < _SMALL else "I", bound)
        case CdrSequence():
            bound = of.bound or 0
            out.number("B", _SEQUENCE_SMALL if bound < _SMALL else _SEQUENCE_LARGE)
            _write_header(out, of, kind)
            out.number("B" if bound < _SMALL else "I", bound)
            write_identifier(out, of.element, kind=kind, name=name)
        case CdrArray():
            bounds, element = _dimensions(of)
            small = max(bounds) < _SMALL
            out.number("B", _ARRAY_SMALL if small else _ARRAY_LARGE)
            _write_header(out, of, kind)
            out.number("I", len(bounds))
            for bound in bounds:
                out.number("B" if small else "I", bound)
            write_identifier(out, element, kind=kind, name=name)
        case CdrStruct() | CdrEnum():
            write_identifier(out, name(of), kind=kind, name=name)
        case CdrForeign():
            raise WireFormatError(f"{of.kind} cannot be described")


def read_identifier(cursor: Cursor, depth: int = 0) -> Identifier:
    """Read an identifier; what is not read here becomes a `CdrForeign`."""
    if depth > _DEEPEST:
        raise WireFormatError(f"a type of more than {_DEEPEST} collections inside each other")
    kind = int(cursor.number("B"))
    if kind in _PRIMITIVES:
        return _PRIMITIVES[kind]
    match kind:
        case 0:
            return None
        case 0x0B:
            return CdrForeign("a 128-bit float")
        case 0x11:
            return CdrForeign("a wide character")
        case _ if kind in (MINIMAL, COMPLETE):
            return TypeHash(kind, cursor.take(_DIGEST))
        case _ if kind in (_STRING_SMALL, _STRING_LARGE):
            return CdrString(_bound(cursor, small=kind == _STRING_SMALL) or None)
        case _ if kind in (_WSTRING_SMALL, _WSTRING_LARGE):
            _bound(cursor, small=kind == _WSTRING_SMALL)
            return CdrForeign("a wide string")
        case _ if kind in (_SEQUENCE_SMALL, _SEQUENCE_LARGE):
            _read_header(cursor)
            bound = _bound(cursor, small=kind == _SEQUENCE_SMALL)
            return CdrSequence(_element(cursor, depth), bound or None)
        case _ if kind in (_ARRAY_SMALL, _ARRAY_LARGE):
            _read_header(cursor)
            cursor.align(4)
            count = cursor.u32()
            if not 0 < count <= _DEEPEST:
                raise WireFormatError(f"an array of {count} dimensions")
            bounds = [_bound(cursor, small=kind == _ARRAY_SMALL) for _ in range(count)]
            if min(bounds) < 1:
                raise WireFormatError("an array without elements")
            element = _element(cursor, depth)
            for bound in reversed(bounds):
                element = CdrArray(element, bound)
            return element
        case _ if kind in (_MAP_SMALL, _MAP_LARGE):
            _read_header(cursor)
            _bound(cursor, small=kind == _MAP_SMALL)
            read_identifier(cursor, depth + 1)
            cursor.align(2)
            cursor.u16()
            read_identifier(cursor, depth + 1)
            return CdrForeign("a map")
        case _ if kind == _COMPONENT:
            delimited(cursor)
            return CdrForeign("a type that contains itself")
    # Every kind to come is a mutable thing behind its length (DDS-XTypes, annex B).
    delimited(cursor)
    return CdrForeign(f"a type of kind 0x{kind:02x}")


def _element(cursor: Cursor, depth: int) -> Type:
    element = read_identifier(cursor, depth + 1)
    if element is None:
        raise WireFormatError("a collection without a type of its elements")
    # A hash among the types stays there until its object is known: `objects` puts the type in its place.
    return cast("Type", element)


def _dimensions(of: CdrArray) -> tuple[list[int], Type]:
    bounds: list[int] = []
    element: Type = of
    while isinstance(element, CdrArray):
        bounds.append(element.length)
        element = element.element
    return bounds, element


def _write_header(out: Xcdr2Writer, of: Type, kind: int) -> None:
    out.number("B", _BOTH if _is_plain(of) else kind)
    out.number("H", _DISCARD)


def _is_plain(of: Type) -> bool:
    """Say whether a type says all of itself, without a hash."""
    if isinstance(of, CdrSequence | CdrArray):
        return _is_plain(of.element)
    return isinstance(of, Primitive | CdrString)


def _read_header(cursor: Cursor) -> None:
    cursor.number("B")
    cursor.align(2)
    cursor.u16()


def _bound(cursor: Cursor, *, small: bool) -> int:
    if small:
        return int(cursor.number("B"))
    cursor.align(4)
    return cursor.u32()
