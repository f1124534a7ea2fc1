"""One comparison with a value in DuckDB's SQL, decided over exact values.

DuckDB would compare a BIGINT with a decimal or a double through a cast that rounds or overflows. So both sides have the
same type here: whole numbers are HUGEINT, decimals DECIMAL(38, scale), floats DOUBLE, instants HUGEINT nanoseconds, and
decimals past 38 digits texts of 78 digits that stand in the order of their numbers. A value that the type does not have
is replaced by the nearest below or above, found with fractions; where there is none the comparison is the same of all
values, and NULL of NULL. An integer against a value of few decimals is left to DuckDB's own DECIMAL(38, 10).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .kinds import Kind

__all__ = ["Leaf", "among", "between", "compare", "double", "quoted", "wide_text"]

_WIDEST = 10**38
_LARGEST = 1.7976931348623157e308
_OFFSET = 10**77


@dataclass(frozen=True, slots=True)
class Leaf:
    """What a condition may name: its text, its kind, its column in DuckDB, and values that it may have."""

    number: int
    text: str
    path: tuple[str | int, ...]
    kind: Kind
    values: tuple[Any, ...]

    @property
    def sql(self) -> str:
        return f"v{self.number}"


def quoted(text: str) -> str:
    """Return a text as SQL: the parser takes no NUL."""
    parts = ["'" + part.replace("'", "''") + "'" for part in text.split("\x00")]
    return parts[0] if len(parts) == 1 else "(" + " || chr(0) || ".join(parts) + ")"


def double(value: float) -> str:
    """Return a double as SQL."""
    return f"CAST('{value!r}' AS DOUBLE)"


def wide_text(steps: int) -> str:
    """Return a whole number as a text that stands among texts as it stands among numbers."""
    return f"{steps + _OFFSET:078d}"


def _around(kind: Kind, value: Fraction) -> tuple[str | None, str | None]:
    """Return the SQL of the nearest values of a type at or below, and at or above; None where there is none."""
    if kind.family == "float":
        try:
            near = float(value)
        except OverflowError:
            near = math.copysign(math.inf, value)
        if math.isinf(near):
            low, high = (_LARGEST, math.inf) if near > 0 else (-math.inf, -_LARGEST)
        elif Fraction(near) == value:
            low = high = near
        elif Fraction(near) < value:
            low, high = near, math.nextafter(near, math.inf)
        else:
            low, high = math.nextafter(near, -math.inf), near
        return double(low), double(high)
    steps = value * 10**kind.scale
    ends = [math.floor(steps), math.ceil(steps)]
    if kind.wide:
        return tuple(quoted(wide_text(max(-_OFFSET, min(_OFFSET, one)))) for one in ends)  # type: ignore[return-value]
    below = None if ends[0] <= -_WIDEST else _step(kind, min(ends[0], _WIDEST - 1))
    return below, None if ends[1] >= _WIDEST else _step(kind, max(ends[1], 1 - _WIDEST))


def _step(kind: Kind, steps: int) -> str:
    if kind.family == "integer":
        return f"({steps})::HUGEINT"
    digits = f"{abs(steps):0{kind.scale + 1}d}"
    point = len(digits) - kind.scale
    return f"CAST('{'-' if steps < 0 else ''}{digits[:point]}.{digits[point:]}0' AS DECIMAL(38,{kind.scale}))"


def _always(leaf: Leaf) -> str:
    return f"({leaf.sql} IS NOT NULL OR NULL)"


def _never(leaf: Leaf) -> str:
    return f"({leaf.sql} IS NULL AND NULL)"


def compare(leaf: Leaf, sign: str, value: Any) -> str:
    """Return `leaf sign value`: a number is a Fraction or SQL of a double, the rest SQL of its own type."""
    if isinstance(value, str):
        return f"({leaf.sql} {sign} {value})"
    if (
        leaf.kind.family == "integer"
        and value.denominator != 1
        and abs(value) < 10**26
        and 10**10 % value.denominator == 0
    ):
        steps = f"{abs(int(value * 10**10)):011d}"
        exact = f"CAST('{'-' if value < 0 else ''}{steps[:-10]}.{steps[-10:]}' AS DECIMAL(38,10))"
        return f"({leaf.sql}::DECIMAL(38,10) {sign} {exact})"
    below, above = _around(leaf.kind, value)
    if sign in ("<", ">="):
        if above is None:
            return _always(leaf) if sign == "<" else _never(leaf)
        return f"({leaf.sql} {sign} {above})"
    if sign in (">", "<="):
        if below is None:
            return _always(leaf) if sign == ">" else _never(leaf)
        return f"({leaf.sql} {sign} {below})"
    if below != above or below is None:
        return _never(leaf) if sign == "=" else _always(leaf)
    return f"({leaf.sql} {sign} {below})"


def between(leaf: Leaf, low: Any, high: Any) -> str:
    """Return `leaf BETWEEN low AND high`."""
    if isinstance(low, str) and isinstance(high, str):
        return f"({leaf.sql} BETWEEN {low} AND {high})"
    return f"({compare(leaf, '>=', low)} AND {compare(leaf, '<=', high)})"


def among(leaf: Leaf, values: list[Any]) -> str:
    """Return `leaf IN (values)`."""
    if all(isinstance(one, str) for one in values):
        return f"({leaf.sql} IN ({', '.join(values)}))"
    return "(" + " OR ".join(compare(leaf, "=", one) for one in values) + ")"
