"""Ranges of values as Spark SQL, with the same truth as in a worker, value by value.

What Spark and the language take differently is said here and nowhere else. NaN is NULL in the language and greater than
every number in Spark, so a range of numbers always has an upper end. -0.0 equals 0.0 in both, but not in what a Parquet
file says of its own values, so a lower end of zero is written -0.0. Texts are compared by their bytes, which is the
order of code points: a column with another collation has no ranges here. A date is its midnight.

Rule: what cannot be said exactly is not said: `leaf_of` is None then. Texts are written as bytes, since how Spark reads
a quoted one depends on its settings; a name is quoted whole, dots and all.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from math import inf
from typing import TYPE_CHECKING, Any

from rookery.matching.codes import TIME, TOPIC
from rookery.matching.ranges import AttributeRanges
from rookery.model.schema import Attribute, Schema
from rookery.model.texts import pattern_tokens, text_leaves
from rookery.model.types import BooleanType, DecimalType, FloatType, IntegerType, Key, StringType, key_float

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from rookery.spark.rules import Reading

__all__ = [
    "INFINITY",
    "SqlLeaf",
    "ambiguous",
    "date_of",
    "holds",
    "leaf_of",
    "points_text",
    "quoted",
    "range_text",
    "text_condition",
    "text_literal",
]

#: Seconds of a day.
_DAY = 86_400
INFINITY = "double('Infinity')"


@dataclass(frozen=True, slots=True)
class SqlLeaf:
    """An attribute as Spark sees it: its column, and the kind of its values."""

    column: str
    kind: str  # boolean, integer, double, float, decimal(p,s), timestamp, date, string
    attribute: Attribute


def ambiguous(columns: StructType) -> bool:
    """Say whether two columns differ in case alone, so that a name in SQL may be either."""
    names = [name.lower() for name in columns.names]
    return len(set(names)) < len(names)


def quoted(name: str) -> str:
    """Return the name of a column in SQL."""
    return "`" + name.replace("`", "``") + "`"


def leaf_of(attribute: Attribute, columns: StructType, reading: Reading) -> SqlLeaf | None:
    """Return a column of the events in which Spark has an attribute's values; None where it has none that is exact."""
    name: Any = attribute.path[0]
    if attribute is TIME:
        name = None if reading.as_of is not None else reading.time
    elif attribute is TOPIC:
        name = None if reading.topic is not None else "topic"
    if len(attribute.path) > 1 or name is None or name not in columns.names:
        return None
    kind = _kind(attribute, columns[name].dataType)
    return None if kind is None else SqlLeaf(quoted(name), kind, attribute)


def _kind(attribute: Attribute, spark: Any) -> str | None:
    from pyspark.sql import types as t

    match attribute.type, spark:
        case BooleanType(), t.BooleanType():
            return "boolean"
        case IntegerType(), t.ByteType() | t.ShortType() | t.IntegerType() | t.LongType():
            return "integer"
        case FloatType(), t.DoubleType():
            return "double"
        case FloatType(), t.FloatType():
            return "float"
        case DecimalType(precision, scale), t.DecimalType():
            return f"decimal({precision},{scale})"
        case StringType(), t.StringType() if type(spark) is t.StringType:
            return "string" if getattr(spark, "collation", "UTF8_BINARY") == "UTF8_BINARY" else None
    if type(spark) is t.TimestampType and getattr(attribute.type, "unit", "") == "us":
        return "timestamp"
    if type(spark) is t.DateType and getattr(attribute.type, "unit", "") == "s":
        return "date"
    return None


def text_literal(text: str) -> str:
    """Return a text in SQL."""
    return f"string(X'{text.encode().hex()}')"


def date_of(seconds: Key, *, upper: bool) -> int:
    """Return the last day that begins at an instant or before it; of a lower end the first at it or after."""
    days: int = seconds // _DAY if upper else -(-seconds // _DAY)
    return max(-(1 << 31), min(days, (1 << 31) - 1))


def _literal(leaf: SqlLeaf, key: Key, *, upper: bool) -> str:
    if leaf.kind == "string":
        return text_literal(key[0])
    if leaf.kind == "boolean":
        return "true" if key else "false"
    if leaf.kind == "timestamp":
        return f"timestamp_micros({key}L)"
    if leaf.kind == "date":
        return f"date_from_unix_date({date_of(key, upper=upper)})"
    if leaf.kind == "integer":
        return f"{key}L"
    if leaf.kind in ("double", "float"):
        value = key_float(key)
        if abs(value) == inf:
            return INFINITY if value > 0 else f"-{INFINITY}"
        return f"{value!r}D" if value or upper else "-0.0D"
    assert isinstance(leaf.attribute.type, DecimalType)
    return f"cast('{Decimal(key).scaleb(-leaf.attribute.type.scale):f}' as {leaf.kind})"


def range_text(leaf: SqlLeaf, null: bool, low: Key | None, high: Key | None) -> str:
    """Return a range of an attribute's values, or NULL, as a condition that is TRUE or is not."""
    column, is_double = leaf.column, leaf.kind in ("double", "float")
    if null:
        return f"({column} is null or isnan({column}))" if is_double else f"{column} is null"
    value = f"cast({column} as double)" if leaf.kind == "float" else column
    if leaf.kind == "string":
        return _text_range(column, low, high)
    if low is not None and low == high and not is_double and leaf.kind != "date":
        return f"{value} = {_literal(leaf, low, upper=True)}"
    parts = [] if low is None else [f"{value} >= {_literal(leaf, low, upper=False)}"]
    if high is not None:
        parts.append(f"{value} <= {_literal(leaf, high, upper=True)}")
    elif is_double:
        parts.append(f"{value} <= {INFINITY}")
    return f"({' and '.join(parts)})" if parts else f"{column} is not null"


def _text_range(column: str, low: Key | None, high: Key | None) -> str:
    """Return a range of texts, whose ends may be the gaps beside a text."""
    if low is not None and low == high and low[1] == 0:
        return f"{column} = {text_literal(low[0])}"
    parts = [] if low is None else [f"{column} {'>' if low[1] > 0 else '>='} {text_literal(low[0])}"]
    if high is not None:
        parts.append(f"{column} {'<' if high[1] < 0 else '<='} {text_literal(high[0])}")
    return f"({' and '.join(parts)})" if parts else f"{column} is not null"


def points_text(leaf: SqlLeaf, keys: list[Key]) -> str:
    """Return a list of single values that are no doubles."""
    return f"{leaf.column} in ({', '.join(_literal(leaf, key, upper=True) for key in keys)})"


def text_condition(key: str, schema: Schema, columns: StructType, reading: Reading) -> str | None:
    """Return a condition on texts; None for one that Spark may read otherwise: of folded texts, expressions, `_`."""
    found = []
    for path, kind, pattern in text_leaves(key):
        leaf = leaf_of(schema.attribute(path), columns, reading) if len(path) == 1 else None
        if kind != "like" or leaf is None or leaf.kind != "string" or (True, "_") in pattern_tokens(pattern):
            return None
        found.append(f"{leaf.column} like {text_literal(pattern)}")
    return f"({' or '.join(found)})"


def holds(ranges: AttributeRanges, place: int, key: Key | None) -> bool:
    """Say whether one value, the same of all events, lies in a range; None is NULL."""
    if key is None or ranges.null[place]:
        return key is None and bool(ranges.null[place])
    low, high = ranges.lower[place], ranges.upper[place]
    return (low is None or low <= key) and (high is None or key <= high)
