"""The types of attributes, and the one order in which each type's values stand.

Theory. Every value of a type has a *key*, and keys are ordered as the language orders the values: a number, boolean or
instant has an integer key; a string's key is `(text, 0)`, with `(text, -1)` and `(text, 1)` for the gaps just before
and just after it. A comparison with any literal is then a closed interval of keys, exactly: `floor` and `ceiling` give
the keys that enclose a literal, so `x < 2.5` on integers is `key <= 2`, and no int64 ever passes through a double.

Rule 1: keys are unbounded Python integers here; that they fit 64 bits is the matching engines' affair (`codes.py`).
Rule 2: NULL, a missing attribute and NaN have no key.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, inf
from typing import Any, TypeAlias

__all__ = [
    "BooleanType",
    "DecimalType",
    "DurationType",
    "EnumType",
    "FloatType",
    "IntegerType",
    "Key",
    "LeafType",
    "ListType",
    "MapType",
    "StringType",
    "StructType",
    "TimestampType",
    "Type",
    "float_key",
]

#: An integer, or for strings (text, -1 | 0 | 1).
Key: TypeAlias = Any

_SIGN = 1 << 63
_DOUBLE, _BITS = struct.Struct("<d"), struct.Struct("<q")
_SINGLE, _SINGLE_BITS = struct.Struct("<f"), struct.Struct("<i")


def float_key(value: float) -> int:
    """Return the integer that stands among integers as `value` stands among doubles; -0.0 and 0.0 share 0."""
    bits: int = _BITS.unpack(_DOUBLE.pack(value))[0]
    return bits if bits >= 0 else -(bits + _SIGN)


def key_float(key: int) -> float:
    """Return the double of a key: the inverse of `float_key`."""
    bits = key if key >= 0 else -key - _SIGN
    value: float = _DOUBLE.unpack(_BITS.pack(bits))[0]
    return value


def _enclosing_float32(key: int) -> tuple[int, int]:
    """Return the keys of the float32s next to a double, from below and from above: its own where it is one."""
    value = key_float(key)
    try:
        near = _SINGLE.unpack(_SINGLE.pack(value))[0]
    except OverflowError:
        near = inf if value > 0 else -inf
    if near == value:
        return key, key
    # The neighbors of a float32 are those of its bits as an integer.
    bits = _SINGLE_BITS.unpack(_SINGLE.pack(abs(near)))[0]
    magnitude = bits - 1 if (near > value) == (near > 0) and near != 0 else bits + 1
    other = _SINGLE.unpack(_SINGLE_BITS.pack(magnitude))[0]
    other = -other if near < 0 or (near == 0 and value < 0) else other
    low, high = sorted((near, other))
    return float_key(low), float_key(high)


@dataclass(frozen=True, slots=True)
class BooleanType:
    """FALSE < TRUE."""

    family = "boolean"
    name = "bool"
    lowest = 0
    highest = 1

    def enclose(self, value: bool) -> tuple[Key, Key]:
        return int(value), int(value)


@dataclass(frozen=True, slots=True)
class IntegerType:
    """Whole numbers of 8 to 64 bits, signed or not."""

    bits: int = 64
    signed: bool = True
    lowest: int = field(init=False, compare=False)
    highest: int = field(init=False, compare=False)
    family = "number"

    def __post_init__(self) -> None:
        object.__setattr__(self, "lowest", -(1 << (self.bits - 1)) if self.signed else 0)
        object.__setattr__(self, "highest", (1 << (self.bits - self.signed)) - 1)

    @property
    def name(self) -> str:
        return f"{'' if self.signed else 'u'}int{self.bits}"

    def enclose(self, value: int | Decimal) -> tuple[Key, Key]:
        if type(value) is int:
            return value, value
        return floor(value), ceil(value)


@dataclass(frozen=True, slots=True)
class FloatType:
    """Doubles. A float32 is widened before it is compared; a literal with a point is the double nearest to it."""

    bits: int = 64
    family = "number"
    lowest = float_key(-inf)
    highest = float_key(inf)

    @property
    def name(self) -> str:
        return f"float{self.bits}"

    def enclose(self, value: int | Decimal) -> tuple[Key, Key]:
        if isinstance(value, Decimal):
            key = float_key(float(value))
            return (key, key) if self.bits == 64 else _enclosing_float32(key)
        try:
            near = float(value)
        except OverflowError:
            near = inf if value > 0 else -inf
        key = float_key(near)
        # Python compares int with float exactly: a whole number past 2⁵³ may fall between two doubles.
        floor, ceiling = key - (near > value), key + (near < value)
        return (floor, ceiling) if self.bits == 64 else (_enclosing_float32(floor)[0], _enclosing_float32(ceiling)[1])


@dataclass(frozen=True, slots=True)
class DecimalType:
    """Exact decimals: the key is the number of smallest steps, so 0.10 with scale 2 is 10."""

    precision: int
    scale: int
    lowest: int = field(init=False, compare=False)
    highest: int = field(init=False, compare=False)
    family = "number"

    def __post_init__(self) -> None:
        object.__setattr__(self, "lowest", 1 - 10**self.precision)
        object.__setattr__(self, "highest", 10**self.precision - 1)

    @property
    def name(self) -> str:
        return f"decimal({self.precision},{self.scale})"

    def enclose(self, value: int | Decimal) -> tuple[Key, Key]:
        steps = Fraction(value) * Fraction(10) ** self.scale
        return floor(steps), ceil(steps)


@dataclass(frozen=True, slots=True)
class TimestampType:
    """Instants, counted in the attribute's own unit: s, ms, us or ns."""

    unit: str = "us"
    family = "timestamp"
    lowest = -(1 << 63)
    highest = (1 << 63) - 1

    @property
    def name(self) -> str:
        return f"timestamp[{self.unit}]"

    @property
    def nanoseconds(self) -> int:
        return {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}[self.unit]

    def enclose(self, value: int) -> tuple[Key, Key]:
        step = self.nanoseconds
        return value // step, -(-value // step)


@dataclass(frozen=True, slots=True)
class DurationType:
    """Lengths of time in nanoseconds: what one instant less another is. No event carries one."""

    family = "interval"
    name = "interval"
    lowest = 1 - (1 << 63)
    highest = (1 << 63) - 1

    def enclose(self, value: int) -> tuple[Key, Key]:
        return value, value


@dataclass(frozen=True, slots=True)
class StringType:
    """Strings by Unicode code point, which is the order of their UTF-8 bytes. No collation, no padding."""

    family = "string"
    name = "string"
    lowest = ("", 0)
    highest = None  # no string is the last; the interval algebra treats None as "no end"

    def enclose(self, value: str) -> tuple[Key, Key]:
        return (value, 0), (value, 0)


@dataclass(frozen=True, slots=True)
class EnumType:
    """A closed list of labels, in the order in which they are declared."""

    labels: tuple[str, ...]
    family = "enum"
    lowest = 0

    @property
    def highest(self) -> int:
        return len(self.labels)  # one past the labels: the key of a label that the enum does not list

    @property
    def name(self) -> str:
        return f"enum of {len(self.labels)} labels"

    def enclose(self, value: str) -> tuple[Key, Key]:
        key = self.labels.index(value)
        return key, key


@dataclass(frozen=True, slots=True)
class ListType:
    """A list; the language reaches its items by index from 0."""

    item: Type
    family = "list"
    name = "list"


@dataclass(frozen=True, slots=True)
class StructType:
    """A struct; the language reaches its fields by name."""

    fields: tuple[tuple[str, Type], ...]
    family = "struct"
    name = "struct"


@dataclass(frozen=True, slots=True)
class MapType:
    """A map from texts; the language reaches its values by key."""

    value: Type
    family = "map"
    name = "map"


LeafType: TypeAlias = (
    BooleanType | IntegerType | FloatType | DecimalType | TimestampType | DurationType | StringType | EnumType
)
Type: TypeAlias = LeafType | ListType | StructType | MapType
