"""Spark's types and Arrow's, each in terms of the other, by public classes alone.

PySpark has such functions, but not for others to call: their arguments changed with 4.1 and 4.2. What Rookery needs is
small and fixed: in which Arrow type Spark hands a column to Python, and as what it takes one back. An instant is read
in UTC. A type that has no Arrow form here (a variant, a geometry, an interval of months) is `null`: its column is
there, no condition can compare it, and a rule that names it is set aside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rookery.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

__all__ = ["arrow_schema_of", "arrow_type_of", "crosses", "spark_schema_of", "spark_type_of", "widened"]

#: Plain types by the names that Spark gives them in DDL.
PLAIN = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def arrow_schema_of(columns: StructType) -> pa.Schema:
    """Return the Arrow schema in which Spark hands such rows to Python."""
    kinds = [arrow_type_of(one.dataType) for one in columns]
    return pa.schema(
        [pa.field(one.name, kind, one.nullable or kind == pa.null()) for one, kind in zip(columns, kinds, strict=True)]
    )


def crosses(kind: pa.DataType) -> bool:
    """Say whether Spark can hand a column of this type to Python: none without a form, and no struct without fields."""
    if pa.types.is_struct(kind):
        return kind.num_fields > 0 and all(crosses(one.type) for one in kind)
    return kind != pa.null() and all(crosses(kind.field(place).type) for place in range(kind.num_fields))


def arrow_type_of(kind: DataType) -> pa.DataType:
    """Return the Arrow type in which Spark hands a column to Python; `null` where it has none."""
    from pyspark.sql import types as t

    match kind:
        case t.DecimalType():
            return pa.decimal128(kind.precision, kind.scale)
        case t.StringType() | t.CharType() | t.VarcharType():  # with whatever collation or length
            return pa.string()
        case t.DayTimeIntervalType():
            return pa.duration("us")
        case t.ArrayType():
            return pa.list_(pa.field("element", arrow_type_of(kind.elementType), kind.containsNull))
        case t.MapType():
            value = pa.field("value", arrow_type_of(kind.valueType), kind.valueContainsNull)
            return pa.map_(arrow_type_of(kind.keyType), value)
        case t.StructType():
            return pa.struct(list(arrow_schema_of(kind)))
        case t.UserDefinedType():
            return arrow_type_of(kind.sqlType())
    return PLAIN.get(kind.simpleString(), pa.null())


def widened(kind: pa.DataType) -> pa.DataType:
    """Return the type that holds the same values in Spark, which has no unsigned integers and no nanoseconds."""
    if pa.types.is_unsigned_integer(kind):
        return {8: pa.int16(), 16: pa.int32(), 32: pa.int64(), 64: pa.decimal128(20)}[kind.bit_width]
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz=kind.tz)
    if pa.types.is_list(kind):
        return pa.list_(widened(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([one.with_type(widened(one.type)) for one in kind])
    return kind


def spark_schema_of(columns: pa.Schema, *, local: bool = False) -> StructType:
    """Return these columns as Spark has them; `local`: a time without a zone stays one (`timestamp_ntz`)."""
    from pyspark.sql.types import StructField, StructType

    return StructType(
        [StructField(one.name, spark_type_of(one.type, local=local), one.nullable) for one in columns]
    )  # fmt: skip


def spark_type_of(kind: pa.DataType, *, local: bool = False) -> DataType:
    """Return the Spark type that holds every value of an Arrow type."""
    from pyspark.sql import types as t

    is_ = pa.types
    if is_.is_dictionary(kind):
        return spark_type_of(kind.value_type, local=local)
    if is_.is_decimal(kind):
        return t.DecimalType(kind.precision, kind.scale)
    if is_.is_timestamp(kind):
        return t.TimestampNTZType() if local and kind.tz is None else t.TimestampType()
    if is_.is_duration(kind):
        return t.DayTimeIntervalType()
    if is_.is_map(kind):
        nullable = kind.item_field.nullable
        return t.MapType(
            spark_type_of(kind.key_type, local=local), spark_type_of(kind.item_type, local=local), nullable
        )
    if is_.is_list(kind) or is_.is_large_list(kind) or is_.is_fixed_size_list(kind):
        return t.ArrayType(spark_type_of(kind.value_type, local=local), kind.value_field.nullable)
    if is_.is_struct(kind):
        return spark_schema_of(pa.schema(list(kind)), local=local)
    plain = _plain(kind, t)
    if plain is None:
        raise PipelineError(f"Spark has no type for Arrow's {kind}: leave the column out, or convert it first")
    return plain


def _plain(kind: pa.DataType, t: Any) -> DataType | None:
    classes = {
        pa.bool_(): t.BooleanType,
        pa.int8(): t.ByteType,
        pa.int16(): t.ShortType,
        pa.int32(): t.IntegerType,
        pa.int64(): t.LongType,
        pa.float32(): t.FloatType,
        pa.float64(): t.DoubleType,
        pa.string(): t.StringType,
        pa.large_string(): t.StringType,
        pa.string_view(): t.StringType,
        pa.binary(): t.BinaryType,
        pa.large_binary(): t.BinaryType,
        pa.date32(): t.DateType,
        pa.null(): t.NullType,
    }
    made = classes.get(kind)
    if made is None and pa.types.is_fixed_size_binary(kind):
        made = t.BinaryType
    return None if made is None else made()
