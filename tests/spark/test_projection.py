"""A stream hands over the columns that its rules read; what a later rule lacks is said, and comes with a restart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery.errors import PipelineError
from rookery.spark import Subscriptions, VersionLog, match, write_stream
from rookery.spark.projection import FEW, HINT, LACKS, check_read, projected
from rookery.spark.rules import Reading
from rookery.spark.versions import SetVersion

from .conftest import read_pairs

pytestmark = pytest.mark.spark

WIDE = 40


def last_set(*columns: str) -> SetVersion:
    return SetVersion(1, "", "", 1, (), "", columns or None)


def test_what_crosses() -> None:
    held, reading = ["id", "x", "y", "z", "topic", "ts", *(f"c{n}" for n in range(FEW))], Reading("id", time="ts")
    assert projected(held[:FEW], reading, ["x"], (), None) == held[:FEW]  # few are no burden
    assert projected(held, reading, ["x"], (), None) == ["id", "x", "topic", "ts"]
    assert projected(held, reading, ["x"], ["z"], None) == ["id", "x", "z", "topic", "ts"]
    assert projected(held, reading, ["x"], (), last_set("y")) == ["id", "x", "y", "topic", "ts"]  # a replay reads y
    assert projected(held, reading, ["x"], (), last_set()) == held  # who knows
    assert projected(held, reading, ["x"], "*", None) == held
    with pytest.raises(PipelineError, match="no column 'w' "):
        projected(held, reading, ["x"], ["w"], None)


def test_a_batch_without_a_column_of_its_set_is_refused() -> None:
    batch = pa.record_batch({"id": [1], "x": [1.0]})
    check_read(["x"], batch)
    with pytest.raises(PipelineError, match="read y, which this stream does not hand over"):
        check_read(["x", "y"], batch)


class Wide:
    """A stream over events with many columns, of which the rules read one or two."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder, self.checkpoint = spark, folder, str(folder / "state")
        (folder / "events").mkdir()

    def rules(self, **conditions: str) -> None:
        lines = [json.dumps({"subscription_id": name, "where": text}) for name, text in conditions.items()]
        (self.folder / "rules.new").write_text("\n".join(lines))
        (self.folder / "rules.new").replace(self.folder / "rules.jsonl")

    def events(self, first: int) -> None:
        columns = {"id": range(first, first + 10), **{f"c{n}": [float(n + i) for i in range(10)] for n in range(WIDE)}}
        pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), self.folder / "made.parquet")
        (self.folder / "made.parquet").rename(self.folder / "events" / f"{first:04d}.parquet")

    def found(self, **asked: Any) -> Any:
        schema = "id bigint, " + ", ".join(f"c{n} double" for n in range(WIDE))
        events = self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        rules = Subscriptions.files(self.folder / "rules.jsonl")
        frame = events.parquet(str(self.folder / "events"))
        return match(frame, rules, event_id="id", checkpoint=self.checkpoint, **asked)

    def drain(self, found: Any = None, **asked: Any) -> list[tuple[Any, ...]]:
        found = self.found(**asked) if found is None else found
        query = write_stream(
            found, str(self.folder / "out"), checkpoint=self.checkpoint, trigger={"availableNow": True}
        )
        query.awaitTermination()
        return [pair[:2] for pair in read_pairs(self.folder / "out")]


@pytest.fixture
def wide(spark: Any, tmp_path: Path) -> Wide:
    return Wide(spark, tmp_path)


def test_only_what_is_read_crosses_and_a_new_column_comes_with_a_restart(
    wide: Wide, classic: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    wide.rules(one="c3 > 10")
    wide.events(0)
    found = wide.found()
    found.explain()
    plan = next(line for line in capfd.readouterr().out.splitlines() if "StreamingRelation" in line or "Scan" in line)
    assert "c3" in plan
    wide.rules(one="c3 > 10", two="c5 > 13")  # while it runs, so to say: the plan is made
    assert wide.drain(found) == [(8, "one"), (9, "one")]
    log = VersionLog(wide.checkpoint)
    head = log.head()
    assert head is not None
    assert [bad["reason"] for bad in head.quarantined] == [LACKS]
    assert head.quarantined[0]["hint"] == HINT
    wide.events(10)
    assert wide.drain() == [(8, "one"), (9, "one"), (18, "one"), (19, "one"), (19, "two")]
    head = log.head()
    assert head is not None
    assert not head.quarantined
    assert set(head.columns or ()) == {"c3", "c5"}


def test_a_replay_reads_what_the_newest_rules_do_not(wide: Wide) -> None:
    wide.rules(old="c3 > 10")
    wide.events(0)
    wide.drain()
    (Path(wide.checkpoint) / "commits" / "0").unlink()  # the crash was before Spark's record of the batch
    (Path(wide.checkpoint) / "commits" / ".0.crc").unlink(missing_ok=True)
    for path in (wide.folder / "out").rglob("*.parquet"):
        path.unlink()
    (wide.folder / "out" / "batch=0").rmdir()
    wide.rules(new="c5 > 13")
    wide.events(10)
    assert wide.drain() == [(8, "old"), (9, "old"), (19, "new")]


def test_columns_that_are_named_ahead_are_there_at_once(wide: Wide) -> None:
    for ahead in (["c5"], "*"):
        wide.checkpoint = str(wide.folder / f"state-{ahead}")
        wide.rules(one="c3 > 10")
        (wide.folder / "events" / "0000.parquet").unlink(missing_ok=True)
        wide.events(0)
        found = wide.found(ahead=ahead)
        wide.rules(two="c5 > 13")
        query = write_stream(found, str(wide.folder / f"out-{ahead}"), checkpoint=wide.checkpoint,
                             trigger={"availableNow": True})  # fmt: skip
        query.awaitTermination()
        assert [pair[:2] for pair in read_pairs(wide.folder / f"out-{ahead}")] == [(9, "two")]
    with pytest.raises(PipelineError, match="ahead= is for streams"):
        match(wide.spark.range(1), pa.table({"subscription_id": ["a"], "where": ["id > 1"]}), event_id="id",
              ahead=["x"])  # fmt: skip
