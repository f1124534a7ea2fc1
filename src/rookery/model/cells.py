"""Single values of a table of subscriptions: a cell of a text file, or a value that JSON or Python has typed.

Rule: a value is read as its column says, or it is a `ValueError` that says what was expected; `tables.py` makes it the
fault of that one subscription. A missing value is None, and so is an empty text where no text is wanted.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from rookery.model.events import plain_value
from rookery.model.instants import FIRST_INSTANT, LAST_INSTANT, MICROSECONDS, microseconds_of
from rookery.model.parameters import parameter_value

__all__ = ["CELLS", "integer", "microseconds", "text"]

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}", re.ASCII)
_SHOWN = 60


def _shown(value: object) -> str:
    text = repr(str(value) if isinstance(value, Decimal) else value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def integer(value: object) -> int:
    """Return an int64; a text is read as one, and a float that is whole is one."""
    number: int | None = None
    if isinstance(value, str):
        number = int(value) if _INTEGER.fullmatch(value.strip()) else None
    elif isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, float | Decimal) and math.isfinite(value) and value == int(value):
        number = int(value)
    if number is None:
        raise ValueError(f"is an integer, got {_shown(value)}")
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"does not fit int64: {_shown(value)}")
    return number


def microseconds(nanoseconds: int) -> int:
    """Return an instant in whole microseconds; ValueError for a finer one, and outside the years 1 to 9999."""
    if not FIRST_INSTANT <= nanoseconds <= LAST_INSTANT:
        raise ValueError("lies outside the years 1 to 9999 in UTC")
    if nanoseconds % MICROSECONDS:
        raise ValueError("is finer than a microsecond")
    return nanoseconds // MICROSECONDS


def text(value: object) -> str:
    """Return a text that UTF-8 can hold."""
    if not isinstance(value, str):
        raise ValueError(f"is a text, got {_shown(value)}")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"holds half a surrogate pair, which is no Unicode text: {_shown(value)}") from None
    return value


def _version(value: object) -> int | None:
    return None if _is_blank(value) else integer(value)


def _instant(value: object) -> int | None:
    if _is_blank(value):
        return None
    if not isinstance(value, str | date | datetime):
        raise ValueError(f"is a date, or a date and time, got {_shown(value)}")
    return microseconds_of(value)


def _parameters(value: object) -> list[str | None] | dict[str, str | None] | None:
    if _is_blank(value):
        return None
    values: Any = value
    if isinstance(value, str):
        try:
            values = json.loads(value, parse_float=Decimal)
        except (ValueError, RecursionError):
            values = None
    given = values.values() if isinstance(values, dict) else values
    if not isinstance(values, dict | list | tuple) or any(isinstance(one, dict) for one in given):
        raise ValueError(
            'are a list of values, in a text file as JSON (such as [10, "ACME"] or {"limit": 10}), got '
            f"{_shown(value)}"
        )
    if isinstance(values, dict):
        return {
            str(name): None if plain_value(one) is None else text(parameter_value(one)) for name, one in values.items()
        }
    return [None if plain_value(one) is None else text(parameter_value(one)) for one in values]


def _cooldown(value: object) -> float | None:
    if _is_blank(value):
        return None
    try:
        seconds = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise ValueError(f"is 0 or more seconds, got {_shown(value)}")
    return seconds


def _trigger(value: object) -> str | None:
    if _is_blank(value):
        return None
    if value not in ("every", "edge"):
        raise ValueError(f"is 'every' or 'edge', got {_shown(value)}")
    return str(value)


def _is_blank(value: object) -> bool:
    return isinstance(value, str) and not value.strip()


#: How a value of each column is read; the id is read by `tables.py`.
CELLS: dict[str, Callable[[Any], Any]] = {
    "where": text,
    "topic": text,
    "parameters": _parameters,
    "subscriber": text,
    "version": _version,
    "valid_from": _instant,
    "valid_to": _instant,
    "key": text,
    "trigger": _trigger,
    "cooldown": _cooldown,
}
