"""Columns of events: an attribute of a batch as one Arrow array of the attribute's type.

Rule 1: a column reads as its values read one by one (`events.py`): the same values, the same NULLs, the same errors.
The vectorised way takes a column only where it is certain that every value fits; whatever is left (a value that does
not fit, a type that Arrow cannot convert exactly, a shape that is not the path's) goes by value through `comparable`.
Rule 2: only what the path reaches counts. The fields of a NULL struct are NULL, an item past a list's end is NULL, and
a value of a dictionary to which nothing points is not looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rookery.errors import EventError
from rookery.model.arrow_types import type_to_arrow
from rookery.model.events import comparable, step_into
from rookery.model.expressions import EACH, SIZE, Timestamp
from rookery.model.schema import Attribute
from rookery.model.types import (
    BooleanType,
    DecimalType,
    EnumType,
    FloatType,
    IntegerType,
    LeafType,
    ListType,
    StringType,
    TimestampType,
)

__all__ = [
    "array_of",
    "comparables",
    "flat_items",
    "narrow_steps",
    "plain_array",
    "python_values",
    "read_column",
    "whole_array",
]

Path = tuple[str | int, ...]


class _ByValueError(Exception):
    """The vectorised way is not certain of this column."""


class _MissingPartError(Exception):
    """A struct of the batch has no field of the name that a path steps into."""


def read_column(
    attribute: Attribute,
    column: pa.Array | pa.ChunkedArray | list[Any],
    *,
    on_error: str = "raise",
    missing: str = "error",
) -> pa.Array:
    """Return an attribute as an array of its type, from the column of its first name (strings may be a dictionary)."""
    path = attribute.path[1:]
    if isinstance(column, list):
        usual = None if path else _usual_values(attribute.type, column)
        return _by_value(attribute, column, on_error) if usual is None else usual
    try:
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        leaves = [_leaf(chunk, path) for chunk in chunks] or [pa.array([], pa.null())]
        return _fit(attribute.type, whole_array(leaves))
    except _MissingPartError as error:
        if missing == "null":
            return pa.nulls(len(column), type_to_arrow(attribute.type))
        raise EventError(f"{attribute.text}: the events' column has no such part: {error}") from None
    except (_ByValueError, pa.ArrowException):
        return _by_value(attribute, python_values(column), on_error)


def _by_value(attribute: Attribute, values: list[Any], on_error: str) -> pa.Array:
    """Read a column of raw values one by one, as rows are read."""
    name, path = attribute.path[0], attribute.path
    read: list[Any] = []
    for value in values:
        try:
            read.append(comparable(attribute, value if len(path) == 1 else step_into({str(name): value}, path)))
        except EventError:
            if on_error != "null":
                raise
            read.append(None)
    return array_of(attribute.type, read)


def _usual_values(kind: LeafType, values: list[Any]) -> pa.Array | None:
    """Return raw values at once where their Python types alone say that each is the attribute's or NULL."""
    found = set(map(type, values))
    found.discard(type(None))
    match kind:
        case StringType():
            usual = found <= {str}
        case FloatType(64):
            usual = found <= {float}
        case IntegerType():
            usual = found <= {int}
        case BooleanType():
            usual = found <= {bool}
        case _:
            usual = False
    if not usual:
        return None
    try:
        return pa.array(values, type_to_arrow(kind), from_pandas=False)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return None  # one of them does not fit; which one is said by value


def array_of(kind: LeafType | ListType, values: list[Any]) -> pa.Array:
    """Return values as the language compares them as an array of their type: the inverse of `comparables`."""
    if isinstance(kind, ListType):
        lengths = [0 if one is None else len(one) for one in values]
        inner = array_of(kind.item, [item for one in values for item in one or ()])  # type: ignore[arg-type]
        return _list_array(np.array(lengths, np.int64), inner, np.array([one is None for one in values], np.bool_))
    if isinstance(kind, TimestampType):
        step = kind.nanoseconds
        counts = [None if value is None else value // step for value in values]
        return pa.array(counts, pa.int64()).view(type_to_arrow(kind))
    return pa.array(values, type_to_arrow(kind))


def comparables(attribute: Attribute, array: pa.Array) -> list[Any]:
    """Return a column of `read_column` as a list of values as the language compares them."""
    kind: Any = attribute.type
    if isinstance(kind, ListType):
        starts, lengths, array = flat_items(array)
        inner = comparables(Attribute(attribute.path, kind.item), array)  # type: ignore[arg-type]
        return [
            None if length < 0 else inner[start : start + length]
            for start, length in zip(starts.tolist(), lengths.tolist(), strict=True)
        ]
    if isinstance(kind, TimestampType):
        step = kind.nanoseconds
        return [None if value is None else value * step for value in array.cast(pa.int64()).to_pylist()]
    values: list[Any] = array.to_pylist()
    if isinstance(kind, FloatType):
        return [None if value is None or value != value else value for value in values]
    return values


def narrow_steps(array: pa.Array, kind: DecimalType) -> np.ndarray[Any, Any] | None:
    """Return a column of decimals as whole numbers of steps; None where an int64 does not hold them all.

    decimal128 is 16 little-endian bytes, and the low word is the whole number when 18 digits are enough. What stands at
    a NULL means nothing.
    """
    if kind.precision > 18:
        return None
    if not len(array):
        return np.empty(0, np.int64)
    return np.frombuffer(array.buffers()[1], np.int64)[2 * array.offset : 2 * (array.offset + len(array)) : 2]


# ---- what the path reaches -------------------------------------------------------------------------------------------


def whole_array(arrays: list[pa.Array]) -> pa.Array:
    """Return arrays of one type as one array; a single one is not copied."""
    if len(arrays) == 1:
        return arrays[0]
    if pa.types.is_string(arrays[0].type) and sum(one.nbytes for one in arrays) > 1 << 30:
        arrays = [one.cast(pa.large_string()) for one in arrays]  # their offsets might not fit 32 bits together
    return pa.concat_arrays(arrays)


def plain_array(array: pa.Array) -> pa.Array:
    """Return an array whose values every kernel takes: no extension, view or runs, and no dictionary but of texts."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        storage = plain_array(array.storage)
        return pc.not_equal(storage, 0) if kind.extension_name == "arrow.bool8" else storage
    if pa.types.is_string_view(kind):
        return array.cast(pa.string())
    if pa.types.is_binary_view(kind):
        return array.cast(pa.binary())
    if pa.types.is_dictionary(kind):
        values = plain_array(array.dictionary)
        if values is array.dictionary and _is_text(values.type):
            return array
        if _is_text(values.type):
            return pa.DictionaryArray.from_arrays(array.indices, values)
        return values.take(array.indices)
    if pa.types.is_run_end_encoded(kind):
        return plain_array(array.values).take(_run_places(array))
    return _from_zero(array) if _is_text(kind) else array


def _from_zero(array: pa.Array) -> pa.Array:
    """Return texts whose first begins where their bytes do: `ascii_lower` of Arrow 26 garbles all others."""
    valid, offsets, body = array.buffers()
    if array.offset or not len(array) or body is None:
        return array
    places = np.frombuffer(offsets, np.int64 if pa.types.is_large_string(array.type) else np.int32, len(array) + 1)
    if not places[0]:
        return array
    begin, end = int(places[0]), int(places[-1])
    moved = pa.py_buffer(places - places[0])
    return pa.Array.from_buffers(array.type, len(array), [valid, moved, body.slice(begin, end - begin)])


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _run_places(array: pa.RunEndEncodedArray) -> pa.Array:
    """Return the place of each row's run among the runs."""
    ends = array.run_ends.to_numpy()
    rows = np.arange(array.offset, array.offset + len(array))
    return pa.array(np.searchsorted(ends, rows, side="right"))


def _leaf(array: pa.Array, path: Path) -> pa.Array:
    """Return the values at a path; raise `_ByValueError` where the array has another shape."""
    kind = array.type
    if not path:
        return plain_array(array)
    if isinstance(array, pa.ExtensionArray):
        return _leaf(array.storage, path)
    if pa.types.is_dictionary(kind):
        return _leaf(array.dictionary, path).take(array.indices)
    if pa.types.is_run_end_encoded(kind):
        return _leaf(array.values, path).take(_run_places(array))
    if pa.types.is_null(kind):
        return array
    step = path[0]
    if step == SIZE:
        lengths = np.diff(array.offsets.to_numpy()) if pa.types.is_map(kind) else _items(array)[1]
        return pa.array(lengths.astype(np.int32), mask=array.is_null().to_numpy(zero_copy_only=False))
    if step == EACH:
        starts, lengths, items = flat_items(array)
        return _list_array(np.maximum(lengths, 0), _leaf(items, path[1:]), lengths < 0)
    if pa.types.is_map(kind) and isinstance(step, str):
        return _leaf(array.items, path[1:]).take(_key_places(array, step))
    if isinstance(step, str):
        if not pa.types.is_struct(kind):
            raise _ByValueError
        place = kind.get_field_index(step)  # -1 where the name repeats, too
        if place < 0:
            raise _MissingPartError(
                f"{kind} has no field {step!r}" if step not in kind.names else f"{kind} repeats {step!r}"
            )
        found = _leaf(array.field(place), path[1:])
        if not array.null_count:
            return found
        return found.take(pa.array(np.arange(len(array)), mask=array.is_null().to_numpy(zero_copy_only=False)))
    starts, lengths = _items(array)
    reached = lengths > step
    if not reached.any():
        return pa.nulls(len(array))
    first, end = int(starts[reached].min()), int((starts + lengths)[reached].max())
    found = _leaf(array.values.slice(first, end - first), path[1:])
    return found.take(pa.array(starts + (step - first), mask=~reached))


def _key_places(array: pa.MapArray, key: str) -> pa.Array:
    """Return where the value of a key stands among the values of a map array, NULL where a row has none."""
    bounds = array.offsets.to_numpy()
    equal = pc.fill_null(pc.equal(plain_array(array.keys), key), False).to_numpy(zero_copy_only=False)
    places = np.flatnonzero(equal)
    rows = np.searchsorted(bounds, places, side="right") - 1
    inside = (rows >= 0) & (rows < len(array))
    found = np.full(len(array), -1, np.int64)
    found[rows[inside]] = places[inside]  # of a key that stands twice the last value counts
    if array.null_count:
        found[array.is_null().to_numpy(zero_copy_only=False)] = -1
    return pa.array(found, mask=found < 0)


def flat_items(array: pa.Array) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], pa.Array]:
    """Return the items of a list array one after the other, where each row's begin, and how many (-1 for NULL)."""
    if pa.types.is_null(array.type):
        return np.zeros(len(array), np.int64), np.full(len(array), -1, np.int64), array.slice(0, 0)
    starts, lengths = _items(array)
    ends = np.cumsum(lengths)
    count = int(ends[-1]) if len(ends) else 0
    places = np.repeat(starts - (ends - lengths), lengths) + np.arange(count)
    if count and places[-1] - places[0] == count - 1 and (np.diff(places) == 1).all():
        items = array.values.slice(int(places[0]), count)
    else:
        items = array.values.take(pa.array(places, pa.int64()))
    null = array.is_null().to_numpy(zero_copy_only=False)
    return ends - lengths, np.where(null, -1, lengths), items


def _list_array(lengths: np.ndarray[Any, Any], items: pa.Array, null: np.ndarray[Any, Any]) -> pa.Array:
    offsets = pa.array(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))
    return pa.LargeListArray.from_arrays(offsets, items, mask=pa.array(null) if null.any() else None)


def _items(array: pa.Array) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return where each row's items begin among the values of a list array, and how many they are (NULL has none)."""
    kind, types = array.type, pa.types
    if types.is_fixed_size_list(kind):
        size = kind.list_size
        starts = np.arange(array.offset, array.offset + len(array), dtype=np.int64) * size
        lengths = np.full(len(array), size, np.int64)
    elif types.is_list(kind) or types.is_large_list(kind):
        bounds = array.offsets.to_numpy().astype(np.int64)
        starts, lengths = bounds[:-1], np.diff(bounds)
    elif types.is_list_view(kind) or types.is_large_list_view(kind):
        starts, lengths = array.offsets.to_numpy().astype(np.int64), array.sizes.to_numpy().astype(np.int64)
    else:
        raise _ByValueError
    if array.null_count:
        lengths = np.where(array.is_valid().to_numpy(zero_copy_only=False), lengths, 0)
    return starts, lengths


# ---- the attribute's type --------------------------------------------------------------------------------------------


def _fit(kind: LeafType | ListType, array: pa.Array) -> pa.Array:
    """Return an array as a type; raise `_ByValueError` unless it is certain that every value fits."""
    given, types = array.type, pa.types
    wanted = type_to_arrow(kind)
    if given == wanted:
        return array
    if isinstance(kind, ListType) and types.is_large_list(given):
        _, lengths, items = flat_items(array)
        return _list_array(np.maximum(lengths, 0), _fit(kind.item, items), lengths < 0)  # type: ignore[arg-type]
    if types.is_null(given):
        return pa.nulls(len(array), wanted)
    match kind:
        case StringType() | EnumType() if _is_text(given) or types.is_dictionary(given):
            return array
        case TimestampType(unit) if types.is_timestamp(given) or types.is_date(given):
            if types.is_timestamp(given) and given.unit == unit:
                return array
            # A safe cast refuses what is finer than the unit and what is past its ends.
            return array.cast(pa.timestamp(unit, tz=getattr(given, "tz", None)))
        case FloatType(bits) if types.is_floating(given):
            found = array.cast(wanted, safe=False)
            if bits < given.bit_width and pc.any(pc.xor(pc.is_inf(found), pc.is_inf(array))).as_py():
                raise _ByValueError
            return found
        case FloatType(bits) if types.is_integer(given):
            return _floats_of_integers(array, wanted, 24 if bits == 32 else 53)
        case IntegerType() | DecimalType() if types.is_decimal(given):
            return array.cast(wanted)
        case IntegerType() if types.is_integer(given):
            return array.cast(wanted)
        case IntegerType() if types.is_floating(given):
            return _integers_of_floats(array, kind, wanted)
        case DecimalType(_, scale) if types.is_integer(given):
            # Arrow asks for room for every int64; that these values fit is for the second cast to say.
            return array.cast(pa.decimal256(min(76, 20 + scale), scale)).cast(wanted)
        case BooleanType():
            pass
    raise _ByValueError


def _floats_of_integers(array: pa.Array, wanted: pa.DataType, digits: int) -> pa.Array:
    """Return integers as floats of so many binary digits, if each of them is one."""
    if array.type.bit_width > digits:
        ends = pc.min_max(array).as_py()
        if ends["min"] is not None and max(-ends["min"], ends["max"]) > 1 << digits:
            signed = pa.types.is_signed_integer(array.type)
            whole = pc.fill_null(array, 0).cast(pa.int64() if signed else pa.uint64()).to_numpy(zero_copy_only=False)
            size = whole.view(np.uint64)
            size = np.where(whole < 0, ~size + np.uint64(1), size)
            # Without its trailing zeros a number that fits has no more than `digits` binary digits.
            trailing = np.maximum(size & (~size + np.uint64(1)), np.uint64(1))
            if (size // trailing >= np.uint64(1 << digits)).any():
                raise _ByValueError
    return array.cast(wanted, safe=False)


def _integers_of_floats(array: pa.Array, kind: IntegerType, wanted: pa.DataType) -> pa.Array:
    """Return floats as integers, NaN as NULL, if each of them is one: pandas keeps integers with NULLs so."""
    values = pc.fill_null(array, float("nan")).to_numpy(zero_copy_only=False).astype(np.float64)
    null = np.isnan(values)
    # Both ends are whole powers of two (or zero), so the comparison is exact.
    fits = (values >= float(kind.lowest)) & (values < float(kind.highest + 1)) & (np.floor(values) == values)
    if not (fits | null).all():
        raise _ByValueError
    whole = np.where(null, 0.0, values).astype(np.int64 if kind.signed else np.uint64)
    return pa.array(whole, mask=null).cast(wanted)


# ---- by value --------------------------------------------------------------------------------------------------------


class _Foreign:
    """A value of an Arrow type that Python cannot hold and no attribute fits: a time of day in nanoseconds."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


def python_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return a column as raw values, such as a dict event holds; Python has no type for every instant of Arrow's."""
    kind, types = column.type, pa.types
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or _is_text(kind):
        return list(column.to_pylist())
    return [_python_value(scalar) for scalar in column]


def _python_value(scalar: pa.Scalar) -> Any:
    kind, types = scalar.type, pa.types
    if types.is_run_end_encoded(kind):
        return _python_value(scalar.value)
    if not scalar.is_valid:
        return None
    if types.is_timestamp(kind):
        return Timestamp(scalar.value * TimestampType(kind.unit).nanoseconds)
    if types.is_date(kind):
        return Timestamp(scalar.value * (86_400 * 10**9 if types.is_date32(kind) else 10**6))
    if types.is_dictionary(kind):
        return _python_value(scalar.value)
    if isinstance(kind, pa.BaseExtensionType):
        return scalar.as_py() if kind.extension_name == "arrow.bool8" else _python_value(scalar.value)
    if types.is_map(kind):
        return {_python_value(pair["key"]): _python_value(pair["value"]) for pair in scalar.values or ()}
    if types.is_struct(kind):
        return {name: _python_value(scalar[place]) for place, name in enumerate(kind.names)}
    if isinstance(scalar, pa.ListScalar):
        return python_values(scalar.values)
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        return _Foreign(str(scalar))
