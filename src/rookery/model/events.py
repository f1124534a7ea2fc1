"""Events: one dict, or a batch of Arrow columns, read through the schema.

Rule 1: a value is read as the type that the schema gives it, exactly; one that does not fit is an EventError that
names the attribute, never a wrapped or rounded number. NULL, a missing key and NaN are all None.
Rule 2: a column that a subscription needs and the batch does not have is an error: a misspelt column would otherwise
match nothing in silence. A key missing from one dict is NULL, since a sparse event is normal.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from struct import pack, unpack
from typing import TYPE_CHECKING, Any

from rookery.errors import EventError
from rookery.model.expressions import field_text
from rookery.model.instants import instant_of
from rookery.model.schema import Attribute
from rookery.model.types import (
    BooleanType,
    DecimalType,
    EnumType,
    FloatType,
    IntegerType,
    StringType,
    TimestampType,
    is_null,
)

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["comparable", "comparables", "event_column", "step_into"]


def step_into(event: Mapping[str, Any], path: tuple[str | int, ...]) -> Any:
    """Return the raw value at `path` of a dict event, None where any step is missing.

    A value of another shape than the path steps into is an EventError: NULL would hide it.
    """
    value: Any = event
    for depth, step in enumerate(path):
        if value is None:
            return None
        if isinstance(step, int):
            if not isinstance(value, list | tuple):
                raise EventError(f"{field_text(path[:depth])} is a list, and the event has {value!r}")
            value = value[step] if step < len(value) else None
        else:
            if not isinstance(value, Mapping):
                what = (
                    f"{field_text(path[:depth])} is a struct, and the event"
                    if depth
                    else "an event is a mapping, and this"
                )
                raise EventError(f"{what} has {value!r}")
            value = value.get(step)
    return value


def comparable(attribute: Attribute, value: Any) -> Any:
    """Return a raw value as the language compares it: int, float, Decimal, str, bool, nanoseconds, or None."""
    item = getattr(value, "item", None)
    if item is not None and not isinstance(value, int | float | str):
        value = item()  # a NumPy scalar
    if is_null(value):
        return None
    kind = attribute.type
    match kind:
        case FloatType() if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            return _float(attribute, kind, value)
        case IntegerType() if isinstance(value, int) and not isinstance(value, bool):
            if not kind.lowest <= value <= kind.highest:
                raise EventError(f"{attribute.text}: {value} does not fit {kind.name}")
            return value
        case StringType() | EnumType() if isinstance(value, str):
            return str(value)
        case BooleanType() if isinstance(value, bool):
            return value
        case TimestampType():
            return _instant(attribute, kind, value)
        case DecimalType() if isinstance(value, int | Decimal) and not isinstance(value, bool):
            return _decimal(attribute, kind, value)
    raise EventError(f"{attribute.text} is a {kind.name}, and the event has {value!r}")


def _float(attribute: Attribute, kind: FloatType, value: int | float | Decimal) -> float:
    try:
        number = float(value)
        return number if kind.bits == 64 else float(unpack("<f", pack("<f", number))[0])
    except OverflowError:
        raise EventError(f"{attribute.text}: {value} does not fit {kind.name}") from None


def _instant(attribute: Attribute, kind: TimestampType, value: Any) -> int:
    try:
        nanoseconds = instant_of(value)
    except (TypeError, ValueError) as error:
        raise EventError(f"{attribute.text} is a {kind.name}: {error}") from None
    if nanoseconds % kind.nanoseconds:
        raise EventError(f"{attribute.text}: {value} is finer than {kind.name}")
    if not kind.lowest <= nanoseconds // kind.nanoseconds <= kind.highest:
        raise EventError(f"{attribute.text}: {value} does not fit {kind.name}")
    return nanoseconds


def _decimal(attribute: Attribute, kind: DecimalType, value: int | Decimal) -> Decimal:
    number = Decimal(value)
    try:
        floor, ceiling = kind.enclose(number)
    except (InvalidOperation, ValueError, OverflowError):
        floor, ceiling = 0, 1
    if floor != ceiling or not kind.lowest <= floor <= kind.highest:
        raise EventError(f"{attribute.text}: {value} does not fit {kind.name}")
    return number


def event_column(batch: pa.Table | pa.RecordBatch, attribute: Attribute) -> pa.Array:
    """Return an attribute of a batch as one Arrow array of the schema's type (a dictionary of strings stays one)."""
    import pyarrow as pa

    name = attribute.path[0]
    positions = batch.schema.get_all_field_indices(name)
    if len(positions) != 1:
        if positions:
            raise EventError(f"the events have {len(positions)} columns named {name!r}")
        shown = ", ".join(batch.schema.names[:12])
        raise EventError(f"the events have no column {name!r}, which subscriptions test; they have {shown}")
    column = batch.column(positions[0])
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # what combine_chunks returns for zero chunks, or past 2 GB of strings
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    for step in attribute.path[1:]:
        array = _step(attribute, array, step)
    return _cast(attribute, array)


def _step(attribute: Attribute, array: pa.Array, step: str | int) -> pa.Array:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_null(array.type):
        return array
    try:
        if isinstance(step, str):
            return pc.struct_field(array, step)
        if pa.types.is_fixed_size_list(array.type):
            if step >= array.type.list_size:
                return pa.nulls(len(array), array.type.value_type)
            return pc.list_element(array, step)
        # An index past the end is NULL, where Arrow's list_element would raise.
        starts = array.offsets.to_numpy()[:-1].astype(np.int64)
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
        return array.values.take(pa.array(starts + step, mask=lengths <= step))
    except (pa.ArrowException, AttributeError, KeyError) as error:
        raise EventError(f"{attribute.text}: the events' column has no such part: {error}") from None


def _cast(attribute: Attribute, array: pa.Array) -> pa.Array:
    import pyarrow as pa

    from rookery.model.arrow_types import type_to_arrow

    kind = attribute.type
    given = array.type
    if kind.family in ("string", "enum"):
        value_type = given.value_type if pa.types.is_dictionary(given) else given
        if pa.types.is_string(value_type) or pa.types.is_large_string(value_type):
            return array
        if not pa.types.is_string_view(value_type) and not pa.types.is_null(value_type):
            raise EventError(f"{attribute.text} is a {kind.name}, and the events have {given}")
        return array.cast(pa.string())
    if pa.types.is_dictionary(given):
        array = array.dictionary_decode()
        given = array.type
    wanted = type_to_arrow(kind)
    if isinstance(kind, TimestampType):
        if not (pa.types.is_timestamp(given) or pa.types.is_date(given) or pa.types.is_null(given)):
            raise EventError(f"{attribute.text} is a {kind.name}, and the events have {given}")
        wanted = pa.timestamp(kind.unit, tz=getattr(given, "tz", None))
    elif not _same_family(kind, given):
        raise EventError(f"{attribute.text} is a {kind.name}, and the events have {given}")
    try:
        if isinstance(kind, DecimalType) and pa.types.is_integer(given):
            # Arrow asks for room for every int64; that these values fit is for the second cast to say.
            array = array.cast(pa.decimal256(min(76, 20 + kind.scale), kind.scale))
        return array if given == wanted else array.cast(wanted, safe=not isinstance(kind, FloatType))
    except pa.ArrowException as error:
        raise EventError(f"{attribute.text}: the events' {given} does not fit {kind.name}: {error}") from None


def _same_family(kind: Any, given: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_null(given):
        return True
    if isinstance(kind, BooleanType):
        return bool(pa.types.is_boolean(given))
    if isinstance(kind, FloatType):
        return bool(pa.types.is_floating(given) or pa.types.is_integer(given))
    if isinstance(kind, DecimalType):
        return bool(pa.types.is_decimal(given) or pa.types.is_integer(given))
    return bool(pa.types.is_integer(given))


def comparables(attribute: Attribute, array: pa.Array) -> list[Any]:
    """Return a column of `event_column` as a list of values as the language compares them."""
    import pyarrow as pa

    kind = attribute.type
    if isinstance(kind, TimestampType):
        step = kind.nanoseconds
        return [None if value is None else value * step for value in array.cast(pa.int64()).to_pylist()]
    values: list[Any] = array.to_pylist()
    if isinstance(kind, FloatType):
        return [None if value is None or value != value else value for value in values]
    return values
