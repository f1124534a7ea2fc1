"""How a value may be written in a condition: every spelling that the grammar allows.

Each function returns the text, and the value that it means as `literals.py` takes it.
"""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

from .kinds import DAY, FIRST, LAST, UNITS
from .literals import Leaf, double, quoted

__all__ = ["spelled"]

_ZONES = {"": 0, "Z": 0, "z": 0, "+00:00": 0, "+02:00": 120, "-0530": -330, "+05:45": 345, "-11:00": -660}


def spelled(random: Random, leaf: Leaf, *, plain: bool = False) -> tuple[str, Any]:
    """Return a value of a leaf's kind as the language writes it, and what it means; `plain` as Spark writes it too."""
    value = random.choice(leaf.values)
    if plain and leaf.kind.number:
        # Not at the ends: to Spark 4.2 `i < 9223372036854775807.5` is TRUE of NULL.
        if leaf.kind.family == "integer" and abs(value) < 2**31 and random.random() < 0.2:
            return f"{value}.5", Fraction(value) + Fraction(1 if value >= 0 else -1, 2)
        return f"{value:f}" if isinstance(value, Decimal) else repr(value), Fraction(value)
    if plain and leaf.kind.family == "timestamp":
        local = datetime(1970, 1, 1) + timedelta(microseconds=value // 1000)
        return f"TIMESTAMP '{local.isoformat(sep=' ')}'", f"({value})::HUGEINT"
    match leaf.kind.family:
        case "boolean":
            return random.choice(["TRUE", "true", "True"] if value else ["FALSE", "false", "fAlSe"]), str(value)
        case "string":
            return quoted_text(value), quoted(value)
        case "enum":
            label = random.choice(leaf.kind.labels)
            return quoted_text(label), quoted(label)
        case "timestamp":
            return _instant(random, leaf, value)
        case "float":
            return _float(random, value)
    return _exact(random, leaf, value)


def quoted_text(text: str) -> str:
    """Return a text as the language writes it."""
    return "'" + text.replace("'", "''") + "'"


def _exact(random: Random, leaf: Leaf, value: int | Decimal) -> tuple[str, Fraction]:
    number = Fraction(value)
    if random.random() < 0.2:
        number += random.choice(
            [1, -1, Fraction(1, 2), Fraction(-1, 2), Fraction(1, 10**leaf.kind.scale), Fraction(1, 10**12)]
        )
    if random.random() < 0.02:
        number = random.choice([1, -1]) * Fraction(10) ** random.choice([19, 38, 39, 77, 120])
    return (_whole if number.denominator == 1 else _fractional)(random, number), number


def _signed(random: Random, number: Fraction, digits: str) -> str:
    if number < 0:
        return random.choice(["-", "-", "-", "- "]) + digits
    return random.choice(["", "", "", "", "+"]) + digits


def _whole(random: Random, number: Fraction) -> str:
    whole = abs(int(number))
    form = random.random()
    if form < 0.08:
        return _signed(random, number, random.choice([f"0x{whole:x}", f"0X{whole:X}", f"0x00{whole:x}"]))
    if form < 0.2:
        return _signed(
            random, number, random.choice([f"{whole}.0", f"{whole}.", f"{whole}e0", f"{whole}0E-1", f"00{whole}.00"])
        )
    return _signed(random, number, f"{'0' * (form < 0.23)}{whole}")


def _fractional(random: Random, number: Fraction) -> str:
    places = 1
    while 10**places % number.denominator:
        places += 1
    steps = f"{abs(int(number * 10**places)):0{places + 1}d}"
    form = random.random()
    if form < 0.1:
        return _signed(random, number, f"{int(steps)}{random.choice('eE')}-{places}")
    before = steps[:-places] if form < 0.8 or steps[:-places] != "0" else ""
    return _signed(random, number, f"{before}.{steps[-places:]}{random.choice(['', '', '0'])}")


def _float(random: Random, value: float) -> tuple[str, Any]:
    """With a point or an exponent a literal means the double nearest to it; a whole one is exact."""
    if random.random() < 0.08:  # between two doubles
        return (text := str(random.choice([1, -1]) * (2 ** random.choice([53, 63, 64]) + 1))), Fraction(int(text))
    if not math.isfinite(value):
        text = random.choice(["1e400", "-1e400", "1e308", "1.7976931348623159e308", "2e-324", "3e-324"])
    elif value == int(value) and random.random() < 0.5:
        number = Fraction(int(value) + random.choice([0, 0, 0, 1, -1]))
        text = _whole(random, number)
        if not any(mark in text.lower().replace("0x", "") for mark in ".e") or "x" in text.lower():
            return text, number
    elif random.random() < 0.1 and 1e-5 < abs(value) < 1e15:
        text = _fractional(random, Fraction(value)) if Fraction(value).denominator > 1 else f"{value!r}"
    else:
        text = repr(value) if any(mark in repr(value) for mark in ".e") else f"{value!r}.0"
    plain = text.replace(" ", "")
    nearest = float(plain)
    usual = re.fullmatch(r"-?\d+\.\d+|-?\d+(\.\d+)?e[+-]?\d+", plain) and not math.isinf(nearest)
    return text, f"CAST('{plain}' AS DOUBLE)" if usual else double(nearest)


def _instant(random: Random, leaf: Leaf, value: int) -> tuple[str, str]:
    step = UNITS[leaf.kind.unit]
    moment = value + random.choice([0, 0, 0, 0, step, -step, 1, -1, 500])
    if not FIRST + DAY <= moment <= LAST - DAY:
        moment = random.choice([FIRST + DAY, LAST - DAY, 0])
    zone, minutes = random.choice(list(_ZONES.items()))
    seconds, fraction = divmod(moment + minutes * 60 * 10**9, 10**9)
    local = datetime(1970, 1, 1) + timedelta(seconds=seconds)
    text = f"{local.year:04d}-{local.month:02d}-{local.day:02d}"
    clock = f"{local.hour:02d}:{local.minute:02d}"
    if fraction or local.second or random.random() < 0.8:
        clock += f":{local.second:02d}"
    if fraction:
        decimals = f"{fraction:09d}".rstrip("0")
        clock += random.choice("...,") + random.choice([decimals, decimals, decimals.ljust(9, "0")])
    if clock not in ("00:00", "00:00:00") or random.random() < 0.7:
        text += random.choice("T ") + clock
    written = f"{random.choice(['TIMESTAMP', 'timestamp', 'TimeStamp'])} '{text}{zone}'"
    if moment % 1000 or "," in text or zone == "z" or random.random() < 0.3:
        return written, f"({moment})::HUGEINT"
    offset = zone if not zone or zone == "Z" or ":" in zone else f"{zone[:3]}:{zone[3:]}"
    if ":" not in text:
        text += " 00:00:00"
    elif clock.count(":") == 1:
        text += ":00"
    return (
        written,
        f"(epoch_us(TIMESTAMPTZ '{text.rstrip('0') if '.' in text else text}{offset or '+00:00'}')::HUGEINT * 1000)",
    )
