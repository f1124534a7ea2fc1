"""Arrow columns of events, whose types may differ from the schema's as long as every value fits exactly.

A leaf is drawn from a pool of values and comes plain, as a dictionary (with repeated and NULL entries), as a view or
in runs; structs and lists are put around it, extra fields and NULLs at every level.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .kinds import DAY, FIRST, LAST, UNITS, Kind, pool_of, strangers_of, to_float32

__all__ = ["Shape", "column_of", "leaf_column", "paths_of", "random_shape", "stored"]

#: A leaf's kind, a dict of fields, or a list with one item.
Shape = Any

_INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
_ZONES = [None, None, "UTC", "America/New_York", "Asia/Kolkata", "+05:30"]
_TOO_COARSE = object()


def stored(arrow: pa.DataType, value: Any) -> Any:
    """Return a value as an array of an Arrow type takes it, `_TOO_COARSE` where the type cannot hold it exactly."""
    types = pa.types
    if types.is_string(arrow) and isinstance(value, int):  # an instant as text
        if not FIRST <= value <= LAST or value % 1000:
            return _TOO_COARSE
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value // 1000)).isoformat()
    if types.is_integer(arrow):
        if value != value or abs(value) == float("inf"):
            return _TOO_COARSE
        if isinstance(value, float) and not value.is_integer():
            return _TOO_COARSE
        if isinstance(value, Decimal) and value != value.to_integral_value():
            return _TOO_COARSE
        signed, bits = types.is_signed_integer(arrow), arrow.bit_width
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        return int(value) if low <= value <= high else _TOO_COARSE
    if types.is_float16(arrow):
        return (
            np.float16(value) if value != value or (abs(value) <= 2048 and value * 4 == int(value * 4)) else _TOO_COARSE
        )
    if types.is_float64(arrow):
        return float(value) if value != value or float(value) == value else _TOO_COARSE
    if types.is_float32(arrow):
        near = to_float32(value)
        return float(value) if value != value or near == value else _TOO_COARSE
    if types.is_decimal(arrow):
        if value != value or abs(value) == float("inf"):
            return _TOO_COARSE
        steps = Fraction(value) * 10**arrow.scale
        if steps.denominator != 1 or abs(steps) >= 10**arrow.precision:
            return _TOO_COARSE
        return Decimal((steps < 0, tuple(map(int, str(abs(int(steps))))), -arrow.scale))
    if types.is_timestamp(arrow) or types.is_date(arrow):
        step = UNITS[arrow.unit] if types.is_timestamp(arrow) else DAY
        whole, rest = divmod(value, step)
        bits = 31 if types.is_date32(arrow) else 63
        if rest or not -(1 << bits) <= whole < 1 << bits:
            return _TOO_COARSE
        return whole * 86_400_000 if types.is_date64(arrow) else whole
    return value


def _types(kind: Kind, *, inner: bool) -> list[pa.DataType]:
    """Return the Arrow types in which a column of a kind may come; DuckDB reads not all of them inside of others."""
    match kind.family:
        case "boolean":
            return [pa.bool_()]
        case "string" | "enum":
            return [pa.string(), pa.string(), pa.large_string(), pa.string_view()]
        case "integer":
            own = getattr(pa, kind.written)()
            more = [] if inner else [pa.float32(), pa.float64(), pa.decimal128(20, 2), pa.decimal128(38, 0)]
            return [own] * 6 + _INTEGERS + more
        case "float":
            own = pa.float32() if kind.bits == 32 else pa.float64()
            more = [] if inner else [pa.float16(), pa.decimal128(20, 4), pa.decimal64(9, 2)]
            return [own] * 6 + [pa.float32(), pa.float64(), pa.int8(), pa.int32(), pa.int64(), pa.uint64(), *more]
        case "decimal":
            digits = len(str(kind.high))
            own = pa.decimal128(digits, kind.scale) if digits <= 38 else pa.decimal256(digits, kind.scale)
            if inner:
                return [own, pa.decimal128(20, 2), pa.int32()] if digits <= 38 else [pa.decimal128(38, 5), pa.int64()]
            more = [pa.decimal32(9, 2), pa.decimal64(18, 3), pa.decimal128(38, 0), pa.decimal128(38, 20)]
            return [own] * 5 + [*more, pa.decimal256(60, 10), pa.int8(), pa.int64(), pa.uint64()]
    finer = [pa.timestamp(unit, zone) for unit in UNITS for zone in _ZONES]
    more = [pa.date32(), pa.date64()] + ([] if inner else [pa.string()])
    return finer + [pa.timestamp(kind.unit, zone) for zone in _ZONES] + more


def leaf_column(
    random: Random, kind: Kind, count: int, *, inner: bool = False, far: bool = False, strange: bool = False
) -> pa.Array:
    """Return a column of a kind: values of its pool, NULLs, in one of the types and encodings that may hold it.

    With `strange` some values do not fit the kind (decimals for floats are left out: SQL cannot say which do).
    """
    if random.random() < 0.02:
        return pa.nulls(count, random.choice([pa.null(), pa.string()] if kind.family == "string" else [pa.null()]))
    arrow = random.choice(_types(kind, inner=inner))
    pool = pool_of(random, kind, far=far)
    if strange and not (kind.family == "float" and pa.types.is_decimal(arrow)):
        pool += 2 * strangers_of(kind)
    if kind.family == "timestamp" and inner:  # a nested column passes through Python's calendar on its way to DuckDB
        pool = [one for one in pool if FIRST <= one <= LAST]
    if kind.family == "integer" and pa.types.is_floating(arrow):
        pool.append(float("nan"))
    values = [one for value in pool if (one := stored(arrow, value)) is not _TOO_COARSE]
    view = pa.types.is_string_view(arrow)
    base = _base(pa.string() if view else arrow, values or [None])
    generator = np.random.default_rng(random.getrandbits(32))
    if random.random() < 0.7:  # a few values are frequent
        weights = generator.random(len(base)) ** 4 + 1e-3
        places = generator.choice(len(base), count, p=weights / weights.sum())
    else:
        places = generator.integers(0, len(base), count)
    mask = generator.random(count) < random.choice([0.0, 0.02, 0.1, 0.5])
    encoding = random.random()
    if encoding < 0.15 and len(base) < 120:
        entries = pa.concat_arrays([base, pa.nulls(1, base.type), base.slice(0, 1)])
        index = random.choice([pa.int8(), pa.uint16(), pa.int32(), pa.int64()])
        places = np.where(generator.random(count) < 0.02, len(base) + generator.integers(0, 2, count), places)
        return pa.DictionaryArray.from_arrays(
            pa.array(places, index, mask=mask), entries.cast(arrow) if view else entries
        )
    if encoding < 0.25 and not inner:
        places, mask = np.sort(places), np.sort(mask)
        return pc.run_end_encode(
            base.take(pa.array(places, mask=mask)), run_end_type=random.choice([pa.int32(), pa.int64()])
        )
    array = base.take(pa.array(places, mask=mask))
    return array.cast(arrow) if view else array


def _base(arrow: pa.DataType, values: list[Any]) -> pa.Array:
    if pa.types.is_timestamp(arrow) or pa.types.is_date64(arrow):
        return pa.array(values, pa.int64()).cast(arrow)
    return pa.array(values, pa.int32()).cast(arrow) if pa.types.is_date32(arrow) else pa.array(values, arrow)


def random_shape(random: Random, kinds: list[Kind]) -> Shape:
    """Return a leaf, mostly; or a struct, a list, or one in the other."""
    kind = random.choice(kinds)
    shape = random.random()
    if shape < 0.8:
        return kind
    kind, other = random.choices([one for one in kinds if not one.wide], k=2)
    if shape < 0.87:
        return {"p": kind, "and": other}
    if shape < 0.94:
        return [kind]
    return [{"v": kind}] if shape < 0.97 else {"w": [kind], "_q": other}


def column_of(
    random: Random, shape: Shape, count: int, *, inner: bool = False, far: bool = False, strange: bool = False
) -> pa.Array:
    """Return a column of a shape."""
    if isinstance(shape, Kind):
        return leaf_column(random, shape, count, inner=inner, far=far, strange=strange)
    generator = np.random.default_rng(random.getrandbits(32))
    mask = generator.random(count) < random.choice([0.0, 0.1])
    if isinstance(shape, dict):
        fields = {name: column_of(random, part, count, inner=True, strange=strange) for name, part in shape.items()}
        if random.random() < 0.3:
            fields["extra"] = pa.array(generator.integers(0, 9, count))
        return pa.StructArray.from_arrays(list(fields.values()), list(fields), mask=pa.array(mask))
    if random.random() < 0.25:
        size = random.randint(1, 3)
        items = column_of(random, shape[0], count * size, inner=True, strange=strange)
        return pa.FixedSizeListArray.from_arrays(items, size, mask=pa.array(mask))
    lengths = generator.integers(0, 4, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    items = column_of(random, shape[0], int(offsets[-1]), inner=True, strange=strange)
    if random.random() < 0.15:
        view = (pa.array(offsets[:-1], pa.int32()), pa.array(lengths, pa.int32()), items)
        return pa.ListViewArray.from_arrays(*view, mask=pa.array(mask))
    kind = pa.LargeListArray if random.random() < 0.3 else pa.ListArray
    index = pa.int64() if kind is pa.LargeListArray else pa.int32()
    return kind.from_arrays(pa.array(offsets, index), items, mask=pa.array(mask))


def paths_of(shape: Shape, path: tuple[str | int, ...]) -> list[tuple[tuple[str | int, ...], Kind]]:
    """Return the leaves below a path, of a list the items 0, 1 and 3."""
    if isinstance(shape, Kind):
        return [(path, shape)]
    steps = (
        [(name, part) for name, part in shape.items()]
        if isinstance(shape, dict)
        else [(at, shape[0]) for at in (0, 1, 3)]
    )
    return [leaf for step, part in steps for leaf in paths_of(part, (*path, step))]
