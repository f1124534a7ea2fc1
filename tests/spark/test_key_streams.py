"""Streams whose rules no worker holds: the same matches as broadcast, by parts; replays by the parts of before."""

from __future__ import annotations

import logging
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="the Spark tests need `pip install rookery[spark]`")

from rookery.errors import CheckpointError, PipelineError
from rookery.spark import Subscriptions, match
from rookery.spark.key_map import HotKey, KeyMap
from rookery.spark.key_streams import PartSets
from rookery.spark.versions import VersionLog

from .conftest import pairs

pytestmark = pytest.mark.spark


def rules_of(count: int, limit: float) -> pa.Table:
    """Rules of many devices, half of them of one, one that names none and one that is wrong."""
    wheres = [f"device = 'd{0 if one % 2 else one}' and x > {limit + one % 7}" for one in range(count)]
    return pa.table({"subscription_id": range(count + 2), "where": [*wheres, "x > 95", "x >> 1"]})


def events_of(first: int) -> pa.Table:
    rows = range(first, first + 400)
    devices = [None if row % 50 == 7 else f"d{row % 120}" for row in rows]
    return pa.table({"event_id": rows, "device": devices, "x": [float(row % 101) for row in rows], "y": [1.0] * 400})


class Scene:
    """A folder of events, a file of rules, and the matches of each micro-batch."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.found: dict[int, list[tuple[Any, ...]]] = {}
        (folder / "events").mkdir()
        self.rules(90.0)

    def rules(self, limit: float) -> pa.Table:
        table = rules_of(300, limit)
        pq.write_table(table, self.folder / "rules.parquet")
        return table

    def events(self, number: int) -> None:
        path = self.folder / "events" / f"{number}.parquet"
        pq.write_table(events_of(400 * number), path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))  # Spark takes files in the order of their time

    def matches(self, **options: Any) -> Any:
        source = self.spark.readStream.schema("event_id bigint, device string, x double, y double")
        stream = source.option("maxFilesPerTrigger", 1).parquet(str(self.folder / "events"))
        rules = Subscriptions.files(self.folder / "rules.parquet")
        return match(stream, rules, plan="keys", checkpoint=str(self.folder / "state"), **options)

    def drain(self, **options: Any) -> None:
        def take(frame: Any, batch: int) -> None:
            self.found[batch] = pairs(frame)

        writer = self.matches(**options).writeStream.foreachBatch(take).trigger(availableNow=True)
        writer.option("checkpointLocation", str(self.folder / "state")).start().awaitTermination()

    def due(self, number: int, rules: pa.Table) -> list[tuple[Any, ...]]:
        return pairs(match(self.spark.createDataFrame(events_of(400 * number)), rules, plan="broadcast"))


def test_a_stream_by_parts_gives_what_broadcast_gives(
    classic: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scene = Scene(classic, tmp_path)
    before = rules_of(300, 90.0)
    for number in (0, 1):
        scene.events(number)
    scene.drain(zones=6)
    assert set(scene.found) == {0, 1}
    for number in (0, 1):
        assert scene.found[number] == scene.due(number, before) != []
    log = VersionLog(str(tmp_path / "state"))
    known = PartSets.from_json(1, (tmp_path / "state/rookery/parts/1").read_text())
    assert len(known.made) == known.parts.parts >= 6
    assert [one.text for one in known.parts.hot] == ["d0"]
    assert known.parts.hot[0].columns > 1  # its rules are dealt out
    sizes = Counter({part: len(log.whole(name).load()) for part, name in known.made.items()})
    assert max(sizes.values()) < 100  # no task holds the whole
    assert log.history() == {0: 1, 1: 1}

    after = scene.rules(80.0)  # an edit counts at the next start
    scene.events(2)
    scene.drain(zones=6)
    assert scene.found[2] == scene.due(2, after) != scene.due(2, before)
    assert log.history() == {0: 1, 1: 1, 2: 2}
    made = {path.name for path in (tmp_path / "state/rookery/made").iterdir()}
    assert made.isdisjoint(known.made.values())

    scene.rules(70.0)
    scene.events(3)
    (tmp_path / "state/commits/2").unlink()  # as if it had been killed before the commit
    (tmp_path / "state/commits/.2.crc").unlink(missing_ok=True)
    scene.found.clear()
    with caplog.at_level(logging.WARNING, "rookery.spark"):
        scene.drain(zones=6)
    assert "micro-batch 2 is open" in caplog.text
    assert scene.found[2] == scene.due(2, after)
    assert scene.found[3] == scene.due(3, after)  # until the next start
    scene.events(4)
    scene.drain(zones=6)
    assert scene.found[4] == scene.due(4, rules_of(300, 70.0))

    stream = classic.readStream.schema("event_id bigint, x double").parquet(str(tmp_path / "events"))
    with pytest.raises(CheckpointError, match="its plan was 'keys'"):
        match(stream, rules_of(3, 1.0), checkpoint=str(tmp_path / "state"))


def test_what_a_stream_by_parts_has_not_is_refused(classic: Any, tmp_path: Path) -> None:
    scene = Scene(classic, tmp_path)
    scene.events(0)
    with pytest.raises(PipelineError, match="no explanations"):
        scene.matches(explain=True)
    with pytest.raises(PipelineError, match="whole numbers or texts"):
        scene.matches(key="x")
    stream = classic.readStream.schema("event_id bigint, device string, x double").parquet(str(tmp_path / "events"))
    frame = classic.createDataFrame(rules_of(30, 1.0))
    with pytest.raises(PipelineError, match="a DataFrame has no sign"):
        match(stream, frame, plan="keys", checkpoint=str(tmp_path / "other"))
    triggered = rules_of(30, 1.0).append_column("trigger", pa.array(["edge"] * 32))
    with pytest.raises(PipelineError, match="rules with triggers"):
        match(stream, triggered, plan="keys", checkpoint=str(tmp_path / "third"))
    with pytest.raises(PipelineError, match="not 'zoned'"):
        match(stream, triggered, plan="zoned", checkpoint=str(tmp_path / "third"))


def test_sets_of_parts_are_read_as_they_are_written() -> None:
    parts = KeyMap("device", 3, (HotKey("d'0", 3, 1, 2),))
    known = PartSets(4, "sign", parts, {0: "a", 4: "b"}, ("device", "x"), "int64")
    assert PartSets.from_json(4, known.to_json()) == known
