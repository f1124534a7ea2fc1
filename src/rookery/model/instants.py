"""Instants: what counts as a point in time, and how it is read.

Rule: an instant is a whole number of nanoseconds since 1970-01-01T00:00:00Z. A time without a zone is UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

__all__ = ["FIRST_INSTANT", "LAST_INSTANT", "MICROSECONDS", "instant_of", "microseconds_of", "parse_instant"]

MICROSECONDS = 1_000
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
    """Return the nanoseconds since the epoch of a datetime, a date or an ISO 8601 text; TypeError for anything else."""
    if isinstance(value, datetime):
        moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value
        # A pandas Timestamp is a datetime with nanoseconds of its own.
        return _nanoseconds(moment) + int(getattr(value, "nanosecond", 0))
    if isinstance(value, date):
        return _nanoseconds(datetime(value.year, value.month, value.day, tzinfo=UTC))
    if isinstance(value, str):
        return parse_instant(value)
    raise TypeError(f"expected a date and time, got {value!r}")


def microseconds_of(value: object) -> int:
    """Return the microseconds since the epoch of an instant that has no finer part; ValueError otherwise."""
    nanoseconds = instant_of(value)
    if nanoseconds % MICROSECONDS:
        raise ValueError(f"{value} is finer than a microsecond; effective dates are whole microseconds")
    return nanoseconds // MICROSECONDS
