"""Computed attributes: what a filter says of fields beyond their own values, as one attribute of the event.

`price > lim` is TRUE, FALSE or UNKNOWN of an event, so it is a boolean attribute that the event does not carry, and
`lower(symbol)` is a text that it does not carry. They are computed from those it does, once per batch for all
subscriptions that name them; what is compared with their values is a set of values like any other. Filters that mean
the same share one: `a < b`, `b > a` and NOT `a >= b` are one attribute.

Rule 1: its path is ("$=", text), and the text parses to the expression again, so that a saved set needs nothing else.
Rule 2: a column is computed by Arrow and NumPy where they are exact for these types, and by value elsewhere (a double
against a decimal, an int64 past 2⁵³ against a double, texts that are not ASCII): exact always, and once per event,
whatever the number of subscriptions.
Rule 3: what is NULL of a NULL is looked at only in the rows that have all its fields, and by value only in those of
them whose texts are not ASCII, so that a field that few events have costs the others nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rookery.errors import SchemaError
from rookery.model.addresses import address_column
from rookery.model.arrow_types import type_to_arrow
from rookery.model.check import Checker, ComputedAttribute, TypeFault
from rookery.model.evaluate import condition
from rookery.model.event_columns import array_of, comparables
from rookery.model.expressions import (
    AnyElement,
    Call,
    Comparison,
    Field,
    Interval,
    IsNull,
    Like,
    Literal,
    Operand,
    Timestamp,
    fields_of,
    value_text,
)
from rookery.model.instants import FIRST_INSTANT, LAST_INSTANT
from rookery.model.parser import parse
from rookery.model.schema import Attribute, Schema
from rookery.model.types import (
    BooleanType,
    DurationType,
    EnumType,
    FloatType,
    IntegerType,
    LeafType,
    StringType,
    TimestampType,
)

__all__ = ["comparison_attribute", "computed_attribute", "computed_column", "computed_value"]

_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITE = {"<>": "=", ">=": "<", "<=": ">"}
_ARROW = {"=": pc.equal, "<": pc.less, ">": pc.greater}
_NUMPY = {"=": np.equal, "<": np.less, ">": np.greater}
_FLOAT_SUMS = {"+": np.add, "-": np.subtract, "*": np.multiply}
_ASCII = {"lower": pc.ascii_lower, "upper": pc.ascii_upper, "length": pc.binary_length}

#: The functions that may have a value where an argument is NULL.
_NULL_TAKING = ("coalesce", "nullif", "least", "greatest")
_PARTS = {
    "year": pc.year, "month": pc.month, "day": pc.day, "hour": pc.hour, "minute": pc.minute, "second": pc.second,
}  # fmt: skip
#: A sum of two such numbers of nanoseconds fits an int64 and lies in the calendar.
_ROOM = 1 << 61
#: From the second of January of the year 1 on, a week begins in the calendar.
_FIRST = FIRST_INSTANT + 7 * 86_400 * 10**9

Path = tuple[str | int, ...]
Arrays = Mapping[Path, pa.Array]


def comparison_attribute(node: Comparison, checker: Checker) -> tuple[ComputedAttribute, bool]:
    """Return the attribute of a comparison of operands, and whether it is TRUE where that is (FALSE otherwise)."""
    left, right, sign = checker.bound(node.left), checker.bound(node.right), node.operator
    if value_text(right) < value_text(left):
        left, right, sign = right, left, _MIRRORED[sign]
    wanted = sign not in _OPPOSITE
    bound = Comparison(sign if wanted else _OPPOSITE[sign], left, right)
    fields = tuple(checker.attribute(Field(path)) for path in dict.fromkeys(fields_of(bound)))
    return ComputedAttribute(bound, BooleanType(), fields, condition(bound, checker.schema)), wanted


def computed_attribute(schema: Schema, path: Path) -> ComputedAttribute:
    """Return the computed attribute of a path; SchemaError where its text is none over this schema."""
    checker = Checker(schema)
    text = str(path[-1])
    try:
        node = parse(text)
        if isinstance(node, AnyElement):
            found = checker.each(node)
            if found.path != path:
                raise SchemaError(f"{text!r:.60} is no computed attribute")
            return found
        if isinstance(node, Like):  # `contains(s, 'x')` is a condition; compared, it is a value
            node = parse(f"{text} IS NULL")
        if isinstance(node, Comparison) and isinstance(node.right, Field | Call):
            checker.comparison(node)
            found = comparison_attribute(node, checker)[0]
        elif not isinstance(node, Comparison | IsNull):
            raise SchemaError(f"{text!r:.60} is no computed attribute")
        else:
            computed = checker.attribute(node.left if isinstance(node, Comparison) else node.field)
            if not isinstance(computed, ComputedAttribute):
                raise SchemaError(f"{text!r:.60} is no computed attribute")
            found = computed
    except (ValueError, TypeFault) as error:
        raise SchemaError(f"{text!r:.60} is no computed attribute: {error}") from None
    if found.path != path:
        raise SchemaError(f"{text!r:.60} is no computed attribute")
    return found


def computed_value(attribute: ComputedAttribute, read: Callable[[Attribute], Any]) -> Any:
    """Return the value for one event, whose values `read` gives as the language compares them."""
    return attribute.value_of({one.path: read(one) for one in attribute.fields})


def computed_column(attribute: ComputedAttribute, arrays: Arrays, count: int) -> pa.Array:
    """Return the column of a computed attribute, of `count` rows, from those of its fields as `event_column` has them.

    What names no field has one value for all.
    """
    if not attribute.fields:
        return array_of(attribute.type, [attribute.value_of({})]).take(pa.array(np.zeros(count, np.int64)))
    if isinstance(attribute.node, AnyElement):
        from rookery.model.elements import element_column

        return element_column(attribute, arrays)
    kinds = {one.path: one.type for one in attribute.fields}
    try:
        return _vectorised(attribute, arrays, kinds)
    except (_InexactError, pa.ArrowException):
        if _null_of_null(attribute.node):
            return _of_whole_rows(attribute, arrays, kinds, count)
        return _by_value(attribute, arrays)


def _by_value(attribute: ComputedAttribute, arrays: Arrays) -> pa.Array:
    values = [comparables(one, arrays[one.path]) for one in attribute.fields]
    paths = [one.path for one in attribute.fields]
    found = [attribute.value_of(dict(zip(paths, row, strict=True))) for row in zip(*values, strict=True)]
    return array_of(attribute.type, found)


def _null_of_null(node: Any) -> bool:
    """Say whether an expression is NULL wherever one of its fields is."""
    if isinstance(node, Comparison):
        return _null_of_null(node.left) and _null_of_null(node.right)
    if isinstance(node, Call):
        return node.name not in _NULL_TAKING and all(map(_null_of_null, node.arguments))
    return isinstance(node, Field | Literal)


def _of_whole_rows(
    attribute: ComputedAttribute, arrays: Arrays, kinds: Mapping[Path, LeafType], count: int
) -> pa.Array:
    """Return a column of what is NULL of a NULL; rows whose texts are ASCII go by Arrow, if that is exact for them."""
    whole, plain = np.ones(count, bool), np.ones(count, bool)
    for one in attribute.fields:
        array = arrays[one.path]
        whole &= array.is_valid().to_numpy(zero_copy_only=False)
        if isinstance(one.type, StringType | EnumType):
            plain &= pc.fill_null(pc.string_is_ascii(_texts(array)), True).to_numpy(zero_copy_only=False)
    places = np.full(count, -1, np.int64)
    found: list[pa.Array] = []
    for rows, ascii_only in ((np.flatnonzero(whole & plain), True), (np.flatnonzero(whole & ~plain), False)):
        places[rows] = sum(map(len, found)) + np.arange(len(rows))
        taken = {path: array.take(pa.array(rows)) for path, array in arrays.items() if path in kinds}
        if not len(rows):
            continue
        try:
            if not ascii_only:
                raise _InexactError
            found.append(_vectorised(attribute, taken, kinds))
        except (_InexactError, pa.ArrowException):
            found.append(_by_value(attribute, taken))
    if not found:
        return array_of(attribute.type, [None]).take(pa.array(np.zeros(count, np.int64)))
    joined = pa.concat_arrays([one.cast(found[0].type) for one in found])
    return joined.take(pa.array(places, mask=places < 0))


class _InexactError(Exception):
    """Arrow would not compute this exactly."""


def _vectorised(attribute: ComputedAttribute, arrays: Arrays, kinds: Mapping[Path, LeafType]) -> pa.Array:
    node = attribute.node
    if isinstance(node, Call):
        if isinstance(attribute.type, FloatType):
            values = _doubles(node, arrays, kinds)
            return pa.array(values, mask=np.isnan(values))
        if node.name == "address" and isinstance(node.arguments[0], Field):
            return address_column(_texts(arrays[node.arguments[0].path]))
        if isinstance(attribute.type, DurationType | TimestampType) and node.name in ("+", "-"):
            return _lengths(attribute.type, *_instants(node, arrays, kinds))
        if isinstance(node.arguments[-1], Field) and node.arguments[-1].path in _calendars(kinds):
            return _calendar_part(node, arrays[node.arguments[-1].path])
        if node.name in _ASCII and isinstance(node.arguments[0], Field):
            texts = _texts(arrays[node.arguments[0].path])
            if pc.all(pc.string_is_ascii(texts)).as_py() is not False:
                found = _ASCII[node.name](texts)
                return found.cast(pa.int64()) if node.name == "length" else found
        raise _InexactError
    assert isinstance(node, Comparison)
    sides = (node.left, node.right)
    if all(isinstance(one, Field) for one in sides):
        both = [kinds[one.path] for one in sides if isinstance(one, Field)]
        if isinstance(both[0], EnumType) and node.operator != "=":
            labels = pa.array(both[0].labels, pa.large_string())
            left, right = (pc.index_in(_texts(arrays[one.path]), labels) for one in sides if isinstance(one, Field))
            return _ARROW[node.operator](left, right)
        left, right = (_plain(kinds[one.path], arrays[one.path], both) for one in sides if isinstance(one, Field))
        return _ARROW[node.operator](left, right)
    if any(isinstance(side, Call) and side.name in ("+", "-") for side in sides):
        try:
            (one, first), (other, second) = (_instants(side, arrays, kinds) for side in sides)
            return _lengths(BooleanType(), _NUMPY[node.operator](one, other), first & second)
        except _InexactError:
            pass
    if all(_is_text(side, kinds) for side in sides):
        return _ARROW[node.operator](*(_text_side(side, arrays) for side in sides))
    one, other = (_doubles(side, arrays, kinds) for side in sides)
    return pa.array(_NUMPY[node.operator](one, other), mask=np.isnan(one) | np.isnan(other))


def _is_text(node: Operand, kinds: Mapping[Path, LeafType]) -> bool:
    """Say whether an operand is a field of texts, or one in another case."""
    if isinstance(node, Call):
        return node.name in ("lower", "upper") and _is_text(node.arguments[0], kinds)
    return isinstance(node, Field) and isinstance(kinds[node.path], StringType)


def _text_side(node: Operand, arrays: Arrays) -> pa.Array:
    if isinstance(node, Call):
        texts = _text_side(node.arguments[0], arrays)
        if pc.all(pc.string_is_ascii(texts)).as_py() is False:
            raise _InexactError
        return _ASCII[node.name](texts)
    assert isinstance(node, Field)
    return _texts(arrays[node.path])


def _doubles(node: Operand, arrays: Arrays, kinds: Mapping[Path, LeafType]) -> np.ndarray[Any, Any]:
    """Return an operand that is computed in doubles, NaN for NULL; a double among its operands makes it so."""
    if isinstance(node, Field):
        if not isinstance(kinds[node.path], FloatType):
            raise _InexactError
        doubles = arrays[node.path].cast(pa.float64())
        return np.asarray(doubles.fill_null(np.nan).to_numpy(zero_copy_only=False))
    if isinstance(node, Literal):
        if isinstance(node.value, bool | str) or not hasattr(node.value, "__float__"):
            raise _InexactError
        return np.float64(node.value)  # type: ignore[return-value]
    if not isinstance(node, Call) or node.name not in _FLOAT_SUMS:
        raise _InexactError
    with np.errstate(all="ignore"):
        left, right = (_doubles(one, arrays, kinds) for one in node.arguments)
        if np.ndim(left) == 0 and np.ndim(right) == 0:  # literals alone are computed exactly
            raise _InexactError
        found: np.ndarray[Any, Any] = _FLOAT_SUMS[node.name](left, right)
        return found


def _calendars(kinds: Mapping[Path, LeafType]) -> set[Path]:
    return {path for path, kind in kinds.items() if isinstance(kind, TimestampType)}


def _calendar_part(node: Call, array: pa.Array) -> pa.Array:
    """Return the year, … or the beginning of the year, … of instants, in UTC."""
    unit = array.type.unit
    plain = array.cast(pa.int64()).view(pa.timestamp(unit))
    ends = pc.min_max(plain.cast(pa.int64())).as_py()
    step = TimestampType(unit).nanoseconds
    if ends["min"] is not None and not (ends["min"] * step >= _FIRST and ends["max"] * step <= LAST_INSTANT):
        raise _InexactError
    if node.name != "date_trunc":
        if node.name not in _PARTS:
            raise _InexactError
        return _PARTS[node.name](plain)
    assert isinstance(node.arguments[0], Literal)
    found = pc.floor_temporal(plain, unit=str(node.arguments[0].value).lower())
    return found.cast(pa.timestamp("s", tz="UTC"))


def _instants(
    node: Operand, arrays: Arrays, kinds: Mapping[Path, LeafType]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return instants or lengths of time in nanoseconds, and where they are not NULL."""
    if isinstance(node, Field) and isinstance(kinds[node.path], TimestampType):
        counts = arrays[node.path].cast(pa.int64())
        step = TimestampType(arrays[node.path].type.unit).nanoseconds
        valid = counts.is_valid().to_numpy(zero_copy_only=False)
        values = counts.fill_null(0).to_numpy(zero_copy_only=False)
        if len(values) and max(abs(int(values.min())), abs(int(values.max()))) * step > _ROOM:
            raise _InexactError
        return values * step, valid
    if isinstance(node, Literal) and isinstance(node.value, Timestamp | Interval):
        if abs(node.value.nanoseconds) > _ROOM or (isinstance(node.value, Interval) and node.value.months):
            raise _InexactError
        return np.int64(node.value.nanoseconds), np.bool_(True)  # type: ignore[return-value]
    if not isinstance(node, Call) or node.name not in ("+", "-"):
        raise _InexactError
    (one, first), (other, second) = (_instants(part, arrays, kinds) for part in node.arguments)
    found = one + other if node.name == "+" else one - other
    if np.size(found) and max(abs(int(np.min(found))), abs(int(np.max(found)))) > _ROOM:
        raise _InexactError
    return found, first & second


def _lengths(kind: LeafType, values: np.ndarray[Any, Any], valid: np.ndarray[Any, Any]) -> pa.Array:
    """Return instants, lengths of time or truths as an array of their type."""
    if np.ndim(values) == 0:  # literals alone are computed exactly
        raise _InexactError
    if isinstance(kind, TimestampType):
        return pa.array(values // kind.nanoseconds, mask=~valid).view(type_to_arrow(kind))
    return pa.array(values, mask=~valid)


def _texts(array: pa.Array) -> pa.Array:
    return (array.dictionary_decode() if pa.types.is_dictionary(array.type) else array).cast(pa.large_string())


def _plain(kind: LeafType, array: pa.Array, kinds: list[LeafType]) -> pa.Array:
    """Return one side of a comparison as an array that Arrow compares with the other side exactly."""
    if isinstance(kind, StringType | EnumType):
        return _texts(array)
    if isinstance(kind, TimestampType):
        if len({one.unit for one in kinds if isinstance(one, TimestampType)}) > 1:
            raise _InexactError
        return array.cast(pa.int64())
    if isinstance(kind, FloatType):
        if not all(isinstance(one, FloatType | IntegerType) for one in kinds):
            raise _InexactError
        doubles = array.cast(pa.float64())
        return pc.if_else(pc.is_nan(doubles), pa.scalar(None, pa.float64()), doubles)
    if isinstance(kind, IntegerType):
        if any(isinstance(one, FloatType) for one in kinds):
            return array.cast(pa.float64())  # a safe cast: it refuses what a double does not hold
        if all(isinstance(one, IntegerType) for one in kinds):
            return array.cast(pa.int64())  # and this what an int64 does not
        raise _InexactError
    if len(set(kinds)) > 1:  # decimals of several scales
        raise _InexactError
    return array
