"""`match`: every plan gives what the oracle gives, pair for pair, and never by a nested loop."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rookery.errors import PipelineError, SubscriptionError
from rookery.spark import (
    Subscriptions,
    backtest,
    diff,
    explain_plan,
    match,
    partition,
    validate,
    workload,
    zone_stats,
)
from rookery.spark.workloads import oracle

from .conftest import pairs

pytestmark = pytest.mark.spark

RULES = pa.table(
    {
        "subscription_id": ["hot", "cold", "all", "bad", "text"],
        "where": ["x > 30", "x < 0 and s like 'a%'", "", "temperatur > 3", "s = 'b' or n in (1, 3)"],
    }
)


def events(spark: Any) -> Any:
    rows = [(1, 35.0, "a", 1), (2, -1.0, "abc", 2), (3, None, "b", 3), (4, float("nan"), None, None)]
    return spark.createDataFrame(rows, "event_id bigint, x double, s string, n int")


EXPECTED = [
    (1, "all", 1), (1, "hot", 1), (1, "text", 1), (2, "all", 1), (2, "cold", 1), (3, "all", 1), (3, "text", 1),
    (4, "all", 1),
]  # fmt: skip


def made(spark: Any, name: str, rows: int) -> Any:
    return spark.read.format("rookery").option("workload", name).option("rows", rows).option("partitions", 2).load()


@pytest.mark.connect
@pytest.mark.parametrize("plan", ["broadcast", "zoned"])
@pytest.mark.parametrize("share", ["auto", "file"])
def test_a_small_table_is_matched_and_the_bad_rule_set_aside(spark: Any, plan: str, share: str) -> None:
    found = match(events(spark), RULES, plan=plan, share=share, zones=2)  # type: ignore[arg-type]
    assert found.columns == ["event_id", "subscription_id", "version", "zone"]
    assert pairs(found) == EXPECTED
    (bad,) = validate(events(spark), RULES)
    assert bad.subscription_id == "bad"
    assert "temperatur" in str(bad)


@pytest.mark.parametrize(
    ("name", "time", "rules"), [("telemetry", "ts", 500), ("ranges", None, 300), ("devices", None, 400)]
)
def test_every_plan_equals_the_oracle(spark: Any, name: str, time: str | None, rules: int) -> None:
    rows = 60_000 if name == "telemetry" else 12_000
    load = workload(name)
    expected = [tuple(row) for row in oracle(load.table(rows), load.bounds(rules, 1)).tolist()]
    assert expected
    frame, records = made(spark, name, rows), load.rules(rules, 1)
    assert pairs(match(frame, records, time=time, plan="broadcast")) == expected
    assert pairs(match(frame, records, time=time, plan="zoned", zones=5)) == expected


def test_the_generated_events_do_not_depend_on_how_they_are_cut(spark: Any) -> None:
    table = workload("ranges").table(20_000)
    read = made(spark, "ranges", 20_000).orderBy("event_id").toArrow()
    assert read.cast(table.schema).equals(table.combine_chunks()) or read.to_pylist() == table.to_pylist()


@pytest.mark.connect
def test_no_plan_holds_a_nested_loop_or_a_cartesian_product(spark: Any, tmp_path: Path) -> None:
    """Every function that gives a DataFrame, and a stream with and without state."""
    from rookery.spark import register

    frame = made(spark, "ranges", 1_000)
    records = workload("ranges").rules(50, 1)
    past = backtest(frame, records, key="a0")
    register(spark, rules=records, id_type="bigint")
    frame.createOrReplaceTempView("ranged")
    frames = {
        "broadcast": match(frame, records),
        "explain": match(frame, records, explain=True),
        "zoned": match(frame, records, plan="zoned", zones=3),
        "partition": partition(frame, records, zones=3),
        "zone_stats": zone_stats(frame, records, zones=3),
        "backtest": past.counts,
        "silent": past.silent,
        "keys": past.keys,
        "samples": past.samples,
        "diff": diff(frame, records, records.slice(5)),
        "sql": spark.sql("select * from rookery_match(table(ranged))"),
    }
    stream = spark.readStream.format("rookery").option("workload", "telemetry").option("rows", 10).load()
    for name, column in (("stream", "every"), ("triggers", "edge")):
        rules = {"subscription_id": [1], "where": ["voltage > 1"], "key": ["device"], "trigger": [column]}
        table = pa.table(rules if name == "triggers" else {key: rules[key] for key in ("subscription_id", "where")})
        frames[name] = match(stream, table, time="ts", checkpoint=str(tmp_path / name))
    for name, made_frame in frames.items():
        text = _explained(made_frame)
        assert "Physical Plan" in text, name
        assert "NestedLoop" not in text, name
        assert "Cartesian" not in text, name
        if name in ("broadcast", "zoned", "stream"):
            assert "MapInArrow" in text, name


def _explained(frame: Any) -> str:
    import contextlib
    import io

    heard = io.StringIO()
    with contextlib.redirect_stdout(heard):
        frame.explain(extended=True)
    return heard.getvalue()


def test_only_the_columns_that_rules_name_cross_to_python(spark: Any) -> None:
    frame = events(spark).selectExpr("*", "x * 2 as unused")
    text = _explained(match(frame, RULES.slice(0, 1)))
    final = text[text.index("Physical Plan") :]
    assert "unused" not in final


@pytest.mark.connect
@pytest.mark.parametrize("as_of", [None, datetime(2026, 1, 10, tzinfo=UTC)])
def test_dated_rules_judge_by_event_time_or_as_of(spark: Any, as_of: datetime | None) -> None:
    day = lambda number: datetime(2026, 1, number, tzinfo=UTC)  # noqa: E731
    rules = pa.table(
        {
            "subscription_id": [7, 7],
            "where": ["x > 10", "x > 20"],
            "version": [1, 2],
            "valid_from": [day(1), day(15)],
        }
    )
    rows = [(1, 15.0, day(2)), (2, 15.0, day(20)), (3, 25.0, day(20))]
    frame = spark.createDataFrame(rows, "event_id bigint, x double, ts timestamp")
    expected = [(1, 7, 1), (3, 7, 2)] if as_of is None else [(1, 7, 1), (2, 7, 1), (3, 7, 1)]
    assert pairs(match(frame, rules, time=None if as_of else "ts", as_of=as_of)) == expected


@pytest.mark.connect
def test_topics_come_from_the_column_or_from_the_caller(spark: Any) -> None:
    rules = pa.table({"subscription_id": [1, 2], "topic": ["a", "b"], "where": ["x > 0", "x > 0"]})
    frame = spark.createDataFrame([(1, "a", 1.0), (2, "b", 1.0)], "event_id bigint, topic string, x double")
    assert pairs(match(frame, rules)) == [(1, 1, 1), (2, 2, 1)]
    assert pairs(match(frame.drop("topic"), rules, topic="b")) == [(1, 2, 1), (2, 2, 1)]


@pytest.mark.connect
def test_explain_says_why(spark: Any) -> None:
    (row,) = match(events(spark), RULES.slice(0, 1), explain=True).collect()
    assert '"x": 35.0' in row["explain"]


@pytest.mark.connect
def test_rules_from_a_table_a_dataframe_and_files(spark: Any, tmp_path: Any) -> None:
    frame = spark.createDataFrame(RULES)
    frame.write.mode("overwrite").saveAsTable("rookery_rules")
    lines = [
        "subscription_id,where,parameters",
        """hot,x > %0,"[""30""]\"""",
        "cold,x < 0 and s like 'a%',",
        "all,TRUE,",
        """text,"s = 'b' or n in (1, 3)",""",
    ]
    (tmp_path / "rules.csv").write_text("\n".join(lines) + "\n")
    try:
        for rules in (Subscriptions.table(spark, "rookery_rules"), frame, tmp_path / "rules.csv"):
            assert pairs(match(events(spark), rules)) == EXPECTED
    finally:
        spark.sql("drop table rookery_rules")
    with pytest.raises(PipelineError, match="no table"):
        match(events(spark), Subscriptions.table(spark, "nowhere"))


@pytest.mark.connect
def test_the_callers_mistakes_are_said_at_once(spark: Any) -> None:
    frame = events(spark)
    with pytest.raises(PipelineError, match=r"no column 'event'.*did you mean 'event_id'"):
        match(frame, RULES, event_id="event")
    with pytest.raises(PipelineError, match="no plan 'fast'"):
        match(frame, RULES, plan="fast")  # type: ignore[arg-type]
    dated = RULES.append_column("valid_from", pa.array([datetime(2026, 1, 1, tzinfo=UTC)] * 5))
    with pytest.raises(PipelineError, match="dated"):
        match(frame, dated)
    with pytest.raises(SubscriptionError, match=r"needs the column 'where'\nhint: did you mean 'were'\?"):
        match(frame, RULES.rename_columns(["subscription_id", "were"]))
    assert explain_plan(frame, RULES).name == "expressions"


def test_a_set_too_large_for_a_worker_is_zoned(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOKERY_BROADCAST_BYTES", "1000")
    frame, records = made(spark, "ranges", 2_000), workload("ranges").rules(100, 1)
    chosen = explain_plan(frame, records)
    assert chosen.name == "zoned"
    assert "more than the" in chosen.reason
    assert pairs(match(frame, records)) == pairs(match(frame, records, plan="broadcast"))


@pytest.mark.connect
def test_zone_stats_add_up_and_give_the_tree(spark: Any) -> None:
    from rookery.space import KdTree

    frame, records = made(spark, "ranges", 4_000), workload("ranges").rules(200, 1)
    rows = zone_stats(frame, records, zones=4).collect()
    assert sum(row["events"] for row in rows) == 4_000
    assert all(row["load"] == row["events"] * (1 + row["subscriptions"]) for row in rows)
    assert np.isclose(rows[0]["replication"], sum(row["subscriptions"] for row in rows) / 200)
    assert KdTree.from_json(rows[0]["tree"]).zone_count == len(rows) == 4
    zones = {row["zone"] for row in partition(frame, records, zones=4).select("zone").distinct().collect()}
    assert zones == {0, 1, 2, 3}


def test_a_zone_that_cannot_be_cut_is_dealt_out(spark: Any) -> None:
    from pyspark.sql.functions import lit, spark_partition_id

    frame = spark.range(3_000).selectExpr("id as event_id", "if(id < 2700, 1.0D, id * 1.0D) as x")
    rules = pa.table({"subscription_id": range(20), "where": [f"x > {number / 10}" for number in range(20)]})
    placed = partition(frame, rules, zones=4)
    held = placed.where("x = 1.0").groupBy(spark_partition_id().alias("p")).agg({"*": "count"}).collect()
    assert len(held) > 1
    assert pairs(match(frame, rules, plan="zoned", zones=4)) == pairs(match(frame, rules, plan="broadcast"))
    assert placed.select(lit(1)).count() == 3_000


def test_the_events_may_have_a_column_named_zone(spark: Any) -> None:
    frame = spark.createDataFrame([(1, 1.0, "north"), (2, 9.0, "south")], "event_id bigint, x double, zone string")
    rules = pa.table({"subscription_id": ["n"], "where": ["zone = 'north' and x < 5"]})
    assert pairs(match(frame, rules, plan="zoned", zones=2)) == [(1, "n", 1)]
    with pytest.raises(PipelineError, match="already have a column 'zone'"):
        partition(frame, rules)


@pytest.mark.connect
def test_sql_gives_the_same(spark: Any) -> None:
    from rookery.spark import register

    register(spark, rules=RULES, id_type="bigint")
    events(spark).createOrReplaceTempView("happened")
    assert pairs(spark.sql("select * from rookery_match(table(happened))")) == EXPECTED


@pytest.mark.connect
def test_a_missing_condition_is_a_fault_of_that_subscription_and_matches_nothing(spark: Any, tmp_path: Path) -> None:
    table = pa.table({"subscription_id": ["hot", "none"], "where": ["x > 30", None]})
    (tmp_path / "rules.csv").write_text("subscription_id,where\nhot,x > 30\nnone,\n")
    frame = spark.createDataFrame([("hot", "x > 30"), ("none", None)], "subscription_id string, where string")
    for rules in (table, frame, tmp_path / "rules.csv"):
        assert pairs(match(events(spark), rules)) == [(1, "hot", 1)]
        assert [fault.subscription_id for fault in validate(events(spark), rules)] == ["none"]
