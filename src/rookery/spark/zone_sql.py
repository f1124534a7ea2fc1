"""A tree of zones as one SQL expression: the zone of an event is computed inside the JVM, and is the one that Python
would compute.

Theory. A coordinate is monotone in the value (`space.axes`), so `coordinate >= cut` is `value >= least`, where `least`
is the least value that lies at the cut or above. It is found once for each cut, in the value's own type: integers stay
integers, decimals decimals, a text is compared by its bytes. No coordinate is computed in SQL.

Rule: NULL lies below every cut, and so does NaN, which Spark would order above every number.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rookery.errors import PipelineError
from rookery.model.expressions import timestamp_text
from rookery.model.types import (
    BooleanType,
    DecimalType,
    EnumType,
    FloatType,
    IntegerType,
    StringType,
    TimestampType,
    key_float,
)
from rookery.space import EventSpace, KdTree

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["value_text", "zone_expression"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def zone_expression(tree: KdTree, space: EventSpace, events: DataFrame) -> Column:
    """Write the tree as one SQL expression over the events' columns; the space has the tree's axes."""
    from pyspark.sql.functions import lit, when

    columns = [_column(space, axis, events) for axis in range(len(space.axes))]

    def node(number: int) -> Any:
        axis = tree.axis[number]
        if axis < 0:
            return lit(tree.zone[number])
        above = _is_above(space, axis, tree.cut[number], *columns[axis])
        return when(above, node(tree.upper[number])).otherwise(node(tree.lower[number]))

    return node(0).cast("int")


def _column(space: EventSpace, axis: int, events: DataFrame) -> tuple[Column, Any]:
    """Return the values of an axis, NULL where a step of its path is missing, and their Spark type."""
    from pyspark.sql.functions import col, get, lit

    first, *path = space.attributes[axis].path
    column, kind = col(f"`{first}`"), events.schema[str(first)].dataType
    for step in path:
        if isinstance(step, int):
            column, kind = get(column, lit(step)), kind.elementType
        else:
            column, kind = column.getField(step), kind[step].dataType
    return column, kind


def _is_above(space: EventSpace, axis: int, cut: float, column: Column, spark_type: Any) -> Column:
    from pyspark.sql.functions import isnan, lit, unix_date, unix_micros
    from pyspark.sql.types import DateType, TimestampNTZType

    least: Any = space.least(axis, cut)
    if least is None:
        return lit(False)
    match space.attributes[axis].type:
        case StringType():
            return column.cast("binary") >= lit(bytearray(least))
        case IntegerType():
            return column.cast("bigint") >= lit(least).cast("bigint")
        case BooleanType():
            return column.cast("int") >= lit(least)
        case FloatType():
            return (column.cast("double") >= lit(key_float(least))) & ~isnan(column)
        case DecimalType(precision, scale):
            return column >= lit(Decimal(least).scaleb(-scale)).cast(f"decimal({precision},{scale})")
        case TimestampType() if isinstance(spark_type, DateType):
            return unix_date(column).cast("bigint") * 86_400 >= lit(least).cast("bigint")
        case TimestampType() if isinstance(spark_type, TimestampNTZType):
            return _is_at_or_after(column, least)
        case TimestampType():
            return unix_micros(column) >= lit(least).cast("bigint")
    raise PipelineError(f"{space.axes[axis].attribute}: Spark has no order for it to cut by")


def _is_at_or_after(column: Column, microseconds: int) -> Column:
    """Compare a timestamp without a zone: as such, since Spark would read it in the session's zone elsewhere."""
    from pyspark.sql.functions import expr, lit

    try:
        text = (_EPOCH + timedelta(microseconds=microseconds)).replace(tzinfo=None).isoformat(sep=" ")
    except OverflowError:
        return column.isNotNull() if microseconds < 0 else lit(False)
    return column >= expr(f"timestamp_ntz'{text}'")


def value_text(space: EventSpace, axis: int, cut: float) -> str | None:
    """Return a place of a zone's border as people read it: the least value that lies there; None at the ends."""
    least: Any = space.least(axis, cut) if 0 < cut < 1 else None
    if least is None:
        return None
    match space.attributes[axis].type:
        case StringType():
            return bytes(least).decode("utf-8", "replace")
        case FloatType():
            return repr(key_float(least))
        case DecimalType(_, scale):
            return str(Decimal(least).scaleb(-scale))
        case TimestampType() as kind:
            try:
                return timestamp_text(least * kind.nanoseconds)
            except OverflowError:
                return None
        case EnumType(labels):
            return labels[least] if least < len(labels) else None
        case BooleanType():
            return "TRUE" if least else "FALSE"
    return str(least)
