"""Spark's types in Arrow's terms: what PySpark itself says of them, and what it refuses is `null`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from rookery.errors import PipelineError
from rookery.spark.types import arrow_schema_of, spark_schema_of, spark_type_of

DDL = """a boolean, b tinyint, c smallint, d int, e bigint, f float, g double, h decimal(12,3), i string, j binary,
    k date, l timestamp, m timestamp_ntz, n array<double>, o struct<x:int,y:array<string>>, p map<string,bigint>,
    q interval day to second"""


def test_types_are_those_in_which_spark_hands_rows_over(spark: Any) -> None:
    frame = spark.sql(
        f"select from_json('{{}}', '{' '.join(DDL.split()).replace(', q interval day to second', '')}') v"
    )
    frame = frame.selectExpr("v.*", "interval '1' day as q")
    assert arrow_schema_of(frame.schema).types == frame.toArrow().schema.types


def test_there_and_back(spark: Any) -> None:
    columns = spark.createDataFrame([], DDL).schema
    assert spark_schema_of(arrow_schema_of(columns), local=True) == columns


def test_a_type_without_an_arrow_form_is_null(spark: Any) -> None:
    columns = spark.sql("select parse_json('1') v, interval '1' year w, 1 x").schema
    assert arrow_schema_of(columns).types == [pa.null(), pa.null(), pa.int32()]


def test_arrow_types_that_spark_holds_in_another() -> None:
    kinds = [pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.binary(3), pa.timestamp("ns"), pa.null()]
    names = [spark_type_of(kind).simpleString() for kind in kinds]
    assert names == ["string", "string", "binary", "timestamp", "void"]
    with pytest.raises(PipelineError, match="Spark has no type for Arrow's uint32"):
        spark_type_of(pa.uint32())


def test_what_cannot_cross() -> None:
    from rookery.spark.types import crosses

    empty, full = pa.struct([]), pa.struct([("a", pa.int8())])
    assert [crosses(kind) for kind in (pa.int8(), full, pa.list_(full), pa.map_(pa.string(), full))] == [True] * 4
    assert [crosses(kind) for kind in (pa.null(), empty, pa.list_(empty), pa.struct([("a", empty)]))] == [False] * 4
