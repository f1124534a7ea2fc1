"""Values of events: how one raw value is read as the type that the schema gives its attribute.

Rule 1: a value fits its attribute if the attribute's type holds exactly that value; what does not fit is an EventError
that names the attribute and the value, or NULL where the caller said `on_error="null"`. What a value came in does not
count (Python, NumPy, pandas, any Arrow column: `event_columns.py`), so a batch reads as its rows do:

- a number (integer, float, decimal; a boolean is none) fits a number's attribute that has it: 3.0 fits int64 and 3.5
  does not, 2^53 fits float64 and 2^53+1 does not, decimal 0.5 fits float64 and decimal 0.1 does not;
- a float fits float32 as the float32 nearest to it, unless that is infinite. This is the only conversion that rounds:
  Python and JSON have no float32, so every source of such an attribute (DDS, Spark, pandas, struct) stores it this way;
- a date and time, a date (its midnight in UTC), or an ISO 8601 text fits a timestamp that is fine and wide enough;
- a text fits a string and an enum, a boolean a boolean. Bytes, times of day and durations fit nothing.

Rule 2: NULL, NaN, NaT, pandas' NA and a missing key are all None, whatever the attribute's type.
Rule 3: an event that has the key `topic` names its topic by it, and None is NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from struct import pack, unpack
from typing import Any

from rookery.errors import EventError
from rookery.model.expressions import EACH, SIZE, Timestamp, field_text, timestamp_text
from rookery.model.instants import instant_of
from rookery.model.schema import Attribute
from rookery.model.types import (
    BooleanType,
    DecimalType,
    EnumType,
    FloatType,
    IntegerType,
    ListType,
    StringType,
    TimestampType,
)

__all__ = ["TOPIC_KEY", "check_on_error", "comparable", "plain_value", "read_value", "shown_value", "step_into"]

#: The key, or the column, by which an event names its topic.
TOPIC_KEY = Attribute(("topic",), StringType())

_SHOWN = 80  # characters of a value in an error


def check_on_error(on_error: str) -> None:
    """Refuse an unknown way to treat values that do not fit."""
    if on_error not in ("raise", "null"):
        raise ValueError(f"on_error is 'raise' or 'null' for events, got {on_error!r}")


def read_value(event: Mapping[str, Any], attribute: Attribute, on_error: str = "raise") -> Any:
    """Return an attribute of a dict event as the language compares it."""
    try:
        return comparable(attribute, step_into(event, attribute.path))
    except EventError:
        if on_error == "null":
            return None
        raise


def step_into(event: Mapping[str, Any], path: tuple[str | int, ...]) -> Any:
    """Return the raw value at `path` of a dict event, None where any step is missing or NULL.

    A value of another shape than the path steps into is an EventError: NULL would hide it.
    """
    return _stepped(event, path, 0)


def _stepped(value: Any, path: tuple[str | int, ...], start: int) -> Any:
    for depth in range(start, len(path)):
        step = path[depth]
        if isinstance(step, int):
            if step == SIZE and isinstance(value, Mapping):
                return len(value)
            if not isinstance(value, list | tuple):
                value = plain_value(value)
                if value is None:
                    return None
                if getattr(value, "ndim", 0) != 1:  # a NumPy array is a list
                    raise EventError(f"{field_text(path[:depth])} is a list, and the event has {shown_value(value)}")
            if step == SIZE:
                return len(value)
            if step == EACH:
                return [_stepped(item, path, depth + 1) for item in value]
            value = value[step] if step < len(value) else None
        else:
            if not isinstance(value, Mapping):
                value = plain_value(value)
                if value is None and depth:
                    return None
                what = (
                    f"{field_text(path[:depth])} is a struct, and the event"
                    if depth
                    else "an event is a mapping, and this"
                )
                raise EventError(f"{what} has {shown_value(value)}")
            value = value.get(step)
    return value


def comparable(attribute: Attribute, value: Any) -> Any:
    """Return a raw value as the language compares it: int, float, Decimal, str, bool, nanoseconds, or None."""
    kind = attribute.type
    if type(value) is int and type(kind) is IntegerType and kind.lowest <= value <= kind.highest:
        return value  # the usual integer, at once
    if isinstance(kind, ListType):
        item = Attribute(attribute.path, kind.item)  # type: ignore[arg-type]
        return None if value is None else [comparable(item, one) for one in value]
    value = plain_value(value)
    if value is None:
        return None
    found: Any = None
    match kind:
        case StringType() | EnumType() if isinstance(value, str):
            found = _text(value)
        case BooleanType() if isinstance(value, bool):
            return value
        case TimestampType() if isinstance(value, str) or _is_instant(value):
            return _instant(attribute, kind, value)
        case FloatType() | IntegerType() | DecimalType() if _is_number(value):
            found = _number(kind, value)
        case _:
            article = "an" if kind.name[0] in "aeiou" else "a"
            raise EventError(f"{attribute.text} is {article} {kind.name}, and the event has {shown_value(value)}")
    if found is None:
        raise _misfit(attribute, value)
    return found


def plain_value(value: Any) -> Any:
    """Return a raw value without its NumPy wrapping, and every kind of NULL as None."""
    if isinstance(value, float):
        return value if value == value else None
    if value is None or isinstance(value, int | str | Mapping):
        return value
    if isinstance(value, Decimal):
        return None if value.is_nan() else value
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    if package == "numpy" and getattr(value, "ndim", 1) == 0:
        if value.dtype.kind in "mM":
            return None if value != value else value  # NaT
        inner = value.item()
        return inner if inner == inner else None
    if package == "pandas" and kind.__name__ in ("NAType", "NaTType"):
        return None
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _is_instant(value: Any) -> bool:
    if isinstance(value, date | Timestamp):
        return True
    return getattr(getattr(value, "dtype", None), "kind", None) == "M" and value.ndim == 0  # NumPy's


def _text(value: str) -> str | None:
    """Return a text, None where UTF-8 cannot hold it: half a surrogate pair is in no column either."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return str(value)


def _number(kind: FloatType | IntegerType | DecimalType, value: int | float | Decimal) -> Any:
    """Return a number as a type holds it, None where the type does not have it."""
    match kind:
        case FloatType():
            return _float(kind, value)
        case IntegerType():
            if isinstance(value, Decimal):
                # No number of more digits fits; turning it into an integer first might take forever.
                whole = int(value) if value.is_finite() and value.adjusted() < 20 else None
            else:
                whole = int(value) if isinstance(value, int) or value.is_integer() else None
            return whole if whole is not None and whole == value and kind.lowest <= whole <= kind.highest else None
    if isinstance(value, int):
        return Decimal(value) if kind.lowest <= value * 10**kind.scale <= kind.highest else None
    return _decimal(kind, value if isinstance(value, Decimal) else Decimal(value))


def _float(kind: FloatType, value: int | float | Decimal) -> float | None:
    try:
        number = float(value)
        if kind.bits == 32:
            number = float(unpack("<f", pack("<f", number))[0])
    except OverflowError:
        return None
    if isinstance(value, Decimal):
        return number if Decimal(number) == value else None
    return number if isinstance(value, float) or number == value else None


def _decimal(kind: DecimalType, value: Decimal) -> Decimal | None:
    if not value.is_finite():
        return None
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    last = next((place for place in range(len(digits) - 1, -1, -1) if digits[place]), None)
    if last is None:
        return Decimal(0)
    # By its digits alone: a number with an exponent of millions would take forever to write out.
    finest = exponent + len(digits) - 1 - last
    return value if finest >= -kind.scale and value.adjusted() < kind.precision - kind.scale else None


def _instant(attribute: Attribute, kind: TimestampType, value: Any) -> int:
    try:
        nanoseconds = instant_of(value)
    except ValueError as error:
        raise EventError(f"{attribute.text} is a {kind.name}: {error}") from None
    if nanoseconds % kind.nanoseconds:
        raise EventError(f"{attribute.text}: {shown_value(value)} is finer than {kind.name}")
    if not kind.lowest <= nanoseconds // kind.nanoseconds <= kind.highest:
        raise _misfit(attribute, value)
    return nanoseconds


def _misfit(attribute: Attribute, value: Any) -> EventError:
    return EventError(f"{attribute.text}: {shown_value(value)} does not fit {attribute.type.name}")


def shown_value(value: Any) -> str:
    """Return a value as an error shows it: the same text for the same value, whatever it came in."""
    if _is_instant(value):
        nanoseconds = instant_of(value)
        try:
            return timestamp_text(nanoseconds)
        except OverflowError:  # past the calendar
            return f"{nanoseconds} ns since 1970"
    if isinstance(value, int) and value.bit_length() > 4 * _SHOWN:
        return f"an integer of {value.bit_length():,} bits"
    text = str(value) if _is_number(value) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
