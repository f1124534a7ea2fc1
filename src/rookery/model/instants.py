"""Instants: what counts as a point in time, and how it is read.

Rule: an instant is a whole number of nanoseconds since 1970-01-01T00:00:00Z. A time without a zone is UTC, and a date
is its midnight in UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

from rookery.model.expressions import Timestamp

__all__ = ["FIRST_INSTANT", "LAST_INSTANT", "MICROSECONDS", "instant_of", "microseconds_of", "parse_instant"]

MICROSECONDS = 1_000
_UNITS = {"ns": 1, "us": 1_000, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9, "D": 86_400 * 10**9}
_FINER_UNITS = {"ps": 10**3, "fs": 10**6, "as": 10**9}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ISO = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?)?\s*(Z|z|[+-]\d{2}:?\d{2})?", re.ASCII
)


def _nanoseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1) * MICROSECONDS


#: The first and the last instant that a text can name; a zone could carry a text past them.
FIRST_INSTANT = _nanoseconds(datetime.min.replace(tzinfo=UTC))
LAST_INSTANT = _nanoseconds(datetime.max.replace(tzinfo=UTC)) + 999


def parse_instant(text: str) -> int:
    """Return the nanoseconds since the epoch of an ISO 8601 date or date and time; ValueError says what is wrong."""
    found = _ISO.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not an ISO 8601 date and time")
    day, clock, seconds, fraction, zone = found.groups()
    stamp = f"{day}T{clock or '00:00'}:{seconds or '00'}"
    if zone in (None, "Z", "z"):
        stamp += "+00:00"
    else:
        stamp += zone if ":" in zone else f"{zone[:3]}:{zone[3:]}"
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a date and time: {error}") from None
    nanoseconds = _nanoseconds(moment) + int((fraction or "").ljust(9, "0"))
    if not FIRST_INSTANT <= nanoseconds <= LAST_INSTANT:
        raise ValueError(f"{text!r} lies outside the years 1 to 9999 in UTC")
    return nanoseconds


def instant_of(value: object) -> int:
    """Return the nanoseconds since the epoch of a datetime, a date, a NumPy or pandas one, or an ISO 8601 text.

    Anything else is a TypeError, and a value that is no instant a ValueError.
    """
    if isinstance(value, datetime):
        if hasattr(value, "asm8"):  # a pandas Timestamp, which counts in a unit of its own
            return _counted(value.asm8)
        return _nanoseconds(value.replace(tzinfo=UTC) if value.tzinfo is None else value)
    if isinstance(value, date):
        return _nanoseconds(datetime(value.year, value.month, value.day, tzinfo=UTC))
    if isinstance(value, str):
        return parse_instant(value)
    if isinstance(value, Timestamp):
        return value.nanoseconds
    if getattr(getattr(value, "dtype", None), "kind", None) == "M":
        return _counted(value)
    raise TypeError(f"expected a date and time, got {value!r}")


def _counted(moment: Any) -> int:
    """Return the nanoseconds of a NumPy datetime64, in whole numbers that cannot overflow."""
    import numpy as np

    if np.isnat(moment):
        raise ValueError("NaT is no instant")
    unit, step = np.datetime_data(moment.dtype)
    if unit in ("Y", "M", "W"):  # months and years have no fixed length, weeks are days
        moment, unit, step = moment.astype("datetime64[D]"), "D", 1
    count = int(moment.astype(np.int64)) * step
    if unit in _UNITS:
        return count * _UNITS[unit]
    nanoseconds, rest = divmod(count, _FINER_UNITS[unit])
    if rest:
        raise ValueError(f"{moment} is finer than a nanosecond")
    return nanoseconds


def microseconds_of(value: object) -> int:
    """Return the microseconds since the epoch of an instant that has no finer part; ValueError otherwise."""
    nanoseconds = instant_of(value)
    if nanoseconds % MICROSECONDS:
        raise ValueError(f"{value} is finer than a microsecond; effective dates are whole microseconds")
    return nanoseconds // MICROSECONDS
