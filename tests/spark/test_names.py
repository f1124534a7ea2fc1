"""Spark's rule of names: case is nothing, unless the session says that it is something."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery.cli import match as match_command
from rookery.errors import PipelineError
from rookery.spark import match, match_files, matching
from rookery.spark.names import actual_name, with_actual_names

from .conftest import pairs, read_pairs

EVENTS = pa.schema([("Temp", pa.float64()), ("at", pa.struct([("Lat", pa.float64())])), ("x", pa.int64()),
                    ("X", pa.int64()), ("tags", pa.list_(pa.struct([("Key", pa.string())])))])  # fmt: skip


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("temp > 1", "Temp > 1"),
        ("TEMP > 1 and not (temp < -3 or Temp = 2)", "Temp > 1 and not (Temp < -3 or Temp = 2)"),
        ("AT.lat > 1 and temp in (1, 2)", "at.Lat > 1 and Temp in (1, 2)"),
        ("TAGS[0].key = 'temp'", "tags[0].Key = 'temp'"),  # a text is nobody's name
        ("temp > x", "Temp > x"),
        ("humidity > 1", "humidity > 1"),
        ("temp >", "temp >"),
    ],
)
def test_a_condition_gets_the_names_of_the_events(text: str, meant: str) -> None:
    rules = pa.table({"subscription_id": ["a", "b"], "where": [text, "kept = 1"]})
    found = with_actual_names(rules, [text, None], EVENTS)
    assert (text if found is None else found["where"][0].as_py()) == meant
    assert found is None or found["where"][1].as_py() == "kept = 1"


def test_of_two_columns_that_differ_in_case_alone_neither_is_guessed() -> None:
    assert actual_name("TEMP", EVENTS.names) == "Temp"
    assert [actual_name(name, EVENTS.names) for name in ("x", "X")] == ["x", "X"]
    assert actual_name("Y", ["y", "yY"]) == "y"
    assert actual_name("ab", ["Ab", "aB"]) == "ab"


@pytest.mark.spark
@pytest.mark.connect
def test_names_are_sparks_in_every_plan(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.table({"ID": [1, 2, 3], "Temp": [1.0, 5.0, 9.0], "Device": ["a", "b", "c"]})
    pq.write_table(table, tmp_path / "events.parquet")
    frame = spark.read.parquet(str(tmp_path / "events.parquet"))
    rules = pa.table({"subscription_id": ["hot", "exact"], "where": ["temp > 4", "Temp > 8"]})
    pq.write_table(rules, tmp_path / "rules.parquet")
    wanted = [(2, "hot", 1), (3, "exact", 1), (3, "hot", 1)]
    found = frame.transform(matching(rules, event_id="id", columns=["device"], on_error="raise"))
    assert pairs(found) == wanted
    assert sorted(row["Device"] for row in found.collect()) == ["b", "c", "c"]
    assert pairs(match(frame, rules, event_id="Id", plan="zoned")) == wanted
    events, held = tmp_path / "events.parquet", tmp_path / "rules.parquet"
    done = match_files(spark, events, held, tmp_path / "files", event_id="id", columns=["DEVICE"], on_error="raise")
    assert (done.matches, read_pairs(tmp_path / "files")) == (3, wanted)
    for plan in ("auto", "broadcast"):
        out = tmp_path / plan
        command = match_command.command(held, events, out, event_id="id", columns="device", plan=plan, json=True)
        assert (command, json.loads(capsys.readouterr().out)["quarantined"]) == (0, [])
        assert read_pairs(out) == wanted
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert pairs(match(frame, rules, event_id="ID")) == [(3, "exact", 1)]
        with pytest.raises(PipelineError, match="no column 'id'"):
            match(frame, rules, event_id="id")
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
