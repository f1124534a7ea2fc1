"""Values become octets, in either version of XCDR (DDS-XTypes 7.4.3).

XCDR1 puts each primitive at a multiple of its own size and a struct's members one after the other; a member that may be
absent, and each member of a mutable struct, comes behind a header of its id and length, and is aligned from there.
XCDR2 aligns to four octets at most. An appendable or mutable struct, and a collection of anything but primitives,
begins with its length in octets; a member that may be absent comes behind a truth; the members of a mutable struct
behind their id and length.

The caller's wrong value raises `EventError` with the path to it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from rookery.errors import EventError
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
)

__all__ = ["EXTENDED_MEMBER", "LAST_MEMBER", "CdrEncoder", "has_length"]

#: XCDR1: the id of a header whose id and length follow in 32 bits, and the id that ends a list (DDS-XTypes 7.4.1.2).
EXTENDED_MEMBER: Final = 0x3F01
LAST_MEMBER: Final = 0x3F02
_MUST_UNDERSTAND: Final = 0x4000
_MUST_UNDERSTAND_LONG: Final = 1 << 30
#: XCDR2: how a member's header says its length (DDS-XTypes 7.4.3.4.2): by its size, in the next word, or in the
#: member's own first word, which counts octets, words or double words.
_BY_SIZE: Final = {1: 0, 2: 1, 4: 2, 8: 3}
_NEXT_WORD, _OWN_WORD = 4, 5
_OWN_COUNT: Final = {1: 5, 4: 6, 8: 7}


def has_length(of: CdrSequence | CdrArray) -> bool:
    """Say whether a collection begins with its length in octets in XCDR2: unless it is made of primitives."""
    element = of.element
    if isinstance(of, CdrArray):
        while isinstance(element, CdrArray):
            element = element.element
    return not isinstance(element, Primitive)


class CdrEncoder:
    """Octets that grow, of one byte order and version."""

    __slots__ = ("_is_second", "_order", "_origin", "_widest", "out")

    def __init__(self, *, little: bool, is_second: bool) -> None:
        self.out = bytearray()
        self._order = "<" if little else ">"
        self._is_second = is_second
        self._widest = 4 if is_second else 8
        #: From where things are aligned.
        self._origin = 0

    def encode(self, of: Type, value: Any, path: str) -> None:
        """Write a value."""
        match of:
            case Primitive():
                self._pack(of, (value,), path)
            case CdrString():
                self._text(of, value, path)
            case CdrEnum():
                numbers = [number for name, number in of.members if name == value]
                if not numbers:
                    raise EventError(f"{path}: {value!r} is no member of {of.name}")
                self._pack(Primitive.INT32, numbers, path)
            case CdrSequence():
                elements = _elements(of.element, value, path)
                if of.bound is not None and len(elements) > of.bound:
                    raise EventError(f"{path}: {len(elements)} elements; the bound is {of.bound}")
                self._measured(of, lambda: self._sequence(of, elements, path))
            case CdrArray():
                self._measured(of, lambda: self._array(of, value, path))
            case CdrStruct():
                if not isinstance(value, Mapping):
                    raise EventError(f"{path}: {value!r} is no mapping of fields")
                self._struct(of, value, path)

    def _align(self, size: int) -> None:
        self.out += bytes(-(len(self.out) - self._origin) % min(size, self._widest))

    def _word(self, number: int) -> None:
        self._align(4)
        self.out += struct.pack(self._order + "I", number)

    def _pack(self, of: Primitive, values: Sequence[Any], path: str) -> None:
        self._align(of.size)
        if of is Primitive.BOOLEAN and not all(value is True or value is False for value in values):
            raise EventError(f"{path}: {values!r} is not True or False")
        try:
            if of is Primitive.CHAR:
                values = [value.encode("latin-1") for value in values]
            self.out += struct.pack(f"{self._order}{len(values)}{of.code}", *values)
        except (struct.error, TypeError, AttributeError, UnicodeEncodeError, OverflowError):
            shown = values[0] if len(values) == 1 else values
            raise EventError(f"{path}: {shown!r} is no {of.idl}") from None

    def _text(self, of: CdrString, value: Any, path: str) -> None:
        if not isinstance(value, str):
            raise EventError(f"{path}: {value!r} is no string")
        octets = value.encode("utf-8")
        if of.bound is not None and len(octets) > of.bound:
            raise EventError(f"{path}: {len(octets)} octets; the bound is {of.bound}")
        self._word(len(octets) + 1)
        self.out += octets + b"\0"

    def _measured(self, of: CdrSequence | CdrArray, write: Callable[[], None]) -> None:
        if self._is_second and has_length(of):
            self._with_length(write)
        else:
            write()

    def _with_length(self, write: Callable[[], None]) -> None:
        """Put the length in octets of what is written before it."""
        self._word(0)
        start = len(self.out)
        write()
        struct.pack_into(self._order + "I", self.out, start - 4, len(self.out) - start)

    def _sequence(self, of: CdrSequence, elements: Sequence[Any], path: str) -> None:
        self._word(len(elements))
        self._each(of.element, elements, path)

    def _array(self, of: CdrArray, value: Any, path: str) -> None:
        elements = _elements(of.element, value, path)
        if len(elements) != of.length:
            raise EventError(f"{path}: {len(elements)} elements; the array has {of.length}")
        if isinstance(of.element, CdrArray):  # one length for all dimensions
            for index, each in enumerate(elements):
                self._array(of.element, each, f"{path}[{index}]")
        else:
            self._each(of.element, elements, path)

    def _each(self, element: Type, values: Sequence[Any], path: str) -> None:
        if isinstance(element, Primitive):
            if values:
                self._pack(element, values, path)
            return
        for index, value in enumerate(values):
            self.encode(element, value, f"{path}[{index}]")

    def _struct(self, of: CdrStruct, value: Mapping[str, Any], path: str) -> None:
        if of.extensibility is Extensibility.MUTABLE:
            if self._is_second:
                self._with_length(lambda: self._mutable(of, value, path))
            else:
                self._mutable(of, value, path)
        elif self._is_second and of.extensibility is Extensibility.APPENDABLE:
            self._with_length(lambda: self._members(of, value, path))
        else:
            self._members(of, value, path)

    def _members(self, of: CdrStruct, value: Mapping[str, Any], path: str) -> None:
        for number, field in of.numbered if of.has_optional else enumerate(of.fields):
            if field.optional:
                self._optional(number, field, value.get(field.name), f"{path}.{field.name}")
            else:
                self.encode(field.type, _given(field, value, path), f"{path}.{field.name}")

    def _optional(self, number: int, field: CdrMember, value: Any, path: str) -> None:
        if self._is_second:
            self.out.append(value is not None)
            if value is not None:
                self.encode(field.type, value, path)
        else:
            self._behind_header(number, field, lambda: None if value is None else self.encode(field.type, value, path))

    def _behind_header(self, number: int, field: CdrMember, write: Callable[[], None]) -> None:
        """XCDR1: the header with 32 bits for id and length, which any id and length fit."""
        self._align(4)
        must = _MUST_UNDERSTAND_LONG if field.must_understand else 0
        self.out += struct.pack(self._order + "HHII", EXTENDED_MEMBER | _MUST_UNDERSTAND, 8, must | number, 0)
        start, origin = len(self.out), self._origin
        self._origin = start
        write()
        self._origin = origin
        struct.pack_into(self._order + "I", self.out, start - 4, len(self.out) - start)

    def _mutable(self, of: CdrStruct, value: Mapping[str, Any], path: str) -> None:
        for number, field in of.numbered:
            if field.optional and value.get(field.name) is None:
                continue
            given = _given(field, value, path)
            at = f"{path}.{field.name}"
            if self._is_second:
                self._second_member(number, field, given, at)
            else:
                self._behind_header(number, field, lambda: self._padded(field.type, given, at))  # noqa: B023
        if not self._is_second:
            self._align(4)
            self.out += struct.pack(self._order + "HH", LAST_MEMBER | _MUST_UNDERSTAND, 0)

    def _padded(self, of: Type, value: Any, path: str) -> None:
        self.encode(of, value, path)
        self._align(4)  # other stacks read nothing else

    def _second_member(self, number: int, field: CdrMember, value: Any, path: str) -> None:
        code = _length_code(field.type)
        self._word(field.must_understand << 31 | code << 28 | number)
        if code == _NEXT_WORD:
            self._with_length(lambda: self.encode(field.type, value, path))
        else:
            self.encode(field.type, value, path)


def _length_code(of: Type) -> int:
    match of:
        case Primitive():
            return _BY_SIZE[of.size]
        case CdrEnum():
            return _BY_SIZE[4]
        case CdrString():
            return _OWN_WORD
        case CdrSequence(element=Primitive() as element):
            return _OWN_COUNT.get(element.size, _NEXT_WORD)
        case CdrSequence() | CdrArray() if has_length(of):
            return _OWN_WORD
    return _NEXT_WORD


def _given(field: CdrMember, value: Mapping[str, Any], path: str) -> Any:
    if field.name not in value:
        raise EventError(f"{path}: field {field.name!r} is missing")
    return value[field.name]


def _elements(element: Type, value: Any, path: str) -> Sequence[Any]:
    if isinstance(value, bytes | bytearray) and element is not Primitive.OCTET:
        raise EventError(f"{path}: octets given where elements of another type belong")
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise EventError(f"{path}: {value!r} is no sequence")
    return value
