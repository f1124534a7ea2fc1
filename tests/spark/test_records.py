"""Subscription records from files: three formats give one table, and a mistake names the file or the column."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery.errors import PipelineError
from rookery.spark.records import normalize, read_records
from rookery.spark.subscriptions import Subscriptions
from rookery.spark.trigger import trigger_plans

MOMENT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_three_formats_give_one_table(tmp_path: Path) -> None:
    rows = [
        {"subscription_id": "a", "where": "x > %0", "parameters": ["1"], "version": 1, "valid_from": None},
        {"subscription_id": "b", "where": "", "parameters": None, "version": 2, "valid_from": MOMENT},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "r.parquet")
    stamp = lambda value: value and value.strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: E731
    lines = [json.dumps(row | {"valid_from": stamp(row["valid_from"])}) for row in rows]
    (tmp_path / "r.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "r.csv").write_text(
        'subscription_id,where,parameters,version,valid_from\na,x > %0,"[""1""]",1,\nb,,,2,2026-03-01T12:00:00Z\n'
    )
    expected = normalize(pa.Table.from_pylist(rows)).to_pylist()
    assert expected[1]["valid_from"] == MOMENT
    for name in ("r.parquet", "r.jsonl", "r.csv"):
        assert read_records(tmp_path / name).to_pylist() == expected, name


def test_a_folder_is_one_set_and_hidden_files_are_nobodys(tmp_path: Path) -> None:
    for number in range(3):
        pq.write_table(pa.table({"subscription_id": [number], "where": ["x > 1"]}), tmp_path / f"{number}.parquet")
    (tmp_path / ".0.parquet.new").write_text("half")
    (tmp_path / "_SUCCESS").touch()
    assert read_records(tmp_path)["subscription_id"].to_pylist() == [0, 1, 2]


def test_the_fingerprint_changes_with_the_files_and_only_then(tmp_path: Path) -> None:
    path = tmp_path / "rules.csv"
    path.write_text("subscription_id,where\na,x > 1\n")
    source = Subscriptions.files(path).source
    first = source.fingerprint()
    assert source.fingerprint() == first
    fresh = tmp_path / "new"
    fresh.write_text("subscription_id,where\na,x > 2\n")
    fresh.replace(path)
    assert source.fingerprint() != first
    table = pa.table({"subscription_id": ["a", "b"], "where": ["", ""]})
    chunked = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    assert Subscriptions.arrow(table).source.fingerprint() == Subscriptions.arrow(chunked).source.fingerprint()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"id": ["a"], "where": [""]}, "needs the column 'subscription_id'; did you mean 'id'|needs the column"),
        ({"subscription_id": ["a"], "were": [""]}, "did you mean 'were'"),
        ({"subscription_id": ["a"], "where": [""], "topics": ["t"]}, "no column 'topics'; did you mean 'topic'"),
        ({"subscription_id": [None, "a"], "where": ["", ""]}, "1 subscriptions have no subscription_id"),
        ({"subscription_id": [1.5], "where": [""]}, "must be a string or an integer"),
        ({"subscription_id": ["a"], "where": ["x = %0"], "parameters": ["{"]}, "JSON list"),
        ({"subscription_id": ["a"], "where": [""], "valid_from": ["soon"]}, "'valid_from' must be"),
    ],
)
def test_a_mistake_is_named(table: dict[str, list[object]], message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        normalize(pa.table(table))


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(PipelineError, match=r"cut\.parquet: cannot be read as parquet"):
        read_records(tmp_path)
    (tmp_path / "other.csv").write_text("subscription_id,where\n")
    with pytest.raises(PipelineError, match="one kind"):
        read_records(tmp_path)
    with pytest.raises(PipelineError, match="no such file"):
        read_records(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(PipelineError, match="holds no files"):
        read_records(tmp_path / "empty")
    with pytest.raises(PipelineError, match="not int"):
        Subscriptions.of(7)


def test_trigger_columns_are_checked() -> None:
    base = {"subscription_id": [1], "where": ["x > 1"]}
    assert trigger_plans(normalize(pa.table(base | {"trigger": ["every"]}))) == {}
    plans = trigger_plans(normalize(pa.table(base | {"trigger": ["edge"], "key": ["device"], "cooldown": [1.5]})))
    assert plans == {1: (True, 1_500_000, "device")}
    for wrong in ({"trigger": ["sometimes"]}, {"cooldown": [-1.0]}):
        with pytest.raises(PipelineError, match="trigger is 'every' or 'edge'"):
            trigger_plans(normalize(pa.table(base | wrong)))
