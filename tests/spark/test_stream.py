"""Streams: an edit counts from the next micro-batch, a replay gives the same answer, a bad rule stops nothing."""

from __future__ import annotations

import json
import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rookery.errors import CheckpointError, PipelineError, SinkError
from rookery.spark import Subscriptions, VersionLog, match, write_edits, write_stream
from rookery.spark.failures import plain_failure

from .conftest import read_pairs

pytestmark = pytest.mark.spark

SCHEMA = "event_id bigint, ts timestamp, device string, x double"


class Bench:
    """A stream over a folder of event files, with its rules in a file."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.events, self.out, self.rules = folder / "events", folder / "out", folder / "rules.jsonl"
        self.checkpoint = str(folder / "checkpoint")
        self.events.mkdir()
        self.count = 0

    def set_rules(self, *rules: dict[str, Any]) -> None:
        fresh = self.folder / "rules.new"
        fresh.write_text("".join(json.dumps(rule) + "\n" for rule in rules))
        fresh.replace(self.rules)

    def add_events(self, *rows: tuple[float, str, float]) -> None:
        """Add one file of (seconds, device, x)."""
        instant = pa.timestamp("us", tz="UTC")
        ids = [self.count + number for number in range(len(rows))]
        self.count += len(rows)
        table = pa.table(
            {
                "event_id": ids,
                "ts": pa.array([int(row[0] * 1e6) for row in rows]).cast(instant),
                "device": [row[1] for row in rows],
                "x": pa.array([row[2] for row in rows], pa.float64()),
            }
        )
        path = self.events / f"{ids[0]:06d}.parquet"
        pq.write_table(table, path.with_name(f".{path.name}"))
        path.with_name(f".{path.name}").rename(path)

    def matches(self, **asked: Any) -> Any:
        reader = self.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return match(
            reader.parquet(str(self.events)),
            Subscriptions.files(self.rules),
            checkpoint=self.checkpoint,
            **{"time": "ts", **asked},
        )

    def drain(self, hook: Callable[[], None] | None = None, format: str = "parquet") -> list[tuple[Any, ...]]:
        query = write_stream(
            self.matches(), str(self.out), checkpoint=self.checkpoint, format=format, trigger={"availableNow": True}
        )
        if hook is not None:
            hook()
        assert query.awaitTermination(120)
        return read_pairs(self.out)


@pytest.fixture
def bench(spark: Any, tmp_path: Path) -> Bench:
    return Bench(spark, tmp_path)


@pytest.mark.connect
def test_edits_count_from_the_next_micro_batch_without_a_restart(bench: Bench) -> None:
    bench.set_rules({"subscription_id": "hot", "where": "x > 10"}, {"subscription_id": "cold", "where": "x < 0"})
    bench.add_events((1, "a", 11), (2, "a", -1))
    query = write_stream(bench.matches(), str(bench.out), checkpoint=bench.checkpoint)
    log = VersionLog(bench.checkpoint)
    try:
        query.processAllAvailable()
        # replace (a new version), remove, add, and a rule that does not compile
        bench.set_rules(
            {"subscription_id": "hot", "where": "x > 20", "version": 2},
            {"subscription_id": "new", "where": "device = 'a'"},
            {"subscription_id": "bad", "where": "y > 1"},
        )
        bench.add_events((3, "a", 15), (4, "a", 25), (5, "b", -1))
        query.processAllAvailable()
        head = log.head()
        assert head is not None
        assert [(bad["subscription_id"], bad["reason"]) for bad in head.quarantined] == [("bad", "unknown field 'y'")]
        # revalidate: the quarantined rule is corrected
        bench.set_rules({"subscription_id": "bad", "where": "x > 1"})
        bench.add_events((6, "a", 2))
        query.processAllAvailable()
        # half a file: the last set stays in force
        bench.rules.write_text('{"subscription_id": "bad", "wh')
        bench.add_events((7, "a", 3))
        query.processAllAvailable()
    finally:
        query.stop()
    assert read_pairs(bench.out) == [
        (0, "hot", 1), (1, "cold", 1),
        (2, "new", 1), (3, "hot", 2), (3, "new", 1),
        (5, "bad", 1),
        (6, "bad", 1),
    ]  # fmt: skip
    assert list(log.history().values()) == [1, 2, 3, 3]


@pytest.mark.connect
def test_a_replay_uses_the_rules_that_were_recorded(bench: Bench) -> None:
    """A crash between matching and commit: the batch is bound, nothing is published, and the rules change."""
    bench.set_rules({"subscription_id": "hot", "where": "x > 10"})
    bench.add_events((1, "a", 15))
    bench.drain()
    bench.add_events((2, "a", 15))
    log = VersionLog(bench.checkpoint)
    assert log.bind(1, 1, datetime.now(UTC)).number == 1  # batch 1 had begun under set 1 when the driver was killed
    bench.set_rules({"subscription_id": "hot", "where": "x > 20"})
    assert bench.drain() == [(0, "hot", 1), (1, "hot", 1)]
    bench.add_events((3, "a", 15), (4, "a", 25))
    assert bench.drain() == [(0, "hot", 1), (1, "hot", 1), (3, "hot", 1)]
    assert log.history() == {0: 1, 1: 1, 2: 2}
    log.forget(before=2)
    assert log.history() == {2: 2}
    with pytest.raises(CheckpointError, match="set_version 1 are gone"):
        log.read(1)


def test_a_folder_of_edits_counts_from_the_next_micro_batch_and_a_replay_has_the_edits_of_its_batch(
    bench: Bench,
) -> None:
    bench.set_rules({"subscription_id": "hot", "where": "x > 10"}, {"subscription_id": "cold", "where": "x < 0"})
    bench.add_events((1, "a", 15))
    edits = str(bench.folder / "edits")
    log = VersionLog(bench.checkpoint)

    def drain() -> list[tuple[Any, ...]]:
        stream = bench.spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(bench.events))
        rules = Subscriptions.files(bench.rules, edits=edits)
        hits = match(stream, rules, checkpoint=bench.checkpoint, time="ts")
        query = write_stream(hits, str(bench.out), checkpoint=bench.checkpoint, trigger={"availableNow": True})
        assert query.awaitTermination(120)
        return read_pairs(bench.out)

    assert drain() == [(0, "hot", 1)]
    write_edits(edits, [{"subscription_id": "hot", "where": "x > 20", "version": 2}])
    bench.add_events((2, "a", 15), (3, "a", 25))
    assert drain() == [(0, "hot", 1), (2, "hot", 2)]
    bench.add_events((4, "a", -5), (5, "a", 25))
    # The driver is killed when batch 2 is bound; then the rules are edited.
    assert log.bind(2, 2, datetime.now(UTC)).number == 2
    write_edits(edits, [{"subscription_id": "bad", "where": "z > 1"}], removed=["cold", "hot"])
    bench.add_events((6, "a", -5), (7, "a", 25))
    assert drain() == [(0, "hot", 1), (2, "hot", 2), (3, "cold", 1), (4, "hot", 2)]
    assert log.history() == {0: 1, 1: 2, 2: 2, 3: 3}
    head = log.head()
    assert head is not None
    assert (len(head.edits), head.rules) == (2, 0)
    assert [bad["subscription_id"] for bad in head.quarantined] == ["bad"]


def test_a_batch_published_before_the_crash_is_not_published_again(bench: Bench) -> None:
    bench.set_rules({"subscription_id": "hot", "where": "x > 10"})
    bench.add_events((1, "a", 15))
    assert bench.drain() == [(0, "hot", 1)]
    (Path(bench.checkpoint) / "commits" / "0").unlink()  # killed after the sink's commit, before Spark's own
    for crc in (Path(bench.checkpoint) / "commits").glob(".*"):
        crc.unlink()
    bench.add_events((2, "a", 15))
    assert bench.drain() == [(0, "hot", 1), (1, "hot", 1)]


def test_late_events_are_judged_by_the_rules_of_their_day(bench: Bench) -> None:
    bench.set_rules(
        {"subscription_id": "r", "where": "x > 10", "version": 1, "valid_from": "1970-01-01T00:00:00Z"},
        {"subscription_id": "r", "where": "x > 20", "version": 2, "valid_from": "1970-01-01T00:01:40Z"},
    )
    bench.add_events((50, "a", 15), (150, "a", 15), (150, "a", 25))
    bench.add_events((60, "a", 15))  # late
    assert bench.drain() == [(0, "r", 1), (2, "r", 2), (3, "r", 1)]


@pytest.mark.connect
def test_edge_and_cooldown_by_key_and_restored_after_a_restart(bench: Bench) -> None:
    bench.set_rules(
        {"subscription_id": "edge", "where": "x > 10", "key": "device", "trigger": "edge"},
        {"subscription_id": "cool", "where": "x > 10", "key": "device", "cooldown": 10.0},
        {"subscription_id": "every", "where": "x > 10"},
    )
    bench.add_events((1, "a", 11), (2, "a", 12), (2.5, "b", 11), (3, "a", 1), (4, "a", 13))
    first = bench.drain()
    assert [pair[:2] for pair in first] == [
        (0, "cool"), (0, "edge"), (0, "every"), (1, "every"), (2, "cool"), (2, "edge"), (2, "every"),
        (4, "edge"), (4, "every"),
    ]  # fmt: skip
    bench.add_events((5, "a", 14), (11, "a", 15), (11.5, "b", 1), (12, "b", 20))
    after = [pair[:2] for pair in bench.drain()[len(first) :]]
    # 5: still high, still cooling; 11: ten seconds after event 0; 12: b rises again, not yet cool (2.5 + 10)
    assert after == [(5, "every"), (6, "cool"), (6, "every"), (8, "edge"), (8, "every")]


def test_json_lines_and_delta(bench: Bench) -> None:
    bench.set_rules({"subscription_id": "hot", "where": "x > 10"})
    bench.add_events((1, "a", 15), (2, "b", 5))
    bench.drain(format="jsonl")
    lines = [json.loads(line) for file in bench.out.rglob("*.jsonl") for line in file.read_text().splitlines()]
    assert lines == [{"event_id": 0, "subscription_id": "hot", "version": 1}]

    deltalake = pytest.importorskip("deltalake")
    from rookery.spark.delta import DeltaSink

    assert DeltaSink.name() == "rookery.delta"
    bench.out, bench.checkpoint = bench.folder / "delta", str(bench.folder / "delta-checkpoint")
    bench.drain(format="delta")
    (Path(bench.checkpoint) / "commits" / "0").unlink()
    for crc in (Path(bench.checkpoint) / "commits").glob(".*"):
        crc.unlink()
    bench.add_events((3, "a", 16))
    bench.drain(format="delta")
    table = deltalake.DeltaTable(str(bench.out))
    rows = sorted(pa.table(table.to_pyarrow_table())["event_id"].to_pylist())
    assert rows == [0, 2]


def test_mistakes_with_checkpoints_and_outputs(bench: Bench) -> None:
    bench.set_rules({"subscription_id": "hot", "where": "x > 10"})
    bench.add_events((1, "a", 15))
    bench.drain()
    with pytest.raises(CheckpointError, match=r"another query: its time was 'ts' and is now None"):
        bench.matches(time=None)
    kept, bench.checkpoint = bench.checkpoint, str(bench.folder / "other")
    with pytest.raises(SinkError, match="another stream"):
        bench.drain()
    bench.checkpoint = kept
    reader = bench.spark.readStream.schema(SCHEMA).parquet(str(bench.events))
    with pytest.raises(PipelineError, match="needs checkpoint="):
        match(reader, str(bench.rules), time="ts")
    foreign = str(bench.folder / "foreign")
    query = reader.writeStream.format("noop").option("checkpointLocation", foreign).trigger(availableNow=True).start()
    assert query.awaitTermination(60)
    bench.checkpoint = foreign
    with pytest.raises(CheckpointError, match="without Rookery"):
        bench.matches()


def test_columns_that_no_worker_can_be_given_are_left_out(bench: Bench) -> None:
    """A struct without fields and a variant: nobody reads them, so they stop nothing."""
    bench.set_rules({"subscription_id": "r", "where": "x > 1"})
    bench.add_events((0, "a", 1.0), (1, "a", 2.0))
    events = bench.spark.readStream.schema(SCHEMA).parquet(str(bench.events))
    odd = events.selectExpr("*", "named_struct() as nothing", "parse_json('1') as any")
    hits = match(odd, Subscriptions.files(bench.rules), checkpoint=bench.checkpoint, time="ts")
    write_stream(hits, str(bench.out), checkpoint=bench.checkpoint, trigger={"availableNow": True}).awaitTermination()
    assert read_pairs(bench.out) == [(1, "r", 1)]


def test_a_changed_event_schema_is_named(bench: Bench) -> None:
    bench.set_rules({"subscription_id": "hot", "where": "x > 10"})
    bench.add_events((1, "a", 15))
    bench.drain()
    pq.write_table(
        pa.table({"event_id": [9], "ts": ["yesterday"], "device": ["a"], "x": ["high"]}), bench.events / "z.parquet"
    )
    query = write_stream(bench.matches(), str(bench.out), checkpoint=bench.checkpoint, trigger={"availableNow": True})
    with pytest.raises(Exception, match=r"z\.parquet") as caught:
        query.awaitTermination(120)
    assert "another type" in str(plain_failure(caught.value)) or "z.parquet" in str(plain_failure(caught.value))
    assert read_pairs(bench.out) == [(0, "hot", 1)]


def test_a_file_cut_short_stops_the_stream_and_nothing_of_it_is_seen(bench: Bench) -> None:
    bench.set_rules({"subscription_id": "hot", "where": "x > 10"})
    bench.add_events((1, "a", 15))
    bench.add_events((2, "a", 15), (3, "a", 16))
    second = bench.events / "000001.parquet"
    whole = second.read_bytes()
    second.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Exception, match=r"000001\.parquet") as caught:
        bench.drain()
    said = str(plain_failure(caught.value))
    assert "cut short or damaged" in said
    assert "remove it or write it again" in said
    assert "000001.parquet" in said
    assert read_pairs(bench.out) == [(0, "hot", 1)]
    second.write_bytes(whole)
    assert bench.drain() == [(0, "hot", 1), (1, "hot", 1), (2, "hot", 1)]


@pytest.fixture
def warned() -> Iterator[list[logging.LogRecord]]:
    """What streams warn of; not by `caplog`: a command that ran in this process has set the logs up its own way."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = records.append  # type: ignore[method-assign]
    log = logging.getLogger("rookery.spark")
    log.addHandler(handler)
    level = log.level
    log.setLevel(logging.WARNING)
    yield records
    log.setLevel(level)
    log.removeHandler(handler)


@pytest.mark.connect
def test_rules_in_a_table_are_polled(spark: Any, bench: Bench, warned: list[logging.LogRecord]) -> None:
    from rookery.spark.live_rules import RulePoll, open_rules
    from rookery.spark.rules import Reading

    rules = pa.table({"subscription_id": ["a"], "where": ["x > 1"]})
    spark.createDataFrame(rules).write.mode("overwrite").saveAsTable("live_rules")
    try:
        stream = spark.readStream.schema(SCHEMA).parquet(str(bench.events))
        live, first = open_rules(
            stream,
            Subscriptions.table(spark, "live_rules"),
            Reading(time="ts"),
            checkpoint=bench.checkpoint,
            seconds=0.2,
        )
        assert first.number == 1
        more = pa.table({"subscription_id": ["b"], "where": ["x > 2"]})
        spark.createDataFrame(more).write.mode("append").saveAsTable("live_rules")
        for _ in range(600):
            head = live.log.head()
            if head is not None and head.number == 2:
                break
            time.sleep(0.1)
        assert head is not None
        assert head.rules == 2
    finally:
        spark.sql("drop table live_rules")
    (poll,) = (thread for thread in threading.enumerate() if isinstance(thread, RulePoll) and thread.rules == live)
    for _ in range(600):
        if warned:
            break
        time.sleep(0.1)
    time.sleep(1)  # five looks, and no word more
    assert [record.getMessage() for record in warned] == [
        "the rules cannot be read now, set_version 2 stays in force: there is no table 'live_rules' in the catalog"
    ]
    (Path(bench.checkpoint) / "rookery" / "versions").rmdir()  # half removed
    time.sleep(0.6)
    assert poll.is_alive()
    shutil.rmtree(bench.checkpoint)
    poll.join(600)
    assert not poll.is_alive()  # it goes with the checkpoint
