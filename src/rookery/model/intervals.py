"""Lengths of time: `INTERVAL '1 day 2 hours'`, `INTERVAL 5 MINUTES`, and instants moved by them.

Rule 1: days, hours and what is shorter have a fixed length in UTC. A month has none: an instant is moved by months in
the calendar, and where the day does not exist the last day of that month is taken.
Rule 2: an instant that is moved past the years 1 to 9999 is NULL, and so is a difference that no int64 of nanoseconds
holds.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from rookery.model.expressions import Interval
from rookery.model.instants import FIRST_INSTANT, LAST_INSTANT

__all__ = ["UNITS", "moved", "parse_interval"]

_DAY = 86_400 * 10**9
#: Months and nanoseconds of each unit; each may be written in the singular and the plural.
UNITS: dict[str, tuple[int, int]] = {
    "year": (12, 0), "month": (1, 0), "week": (0, 7 * _DAY), "day": (0, _DAY), "hour": (0, 3600 * 10**9),
    "minute": (0, 60 * 10**9), "second": (0, 10**9), "millisecond": (0, 10**6), "microsecond": (0, 1000),
    "nanosecond": (0, 1),
}  # fmt: skip
_PART = re.compile(r"\s*([+-]?\s*[0-9]{1,18}(?:\.[0-9]{1,9})?)\s*([a-zA-Z]+)\s*")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_MONTHS = 12 * 9999


def parse_interval(text: str) -> Interval:
    """Return a length of time from text such as `1 day 2 hours`; ValueError says what is wrong."""
    months = nanoseconds = at = 0
    while at < len(text) or not at:
        part = _PART.match(text, at)
        unit = part and (UNITS.get(part[2].lower()) or UNITS.get(part[2].lower().removesuffix("s")))
        if not part or not unit:
            raise ValueError(f"{text!r} is no length of time")
        count = Decimal(part[1].replace(" ", ""))
        length = [count * one for one in unit]
        if any(one != int(one) for one in length):
            raise ValueError(f"{text!r} is no whole number of {'months' if unit[0] else 'nanoseconds'}")
        months, nanoseconds, at = months + int(length[0]), nanoseconds + int(length[1]), part.end()
    if abs(months) > _MOST_MONTHS or abs(nanoseconds) > LAST_INSTANT - FIRST_INSTANT:
        raise ValueError(f"{text!r} is longer than the calendar")
    return Interval(months, nanoseconds)


def moved(instant: int, by: Interval | int, sign: int = 1) -> int | None:
    """Return an instant moved by a length of time (a whole number is nanoseconds), None past the calendar."""
    if isinstance(by, int):
        by = Interval(0, by)
    if by.months:
        if not FIRST_INSTANT <= instant <= LAST_INSTANT:
            return None
        moment = _EPOCH + timedelta(microseconds=instant // 1000)
        month = moment.year * 12 + moment.month - 1 + sign * by.months
        year, month = divmod(month, 12)
        if not 1 <= year <= 9999:
            return None
        day = min(moment.day, monthrange(year, month + 1)[1])
        there = moment.replace(year=year, month=month + 1, day=day)
        instant = (there - _EPOCH) // timedelta(microseconds=1) * 1000 + instant % 1000
    instant += sign * by.nanoseconds
    return instant if FIRST_INSTANT <= instant <= LAST_INSTANT else None
