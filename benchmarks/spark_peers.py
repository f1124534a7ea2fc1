"""What a Spark user writes today for rules against events, and two engines without Spark: peers of `spark`.

All take the same events and the same rules, three ranges of eight attributes, and return the number of matches.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from rookery.spark.workloads import AXES, Bounds

__all__ = [
    "case_when",
    "cases",
    "duckdb_join",
    "explode_and_count",
    "hash_join",
    "indexed_rules",
    "nested_loop_indexed",
    "nested_loop_wide",
    "polars_join",
    "wide_rules",
]


#: Columns of one projection: more, and Spark gives up compiling the stage.
AT_ONCE = 100


def wide_rules(bounds: Bounds) -> pa.Table:
    """Rules as sixteen columns, ±infinity where an attribute is free."""
    columns = {"rule": pa.array(bounds.ids)}
    for name in AXES:
        columns[f"lo_{name}"], columns[f"hi_{name}"] = pa.array(bounds.lower[name]), pa.array(bounds.upper[name])
    return pa.table(columns)


def indexed_rules(bounds: Bounds) -> pa.Table:
    """Rules as three (attribute number, low, high)."""
    lower = np.column_stack([bounds.lower[name] for name in AXES])
    upper = np.column_stack([bounds.upper[name] for name in AXES])
    which = np.argsort(~np.isfinite(lower), axis=1, kind="stable")[:, :3]
    rows = np.arange(len(lower))
    columns = {"rule": pa.array(bounds.ids)}
    for turn in range(3):
        columns[f"i{turn}"] = pa.array(which[:, turn].astype(np.int32))
        columns[f"lo{turn}"] = pa.array(lower[rows, which[:, turn]])
        columns[f"hi{turn}"] = pa.array(upper[rows, which[:, turn]])
    return pa.table(columns)


def nested_loop_wide(spark: Any, events: Any, bounds: Bounds) -> int:
    """Join on sixteen comparisons: Spark plans a BroadcastNestedLoopJoin."""
    from pyspark.sql.functions import broadcast, expr

    rules = broadcast(spark.createDataFrame(wide_rules(bounds)))
    condition = " and ".join(f"{name} >= lo_{name} and {name} < hi_{name}" for name in AXES)
    return int(events.join(rules, expr(condition)).count())


def nested_loop_indexed(spark: Any, events: Any, bounds: Bounds) -> int:
    """Join on three looked-up attributes: fewer comparisons, still a nested loop."""
    from pyspark.sql.functions import array, broadcast, col, expr

    rules = broadcast(spark.createDataFrame(indexed_rules(bounds)))
    packed = events.select("event_id", array(*(col(name) for name in AXES)).alias("v"))
    condition = " and ".join(f"v[i{turn}] >= lo{turn} and v[i{turn}] < hi{turn}" for turn in range(3))
    return int(packed.join(rules, expr(condition)).count())


def case_when(events: Any, bounds: Bounds) -> int:
    """Write each rule into the program, with the bounds that it has."""
    wheres = []
    for rule in range(len(bounds.ids)):
        ends = [(name, ">=", float(bounds.lower[name][rule])) for name in AXES]
        ends += [(name, "<", float(bounds.upper[name][rule])) for name in AXES]
        wheres.append(" and ".join(f"{name} {sign} {end!r}D" for name, sign, end in ends if np.isfinite(end)))
    return cases(events, wheres)


def cases(events: Any, wheres: list[str]) -> int:
    """Count by a column for each condition, summed; some at once, so that Spark compiles them."""
    total = 0
    for first in range(0, len(wheres), AT_ONCE):
        columns = " + ".join(f"case when {where} then 1 else 0 end" for where in wheres[first : first + AT_ONCE])
        total += int(events.selectExpr(f"sum({columns}) as n").collect()[0][0])
    return total


def hash_join(spark: Any, events: Any, bounds: Bounds) -> int:
    """Join by the device, with the ranges as the filter of the join: a BroadcastHashJoin."""
    from pyspark.sql.functions import broadcast, expr

    assert bounds.device is not None
    columns = {"rule": pa.array(bounds.ids), "named": pa.array([f"d{number:05d}" for number in bounds.device.tolist()])}
    asked = ["device = named"]
    for name in bounds.lower:
        for end, sign, values in (("lo", ">=", bounds.lower[name]), ("hi", "<", bounds.upper[name])):
            if np.isfinite(values).any():
                columns[f"{end}_{name}"] = pa.array(values)
                asked.append(f"{name} {sign} {end}_{name}")
    return int(events.join(broadcast(spark.createDataFrame(pa.table(columns))), expr(" and ".join(asked))).count())


def explode_and_count(spark: Any, events: Any, bounds: Bounds) -> int:
    """Turn both sides into rows per attribute, join on the attribute, and count three hits a pair."""
    from pyspark.sql.functions import array, col, expr, posexplode

    flat = events.select("event_id", posexplode(array(*(col(name) for name in AXES))).alias("i", "x"))
    rules = spark.createDataFrame(indexed_rules(bounds))
    parts = [rules.selectExpr("rule", f"i{t} as i", f"lo{t} as lo", f"hi{t} as hi") for t in range(3)]
    tall = parts[0].union(parts[1]).union(parts[2])
    joined = flat.join(tall, "i").where(expr("x >= lo and x < hi"))
    return int(joined.groupBy("event_id", "rule").count().where("count = 3").count())


def duckdb_join(events: pa.Table, bounds: Bounds) -> int:
    """Join on the same sixteen comparisons in DuckDB, on two threads."""
    import duckdb

    connection = duckdb.connect(config={"threads": 2})
    connection.register("events", events)
    connection.register("rules", wide_rules(bounds))
    condition = " and ".join(f"{name} >= lo_{name} and {name} < hi_{name}" for name in AXES)
    row = connection.execute(f"select count(*) from events join rules on {condition}").fetchone()
    assert row is not None
    return int(row[0])


def polars_join(events: pa.Table, bounds: Bounds) -> int:
    """Join on the same comparisons in Polars (`join_where`)."""
    import polars as pl

    left, right = pl.from_arrow(events), pl.from_arrow(wide_rules(bounds))
    conditions = []
    for name in AXES:
        conditions += [pl.col(name) >= pl.col(f"lo_{name}"), pl.col(name) < pl.col(f"hi_{name}")]
    return int(left.lazy().join_where(right.lazy(), *conditions).select(pl.len()).collect().item())  # type: ignore[union-attr]
