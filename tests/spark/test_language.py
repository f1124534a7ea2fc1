"""Spark SQL reads the same texts: on Spark, by DuckDB and by Spark's own `filter` the matches are the same.

The conditions are those of `tests/oracle`, written as both languages read them and outside of the differences that
docs/subscriptions.md lists; doubles are whole quarters, since Spark compares a decimal with a double as doubles.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from oracle.conditions import Writer
from oracle.forms_events import forms_events, satisfied_forms
from oracle.forms_nested import NOW
from oracle.forms_words import DUCKDB_ALONE, covering, unused
from oracle.judge import Judge
from oracle.kinds import LEAF_KINDS, Kind, pool_of
from oracle.literals import Leaf
from rookery.model.functions import FUNCTIONS
from rookery.spark import match

from .conftest import pairs

pytestmark = pytest.mark.spark

RULES, FORMS, ROWS, FORM_ROWS = 100, 300, 400, 8_000
COLUMNS: dict[str, tuple[str, pa.DataType]] = {
    "i": ("int64", pa.int64()),
    "n": ("int16", pa.int16()),
    "x": ("float64", pa.float64()),
    "d": ("decimal(18,3)", pa.decimal128(18, 3)),
    "s": ("string", pa.string()),
    "b": ("bool", pa.bool_()),
    "t": ("timestamp[us]", pa.timestamp("us", "UTC")),
}


def values_of(random: Random, kind: Kind) -> list[Any]:
    """Return values that Spark and Rookery compare alike."""
    match kind.family:
        case "integer":
            ends = [kind.low, kind.high, 2**53 + 1] if kind.bits == 64 else [kind.low, kind.high]
            return [*ends, *range(-3, 12)]
        case "float":
            return [quarter / 4 for quarter in range(-8, 40)]
        case "decimal":
            return [
                Decimal(step) / 1000 for step in (0, 1, -1, 250, 500, 999, 1000, 2500, 7000, 10**18 - 1, 1 - 10**18)
            ]
        case "string":
            return [one for one in pool_of(random, kind) if "\\" not in one and "\x00" not in one]
        case "timestamp":
            return [1_767_225_600_000_000_000 + step * 500_000_000 for step in range(-5, 9)] + [0, -1_000]
    return pool_of(random, kind)


def test_spark_sql_and_duckdb_are_oracles_of_every_form(spark: Any) -> None:
    """Arithmetic, functions, patterns, instants, truth, elements, now(): each judged by three, in one Spark job.

    The order of an enum, networks of addresses, and numbers at the ends of an int64 are DuckDB's alone (`plain`).
    """
    forms = covering(31, FORMS, FUNCTIONS, plain=True)
    assert unused(forms, FUNCTIONS) == DUCKDB_ALONE
    table = forms_events(np.random.default_rng(31), FORM_ROWS, plain=True)
    by_form = satisfied_forms(table, forms)
    assert sum(map(len, by_form)) > FORMS * FORM_ROWS // 10

    # Division by zero is NULL without ANSI mode, and so is the size of NULL: docs/subscriptions.md lists both.
    settings = {"spark.sql.ansi.enabled": "false", "spark.sql.legacy.sizeOfNull": "false"}
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        frame = spark.createDataFrame(table).coalesce(1).cache()
        judged = frame.selectExpr(
            "event_id", *(f"coalesce({one.spark}, false) as r{number}" for number, one in enumerate(forms))
        ).toArrow()
        by_spark = [np.sort(judged["event_id"].filter(judged[f"r{number}"]).to_numpy()) for number in range(FORMS)]
        different = [place for place, rows in enumerate(by_form) if not np.array_equal(by_spark[place], rows)]
        assert [forms[place].spark for place in different] == []
        parameters = pa.array([list(one.parameters) for one in forms], pa.list_(pa.string()))
        wheres = pa.array([one.text for one in forms])
        rules = pa.table({"subscription_id": list(range(FORMS)), "where": wheres, "parameters": parameters})
        found = match(frame, rules, now=datetime.fromisoformat(NOW)).select("event_id", "subscription_id").toArrow()
        pairs_found = np.sort(found["subscription_id"].to_numpy() * FORM_ROWS + found["event_id"].to_numpy())
        due = np.concatenate([rows + place * FORM_ROWS for place, rows in enumerate(by_form)])
        assert np.array_equal(pairs_found, due)
        frame.unpersist()
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@pytest.mark.parametrize("seed", [1, 2])
def test_spark_sql_is_an_oracle_of_the_language(spark: Any, seed: int) -> None:
    random, generator = Random(seed), np.random.default_rng(seed)
    leaves, columns = [], {"event_id": pa.array(range(ROWS), pa.int64())}
    for number, (name, (written, arrow)) in enumerate(COLUMNS.items()):
        kind = next(one for one in LEAF_KINDS if one.written == written)
        values = values_of(random, kind)
        leaves.append(Leaf(number, name, (name,), kind, tuple(values)))
        stored = [one // 1000 for one in values] if kind.family == "timestamp" else values
        base = pa.array(stored, pa.int64() if kind.family == "timestamp" else arrow).cast(arrow)
        places = generator.integers(0, len(values), ROWS)
        columns[name] = base.take(pa.array(places, mask=generator.random(ROWS) < 0.1))
    writer, table = Writer(random, leaves, plain=True), pa.table(columns)
    conditions = [writer.condition() for _ in range(RULES)]

    judge = Judge(table, leaves, topic=None, time=None, ranked=writer.ranked)
    by_rule = judge.satisfied([one.sql for one in conditions])
    judge.close()
    expected = sorted((row, number, 1) for number, rows in enumerate(by_rule) for row in rows.tolist())
    assert len(expected) > RULES * ROWS // 100

    frame = spark.createDataFrame(table).coalesce(1).cache()
    judged = frame.selectExpr(
        "event_id", *(f"coalesce({one.text}, false) as r{number}" for number, one in enumerate(conditions))
    ).toArrow()
    by_spark = [judged["event_id"].filter(judged[f"r{number}"]).to_pylist() for number in range(RULES)]
    assert sorted((row, number, 1) for number, rows in enumerate(by_spark) for row in rows) == expected
    rules = pa.table({"subscription_id": list(range(RULES)), "where": [one.text for one in conditions]})
    assert pairs(match(frame, rules)) == expected
    frame.unpersist()
