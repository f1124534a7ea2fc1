"""The golden values of events, and the forms in which Arrow may hold them.

A case says what an attribute reads from one value of an Arrow type. A disguise is another Arrow form of the same
values: it changes the column's type, its offsets or its chunks, and never what is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rookery.model.schema import Attribute, Schema

__all__ = ["CASES", "DISGUISES", "Case", "arrow_type", "attribute_of", "column_of", "kind_of", "raw_of"]

Case = tuple[str, str, Any, Any]

CASES: list[Case] = [
    tuple(one)
    for one in json.loads((Path(__file__).parents[1] / "cases" / "events" / "values.json").read_text("utf-8"))["cases"]
]


def kind_of(name: str) -> Any:
    """Return the schema's word for a case's attribute type."""
    return {"$enum": ["on", "off"]} if name == "enum" else name


def attribute_of(name: str) -> Attribute:
    return Schema.from_dict({"x": kind_of(name)}).attribute(("x",))


def arrow_type(text: str) -> pa.DataType:
    """Return an Arrow type by its text."""
    name, _, rest = text.replace("]", "").replace(")", "").partition("[" if "[" in text else "(")
    if name.startswith("decimal"):
        return getattr(pa, name)(*map(int, rest.split(",")))
    if name == "timestamp":
        unit, _, zone = rest.partition(", tz=")
        return pa.timestamp(unit, tz=zone or None)
    return getattr(pa, name)(*([rest] if rest else [])) if name != "bool" else pa.bool_()


def _value(kind: pa.DataType, value: Any) -> Any:
    if value is None:
        return None
    if pa.types.is_floating(kind):
        return np.float16(value) if pa.types.is_float16(kind) else float(value)
    if pa.types.is_decimal(kind):
        return Decimal(value)
    if "binary" in str(kind):
        return value.encode()
    return value


def column_of(kind: pa.DataType, values: list[Any]) -> pa.Array:
    """Return values of a case's notation as an Arrow array."""
    if pa.types.is_temporal(kind):
        counts = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array(values, counts).view(kind)
    return pa.array([_value(kind, one) for one in values], kind)


def raw_of(kind: pa.DataType, value: Any) -> Any:
    """Return a case's value as a dict event would hold it: written without the product's own reading."""
    if value is None:
        return None
    if pa.types.is_timestamp(kind):
        return np.datetime64(value, kind.unit)
    if pa.types.is_date(kind):
        return date(1970, 1, 1) + timedelta(days=value if pa.types.is_date32(kind) else value // 86_400_000)
    if pa.types.is_temporal(kind):
        return column_of(kind, [value])[0].as_py()
    return _value(kind, value)


class Wrapped(pa.ExtensionType):
    """An extension type over any storage."""

    def __init__(self, storage: pa.DataType) -> None:
        super().__init__(storage, "rookery.test.wrapped")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: pa.DataType, _: bytes) -> Wrapped:
        return cls(storage)


def _sliced(array: pa.Array) -> pa.Array:
    return pa.concat_arrays([array, array, array]).slice(len(array), len(array))


def _dictionary(array: pa.Array) -> pa.Array:
    """Return a dictionary array, each value at its own index, with a NULL in the indices' reach."""
    values = pa.concat_arrays([array, pa.nulls(1, array.type)])
    places = [len(array) if not one.is_valid and place % 2 else place for place, one in enumerate(array)]
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int16()), values)


def _runs(array: pa.Array) -> pa.Array:
    ends = pa.array(range(1, len(array) + 1), pa.int32())
    return pa.RunEndEncodedArray.from_arrays(ends, array)


DISGUISES: dict[str, Callable[[pa.Array], Any]] = {
    "plain": lambda array: array,
    "sliced": _sliced,
    "chunks": lambda array: pa.chunked_array([array[:1], array[:0], array[1:]]),
    "dictionary": _dictionary,
    "sliced dictionary": lambda array: _dictionary(pa.concat_arrays([array] * 3))[len(array) : 2 * len(array)],
    "runs": _runs,
    "sliced runs": lambda array: pa.concat_arrays([_runs(array)] * 3)[len(array) : 2 * len(array)],
    "extension": lambda array: pa.ExtensionArray.from_storage(Wrapped(array.type), array),
}
