"""Where rules come from, what is there to read, and the triggers in a table of subscriptions."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import rookery
from rookery.errors import PipelineError
from rookery.model.datasets import find_dataset
from rookery.model.tables import read_subscriptions
from rookery.spark.events import file_format
from rookery.spark.subscriptions import Subscriptions
from rookery.spark.trigger import trigger_plans


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


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="no such file"):
        find_dataset(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(PipelineError, match="holds no files"):
        find_dataset(tmp_path / "empty")
    with pytest.raises(PipelineError, match="one kind"):
        file_format([tmp_path / "a.csv", tmp_path / "b.parquet"])
    with pytest.raises(PipelineError, match="not int"):
        Subscriptions.of(7)


def test_frames_are_taken() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    rows = {"subscription_id": ["a", "b"], "where": ["x > 1", None]}
    for frame in (pa.table(rows), pandas.DataFrame(rows), polars.DataFrame(rows)):
        rules = Subscriptions.of(frame).compiled(rookery.Schema(x=int))
        assert len(rules.compiled) == 1
        assert [(one.subscription_id, one.message) for one in rules.quarantined] == [("b", "the condition is missing")]


def test_trigger_plans() -> None:
    rows = [
        {"subscription_id": 1, "where": "x > 1", "trigger": "every"},
        {"subscription_id": 2, "where": "x > 1", "trigger": "edge", "key": "device", "cooldown": 1.5},
        {"subscription_id": 3, "where": "x > 1", "cooldown": "2"},
        {"subscription_id": 4, "where": "x > 1", "trigger": "sometimes"},
        {"subscription_id": 5, "where": "x > 1", "trigger": "edge", "cooldown": -1},
        {"where": "x > 1", "trigger": "edge"},
    ]
    assert trigger_plans(read_subscriptions(rows)) == {2: (True, 1_500_000, "device"), 3: (False, 2_000_000, "")}
    assert trigger_plans(read_subscriptions(rows[:1])) == {}
