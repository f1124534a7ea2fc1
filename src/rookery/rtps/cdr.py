"""XCDR version 1: how a sample becomes octets (DDS-XTypes 7.4.1, plain CDR of final types).

Each primitive stands at a multiple of its own size, counted from the end of the four-octet encapsulation header;
strings and sequences begin with a 32-bit count. The header's second octet is the byte order, and the two low bits of
its last octet are how many octets were added to fill the payload up to a multiple of four: without them Cyclone DDS
takes a payload followed by another submessage for malformed.

Values are plain Python: a struct is a `dict`, an enumeration its member's name, octet sequences are `bytes`, other
sequences and arrays lists. The caller's wrong value raises `EventError` with the path to it; a peer's wrong octets
raise `WireFormatError`, which the participant turns into a rejection.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from rookery.errors import EventError, WireFormatError
from rookery.rtps.octets import Cursor
from rookery.rtps.types import (
    CdrArray,
    CdrEnum,
    CdrSequence,
    CdrString,
    CdrStruct,
    Primitive,
    Type,
    largest_size,
    smallest_size,
)

__all__ = ["decode_key", "decode_sample", "encode_key", "encode_sample", "key_hash", "wrap"]

_CDR = {True: b"\x00\x01\x00\x00", False: b"\x00\x00\x00\x00"}


def wrap(body: bytes, *, little: bool = True) -> bytes:
    """Put the encapsulation header before a CDR body and pad it to a multiple of four."""
    padding = -len(body) % 4
    return _CDR[little][:3] + bytes((padding,)) + body + bytes(padding)


def encode_sample(of: CdrStruct, value: Mapping[str, Any], *, little: bool = True) -> bytes:
    """Return the payload of DATA: encapsulation header, body, padding."""
    out = bytearray()
    _encode(of, value, out, "<" if little else ">", of.name)
    return wrap(bytes(out), little=little)


def decode_sample(of: CdrStruct, payload: bytes) -> dict[str, Any]:
    """Read a payload; more than three octets left over are malformed."""
    if len(payload) < 4:
        raise WireFormatError("a payload without encapsulation header")
    if payload[0] != 0 or payload[1] not in (0, 1):
        raise WireFormatError(f"encapsulation 0x{payload[:2].hex()} is not plain CDR")
    cursor = Cursor(payload, little=payload[1] == 1, start=4)
    value: dict[str, Any] = _decode(of, cursor)
    if cursor.remaining > 3:
        raise WireFormatError(f"{cursor.remaining} octets after a {of.name}")
    return value


def encode_key(of: CdrStruct, value: Mapping[str, Any], *, little: bool = True) -> bytes:
    """Return the payload that carries the key fields alone, as dispose and unregister do."""
    return encode_sample(of.key_type(), value, little=little)


def decode_key(of: CdrStruct, payload: bytes) -> dict[str, Any]:
    """Read a payload that carries the key fields alone."""
    return decode_sample(of.key_type(), payload)


def key_hash(of: CdrStruct, value: Mapping[str, Any]) -> bytes:
    """Return the sixteen octets that name an instance (RTPS 2.5, 9.6.4.8).

    They are the big-endian key itself where every key of the type fits, else the MD5 of it.
    """
    keys = of.key_type()
    out = bytearray()
    _encode(keys, value, out, ">", of.name)
    largest = largest_size(keys)
    if largest is not None and largest <= 16:
        return bytes(out).ljust(16, b"\0")
    return hashlib.md5(out, usedforsecurity=False).digest()


def _pack(of: Primitive, values: Sequence[Any], out: bytearray, order: str, path: str) -> None:
    out += bytes(-len(out) % of.size)
    if of is Primitive.BOOLEAN and not all(value is True or value is False for value in values):
        raise EventError(f"{path}: {values!r} is not True or False")
    try:
        if of is Primitive.CHAR:
            values = [value.encode("latin-1") for value in values]
        out += struct.pack(f"{order}{len(values)}{of.code}", *values)
    except (struct.error, TypeError, AttributeError, UnicodeEncodeError, OverflowError):
        shown = values[0] if len(values) == 1 else values
        raise EventError(f"{path}: {shown!r} is no {of.idl}") from None


def _encode(of: Type, value: Any, out: bytearray, order: str, path: str) -> None:
    match of:
        case Primitive():
            _pack(of, (value,), out, order, path)
        case CdrString():
            if not isinstance(value, str):
                raise EventError(f"{path}: {value!r} is no string")
            octets = value.encode("utf-8")
            if of.bound is not None and len(octets) > of.bound:
                raise EventError(f"{path}: {len(octets)} octets of text; the bound is {of.bound}")
            out += bytes(-len(out) % 4)
            out += struct.pack(order + "I", len(octets) + 1) + octets + b"\0"
        case CdrEnum():
            numbers = [number for name, number in of.members if name == value]
            if not numbers:
                raise EventError(f"{path}: {value!r} is no member of {of.name}")
            _pack(Primitive.INT32, numbers, out, order, path)
        case CdrSequence():
            elements = _elements(of.element, value, path)
            if of.bound is not None and len(elements) > of.bound:
                raise EventError(f"{path}: {len(elements)} elements; the bound is {of.bound}")
            _pack(Primitive.UINT32, (len(elements),), out, order, path)
            _encode_elements(of.element, elements, out, order, path)
        case CdrArray():
            elements = _elements(of.element, value, path)
            if len(elements) != of.length:
                raise EventError(f"{path}: {len(elements)} elements; the array has {of.length}")
            _encode_elements(of.element, elements, out, order, path)
        case CdrStruct():
            if not isinstance(value, Mapping):
                raise EventError(f"{path}: {value!r} is no mapping of fields")
            for field in of.fields:
                if field.name not in value:
                    raise EventError(f"{path}: field {field.name!r} is missing")
                _encode(field.type, value[field.name], out, order, f"{path}.{field.name}")


def _elements(element: Type, value: Any, path: str) -> Sequence[Any]:
    if isinstance(value, bytes | bytearray) and element is not Primitive.OCTET:
        raise EventError(f"{path}: octets given where elements of another type belong")
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise EventError(f"{path}: {value!r} is no sequence")
    return value


def _encode_elements(element: Type, values: Sequence[Any], out: bytearray, order: str, path: str) -> None:
    if isinstance(element, Primitive):
        if values:
            _pack(element, values, out, order, path)
        return
    for index, value in enumerate(values):
        _encode(element, value, out, order, f"{path}[{index}]")


def _decode(of: Type, cursor: Cursor) -> Any:
    match of:
        case Primitive():
            return _unpack(of, 1, cursor)[0]
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
            cursor.align(4)
            count = cursor.u32()
            if of.bound is not None and count > of.bound:
                raise WireFormatError(f"a sequence of {count}; the bound is {of.bound}")
            return _decode_elements(of.element, count, cursor)
        case CdrArray():
            return _decode_elements(of.element, of.length, cursor)
        case CdrStruct():
            return {field.name: _decode(field.type, cursor) for field in of.fields}


def _decode_elements(element: Type, count: int, cursor: Cursor) -> Any:
    if count * smallest_size(element) > cursor.remaining:
        raise WireFormatError(f"{count} elements claimed, {cursor.remaining} octets left")
    if element is Primitive.OCTET:
        return cursor.take(count)
    if isinstance(element, Primitive):
        return list(_unpack(element, count, cursor)) if count else []
    return [_decode(element, cursor) for _ in range(count)]


def _unpack(of: Primitive, count: int, cursor: Cursor) -> tuple[Any, ...]:
    cursor.align(of.size)
    octets = cursor.take(count * of.size)
    if of is Primitive.BOOLEAN and octets.strip(b"\x00\x01"):
        raise WireFormatError("a boolean that is neither 0 nor 1")
    values = struct.unpack(f"{'<' if cursor.little else '>'}{count}{of.code}", octets)
    if of is Primitive.CHAR:
        return tuple(value.decode("latin-1") for value in values)
    return values
