"""What is written of a range; what it means is judged by DuckDB on Spark in `test_native.py`."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark", reason="the Spark tests need `pip install rookery[spark]`")

from pyspark.sql import types as t

from rookery.model.schema import Schema
from rookery.model.types import float_key
from rookery.spark.range_sql import ambiguous, leaf_of, range_text, text_condition
from rookery.spark.rules import Reading

COLUMNS = t.StructType(
    [
        t.StructField("x", t.DoubleType()),
        t.StructField("a.b`c", t.StringType()),
        t.StructField("d", t.DateType()),
        t.StructField("local", t.TimestampNTZType()),
        t.StructField("coded", t.VarcharType(9)),
        t.StructField("n", t.ByteType()),
    ]
)
SCHEMA = Schema.from_dict(
    {"x": "float64", "a.b`c": "string", "d": "timestamp[s]", "local": "timestamp[us]", "coded": "string", "n": "int8"}
)
INFINITY = "double('Infinity')"


@pytest.mark.parametrize(
    ("name", "null", "low", "high", "text"),
    [
        ("x", True, None, None, "(`x` is null or isnan(`x`))"),
        ("x", False, float_key(1.5), None, f"(`x` >= 1.5D and `x` <= {INFINITY})"),
        ("x", False, 0, 0, "(`x` >= -0.0D and `x` <= 0.0D)"),
        ("x", False, None, None, f"(`x` <= {INFINITY})"),
        ("a.b`c", False, ("é", 1), ("'", -1), "(`a.b``c` > string(X'c3a9') and `a.b``c` < string(X'27'))"),
        ("a.b`c", False, ("b", 0), ("b", 0), "`a.b``c` = string(X'62')"),
        ("d", False, 1, 86_399, "(`d` >= date_from_unix_date(1) and `d` <= date_from_unix_date(0))"),
        ("n", False, 3, 3, "`n` = 3L"),
        ("n", False, None, None, "`n` is not null"),
        ("n", True, None, None, "`n` is null"),
    ],
)
def test_a_range_is_written_so_that_spark_takes_it_as_a_worker_does(
    name: str, null: bool, low: object, high: object, text: str
) -> None:
    leaf = leaf_of(SCHEMA.attribute((name,)), COLUMNS, Reading())
    assert leaf is not None
    assert range_text(leaf, null, low, high) == text


def test_what_spark_may_take_otherwise_is_not_said() -> None:
    for name in ("local", "coded"):
        assert leaf_of(SCHEMA.attribute((name,)), COLUMNS, Reading()) is None
    said = {
        kind: text_condition(f'[[["a.b`c"],"{kind}","%b%"]]', SCHEMA, COLUMNS, Reading()) for kind in ("like", "fold")
    }
    assert said == {"like": "(`a.b``c` like string(X'256225'))", "fold": None}
    assert text_condition('[[["a.b`c"],"like","b_%"]]', SCHEMA, COLUMNS, Reading()) is None
    assert not ambiguous(COLUMNS)
    assert ambiguous(t.StructType([*COLUMNS, t.StructField("X", t.DoubleType())]))
