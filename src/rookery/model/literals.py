"""The literals of the WHERE language that take more than a look: numbers, timestamps, intervals.

TIMESTAMP, DATE and INTERVAL are keywords only before what makes them one, so that a field may have such a name.
"""

from __future__ import annotations

import re
from decimal import Decimal

from rookery.model.expressions import Literal, Timestamp
from rookery.model.instants import parse_instant
from rookery.model.intervals import UNITS, parse_interval
from rookery.model.tokens import TokenFault, shown, starts_number

__all__ = ["interval", "number", "starts_interval", "starts_timestamp", "timestamp"]

#: A decimal exponent past this is no measurement (the largest double is 1.8e308).
_MAXIMUM_EXPONENT = 400
_PLAIN_COUNT = re.compile(r"\s*[+-]?[0-9]+(?:\.[0-9]+)?\s*", re.ASCII)


def starts_timestamp(tokens: list[str], index: int) -> bool:
    """TIMESTAMP and DATE are keywords only before a string, so that a field may have that name."""
    token = tokens[index]
    return (
        (len(token) == 9 or len(token) == 4)
        and token.upper() in ("TIMESTAMP", "DATE")
        and token.isascii()
        and len(tokens[index + 1]) > 1
        and tokens[index + 1][0] == "'"
    )


def starts_interval(tokens: list[str], index: int) -> bool:
    """INTERVAL is a keyword only before a string or a number."""
    token = tokens[index]
    if len(token) != 8 or token.upper() != "INTERVAL" or not token.isascii():
        return False
    after = tokens[index + 1]
    return (len(after) > 1 and after[0] == "'") or starts_number(after) or after in ("-", "+")


def interval(tokens: list[str], index: int) -> tuple[Literal, int]:
    """Read a length of time: INTERVAL '1 day 2 hours', INTERVAL '5' MINUTE, INTERVAL 5 MINUTES."""
    start = index
    text = ""
    if tokens[index] in ("-", "+"):
        text = tokens[index]
        index += 1
    text += tokens[index][1:-1] if tokens[index][:1] == "'" else tokens[index]
    after = index + 1
    unit = tokens[after].lower()
    if (unit in UNITS or unit.removesuffix("s") in UNITS) and _PLAIN_COUNT.fullmatch(text):
        text, after = f"{text} {unit}", after + 1
    try:
        return Literal(parse_interval(text)), after
    except ValueError as error:
        raise TokenFault(start, str(error), "for example INTERVAL '1 day 2 hours' or INTERVAL 5 MINUTES") from None


def timestamp(tokens: list[str], index: int, *, date: bool) -> Literal:
    """Read the string after TIMESTAMP or DATE."""
    if date and len(tokens[index]) != len("'2026-05-01'"):
        raise TokenFault(index, f"{tokens[index]} is no date", "for example DATE '2026-05-01'")
    try:
        return Literal(Timestamp(parse_instant(tokens[index][1:-1])))
    except ValueError as error:
        raise TokenFault(index, str(error), "for example TIMESTAMP '2026-05-01T12:00:00Z'") from None


def number(token: str, index: int) -> int | Decimal:
    """Return the number that token `index` is."""
    if token.isdecimal():
        if len(token) > _MAXIMUM_EXPONENT:
            raise TokenFault(index, f"a number of {len(token)} digits is out of range")
        return int(token)
    if token[:2] in ("0x", "0X"):
        if len(token) > _MAXIMUM_EXPONENT:
            raise TokenFault(index, f"a number of {len(token) - 2} digits is out of range")
        return int(token, 16)
    number = Decimal(token)
    if len(token) > 2 * _MAXIMUM_EXPONENT or (number and abs(number.adjusted()) > _MAXIMUM_EXPONENT):
        raise TokenFault(index, f"the number {shown(token)} is out of range")
    if not number:
        return Decimal("0.0")
    return number
