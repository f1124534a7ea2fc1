"""Which sets are joined by hash, and what the table of their rules holds; `test_native.py` judges the matches."""

from __future__ import annotations

from math import inf
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="the Spark tests need `pip install rookery[spark]`")

from pyspark.sql import types as t

from rookery.spark import Subscriptions
from rookery.spark.joins import MOST_MEETINGS, JoinShape, join_shape, rule_table
from rookery.spark.rules import Reading, schema_of
from rookery.spark.sql_rows import SqlRows, sql_rows
from rookery.spark.types import arrow_schema_of

COLUMNS = t.StructType(
    [t.StructField("s", t.StringType()), t.StructField("x", t.DoubleType()), t.StructField("n", t.LongType())]
)


def rows_of(*wheres: str) -> SqlRows:
    records = pa.table({"subscription_id": range(len(wheres)), "where": list(wheres)})
    compiled = Subscriptions.arrow(records).compiled(schema_of(arrow_schema_of(COLUMNS)), Reading()).compiled
    rows = sql_rows(compiled, COLUMNS, Reading())
    assert rows is not None
    return rows


@pytest.mark.parametrize(
    ("wheres", "reason"),
    [
        (["x > 1"], "no column of which every rule names values"),
        (["s = 'a'", "x > 1"], "no column of which every rule names values"),
        (["(s = 'a' and x > 1) or (s = 'a' and n > 1)"], "no column of which every rule names values"),
        (["s = 'a' and x not in (1, 2, 3)"], "more than one range"),
        (["s = 'a' and x is null"], "or NULL"),
        (["s = 'a' and n is not null"], "more than one range, or NULL"),
        (["s is null and n is null"], "no column"),
        ([f"s = 'a' and x > {one}" for one in range(MOST_MEETINGS + 1)], "rules name one value"),
    ],
)
def test_what_a_join_would_find_twice_or_not_at_all_is_refused(wheres: list[str], reason: str) -> None:
    found = join_shape(rows_of(*wheres))
    assert isinstance(found, str)
    assert reason in found


@pytest.mark.parametrize(
    ("wheres", "table", "conditions"),
    [
        (
            ["s = 'a' and x >= 1", "s = 'b' and x >= 2"],
            {"_rookery_key": ["a", "b"], "_rookery_low_1": [1.0, 2.0]},
            ["`s` = _rookery_key", "`x` >= _rookery_low_1", "`x` <= double('Infinity')"],
        ),
        (
            ["s = 'a' and x >= 1", "s in ('b', 'c') and n <= 7"],
            {"_rookery_key": ["a", "b", "c"], "_rookery_low_1": [1.0, None, None], "_rookery_high_1": [inf, None, None],
             "_rookery_high_2": [None, 7, 7]},
            ["`s` = _rookery_key", "(_rookery_low_1 is null or `x` >= _rookery_low_1)",
             "(_rookery_high_1 is null or `x` <= _rookery_high_1)",
             "(_rookery_high_2 is null or `n` <= _rookery_high_2)"],
        ),
    ],
)  # fmt: skip
def test_a_table_holds_the_ends_that_rules_have(
    wheres: list[str], table: dict[str, list[Any]], conditions: list[str]
) -> None:
    rows = rows_of(*wheres)
    shape = join_shape(rows)
    assert isinstance(shape, JoinShape)
    held, asked = rule_table(rows, shape)
    assert {name: values.to_pylist() for name, values in held.items()} == table
    assert asked == conditions
