"""Output into an object store: a manifest decides once, and what a crash leaves is finished, never doubled."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery.errors import CheckpointError, SinkError
from rookery.model.datasets import find_dataset
from rookery.model.storage import names_in, path_of, source_of
from rookery.spark.live_rules import LiveRules
from rookery.spark.manifests import ManifestOutput, output_of
from rookery.spark.rules import Reading, compile_rules, schema_of
from rookery.spark.subscriptions import FileRules
from rookery.spark.versions import VersionLog

pytest.importorskip("obstore", reason="object stores need `pip install rookery[storage]`")

SCHEMA = pa.schema([("event_id", pa.int64()), ("subscription_id", pa.string())])


def rows(*numbers: int) -> list[pa.RecordBatch]:
    return [pa.record_batch([list(numbers), ["r"] * len(numbers)], schema=SCHEMA)] if numbers else []


def seen(output: ManifestOutput) -> list[int]:
    """Return what any reader that lists the output finds."""
    tables = [pq.ParquetFile(source_of(path)).read() for path in find_dataset(output.output).paths]
    return sorted(number for table in tables for number in table["event_id"].to_pylist())


@pytest.fixture
def output(bucket: str, tmp_path: Path) -> ManifestOutput:
    made = output_of(f"{bucket}/{tmp_path.name}/out")
    assert isinstance(made, ManifestOutput)
    return made


def test_a_batch_is_decided_once(output: ManifestOutput) -> None:
    staged = [output.write(rows(1, 2), SCHEMA), output.write(rows(), SCHEMA), output.write(rows(3), SCHEMA)]
    assert [part.rows for part in staged] == [2, 0, 1]
    assert not output.output.is_dir()
    assert output.publish_batch(staged, 0, SCHEMA)
    again = [output.write(rows(1, 2, 3), SCHEMA)]  # the replay of a batch is another attempt of its tasks
    assert not output.publish_batch(again, 0, SCHEMA)
    assert seen(output) == [1, 2, 3]
    assert names_in(output.staging) == []
    assert output.publish_batch([output.write(rows(), SCHEMA)], 1, SCHEMA)
    assert seen(output) == [1, 2, 3]


def test_what_a_crash_leaves_is_finished_by_the_replay_or_the_next_start(output: ManifestOutput) -> None:
    for number, finish in enumerate(("replay", "sweep")):
        staged = [output.write(rows(10 * number), SCHEMA), output.write(rows(10 * number + 1), SCHEMA)]
        stopped = Copies(output, after=1)
        with pytest.raises(KeyboardInterrupt):
            stopped.publish_batch(staged, number, SCHEMA)
        before = seen(output)
        assert len(before) == 2 * number + 1, "half of it was copied"
        orphan = output.write(rows(99), SCHEMA)  # of a killed task, that nobody reported
        if finish == "sweep":
            assert output.sweep() == 1
            assert names_in(output.staging) == []
        assert not output.publish_batch([output.write(rows(10 * number, 10 * number + 1), SCHEMA)], number, SCHEMA)
        assert seen(output) == [10 * one + two for one in range(number + 1) for two in (0, 1)]
        output.discard([orphan.name or ""])


class Copies:
    """The output of a driver that dies while it copies."""

    def __init__(self, output: ManifestOutput, *, after: int) -> None:
        self.output, self.left = output, after

    def publish_batch(self, staged: list[Any], number: int, schema: pa.Schema) -> None:
        from rookery.model.storage import ObjectPath

        copy = ObjectPath.copy_to

        def counted(one: ObjectPath, target: ObjectPath) -> None:
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
            copy(one, target)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ObjectPath, "copy_to", counted)
            self.output.publish_batch(staged, number, schema)


def test_a_job_publishes_its_files_and_then_says_so(output: ManifestOutput) -> None:
    output.check_free()
    output.publish([output.write(rows(1), SCHEMA), output.write(rows(2), SCHEMA)], SCHEMA)
    assert seen(output) == [1, 2]
    told = json.loads((output.output / "_manifest").read_text())["files"]
    assert sorted(told) == [name for name in names_in(output.output) if name != "_manifest"]
    with pytest.raises(SinkError, match="already holds files"):
        output.check_free()
    output.publish([output.write(rows(3), SCHEMA)], SCHEMA, overwrite=True)
    assert seen(output) == [3]
    output.publish([output.write(rows(), SCHEMA)], SCHEMA, overwrite=True)
    assert pq.ParquetFile(source_of(find_dataset(output.output).paths[0])).schema_arrow == SCHEMA


def test_an_output_belongs_to_one_stream(output: ManifestOutput) -> None:
    output.claim("one")
    output.claim("one")
    with pytest.raises(SinkError, match="another stream"):
        output.claim("other")
    output.publish_batch([output.write(rows(1), SCHEMA)], 0, SCHEMA)
    (output.staging / "query.json").unlink()
    with pytest.raises(SinkError, match="unknown stream"):
        output.claim("one")


@pytest.fixture(params=["disk", "store"])
def live(request: pytest.FixtureRequest, tmp_path: Path) -> LiveRules:
    place = path_of(str(tmp_path))
    if request.param == "store":
        place = path_of(request.getfixturevalue("bucket")) / tmp_path.name
    log = VersionLog(str(place / "state"))
    log.open({"event_id": "id"})
    (tmp_path / "rules.csv").write_text("subscription_id,where\nhot,x > 1\nbad,x >\n")
    return LiveRules(log, Reading("id"), pa.schema([("id", pa.int64()), ("x", pa.float64())]),
                     FileRules(tmp_path / "rules.csv"))  # fmt: skip


def made_in(log: VersionLog) -> set[str]:
    """Return the sets that were made and are there; a store may list a folder for a while after its last file."""
    return {name for name in names_in(log.folder / "made") if (log.folder / "made" / name / "compiled").exists()}


def test_the_record_of_sets_is_the_same_on_a_disk_and_in_a_store(live: LiveRules, tmp_path: Path) -> None:
    log = live.log
    assert not Path("s3:").exists()
    first = live.judge(0)
    assert (first.number, first.rules, [bad["subscription_id"] for bad in first.quarantined]) == (1, 1, ["bad"])
    (tmp_path / "rules.csv").write_text("subscription_id,where\nhot,x > 2.5\n")
    assert live.judge(0) == first, "a replay is judged by the set of the first attempt"
    second = live.judge(1)
    assert (second.number, log.history(), log.batches()) == (2, {0: 1, 1: 2}, [0, 1])
    assert log.records(first)["where"].to_pylist() == ["x > 1", "x >"]
    events = pa.table({"id": [1, 2], "x": [2.0, 3.0]})
    for version, found in ((first, [1, 2]), (second, [2])):
        assert log.carrier(version).load().match_many(events, event_id="id")["event_id"].to_pylist() == found
    log.forget(before=1)
    assert log.history() == {1: 2}
    with pytest.raises(CheckpointError, match="set_version 1 are gone"):
        log.read(1)
    assert made_in(log) == {second.made}
    assert log.open({"event_id": "id"}) == log.open({"event_id": "id"})
    with pytest.raises(CheckpointError, match="another query: its event_id was 'id'"):
        log.open({"event_id": "other"})


def test_of_many_who_publish_and_bind_at_once_all_hear_of_one_set(live: LiveRules) -> None:
    log = live.log
    tables = [pa.table({"subscription_id": ["r"], "where": [f"x > {number}"]}) for number in range(4)]
    compiled = [compile_rules(table, schema_of(live.events)) for table in tables]

    def publish(turn: int) -> int:
        return log.publish(compiled[turn % 4], tables[turn % 4], f"sign {turn % 4}").number

    def bind(turn: int) -> tuple[int, int]:
        return turn % 3, log.bind(turn % 3, 1 + turn % 4, datetime.now(UTC)).number

    with ThreadPoolExecutor(8) as pool:
        published = list(pool.map(publish, range(8)))
        assert set(published) == set(range(1, max(published) + 1))
        decided = set(pool.map(bind, range(24)))
    assert len(decided) == 3, "each batch has one set, whoever asks"
    made = {log.read(number).made for number in range(1, max(published) + 1)}
    assert made == made_in(log), "whoever came second has cleaned up"
