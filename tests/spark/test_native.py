"""The plans inside the JVM and the pruning before it: the matches that DuckDB gives, on values that Spark knows better.

Each condition of the oracle's writer that Spark can say exactly is matched as an expression, and of each the pruning
must keep what it wants: NaN, signed zeros, infinities, the ends of integers, 2^53 and its neighbors, texts by code
point, instants, dates, parameters, topics, versions and validity.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oracle.conditions import Writer
from oracle.judge import Judge
from oracle.kinds import LEAF_KINDS, pool_of
from oracle.literals import Leaf
from rookery.errors import PipelineError
from rookery.spark import Subscriptions, explain_plan, match
from rookery.spark.native import offers
from rookery.spark.pipeline import arrow_schema
from rookery.spark.prune import wanted_condition
from rookery.spark.row_masks import row_masks
from rookery.spark.rules import Reading, schema_of
from rookery.spark.sql_rows import sql_rows

from .conftest import pairs

pytestmark = pytest.mark.spark

ROWS, CONDITIONS, AT_ONCE = 300, 160, 30
KINDS = {
    "i": ("int64", pa.int64()),
    "n": ("int8", pa.int8()),
    "x": ("float64", pa.float64()),
    "f": ("float32", pa.float32()),
    "d": ("decimal(18,3)", pa.decimal128(18, 3)),
    "s": ("string", pa.string()),
    "b": ("bool", pa.bool_()),
    "t": ("timestamp[us]", pa.timestamp("us", "UTC")),
}


def nasty_events(random: Random) -> tuple[pa.Table, list[Leaf]]:
    generator = np.random.default_rng(random.randrange(1 << 30))
    leaves, columns = [], {"event_id": pa.array(range(ROWS), pa.int64())}
    for number, (name, (written, arrow)) in enumerate(KINDS.items()):
        kind = next(one for one in LEAF_KINDS if one.written == written)
        values = [one for one in pool_of(random, kind) if not isinstance(one, str) or "\x00" not in one]
        leaves.append(Leaf(number, name, (name,), kind, tuple(values)))
        stored = [one // 1000 for one in values] if kind.family == "timestamp" else values
        base = pa.array(stored, pa.int64() if kind.family == "timestamp" else arrow).cast(arrow)
        columns[name] = base.take(pa.array(generator.integers(0, len(values), ROWS), mask=generator.random(ROWS) < 0.1))
    return pa.table(columns), leaves


def test_what_spark_says_by_itself_is_what_duckdb_says(spark: Any, tmp_path: Path) -> None:
    random = Random(23)
    table, leaves = nasty_events(random)
    writer = Writer(random, leaves)
    conditions = [writer.condition() for _ in range(CONDITIONS)]
    judge = Judge(table, leaves, topic=None, time=None, ranked=writer.ranked)
    due = [set(rows.tolist()) for rows in judge.satisfied([one.sql for one in conditions])]
    judge.close()
    pq.write_table(table, tmp_path / "events.parquet")  # whose statistics and dictionaries Spark asks too
    frame = spark.read.parquet(str(tmp_path / "events.parquet"))
    reading = Reading()
    records = pa.table(
        {
            "subscription_id": range(CONDITIONS),
            "where": [one.text for one in conditions],
            "parameters": pa.array([list(one.parameters) for one in conditions], pa.list_(pa.string())),
        }
    )
    schema = schema_of(arrow_schema(frame))
    rows = [
        sql_rows(Subscriptions.arrow(records.slice(place, 1)).compiled(schema, reading).compiled, frame.schema, reading)
        for place in range(CONDITIONS)
    ]
    kept = {place: one for place, row in enumerate(rows) if row is not None and (one := wanted_condition(row))}
    assert len(kept) > CONDITIONS // 2
    judged = frame.selectExpr("event_id", *(f"coalesce({one}, false) as k{place}" for place, one in kept.items()))
    left = judged.toArrow()
    dropped = 0
    for place in kept:
        held = set(left["event_id"].filter(left[f"k{place}"]).to_pylist())
        assert due[place] <= held, conditions[place].text
        dropped += ROWS - len(held)
    assert dropped > len(kept) * ROWS // 4

    masked = {place: one.condition for place, row in enumerate(rows) if row is not None and (one := row_masks(row))}
    assert len(masked) > CONDITIONS // 10
    judged = frame.selectExpr("event_id", *(f"coalesce({one}, false) as k{place}" for place, one in masked.items()))
    left = judged.toArrow()
    for place in masked:
        held = set(left["event_id"].filter(left[f"k{place}"]).to_pylist())
        assert due[place] <= held < set(range(ROWS)), conditions[place].text

    told = [place for place, row in enumerate(rows) if offers(row)["expressions"].microseconds is not None]
    assert len(told) > CONDITIONS // 2
    for first in range(0, len(told), AT_ONCE):
        part = told[first : first + AT_ONCE]
        few = records.take(pa.array(part))
        expected = sorted((event, place, 1) for place in part for event in due[place])
        assert pairs(match(frame, few, plan="broadcast")) == expected
        assert pairs(match(frame, few, plan="expressions")) == expected


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


def joined_events(spark: Any) -> Any:
    doubles = [0.0, -0.0, float("nan"), None, 1.5, float("inf"), float("-inf"), 2.0**53]
    numbers = (2**53 + 1, -(2**63), 2**63 - 1, None, 5)
    rows = [
        (row, ("a", "b", "é", None, "zz")[row % 5], doubles[row % 8], numbers[row // 5 % 5],
         ("t1", "t2", None)[row % 3], day(1 + row % 20), date(2026, 1, 1) + timedelta(days=row % 9), row % 2 == 0)
        for row in range(240)
    ]  # fmt: skip
    return spark.createDataFrame(
        rows, "event_id bigint, `dev.id` string, x double, n bigint, topic string, ts timestamp, d date, b boolean"
    )


WHERES = [
    "x >= 0", "x < 0", "x <= 0 and n >= 5", "n > 9007199254740992.5", "n < 9223372036854775807", "x > -1e400",
    "d >= '2026-01-03' and d < '2026-01-06'", "b", "not b and x < 1e400", "n between -9223372036854775806 and 6",
    "topic = 't1'", "", "x = 0", "d = '2026-01-02'",
]  # fmt: skip


def dated(keys: list[str]) -> pa.Table:
    """Rules of one value and ranges, with topics, versions and validity."""
    made = [
        {
            "subscription_id": f"r{number}{key}",
            "where": f"\"dev.id\" = '{key}'" + (f" and {where}" if where else ""),
            "version": 1 + number % 2,
            "topic": "t2" if number == 3 else None,
            "valid_from": (None, day(5), day(2), None)[number % 4],
            "valid_to": day(9) if number % 4 == 2 else None,
        }
        for number, where in enumerate(WHERES)
        for key in keys
    ]
    return pa.Table.from_pylist(made)


@pytest.mark.connect
@pytest.mark.parametrize("as_of", [None, day(6)])
def test_a_join_gives_what_workers_give(spark: Any, as_of: datetime | None) -> None:
    frame, rules = joined_events(spark), dated(["a", "é", "b", "none"])
    judged: dict[str, Any] = {"time": "ts", "as_of": as_of}
    expected = pairs(match(frame, rules, plan="broadcast", **judged))
    assert len({one[1] for one in expected}) > 24
    found = match(frame, rules, plan="join", **judged)
    assert found.columns == ["event_id", "subscription_id", "version", "zone"]
    assert pairs(found) == expected
    wide = rules.filter(pa.array([key.startswith("r0") for key in rules["subscription_id"].to_pylist()]))
    found = match(frame, wide, plan="join", **judged)  # lower ends alone: NaN is above them in Spark
    assert pairs(found) == [one for one in expected if one[1].startswith("r0")] != []
    few = rules.filter(pa.array([key.endswith("é") for key in rules["subscription_id"].to_pylist()]))
    found = match(frame, few, plan="expressions", columns=["x"], **judged)
    assert pairs(found) == [one for one in expected if one[1].endswith("é")]
    assert found.columns == ["event_id", "subscription_id", "version", "zone", "x"]


@pytest.mark.connect
def test_the_plan_is_named_with_its_estimate_and_can_be_forced(spark: Any) -> None:
    frame = joined_events(spark)
    many = pa.table(
        {"subscription_id": range(400), "where": [f"\"dev.id\" = 'd{one}' and x > 1" for one in range(400)]}
    )
    wheres = [f"x > {one} and n < {one} and n <> 3" for one in range(400)]
    ranges = pa.table({"subscription_id": range(400), "where": wheres})
    for rules, name in ((many.slice(0, 3), "expressions"), (many, "join"), (ranges, "broadcast")):
        chosen = explain_plan(frame, rules)
        assert (chosen.name, (chosen.microseconds or 0) > 0) == (name, True)
    twice = pa.table(
        {"subscription_id": [1], "where": ["(\"dev.id\" = 'a' and x > 1) or (\"dev.id\" = 'a' and n > 1)"]}
    )
    for rules, plan, reason in (
        (ranges, "join", "no column of which every rule names values"),
        (ranges, "expressions", "comparisons, more than"),
        (twice, "join", "no column of which every rule names values"),
        (
            pa.table({"subscription_id": [1], "where": ["x > n"]}),
            "expressions",
            "more than comparisons that Spark makes",
        ),
    ):
        with pytest.raises(PipelineError, match=reason):
            match(frame, rules, plan=plan)  # type: ignore[arg-type]
    twice_found = pairs(match(frame, twice, plan="expressions"))
    assert twice_found == pairs(match(frame, twice, plan="broadcast")) != []


@pytest.mark.connect
def test_an_alert_of_a_join_carries_columns_of_rule_and_event(spark: Any) -> None:
    frame = joined_events(spark)
    rules = dated(["a"]).append_column("severity", pa.array(range(len(WHERES))))
    asked: dict[str, Any] = {"time": "ts", "columns": ["b", "dev.id"], "subscription_columns": ["severity"]}
    tables = [match(frame, rules, plan=plan, **asked) for plan in ("broadcast", "join")]  # type: ignore[arg-type]
    assert tables[0].columns == tables[1].columns
    one, other = (sorted(table.toArrow().to_pylist(), key=str) for table in tables)
    assert one == other != []


def test_many_values_are_joined_and_what_nobody_wants_does_not_cross(spark: Any) -> None:
    frame = spark.range(1_000).selectExpr("id as event_id", "concat('k', id % 500) as k", "id % 7 as n")
    wheres = [f"k = 'k{one}' and k like '%{one % 3}%'" for one in range(0, 200, 2)]
    found = match(frame, pa.table({"subscription_id": range(100), "where": wheres}))
    assert found._jdf.queryExecution().optimizedPlan().toString().count("LeftSemi") == 1
    due = [(row, one // 2, 1) for one in range(0, 200, 2) for row in (one, one + 500) if str(one % 3) in f"k{one}"]
    assert pairs(found) == sorted(due)


def test_what_lies_in_no_rule_is_left_out_before_it_looks_up_a_rule(spark: Any) -> None:
    frame = spark.range(1_000).selectExpr("id as event_id", "concat('k', id % 500) as k", "id as n", "id / 10 as x")
    wheres = [f"k = 'k{one}' and n >= {100 + one} and n < {700 + one} and x > 20" for one in range(200)]
    rules = pa.table({"subscription_id": range(200), "where": wheres, "version": [3] * 200})
    found = match(frame, rules, plan="join")
    plan = found._jdf.queryExecution().optimizedPlan().toString()
    below = plan[plan.index("Join") :]
    assert "<= 898" in below, plan  # the greatest end that a rule has
    due = [(row, row % 500, 3) for row in range(201, 1_000) if row % 500 < 200 and 100 <= row - row % 500 < 700]
    assert pairs(found) == due != []
    again = match(frame.where("n < 300"), rules, plan="join")  # with the table of the first
    assert pairs(again.unionAll(found)) == sorted(due + [one for one in due if one[0] < 300])
    both = again.alias("a").join(found.alias("b"), "event_id").where("a.subscription_id = b.subscription_id")
    assert both.count() == len([one for one in due if one[0] < 300])
