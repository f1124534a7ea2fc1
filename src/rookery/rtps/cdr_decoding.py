"""Octets become values, in either version of XCDR (DDS-XTypes 7.4.3; `cdr_encoding` says how they are laid out).

An appendable struct may have been written with fewer members than it has here, or with more: what is missing takes the
default of its type (zero, the empty text, the first label), what is more is passed over. In XCDR1 that is possible for
the outermost struct alone, since nothing says where another one ends. Members of a mutable struct come in any order;
one that is not known is passed over unless it must be understood. An optional member that is absent is None.

A peer's wrong octets raise `WireFormatError`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final

from rookery.errors import WireFormatError
from rookery.rtps.cdr_encoding import EXTENDED_MEMBER, LAST_MEMBER, has_length
from rookery.rtps.octets import Cursor
from rookery.rtps.types import (
    CdrArray,
    CdrEnum,
    CdrMember,
    CdrSequence,
    CdrString,
    CdrStruct,
    Extensibility,
    Primitive,
    Type,
    smallest_size,
)
from rookery.rtps.xtypes.writing import delimited, members

__all__ = ["CdrDecoder"]

_ID_SHORT: Final = 0x3FFF
_ID_LONG: Final = 0x0FFFFFFF
_MUST_UNDERSTAND: Final = 0x4000
_MUST_UNDERSTAND_LONG: Final = 1 << 30
_IGNORED: Final = 0x3F03
#: Octets that values which are not there would take, in one sample: a few octets must not become a giant value.
_MOST_DEFAULTS: Final = 1 << 20


class CdrDecoder:
    """Reads one sample of one version."""

    __slots__ = ("_defaults", "_is_second")

    def __init__(self, *, is_second: bool) -> None:
        self._is_second = is_second
        self._defaults = 0

    def outermost(self, of: CdrStruct, cursor: Cursor) -> dict[str, Any]:
        """Read the struct that a sample is."""
        if self._is_second or of.extensibility is not Extensibility.APPENDABLE:
            return self._struct(of, cursor)
        value = self._members(of, cursor, may_end=True)
        cursor.skip(cursor.remaining)
        return value

    def decode(self, of: Type, cursor: Cursor) -> Any:
        """Read a value."""
        match of:
            case Primitive():
                return self._unpack(of, 1, cursor)[0]
            case CdrString():
                cursor.align(4)
                text = cursor.string()
                if of.bound is not None and len(text.encode("utf-8")) > of.bound:
                    raise WireFormatError(f"text longer than its bound of {of.bound}")
                return text
            case CdrEnum():
                cursor.align(4)
                number = cursor.i32()
                for name, value in of.members:
                    if value == number:
                        return name
                raise WireFormatError(f"{number} is no member of {of.name}")
            case CdrSequence():
                inner = self._measured(of, cursor)
                inner.align(4)
                count = inner.u32()
                if of.bound is not None and count > of.bound:
                    raise WireFormatError(f"a sequence of {count}; the bound is {of.bound}")
                return self._elements(of.element, count, inner)
            case CdrArray():
                return self._array(of, self._measured(of, cursor))
            case CdrStruct():
                return self._struct(of, cursor)
        raise WireFormatError(f"{of.kind} is not read here")

    def _measured(self, of: CdrSequence | CdrArray, cursor: Cursor) -> Cursor:
        return delimited(cursor) if self._is_second and has_length(of) else cursor

    def _array(self, of: CdrArray, cursor: Cursor) -> Any:
        if isinstance(of.element, CdrArray):
            if of.length * smallest_size(of.element) > cursor.remaining:
                raise WireFormatError(f"{of.length} elements expected, {cursor.remaining} octets left")
            return [self._array(of.element, cursor) for _ in range(of.length)]
        return self._elements(of.element, of.length, cursor)

    def _elements(self, element: Type, count: int, cursor: Cursor) -> Any:
        if count * smallest_size(element) > cursor.remaining:
            raise WireFormatError(f"{count} elements claimed, {cursor.remaining} octets left")
        if element is Primitive.OCTET:
            return cursor.take(count)
        if isinstance(element, Primitive):
            return list(self._unpack(element, count, cursor)) if count else []
        return [self.decode(element, cursor) for _ in range(count)]

    def _unpack(self, of: Primitive, count: int, cursor: Cursor) -> tuple[Any, ...]:
        cursor.align(min(of.size, 4) if self._is_second else of.size)
        octets = cursor.take(count * of.size)
        if of is Primitive.BOOLEAN and octets.strip(b"\x00\x01"):
            raise WireFormatError("a boolean that is neither 0 nor 1")
        values = struct.unpack(f"{'<' if cursor.little else '>'}{count}{of.code}", octets)
        if of is Primitive.CHAR:
            return tuple(value.decode("latin-1") for value in values)
        return values

    def _struct(self, of: CdrStruct, cursor: Cursor) -> dict[str, Any]:
        if of.extensibility is Extensibility.MUTABLE:
            return self._mutable(of, cursor)
        if self._is_second and of.extensibility is Extensibility.APPENDABLE:
            return self._members(of, delimited(cursor), may_end=True)
        return self._members(of, cursor)

    def _members(self, of: CdrStruct, cursor: Cursor, *, may_end: bool = False) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for number, field in of.numbered if of.has_optional else enumerate(of.fields):
            if may_end and cursor.remaining == 0:
                value[field.name] = self._default_of(field)
            elif field.optional:
                value[field.name] = self._optional(number, field, cursor)
            else:
                value[field.name] = self.decode(field.type, cursor)
        return value

    def _optional(self, number: int, field: CdrMember, cursor: Cursor) -> Any:
        if self._is_second:
            return self.decode(field.type, cursor) if self._unpack(Primitive.BOOLEAN, 1, cursor)[0] else None
        found, _, part = _header(cursor)
        if found != number:
            raise WireFormatError(f"member {found} where {field.name} is member {number}")
        return self.decode(field.type, part) if part.remaining else None

    def _mutable(self, of: CdrStruct, cursor: Cursor) -> dict[str, Any]:
        known = dict(of.numbered)
        value: dict[str, Any] = {}
        for number, must_understand, part in members(cursor) if self._is_second else _headers(cursor):
            field = known.get(number)
            if field is not None:
                value[field.name] = self.decode(field.type, part)
            elif must_understand:
                raise WireFormatError(f"member {number} of {of.name} is not known and must be understood")
        for field in of.fields:
            if field.name not in value:
                if field.key:
                    raise WireFormatError(f"the key {field.name} of {of.name} is missing")
                value[field.name] = self._default_of(field)
        return value

    def _default_of(self, field: CdrMember) -> Any:
        if field.optional:
            return None
        self._defaults += smallest_size(field.type)
        if self._defaults > _MOST_DEFAULTS:
            raise WireFormatError(f"{field.name} is not there, and its default is too large")
        return _default(field.type)


def _default(of: Type) -> Any:
    """Return the value of a member that was not written (DDS-XTypes 7.2.2.4.4.4.5)."""
    match of:
        case Primitive.BOOLEAN:
            return False
        case Primitive.CHAR:
            return "\0"
        case Primitive.FLOAT32 | Primitive.FLOAT64:
            return 0.0
        case Primitive():
            return 0
        case CdrString():
            return ""
        case CdrEnum():
            return of.members[0][0]
        case CdrSequence():
            return b"" if of.element is Primitive.OCTET else []
        case CdrArray():
            if of.element is Primitive.OCTET:
                return bytes(of.length)
            return [_default(of.element) for _ in range(of.length)]
        case CdrStruct():
            return {field.name: None if field.optional else _default(field.type) for field in of.fields}
    raise WireFormatError(f"{of.kind} has no default here")


def _header(cursor: Cursor) -> tuple[int, bool, Cursor]:
    """Read the header of an XCDR1 member; return its id, whether it must be understood, and what it covers."""
    cursor.align(4)
    short, length = cursor.u16(), cursor.u16()
    number, must_understand = short & _ID_SHORT, bool(short & _MUST_UNDERSTAND)
    if number == EXTENDED_MEMBER:
        long, length = cursor.u32(), cursor.u32()
        number, must_understand = long & _ID_LONG, bool(long & _MUST_UNDERSTAND_LONG)
    elif number in (LAST_MEMBER, _IGNORED):
        number, must_understand = -number, False
    part = Cursor(cursor.data, little=cursor.little, start=cursor.position, end=cursor.position + length)
    cursor.skip(length)
    return number, must_understand, part


def _headers(cursor: Cursor) -> Iterator[tuple[int, bool, Cursor]]:
    while True:
        number, must_understand, part = _header(cursor)
        if number == -LAST_MEMBER:
            return
        yield number, must_understand, part
