"""What goes out with a match: the same columns, from the very row and rule that matched, in every plan and sink."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery.errors import PipelineError, SubscriptionError
from rookery.spark import Subscriptions, match, match_files, write_stream
from rookery.spark.carried import shown_names

EVENTS = pa.table(
    {
        "event_id": pa.array([1, 1, 2, 3], pa.int64()),  # an id that repeats is as many events
        "device": ["a", "b", None, "c"],
        "x": [5.0, 20.0, 30.0, None],
        "version": ["v1", "v1", "v2", "v2"],
        "tags": [["p"], [], None, ["q", "r"]],
    }
)
RULES = pa.table(
    {
        "subscription_id": ["warm", "hot", "any", "bad"],
        "version": pa.array([1, 2, None, None], pa.int64()),
        "where": ["x > 10", "x > 25", "x IS NOT NULL", "nothing > 1"],
        "severity": ["low", "high", None, "never"],
        "device": ["ours", "ours", "ours", "ours"],
    }
)
COLUMNS, RULE_COLUMNS = ["device", "x", "version", "tags"], ["severity", "device"]
NAMES = ["event_id", "subscription_id", "version", "severity", "subscription_device", "device", "x", "event_version",
         "tags"]  # fmt: skip
EXPECTED = [
    (1, "any", 1, None, "ours", "a", 5.0, "v1", ["p"]),
    (1, "any", 1, None, "ours", "b", 20.0, "v1", []),
    (1, "warm", 1, "low", "ours", "b", 20.0, "v1", []),
    (2, "any", 1, None, "ours", None, 30.0, "v2", None),
    (2, "warm", 1, "low", "ours", None, 30.0, "v2", None),
    (2, "hot", 2, "high", "ours", None, 30.0, "v2", None),
]


def ordered(rows: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row[name] for name in NAMES) for row in rows), key=str)


@pytest.mark.connect
@pytest.mark.parametrize(
    "how", [{}, {"plan": "zoned", "zones": 3}, {"explain": True}, {"engine": "matrix"}, {"share": "file"}], ids=str
)
def test_every_plan_carries_the_same(spark: Any, how: dict[str, Any]) -> None:
    events = spark.createDataFrame(EVENTS)
    found = match(events, RULES, columns=COLUMNS, subscription_columns=RULE_COLUMNS, **how)
    assert ordered(row.asDict() for row in found.collect()) == sorted(EXPECTED, key=str)


def test_files_carry_the_same(spark: Any, tmp_path: Path) -> None:
    pq.write_table(EVENTS, tmp_path / "events.parquet", row_group_size=2)
    out = tmp_path / "out"
    match_files(
        spark, tmp_path / "events.parquet", RULES, out, event_id="event_id", columns=COLUMNS,
        subscription_columns=RULE_COLUMNS,
    )  # fmt: skip
    table = pa.concat_tables([pq.ParquetFile(path).read() for path in sorted(out.glob("*.parquet"))])
    assert table.column_names == NAMES
    assert ordered(table.to_pylist()) == sorted(EXPECTED, key=str)


def test_a_stream_takes_them_from_the_rules_of_its_batch(spark: Any, tmp_path: Path) -> None:
    events, rules, out = tmp_path / "events", tmp_path / "rules.jsonl", tmp_path / "out"
    events.mkdir()
    pq.write_table(EVENTS, events / "1.parquet")
    line = {"subscription_id": "hot", "where": "x > 10", "severity": "low"}
    rules.write_text(json.dumps(line))

    def run() -> None:
        followed = spark.readStream.schema(spark.createDataFrame(EVENTS).schema).parquet(str(events))
        hits = match(
            followed, Subscriptions.files(rules), checkpoint=str(tmp_path / "state"), columns=["device"],
            subscription_columns=["severity"],
        )  # fmt: skip
        query = write_stream(hits, str(out), checkpoint=str(tmp_path / "state"), trigger={"availableNow": True})
        query.awaitTermination()

    run()
    rules.write_text(json.dumps({**line, "version": 2, "severity": "high"}))
    pq.write_table(EVENTS.slice(2, 1), events / "2.parquet")
    run()
    found = pa.concat_tables([pq.ParquetFile(path).read() for path in sorted(out.rglob("*.parquet"))]).to_pylist()
    rows = sorted((row["event_id"], row["device"], row["version"], row["severity"]) for row in found if row["device"])
    assert rows == [(1, "b", 1, "low")]
    rows = sorted((row["event_id"], row["version"], row["severity"]) for row in found if row["device"] is None)
    assert rows == [(2, 1, "low"), (2, 2, "high")]


def test_a_later_set_without_the_column_gives_null() -> None:
    from rookery.spark.carried import rule_columns_as, rule_columns_of

    first = rule_columns_of(RULES, ["severity"])
    assert first is not None
    plain = RULES.drop_columns(["severity"])
    for records in (plain, plain.append_column("severity", pa.array([{"a": 1}] * 4))):
        later = rule_columns_as(records, first.fields)
        assert later is not None
        assert later.fields == first.fields
        assert later.table["severity"].null_count == 4


def test_what_is_not_there_or_twice_is_refused(spark: Any) -> None:
    events = spark.createDataFrame(EVENTS)
    with pytest.raises(PipelineError, match=r"the events have no column 'devise'.*did you mean 'device'"):
        match(events, RULES, columns=["devise"])
    with pytest.raises(PipelineError, match=r"the rules have no column 'team'.*severity"):
        match(events, RULES, subscription_columns=["team"])
    with pytest.raises(PipelineError, match="would be called 'event_version'"):
        shown_names(["version", "event_version"], [])


def test_bad_rules_raise_if_asked_and_none_that_compiles_is_an_error(spark: Any) -> None:
    events = spark.createDataFrame(EVENTS)
    with pytest.raises(SubscriptionError, match="unknown field 'nothing'"):
        match(events, RULES, on_error="raise")
    with pytest.raises(PipelineError, match="none of the 1 rules compiles, so nothing could match"):
        match(events, RULES.slice(3))


def test_the_command_writes_alerts(spark: Any, tmp_path: Path) -> None:
    from rookery.cli.match import command

    pq.write_table(EVENTS, tmp_path / "events.parquet")
    pq.write_table(RULES, tmp_path / "rules.parquet")
    for number, how in enumerate(({}, {"plan": "broadcast"})):
        out = tmp_path / f"out-{number}"
        command(
            tmp_path / "rules.parquet", tmp_path / "events.parquet", out, columns="device, x,version,tags",
            subscription_columns="severity,device", json=True, **how,
        )  # fmt: skip
        table = pa.concat_tables([pq.ParquetFile(path).read() for path in sorted(out.glob("*.parquet"))])
        assert ordered(table.to_pylist()) == sorted(EXPECTED, key=str)
    with pytest.raises(SubscriptionError, match="unknown field 'nothing'"):
        command(
            tmp_path / "rules.parquet", tmp_path / "events.parquet", tmp_path / "o", json=True, fail_on_quarantine=True
        )
    assert not (tmp_path / "o").exists()
