"""The numbers of an axis: what keys of numbers, booleans and instants are as doubles, one by one and by column.

Rule: both ways give the same double for the same value, bit for bit, whatever type holds the value: an instant counts
as whole seconds and a rest, so a millisecond is one place in every unit; a decimal is divided once, correctly rounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rookery.model.event_columns import comparables, narrow_steps
from rookery.model.schema import Attribute
from rookery.model.types import (
    BooleanType,
    DecimalType,
    EnumType,
    FloatType,
    IntegerType,
    Key,
    LeafType,
    TimestampType,
    key_float,
)

__all__ = ["enum_keys", "instants", "key_number", "key_numbers", "number_range"]

Floats = NDArray[np.float64]

#: The part of a sample that may lie beyond each end of a learned range: few events, so no load is lost there.
BEYOND = 0.001
#: Ends of a range are no farther out: their difference must be a number.
FARTHEST = 1e300


def key_number(kind: LeafType, key: Key) -> float:
    """Return a key as a double; monotone, and the value itself where a double can hold it."""
    if isinstance(kind, FloatType):
        return key_float(key)
    if isinstance(kind, DecimalType):
        return float(key / 10**kind.scale)
    if isinstance(kind, TimestampType):
        each = 10**9 // kind.nanoseconds
        return float(key // each) + float(key % each) / float(each)
    return float(key)


def key_numbers(attribute: Attribute, array: pa.Array) -> Floats:
    """Return a column of the attribute's type as doubles, NaN at NULL."""
    kind = attribute.type
    match kind:
        case FloatType():
            values = array.cast(pa.float64()) if kind.bits == 32 else array
            found: Floats = (values.fill_null(np.nan) if values.null_count else values).to_numpy(zero_copy_only=False)
            return found
        case TimestampType():
            found = instants(kind, _integers(array.cast(pa.int64())))
        case IntegerType() | BooleanType():
            found = _integers(array).astype(np.float64)
        case DecimalType():
            steps = narrow_steps(array, kind)
            if steps is None or (np.abs(steps) >= 1 << 53).any():
                values = comparables(attribute, array)
                return np.array([np.nan if one is None else key_number(kind, kind.enclose(one)[0]) for one in values])
            found = steps.astype(np.float64) / 10.0**kind.scale
        case _:
            raise AssertionError(f"{attribute.text} has no numbers")
    if array.null_count:
        found[array.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return found


def instants(kind: TimestampType, counts: Any) -> Floats:
    """Return counts of a timestamp's unit as seconds."""
    each = 10**9 // kind.nanoseconds
    found: Floats = (counts // each).astype(np.float64) + (counts % each).astype(np.float64) / float(each)
    return found


def enum_keys(kind: EnumType, array: pa.Array) -> Any:
    """Return the keys of a column of labels; what stands at a NULL means nothing."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    place = pc.index_in(array, value_set=pa.array(kind.labels, array.type)).fill_null(len(kind.labels))
    return place.to_numpy(zero_copy_only=False).astype(np.int64)


def number_range(values: Floats) -> tuple[float, float]:
    """Return the range of a learned axis: nearly all of the finite numbers of a sample lie in it."""
    ordered = np.sort(np.clip(values[np.isfinite(values)], -FARTHEST, FARTHEST))
    if not len(ordered):
        return 0.0, 1.0
    few = int(BEYOND * len(ordered))
    for low, high in ((ordered[few], ordered[-1 - few]), (ordered[0], ordered[-1])):
        if low < high:
            return float(low), float(high)
    return float(low), float(low + max(1.0, abs(low)))


def _integers(array: pa.Array) -> Any:
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    return (array.fill_null(0) if array.null_count else array).to_numpy(zero_copy_only=False)
