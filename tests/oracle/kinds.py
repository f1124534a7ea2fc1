"""The kinds of attributes that the oracle knows, and the values that are worth meeting.

A value is exact Python: an integer, a float, a Decimal, a bool, a text, and for an instant its nanoseconds since 1970.
The pools hold the ends of the types, 2^53 and its neighbors, subnormal numbers, infinities, NaN and signed zeros,
texts with NUL, quotes, wildcards and code points past the surrogates, instants before 1970 and at the calendar's ends.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

__all__ = ["DAY", "FIRST", "LAST", "LEAF_KINDS", "UNITS", "Kind", "pool_of", "strangers_of", "to_float32"]

UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
DAY = 86_400 * 10**9
#: The first and the last nanosecond of the years 1 to 9999.
FIRST, LAST = -62_135_596_800 * 10**9, 253_402_300_800 * 10**9 - 1

_TEXTS = [
    "", " ", "a", "ab", "abc", "abd", "b", "ba", "B", "Z", "é", "e\u0301", "it's", "''", "a%b", "a_b", "_", "%", "a\\b",
    "x\ny", "a\x00", "a\x00b", "\x00", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0001f600", "\U0010ffff",
    "\U0010ffff\U0010ffff", "a\U0010ffff", "long enough to stand outside of a view", "NULL", "NaN", "10", "9",
]  # fmt: skip
_FLOATS = [
    0.0, -0.0, 1.0, -1.0, 2.0, 3.0, 7.0, 0.5, 2.5, -2.5, 0.1, 0.3, 1 / 3, 100.0, 1e300, -1e300, 5e-324, -5e-324,
    2.2250738585072014e-308, 1.7976931348623157e308, -1.7976931348623157e308, 3.4028234663852886e38, 1e-45,
    2.0**53 - 1, 2.0**53, 2.0**53 + 2, -(2.0**53), 2.0**63, 2.0**64, -(2.0**63), 1e15, 123456.789,
    float("inf"), float("-inf"), float("nan"),
]  # fmt: skip
_INSTANTS = [
    0, 1, -1, 999, 1_000, 1_500, -1_500, 10**6, 10**9, -(10**9), DAY, -DAY, 1_767_225_600 * 10**9,
    1_767_225_600_123_456_789, 1_767_225_600_123_456_000, 1_767_225_600_123_000_000, 1_782_864_000 * 10**9,
    -2_208_988_800 * 10**9, 951_782_400 * 10**9, 4_102_444_799 * 10**9,
]  # fmt: skip
_FAR = [FIRST, LAST, FIRST // DAY * DAY, 200_000 * 366 * DAY, -200_000 * 366 * DAY]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of attribute: its family, how a schema writes it, and its limits."""

    family: str  # integer, float, decimal, boolean, string, enum or timestamp
    written: Any
    low: int = 0  # of an integer; of a decimal in its smallest steps
    high: int = 0
    scale: int = 0
    bits: int = 64
    unit: str = ""
    labels: tuple[str, ...] = ()

    @property
    def number(self) -> bool:
        return self.family in ("integer", "float", "decimal")

    @property
    def wide(self) -> bool:
        """Whether it is a decimal that no DuckDB type can hold."""
        return self.family == "decimal" and self.high >= 10**38


def _integer(bits: int, signed: bool) -> Kind:
    low = -(1 << bits - 1) if signed else 0
    return Kind("integer", f"{'' if signed else 'u'}int{bits}", low, (1 << bits - signed) - 1, bits=bits)


def _decimal(digits: int, scale: int) -> Kind:
    return Kind("decimal", f"decimal({digits},{scale})", 1 - 10**digits, 10**digits - 1, scale)


_ENUMS = [("on", "off", "it's"), ("low", "high")]
LEAF_KINDS = [
    *(_integer(bits, signed) for bits in (8, 16, 32, 64, 64) for signed in (True, False)),
    *(Kind("float", f"float{bits}", bits=bits) for bits in (32, 64, 64, 64)),
    *(_decimal(*one) for one in ((6, 2), (9, 0), (18, 3), (18, 18), (19, 0), (20, 2), (38, 10), (38, 37))),
    *(_decimal(*one) for one in ((50, 5), (76, 38))),
    Kind("boolean", "bool"),
    *(Kind("string", "string") for _ in range(6)),
    *(Kind("enum", {"$enum": list(labels)}, labels=labels) for labels in _ENUMS),
    *(Kind("timestamp", f"timestamp[{unit}]", unit=unit) for unit in UNITS),
]  # fmt: skip


def to_float32(value: float) -> float | None:
    """Return the float32 nearest to a float, None where it is out of range."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return None


def pool_of(random: Random, kind: Kind, *, far: bool = False) -> list[Any]:
    """Return values of a kind without NULL, the ends among them; `far` adds instants past the years 1 to 9999."""
    match kind.family:
        case "boolean":
            return [False, True]
        case "enum":
            return [*kind.labels, "unlisted", "other"]
        case "string":
            more = ["".join(random.choices("abAZé_%'\U0001f600\uffff", k=random.randint(1, 5))) for _ in range(30)]
            return [*_TEXTS, *more, *(f"k{random.randrange(40)}" for _ in range(20))]
        case "integer":
            near = [0, 1, 2, 3, -1, -2, 7, 100, kind.low, kind.low + 1, kind.high, kind.high - 1]
            ends = [sign * 2**power + step for power in (31, 53, 63) for step in (-1, 0, 1) for sign in (1, -1)]
            more = [random.randint(-20, 120) for _ in range(40)] + [
                random.randint(kind.low, kind.high) for _ in range(6)
            ]
            return [one for one in (*near, *ends, *more) if kind.low <= one <= kind.high]
        case "float":
            more = [random.gauss(0, 50) for _ in range(20)] + [float(random.randint(-20, 120)) for _ in range(30)]
            if kind.bits == 64:
                return [*_FLOATS, *more]
            return [one for one in map(to_float32, (*_FLOATS, *more)) if one is not None]
        case "decimal":
            unit = 10**kind.scale
            steps = [
                0,
                1,
                -1,
                2,
                unit,
                -unit,
                5 * unit + 1,
                unit // 2,
                kind.high,
                kind.low,
                kind.high - 1,
                kind.low + 1,
            ]
            steps += [random.randint(-20, 120) * unit for _ in range(20)] + [
                random.randint(-20, 120) for _ in range(20)
            ]
            steps += [random.randint(kind.low, kind.high) for _ in range(6)]
            return [
                Decimal((one < 0, tuple(map(int, str(abs(one)))), -kind.scale))
                for one in steps
                if abs(one) <= kind.high
            ]
    step = UNITS[kind.unit]
    moments = [*_INSTANTS, *(random.randint(0, 2 * 10**9) * 10**9 for _ in range(20))]
    if far and kind.unit != "ns":
        moments += [*_FAR, -(1 << 63) * step, ((1 << 63) - 1) * step, (1 - (1 << 63)) * step]
    moments = [one // step * step for one in moments]
    return [one for one in moments if -(1 << 63) <= one // step < 1 << 63]


def strangers_of(kind: Kind) -> list[Any]:
    """Return values near a kind's that are none of it: past its ends, or finer than its steps."""
    match kind.family:
        case "integer":
            return [kind.low - 1, kind.high + 1, 2**63, -(2**63), 2**64 - 1, 0.5, Decimal("2.25"), 1e300, float("inf")]
        case "float":
            return [
                2**53 + 1,
                -(2**53) - 1,
                2**63 - 1,
                2**64 - 1,
                *([2**24 + 1, 1e300, 3.5e38] if kind.bits == 32 else []),
            ]
        case "decimal":
            past = Decimal((0, (1,), len(str(kind.high)) - kind.scale))
            return [past, -past, Decimal((0, (5,), -kind.scale - 1)), 2**64 - 1, -128]
        case "timestamp":
            return [1, -1, 1_500, 10**6 + 1, 1_767_225_600_123_456_789, 10**13 * 10**9, -(10**13) * 10**9]
    return []
