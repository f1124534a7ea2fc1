"""Functions and arithmetic: a closed list, each with its types and its exact meaning.

Rule 1: a function of NULL is NULL, except `coalesce`, `nullif`, `least` and `greatest`, which say what they do with it.
Rule 2: whole numbers are computed exactly, and a result that no int64 holds is NULL. Decimals are computed exactly, and
a result of more than 38 digits is NULL. Where one operand is a double, both are: the result is that of IEEE 754, and
NaN is NULL. `/` is always of doubles. Division by zero is NULL. `%` and `mod` have the sign of the dividend.
Rule 3: texts are counted in characters (code points), from 1. `lower` and `upper` map one character to one.
Rule 4: instants are taken in UTC, in the years 1 to 9999; past them a function of one is NULL (`intervals.py`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from rookery.model.addresses import address_of
from rookery.model.expressions import Interval
from rookery.model.instants import FIRST_INSTANT, LAST_INSTANT
from rookery.model.intervals import moved
from rookery.model.types import (
    BooleanType,
    DecimalType,
    DurationType,
    EnumType,
    FloatType,
    IntegerType,
    LeafType,
    StringType,
    TimestampType,
)

__all__ = ["ARITHMETIC", "FUNCTIONS", "TRUNCATED", "FunctionFault", "function_of"]

_MOST_DIGITS = 38
_MANY = 100
#: The functions that a filter may name, with how many arguments they take at least and at most.
FUNCTIONS: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("lower", "upper", "trim", "length", "address", "abs", "floor", "ceil"), (1, 1)),
    **dict.fromkeys(("year", "month", "day", "hour", "minute", "second"), (1, 1)),
    **dict.fromkeys(("starts_with", "ends_with", "contains", "mod", "nullif", "date_trunc"), (2, 2)),
    "substring": (2, 3),
    "round": (1, 2),
    **dict.fromkeys(("coalesce", "least", "greatest"), (1, _MANY)),
}
#: What arithmetic is called in the tree.
ARITHMETIC = ("+", "-", "*", "/", "%", "neg")
_WHOLE = IntegerType()
_DOUBLE = FloatType()
DURATION = DurationType()
#: Enough for the product of any two decimals of 38 digits.
_EXACT = Context(prec=2 * _MOST_DIGITS + 2)

Evaluate = Callable[..., Any]


class FunctionFault(Exception):  # noqa: N818 - internal, it becomes a SubscriptionError
    """Arguments that a function does not take."""


def function_of(name: str, kinds: Sequence[LeafType], literals: Sequence[Any]) -> tuple[LeafType, Evaluate]:
    """Return the type of a function's result and the function, of arguments of these types, None for NULL.

    `literals` has the value of each argument that is a literal, None for the others.
    """
    if name in ("+", "-") and any(kind.family in ("timestamp", "interval") for kind in kinds):
        return _moved(name, kinds, literals)
    if name in ARITHMETIC or name in ("mod", "abs", "round", "floor", "ceil"):
        return _numeric("%" if name == "mod" else name, kinds, literals)
    if name in ("coalesce", "nullif", "least", "greatest"):
        return _choice(name, kinds)
    if name in _TEXT_FUNCTIONS:
        wanted, result, evaluate = _TEXT_FUNCTIONS[name]
        for place, kind in enumerate(kinds):
            family = "string" if place < wanted else "number"
            if kind.family != family or (family == "number" and not isinstance(kind, IntegerType)):
                raise FunctionFault(
                    f"argument {place + 1} of {name} is a {'text' if place < wanted else 'whole number'}"
                )
        return result, _strict(evaluate)
    if not isinstance(kinds[-1], TimestampType):
        raise FunctionFault(f"{name} takes an instant, and this is a {kinds[-1].family}")
    if name == "date_trunc":
        unit = str(literals[0] or "").lower()
        if unit not in TRUNCATED:
            raise FunctionFault(f"date_trunc takes one of {', '.join(map(repr, TRUNCATED))} first")
        kind = TimestampType("s")
        return kind, _strict(lambda _, at: _within(kind, _truncated(unit, at)))
    return _WHOLE, _strict(lambda at: None if (found := _calendar(at)) is None else getattr(found, name))


def _strict(evaluate: Evaluate) -> Evaluate:
    """Return a function that is NULL of NULL."""
    return lambda *values: None if any(value is None for value in values) else evaluate(*values)


# ---- numbers -----------------------------------------------------------------------------------------------


def _numeric(name: str, kinds: Sequence[LeafType], literals: Sequence[Any]) -> tuple[LeafType, Evaluate]:
    if any(kind.family != "number" for kind in kinds):
        raise FunctionFault(f"{'-' if name == 'neg' else name} takes numbers")
    if name == "round" and len(kinds) == 2:
        places = literals[1]
        if type(places) is not int or not 0 <= places <= _MOST_DIGITS:
            raise FunctionFault(f"the second argument of round is a number of places, 0 to {_MOST_DIGITS}")
        kinds = kinds[:1]
    else:
        places = 0
    if name == "/" or any(isinstance(kind, FloatType) for kind in kinds):
        evaluate = _FLOAT[name]
        return _DOUBLE, _strict(lambda *values: _float_of(evaluate, places, values))
    if all(isinstance(kind, IntegerType) for kind in kinds):
        compute = _INTEGER[name]
        return _WHOLE, _strict(lambda *values: _integer_of(compute, values))
    scale = _scale(name, [kind.scale if isinstance(kind, DecimalType) else 0 for kind in kinds], places)
    if scale > _MOST_DIGITS:
        raise FunctionFault(f"the result would have {scale} decimals, and {_MOST_DIGITS} is the most")
    decide = _DECIMAL[name]
    kind = DecimalType(_MOST_DIGITS, scale)
    limit = Decimal(10) ** (_MOST_DIGITS - scale)
    return kind, _strict(lambda *values: _decimal_of(decide, places, scale, limit, values))


def _scale(name: str, scales: list[int], places: int) -> int:
    if name == "*":
        return sum(scales)
    if name in ("floor", "ceil"):
        return 0
    return min(max(scales), places) if name == "round" else max(scales)


def _integer_of(compute: Evaluate, values: Sequence[Any]) -> int | None:
    result = compute(*values[:2])
    return result if result is not None and -(1 << 63) <= result < 1 << 63 else None


def _remainder(left: int, right: int) -> int | None:
    return None if not right else abs(left) % abs(right) * (-1 if left < 0 else 1)


_INTEGER: dict[str, Evaluate] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "%": _remainder, "neg": operator.neg, "abs": abs,
    "round": lambda value, *_: value, "floor": lambda value: value, "ceil": lambda value: value,
}  # fmt: skip


def _float_of(evaluate: Evaluate, places: int, values: Sequence[Any]) -> float | None:
    doubles = [_double(value) for value in values]
    result = evaluate(doubles[0], places) if evaluate is _round_float else evaluate(*doubles)
    return None if result is None or result != result else result


def _double(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _divide(left: float, right: float) -> float | None:
    return None if right == 0 else left / right


def _float_remainder(left: float, right: float) -> float | None:
    return None if right == 0 or math.isinf(left) else math.fmod(left, right)


def _round_float(value: float, places: int) -> float:
    """Round to so many decimals, halves away from zero, as the shortest text of the double reads."""
    if math.isinf(value):
        return value
    return float(Decimal(repr(value)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, Context(prec=400)))


def _whole_float(evaluate: Callable[[float], int]) -> Evaluate:
    return lambda value: value if math.isinf(value) else float(evaluate(value))


_FLOAT: dict[str, Evaluate] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": _divide, "%": _float_remainder, "neg": operator.neg,
    "abs": abs, "round": _round_float, "floor": _whole_float(math.floor), "ceil": _whole_float(math.ceil),
}  # fmt: skip


def _decimal_of(decide: Evaluate, places: int, scale: int, limit: Decimal, values: Sequence[Any]) -> Decimal | None:
    exact = [Decimal(value) for value in values]
    result = decide(exact[0], places) if decide is _round_decimal else decide(*exact)
    if result is None or abs(result) >= limit:
        return None
    found: Decimal = result.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    return found


def _decimal_remainder(left: Decimal, right: Decimal) -> Decimal | None:
    return None if not right else Context(prec=400).remainder(left, right)


def _round_decimal(value: Decimal, places: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, _EXACT)


_DECIMAL: dict[str, Evaluate] = {
    "+": _EXACT.add, "-": _EXACT.subtract, "*": _EXACT.multiply, "%": _decimal_remainder,
    "neg": lambda value: value.copy_negate(), "abs": lambda value: value.copy_abs(), "round": _round_decimal,
    "floor": lambda value: Decimal(math.floor(value)), "ceil": lambda value: Decimal(math.ceil(value)),
}  # fmt: skip


# ---- one of several ------------------------------------------------------------------------------------------------


def _choice(name: str, kinds: Sequence[LeafType]) -> tuple[LeafType, Evaluate]:
    kind = _common(name, kinds)
    convert = _double if isinstance(kind, FloatType) else (lambda value: value)
    if name == "nullif":
        return kind, lambda one, other: None if one is None or (other is not None and one == other) else convert(one)
    if name == "coalesce":
        return kind, lambda *values: next((convert(value) for value in values if value is not None), None)
    best: Any = min if name == "least" else max

    def extreme(*values: Any) -> Any:
        known = [value for value in values if value is not None]
        return convert(best(known)) if known else None

    return kind, extreme


def _common(name: str, kinds: Sequence[LeafType]) -> LeafType:
    """Return the type that holds the values of all these types."""
    families = {kind.family for kind in kinds}
    if len(families) > 1:
        raise FunctionFault(f"{name} takes values of one kind, and these are {', '.join(sorted(families))}")
    if isinstance(kinds[0], StringType | BooleanType):
        return kinds[0]
    if isinstance(kinds[0], EnumType):
        raise FunctionFault(f"{name} takes no enum")
    if isinstance(kinds[0], TimestampType):
        return min((kind for kind in kinds if isinstance(kind, TimestampType)), key=lambda one: one.nanoseconds)
    if any(isinstance(kind, FloatType) for kind in kinds):
        return _DOUBLE
    scale = max(kind.scale if isinstance(kind, DecimalType) else 0 for kind in kinds)
    if scale:
        return DecimalType(_MOST_DIGITS, scale)
    if any(isinstance(kind, IntegerType) and kind.highest > _WHOLE.highest for kind in kinds):
        return DecimalType(_MOST_DIGITS, 0)
    return _WHOLE


# ---- texts and instants ------------------------------------------------------------------------------------


def _by_character(convert: Callable[[str], str]) -> Callable[[str], str]:
    def converted(text: str) -> str:
        whole = convert(text)
        if text.isascii():
            return whole
        return "".join(one if len(one := convert(character)) == 1 else character for character in text)

    return converted


def _substring(text: str, start: int, length: int | None = None) -> str:
    """Return characters from `start` on, the first being 1 and the last -1; 0 is taken for 1."""
    begin = start - 1 if start > 0 else 0 if start == 0 else len(text) + start
    end = len(text) if length is None else begin + length
    return text[max(begin, 0) : max(end, 0)]


_TEXT_FUNCTIONS: dict[str, tuple[int, LeafType, Evaluate]] = {
    "lower": (1, StringType(), _by_character(str.lower)),
    "upper": (1, StringType(), _by_character(str.upper)),
    "trim": (1, StringType(), lambda text: text.strip(" ")),
    "length": (1, _WHOLE, len),
    "address": (1, StringType(), address_of),
    "substring": (1, StringType(), _substring),
    "||": (2, StringType(), operator.add),
    "starts_with": (2, BooleanType(), str.startswith),
    "ends_with": (2, BooleanType(), str.endswith),
    "contains": (2, BooleanType(), lambda text, part: part in text),
}
_UNITS = ("year", "month", "day", "hour", "minute", "second")
#: What an instant may be cut down to; a week begins on Monday.
TRUNCATED = (*_UNITS, "quarter", "week")


def _moved(sign: str, kinds: Sequence[LeafType], literals: Sequence[Any]) -> tuple[LeafType, Evaluate]:
    """Return the sum or difference of an instant and a length of time, or the difference of two instants."""
    families = [kind.family for kind in kinds]
    if families == ["timestamp", "timestamp"] and sign == "-":
        return DURATION, _strict(lambda one, other: _within(DURATION, one - other))
    if families == ["interval", "timestamp"] and sign == "+":
        kind, evaluate = _moved(sign, kinds[::-1], literals[::-1])
        return kind, lambda length, at: evaluate(at, length)
    if families != ["timestamp", "interval"]:
        raise FunctionFault(f"{' and '.join(families)} cannot be joined by {sign}")
    at, length = kinds[0], literals[1]
    assert isinstance(at, TimestampType)
    fine = length.nanoseconds % at.nanoseconds == 0 if isinstance(length, Interval) else at.unit == "ns"
    kind = at if fine else TimestampType("ns")
    return kind, _strict(lambda one, by: _within(kind, moved(one, by, 1 if sign == "+" else -1)))


def _within(kind: TimestampType | DurationType, value: int | None) -> int | None:
    """Return nanoseconds that a type holds, None for others."""
    step = kind.nanoseconds if isinstance(kind, TimestampType) else 1
    return value if value is not None and kind.lowest < value // step <= kind.highest else None


def _calendar(nanoseconds: int) -> datetime | None:
    """Return an instant in the calendar, None past its years."""
    if not FIRST_INSTANT <= nanoseconds <= LAST_INSTANT:
        return None
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=nanoseconds // 1000)


def _truncated(unit: str, nanoseconds: int) -> int | None:
    moment = _calendar(nanoseconds)
    if moment is None:
        return None
    if unit == "week":
        if moment - timedelta(days=moment.weekday()) < datetime(1, 1, 1, tzinfo=UTC):
            return None
        moment, unit = moment - timedelta(days=moment.weekday()), "day"
    if unit == "quarter":
        moment, unit = moment.replace(day=1, month=moment.month - (moment.month - 1) % 3), "month"
    first = {"month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0}
    kept = _UNITS.index(unit)
    moment = moment.replace(microsecond=0, **{one: first[one] for one in _UNITS[kept + 1 :]})  # type: ignore[arg-type]
    return int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) * 10**9
