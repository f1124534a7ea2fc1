"""The short way for flat structs: final, of numbers, truths and texts, as most topics are.

The members between two texts are one call of `struct`; where they begin depends on the texts before, so there is a
layout for each of the eight places at which a stretch can begin. This way takes what it is certain of: values of
exactly the types that it expects, octets that are regular. Everything else it declines (None), and the long way
(`cdr`) reads it or says what is wrong with it; so both ways give the same, and there is one place that knows errors.
"""

from __future__ import annotations

import struct
from operator import itemgetter
from typing import Any, Final

from rookery.rtps.qos import XCDR2
from rookery.rtps.types import CdrString, CdrStruct, Extensibility, Primitive

__all__ = ["FlatCodec", "flat_codec"]

_FLOATS: Final = (Primitive.FLOAT32, Primitive.FLOAT64)
_PADDING: Final = tuple(bytes(count) for count in range(4))


def flat_codec(of: CdrStruct, representation: int) -> FlatCodec | None:
    """Return the short way for a struct in one version of XCDR, little-endian; None where it has none."""
    if of.extensibility is not Extensibility.FINAL or of.has_optional:
        return None
    for field in of.fields:
        kind = field.type
        if isinstance(kind, CdrString):
            if kind.bound is not None:
                return None
        elif not isinstance(kind, Primitive) or kind is Primitive.CHAR:
            return None
    return FlatCodec(of, representation)


def _layouts(primitives: list[Primitive], widest: int, has_text: bool, *, boolean: str) -> tuple[struct.Struct, ...]:
    """Return the layouts of a stretch, by the place (modulo eight) where it begins."""
    found = []
    for start in range(8):
        place, codes = start, "<"
        for primitive in primitives:
            padding = -place % min(primitive.size, widest)
            codes += "x" * padding + (boolean if primitive is Primitive.BOOLEAN else primitive.code)
            place += padding + primitive.size
        if has_text:
            codes += "x" * (-place % 4) + "I"
        found.append(struct.Struct(codes))
    return tuple(found)


class FlatCodec:
    """Encodes and decodes the samples of one flat struct."""

    __slots__ = ("_booleans", "_headers", "_is_single", "_kind", "_names", "_stretches", "_types", "_values", "source")

    def __init__(self, of: CdrStruct, representation: int) -> None:
        self.source = (of, representation)
        widest = 4 if representation == XCDR2 else 8
        self._kind = 0x07 if representation == XCDR2 else 0x01
        self._headers = tuple(bytes((0, self._kind, 0, padding)) for padding in range(4))
        self._names = tuple(field.name for field in of.fields)
        self._is_single = len(self._names) == 1
        self._values = itemgetter(*self._names)
        self._types = tuple(_python_type(field.type) for field in of.fields)
        self._booleans = tuple(place for place, field in enumerate(of.fields) if field.type is Primitive.BOOLEAN)
        stretches, first = [], 0
        run: list[Primitive] = []
        for place, field in enumerate(of.fields):
            if isinstance(field.type, Primitive):
                run.append(field.type)
            if isinstance(field.type, CdrString) or place == len(of.fields) - 1:
                has_text = isinstance(field.type, CdrString)
                packing = _layouts(run, widest, has_text, boolean="?")
                reading = _layouts(run, widest, has_text, boolean="B")
                stretches.append((packing, reading, first, first + len(run), has_text))
                first, run = place + 1, []
        self._stretches = tuple(stretches)

    def __reduce__(self) -> tuple[Any, ...]:
        return (FlatCodec, self.source)

    def encode(self, event: Any) -> bytes | None:
        """Return the payload of an event; None where it takes the long way."""
        if type(event) is not dict:
            return None
        try:
            values = (event[self._names[0]],) if self._is_single else self._values(event)
            if tuple(map(type, values)) != self._types:
                return None
            parts = [b""]
            place = 0
            for packing, _, first, end, has_text in self._stretches:
                layout = packing[place & 7]
                place += layout.size
                if has_text:
                    octets = values[end].encode()
                    count = len(octets) + 1
                    parts += (layout.pack(*values[first:end], count), octets, b"\0")
                    place += count
                else:
                    parts.append(layout.pack(*values[first:end]))
        except (KeyError, struct.error, OverflowError, UnicodeEncodeError):
            return None
        padding = -place & 3
        parts[0] = self._headers[padding]
        if padding:
            parts.append(_PADDING[padding])
        return b"".join(parts)

    def decode(self, payload: bytes) -> dict[str, Any] | None:
        """Return the event of a payload; None where it takes the long way."""
        if len(payload) < 4 or payload[0] or payload[1] != self._kind:
            return None
        values: list[Any] = []
        place, end = 4, len(payload)
        try:
            for _, reading, _, _, has_text in self._stretches:
                layout = reading[place - 4 & 7]
                values += layout.unpack_from(payload, place)
                place += layout.size
                if has_text:
                    count = values.pop()
                    after = place + count
                    if not count or after > end or payload[after - 1]:
                        return None
                    values.append(payload[place : after - 1].decode())
                    place = after
        except (struct.error, UnicodeDecodeError):
            return None
        if end - place > 3:
            return None
        for number in self._booleans:
            if values[number] > 1:
                return None
            values[number] = values[number] == 1
        return dict(zip(self._names, values, strict=True))


def _python_type(of: object) -> type:
    if isinstance(of, CdrString):
        return str
    if of is Primitive.BOOLEAN:
        return bool
    return float if of in _FLOATS else int
