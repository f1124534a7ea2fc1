"""Types between Arrow and the schema, and schemas inferred from files.

Rule: an Arrow type that no filter can compare is refused with the column's name; nothing is converted on the quiet.
Dictionary-encoded strings are strings, and a date is the instant at its midnight in UTC.
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path

import pyarrow as pa

from rookery.errors import SchemaError
from rookery.model.datasets import find_dataset
from rookery.model.storage import Location, path_of, source_of
from rookery.model.types import (
    BooleanType,
    DecimalType,
    DurationType,
    EnumType,
    FloatType,
    IntegerType,
    ListType,
    MapType,
    StringType,
    StructType,
    TimestampType,
    Type,
)

__all__ = ["INFERENCE_BYTES", "infer_arrow_schema", "type_from_arrow", "type_to_arrow"]

#: How much of a text file is read to infer its types.
INFERENCE_BYTES = 1 << 20


def type_from_arrow(name: str, kind: pa.DataType) -> Type:
    """Return the schema type of an Arrow type."""
    types = pa.types
    if types.is_dictionary(kind):
        return type_from_arrow(name, kind.value_type)
    if types.is_boolean(kind):
        return BooleanType()
    if types.is_integer(kind):
        return IntegerType(kind.bit_width, signed=types.is_signed_integer(kind))
    if types.is_float32(kind) or types.is_float64(kind):
        return FloatType(kind.bit_width)
    if types.is_decimal(kind) and 0 <= kind.scale <= kind.precision:
        return DecimalType(kind.precision, kind.scale)
    if types.is_timestamp(kind):
        return TimestampType(kind.unit)
    if types.is_date(kind):
        return TimestampType("s" if types.is_date32(kind) else "ms")
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return StringType()
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return ListType(type_from_arrow(f"{name}[]", kind.value_type))
    if types.is_struct(kind):
        return StructType(tuple((inner.name, type_from_arrow(f"{name}.{inner.name}", inner.type)) for inner in kind))
    if types.is_map(kind) and isinstance(type_from_arrow(name, kind.key_type), StringType):
        return MapType(type_from_arrow(f"{name}[]", kind.item_type))
    if types.is_null(kind):
        # A column without one value: any type will do, since it is NULL throughout.
        return StringType()
    raise SchemaError(f"{name}: filters cannot compare Arrow's {kind}; leave the column out or cast it")


def type_to_arrow(kind: Type) -> pa.DataType:
    """Return the Arrow type that holds a schema type exactly."""
    match kind:
        case BooleanType():
            return pa.bool_()
        case IntegerType():
            return getattr(pa, kind.name)()
        case FloatType():
            return pa.float32() if kind.bits == 32 else pa.float64()
        case DecimalType(precision, scale):
            return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
        case TimestampType(unit):
            return pa.timestamp(unit, tz="UTC")
        case DurationType():
            return pa.int64()
        case StringType() | EnumType():
            return pa.string()
        case ListType(item):
            return pa.list_(type_to_arrow(item))
        case MapType(value):
            return pa.map_(pa.string(), type_to_arrow(value))
        case StructType(fields):
            return pa.struct([(name, type_to_arrow(inner)) for name, inner in fields])
    raise TypeError(f"not a type: {kind!r}")


def infer_arrow_schema(path: str | PathLike[str]) -> pa.Schema:
    """Return the Arrow schema of a Parquet, CSV, JSON lines or Arrow file.

    Of a folder it is that of the first file and of the partition folders; of a Delta table, that of its log.
    """
    target = path_of(str(path))
    found = find_dataset(target, error=SchemaError) if target.is_dir() else None
    if found is not None and found.declared is not None:
        return found.declared
    if found is not None:
        target = found.paths[0]
    if not target.exists():
        raise SchemaError(f"{path}: no such file")
    try:
        schema = _read_schema(target)
        return schema if found is None else found.schema(schema)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise SchemaError(f"{target}: cannot infer a schema: {error}") from error


def _read_schema(target: Location) -> pa.Schema:
    suffix = target.suffix.lower()
    if suffix in (".parquet", ".pq"):
        import pyarrow.parquet

        return pyarrow.parquet.read_schema(source_of(target))
    if suffix in (".arrow", ".ipc", ".feather"):
        return pa.ipc.open_file(source_of(target)).schema
    with target.open("rb") as stream:
        head = stream.read(INFERENCE_BYTES)
    head = head[: head.rfind(b"\n") + 1] or head
    if suffix in (".jsonl", ".ndjson", ".json"):
        import pyarrow.json

        return pyarrow.json.read_json(pa.BufferReader(head)).schema
    if suffix in (".csv", ".tsv", ".txt"):
        import pyarrow.csv

        options = pyarrow.csv.ParseOptions(delimiter="\t" if suffix == ".tsv" else ",")
        return pyarrow.csv.read_csv(pa.BufferReader(head), parse_options=options).schema
    raise ValueError(f"{suffix or 'a file without a suffix'} is not one of .parquet, .csv, .tsv, .jsonl, .arrow")


def schema_document(path: str | PathLike[str]) -> dict[str, object]:
    """Read a schema written as JSON, `{"price": "float64", …}`."""
    try:
        document = json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SchemaError(f"{path}: cannot read the schema: {error}") from error
    if not isinstance(document, dict):
        raise SchemaError(f'{path}: a schema is an object of names and types: {{"price": "float64"}}')
    return document
