"""Random values of a type, for our encoder and as objects of Cyclone's."""

from __future__ import annotations

import random
import struct
from typing import Any

from rookery.rtps.types import CdrArray, CdrEnum, CdrSequence, CdrString, CdrStruct, Primitive, Type

from .random_types import cyclone_type


def random_value(dice: random.Random, of: Type) -> Any:
    """Return a value; an optional member is absent half of the time."""
    match of:
        case Primitive.BOOLEAN:
            return dice.random() < 0.5
        case Primitive.CHAR:
            return chr(dice.randrange(1, 127))
        case Primitive.FLOAT32:
            return struct.unpack("<f", struct.pack("<f", dice.uniform(-1e6, 1e6)))[0]
        case Primitive.FLOAT64:
            return dice.uniform(-1e300, 1e300)
        case Primitive():
            bits = 8 * of.size
            signed = of.code.islower()
            return dice.randrange(-(1 << bits - 1), 1 << bits - 1) if signed else dice.randrange(1 << bits)
        case CdrString():
            return "".join(dice.choice("abcé✓") for _ in range(dice.randrange(3)))
        case CdrEnum():
            return dice.choice(of.members)[0]
        case CdrSequence():
            return _octets(of.element, [random_value(dice, of.element) for _ in range(dice.randrange(4))])
        case CdrArray():
            return _octets(of.element, [random_value(dice, of.element) for _ in range(of.length)])
        case CdrStruct():
            return {
                field.name: None if field.optional and dice.random() < 0.5 else random_value(dice, field.type)
                for field in of.fields
            }
    raise AssertionError(of)


def _octets(element: Type, values: list[Any]) -> Any:
    return bytes(values) if element is Primitive.OCTET else values


def cyclone_value(of: Type, value: Any, made: dict[Type, Any]) -> Any:
    """Return the value as Cyclone's classes hold it; `made` are the classes."""
    if value is None:
        return None
    match of:
        case CdrEnum():
            return cyclone_type(of, made)[value]
        case CdrArray(element=Primitive.OCTET | Primitive.UINT8):
            return bytes(value)
        case CdrSequence() | CdrArray():
            return [cyclone_value(of.element, each, made) for each in value]
        case CdrStruct():
            fields = {field.name: cyclone_value(field.type, value[field.name], made) for field in of.fields}
            return cyclone_type(of, made)(**fields)
    return value


def plain_value(of: Type, value: Any) -> Any:
    """Return a value of Cyclone's as ours."""
    if value is None:
        return None
    match of:
        case CdrEnum():
            # Cyclone's default of an enumeration is a number.
            return {number: name for name, number in of.members}[value] if isinstance(value, int) else value.name
        case CdrSequence(element=Primitive.OCTET) | CdrArray(element=Primitive.OCTET):
            return bytes(value)
        case CdrSequence() | CdrArray():
            return [plain_value(of.element, each) for each in value]
        case CdrStruct():
            return {field.name: plain_value(field.type, getattr(value, field.name)) for field in of.fields}
    return value
