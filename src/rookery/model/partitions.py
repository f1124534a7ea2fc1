"""Columns in the names of folders, `date=2024-01-01/hour=7/`, as Hive and Spark lay tables out.

Rule: the answer is Spark's. A value is the first of int32, int64, a whole decimal, float64, timestamp and date that it
reads as, else text; a column has the type that holds all its values, else it is text; `__HIVE_DEFAULT_PARTITION__` is
NULL, and `%2F` in a text is the character. Two differences: a time of day is text, and a column that is NULL
throughout is text, since filters compare no times of day and nothing of type void.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import reduce
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa

from rookery.errors import RookeryError

__all__ = ["NULL_VALUE", "partition_columns", "split_folders"]

#: How Hive writes NULL.
NULL_VALUE = "__HIVE_DEFAULT_PARTITION__"

INSTANT = pa.timestamp("us", tz="UTC")

_INTEGER = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?(?:(\d+)\.?(\d*)|\.(\d+))(?:[eE]([+-]?\d+))?", re.ASCII)
# What Java's Double.parseDouble takes.
_FLOAT = re.compile(
    r"([+-]?)(?:(NaN)|(Infinity)|((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[fFdD]?"
    r"|(0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?)",
    re.ASCII,
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d)?", re.ASCII)
_JAVA_BLANKS = "".join(map(chr, range(33)))


def split_folders(folders: Sequence[str]) -> tuple[int, tuple[tuple[str, str], ...]]:
    """Return where the partition folders begin, and each one's column and value as it is written.

    They are the last ones of the form `column=value` in a row; plain folders below them mean nothing.
    """
    end = len(folders)
    while end and "=" not in folders[end - 1]:
        end -= 1
    begin = end
    while begin and "=" in folders[begin - 1]:
        begin -= 1
    parts = [folder.partition("=") for folder in folders[begin:end]]
    return begin if parts else 0, tuple((_unescape(name), value) for name, _, value in parts)


def partition_columns(
    rows: Sequence[Sequence[tuple[str, str]]], *, zone: str, error: type[RookeryError]
) -> tuple[pa.Schema, list[tuple[Any, ...]]]:
    """Return the partition columns and, for each row, their values. The rows name the same columns."""
    names = [name for name, _ in rows[0]] if rows else []
    fields, columns = [], []
    for place, name in enumerate(names):
        written = [row[place][1] for row in rows]
        if not name or not all(written):
            raise error(f"a partition folder is column=value, and '{name}={min(written)}' is not: rename it")
        kind = reduce(_wider, map(_kind, dict.fromkeys(written)))
        kind = pa.string() if pa.types.is_null(kind) else kind
        if kind == INSTANT:
            _zone(zone, error)
        values = {text: _value(text, kind, zone) for text in dict.fromkeys(written)}
        fields.append(pa.field(name, kind))
        columns.append([values[text] for text in written])
    return pa.schema(fields), list(zip(*columns, strict=True)) if columns else [() for _ in rows]


def _kind(text: str) -> pa.DataType:
    if text == NULL_VALUE:
        return pa.null()
    if _INTEGER.fullmatch(text):
        number = int(text)
        if -(2**31) <= number < 2**31:
            return pa.int32()
        if -(2**63) <= number < 2**63:
            return pa.int64()
    precision = _whole_digits(text)
    if precision is not None and precision <= 38:
        return pa.decimal128(precision, 0)
    if _FLOAT.fullmatch(text.strip(_JAVA_BLANKS)):
        return pa.float64()
    if _moment(_unescape(text)) is not None:
        return INSTANT
    return pa.date32() if _day(text) is not None else pa.string()


def _whole_digits(text: str) -> int | None:
    """Return the digits of a decimal number that is written without a fraction, None for anything else."""
    found = _DECIMAL.fullmatch(text)
    if found is None:
        return None
    whole, fraction, only, exponent = (part or "" for part in found.groups())
    scale = len(fraction or only) - int(exponent or 0)
    return None if scale > 0 else max(1, len((whole + fraction + only).lstrip("0"))) - scale


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the type that holds both, as Spark widens the types of partition values."""
    types = pa.types
    if one == other or types.is_null(other):
        return one
    if types.is_null(one):
        return other
    kinds = {one, other}
    if kinds == {pa.int32(), pa.int64()}:
        return pa.int64()
    if kinds == {pa.int32(), pa.float64()}:
        return pa.float64()
    if kinds == {pa.date32(), INSTANT}:
        return INSTANT
    digits = [_digits(kind) for kind in kinds]
    return pa.decimal128(max(digits), 0) if all(digits) else pa.string()


def _digits(kind: pa.DataType) -> int:
    """Return how many digits Spark allows a whole number of this type; 0 for what is none."""
    if pa.types.is_decimal(kind):
        return int(kind.precision)
    return {pa.int32(): 10, pa.int64(): 20}.get(kind, 0)


def _value(text: str, kind: pa.DataType, zone: str) -> Any:
    if text == NULL_VALUE:
        return None
    if pa.types.is_integer(kind):
        return int(text)
    if pa.types.is_decimal(kind):
        return Decimal(int(Decimal(text)))
    if kind == pa.float64():
        return _float(text)
    if kind == pa.date32():
        return date.fromisoformat(text)
    if kind == INSTANT:
        moment = _moment(_unescape(text)) or datetime.fromisoformat(text)  # else a date: its midnight
        return moment.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    return _unescape(text)


def _float(text: str) -> float:
    found = _FLOAT.fullmatch(text.strip(_JAVA_BLANKS))
    assert found is not None
    sign, nan, infinity, plain, hexadecimal = found.groups()
    if hexadecimal is None:
        value = float("nan" if nan else "inf" if infinity else plain)
    else:
        try:
            value = float.fromhex(hexadecimal)
        except OverflowError:
            value = float("inf")
    return -value if sign == "-" else value


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if _TIMESTAMP.fullmatch(text) else None
    except ValueError:
        return None


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        return None


def _zone(zone: str, error: type[RookeryError]) -> None:
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError):
        raise error(
            f"partition folders are named by times, and {zone!r} is no time zone to read them in: "
            "set spark.sql.session.timeZone to one such as 'UTC' or 'Europe/Berlin'"
        ) from None


def _unescape(text: str) -> str:
    """Undo Hive's escapes: each stands for one character below 256, whatever UTF-8 would make of several."""
    return re.sub(r"%([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), text)
