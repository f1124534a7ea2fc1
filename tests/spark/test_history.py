"""A backtest counts matches, not ids: an id that repeats multiplies nothing."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery.cli import backtest as backtest_command
from rookery.errors import PipelineError
from rookery.spark import Subscriptions, backtest, diff
from rookery.spark.history import _without_same
from rookery.spark.rules import schema_of

pytestmark = pytest.mark.spark

START = datetime(2026, 1, 1)
#: 300 events and 7 ids; the columns version and zone are the events' own.
EVENTS = [
    {
        "id": row % 7,
        "x": float(row),
        "version": f"v{row % 3}",
        "zone": "ab"[row % 2],
        "ts": START + timedelta(hours=row),
    }
    for row in range(300)
]
LIMITS = {"most": 100.0, "some": 290.0, "none": 1000.0}
SET = pa.schema(
    [("subscription_id", pa.string()), ("where", pa.string()), ("version", pa.int64()), ("valid_from", pa.string())]
)
RULES = pa.table({"subscription_id": list(LIMITS), "where": [f"x >= {limit}" for limit in LIMITS.values()]})


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("events") / "events.parquet"
    table = pa.Table.from_pylist(EVENTS)
    pq.write_table(table.set_column(4, "ts", table["ts"].cast(pa.timestamp("us", tz="UTC"))), path)
    return path


def fired(name: str) -> list[dict[str, Any]]:
    return [event for event in EVENTS if event["x"] >= LIMITS[name]]


@pytest.mark.connect
@pytest.mark.parametrize("plan", ["broadcast", "zoned"])
def test_counts_keys_and_samples_where_ids_repeat(
    spark: Any, events: Path, plan: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if plan == "zoned":
        monkeypatch.setenv("ROOKERY_BROADCAST_BYTES", "1")
    found = backtest(spark.read.parquet(str(events)), RULES, event_id="id", time="ts", key="version", samples=4)
    counts = found.counts.toArrow().to_pylist()
    assert [row["subscription_id"] for row in counts] == ["most", "some"]
    for row in counts:
        own = fired(row["subscription_id"])
        assert (row["matches"], row["version"]) == (len(own), 1)
        assert row["first"].replace(tzinfo=None) == own[0]["ts"]
        assert row["last"].replace(tzinfo=None) == own[-1]["ts"]
    assert found.keys is not None
    assert found.keys.columns == ["subscription_id", "version", "matches"]
    assert {(row[0], row[1]): row[2] for row in found.keys.collect()} == {
        (name, key): count
        for name in ("most", "some")
        for key, count in Counter(event["version"] for event in fired(name)).items()
    }
    assert found.samples.columns == ["event_id", "subscription_id", "version", "x", "event_version", "zone", "ts"]
    samples = found.samples.toArrow().to_pylist()
    for name in ("most", "some"):
        own = [row for row in samples if row["subscription_id"] == name]
        least = sorted(event["id"] for event in fired(name))[:4]
        assert sorted(row["event_id"] for row in own) == least
        for row in own:
            event = EVENTS[int(row["x"])]  # a sample is one event, which matched
            assert event["x"] >= LIMITS[name]
            assert (row["event_id"], row["event_version"], row["zone"]) == (
                event["id"],
                event["version"],
                event["zone"],
            )
    assert len(samples) == 8
    assert [row["subscription_id"] for row in found.silent.collect()] == ["none"]


def test_the_command_counts_matches(
    spark: Any, events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(RULES, tmp_path / "rules.parquet")
    assert backtest_command.command(tmp_path / "rules.parquet", events, event_id="id", key="zone", json=True) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["matches"] == 210
    assert sum(row["matches"] for row in said["keys"]) == 210
    assert len(said["samples"]) == 6
    assert said["silent"] == ["none"]


def test_a_backtest_does_not_join_matches_with_events(spark: Any, events: Path) -> None:
    from .test_match import _explained

    found = backtest(spark.read.parquet(str(events)), RULES, event_id="id", time="ts", key="zone")
    assert found.keys is not None
    for frame in (found.counts, found.keys, found.samples):
        assert "Join" not in _explained(frame)


def test_a_stream_is_refused(spark: Any) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(PipelineError, match="give it a batch"):
        backtest(stream, RULES, event_id="value")


def test_a_difference_matches_what_is_not_the_same_alone(spark: Any, events: Path) -> None:
    """Of a rule that is edited, added, removed or has another version, and of none that is the same."""
    old = [
        {"subscription_id": "same", "where": "x >= 0"},
        {"subscription_id": "edited", "where": "x >= 100"},
        {"subscription_id": "removed", "where": "x < 3"},
        {"subscription_id": "again", "where": "x > 295", "version": 1},
        {"subscription_id": "dated", "where": "x > 290"},
    ]
    new = [
        {"subscription_id": "again", "where": "x > 295", "version": 2},
        {"subscription_id": "edited", "where": "x >= 110"},
        {"subscription_id": "dated", "where": "x > 290", "valid_from": "2027-01-01T00:00:00Z"},
        {"subscription_id": "same", "where": "x >= 0"},
        {"subscription_id": "added", "where": "x = 7"},
    ]
    frame = spark.read.parquet(str(events))
    tables = [pa.Table.from_pylist(rules, schema=SET) for rules in (old, new)]
    found = Counter((row["subscription_id"], row["change"]) for row in diff(
        frame, *map(Subscriptions.arrow, tables), event_id="id", time="ts"
    ).collect())  # fmt: skip
    assert found == {
        ("edited", "removed"): 10, ("removed", "removed"): 3, ("again", "changed"): 4, ("dated", "removed"): 9,
        ("added", "added"): 1,
    }  # fmt: skip
    whole = [Subscriptions.arrow(table).compiled(schema_of(pq.read_schema(events))) for table in tables]
    parts = _without_same(*whole)
    left = [set(one.compiled.subscriptions["subscription_id"].to_pylist()) for one in parts]
    assert left == [{"edited", "removed", "again", "dated"}, {"edited", "again", "dated", "added"}]
    assert [len(one.compiled) for one in _without_same(whole[0], whole[0])] == [0, 0]
