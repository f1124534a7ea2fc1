"""DDS into Spark and back: a Cyclone writer, the spool, `match` as a stream, and a Cyclone reader, as real processes.

The oracle is the scan engine over what was sent: the pairs that the Cyclone reader gets are its pairs, one for one.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import rookery
from live.conftest import CyclonePeer, cyclone, domain_id
from rookery import Schema, matcher
from rookery.errors import CheckpointError, PipelineError, SinkError, SpoolError
from rookery.live.spool import Description, Spool, record_schema
from rookery.live.spool.writer import Retention, SpoolWriter
from rookery.spark import match, publish_to
from rookery.spark.spool import SpoolStream, spool_tape
from rookery.spark.types import widened

from .conftest import read_pairs

__all__ = ["cyclone", "domain_id"]  # fixtures of the wire tests

pytestmark = pytest.mark.spark
QUOTES = Schema(symbol=str, price=float, size=int)
RULES = pa.table(
    {
        "subscription_id": ["cheap", "s3", "large", "never"],
        "where": ["price < 12.5", "symbol = 'S3' AND price >= 20", "size BETWEEN 300 AND 350", "price < 0"],
    }
)


def quotes(count: int) -> list[dict[str, Any]]:
    return [{"symbol": f"S{number % 5}", "price": number / 4, "size": number} for number in range(count)]


def expected_pairs(events: list[dict[str, Any]]) -> list[tuple[int, str, int]]:
    scan = matcher(QUOTES, engine="scan")
    scan.add_many(RULES)
    table = pa.Table.from_pylist(events, schema=QUOTES.to_arrow()).append_column(
        "_offset", pa.array(range(len(events)), pa.int64())
    )
    found = scan.match_many(table, event_id="_offset")
    return sorted(zip(*(found[name].to_pylist() for name in ("event_id", "subscription_id", "version")), strict=True))


def fill(folder: Path, events: list[dict[str, Any]], **options: Any) -> Spool:
    stored = record_schema(QUOTES)
    with SpoolWriter(folder, Description("quotes", 0, "Quote", QUOTES), **options) as writer:
        for first in range(0, len(events), 30):
            rows = [
                {"_writer": "w", "_sequence": first + place + 1, "_written": None, **event}
                for place, event in enumerate(events[first : first + 30])
            ]
            writer.append(pa.RecordBatch.from_pylist(rows, schema=stored), {})
    return Spool(folder)


@pytest.fixture
def recording(domain_id: int, tmp_path: Path) -> Iterator[Path]:
    """`rookery spool` in a process of its own."""
    folder = tmp_path / "spool"
    command = [sys.executable, "-c", "from rookery.cli import main; main()", "spool", "--dir", str(folder)]
    options = ["--domain-id", str(domain_id), "--topic", "quotes", "--type-name", "test::Quote", "--key", "symbol"]
    schema = ["--schema", "symbol:string,price:float64,size:int64", "--transient-local"]
    program = subprocess.Popen([*command, *options, *schema], stderr=subprocess.PIPE)
    until(lambda: (folder / "mark").exists())
    yield folder
    program.terminate()
    program.communicate(timeout=3_000)


def until(condition: Callable[[], object]) -> None:
    """Wait until something holds; the limit only turns a hang into a failure."""
    end = time.monotonic() + 3_000
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.wire
def test_from_a_cyclone_writer_through_spool_and_match_to_a_cyclone_reader(
    spark: Any, cyclone: Callable[..., CyclonePeer], domain_id: int, recording: Path, tmp_path: Path
) -> None:
    sent = quotes(400)
    expected = expected_pairs(sent)
    here, there = cyclone(), cyclone()
    writer = here.do("writer", topic="quotes", type="Quote", transient_local=True, blocking=3_000)
    reader = there.do("reader", topic="matches", type="Match")
    checkpoint = str(tmp_path / "checkpoint")
    events = spark.readStream.format("rookery").option("spool", str(recording)).option("rowsPerBatch", 90).load()
    hits = match(events, RULES, event_id="_offset", checkpoint=checkpoint).drop("zone")
    publish = publish_to("matches", domain_id=domain_id, type_name="test::Match", seconds=3_000)
    writing = threading.Thread(target=lambda: here.do("write", entity=writer, samples=sent, pause=0.002))
    writing.start()
    query = hits.writeStream.foreachBatch(publish).option("checkpointLocation", checkpoint).start()
    try:
        taken = there.do("take", entity=reader, count=len(expected), timeout=3_000)
    finally:
        query.stop()
        publish.close()
        writing.join()
    samples = [value for value, _ in taken]
    assert sorted((s["event_id"], s["subscription_id"], s["version"]) for s in samples) == expected
    batches = [sample["batch_id"] for sample in samples]
    assert batches == sorted(batches)
    assert len(set(batches)) >= 400 // 90
    assert Spool(recording).end == 400


def test_a_batch_reads_any_range_in_any_number_of_tasks(spark: Any, tmp_path: Path) -> None:
    fill(tmp_path, quotes(100))
    source = spark.read.format("rookery").option("spool", str(tmp_path))
    whole = source.option("partitions", 3).load()
    assert [row["size"] for row in whole.orderBy("_offset").collect()] == list(range(100))
    part = spark.read.format("rookery").option("spool", str(tmp_path)).option("startingOffset", 17)
    rows = part.option("endingOffset", 45).load().orderBy("_offset").collect()
    assert [(row["_offset"], row["_sequence"]) for row in rows] == [(number, number + 1) for number in range(17, 45)]


def test_a_stream_goes_on_where_its_checkpoint_is(spark: Any, tmp_path: Path) -> None:
    folder, out, checkpoint = tmp_path / "spool", str(tmp_path / "out"), str(tmp_path / "checkpoint")

    def drain() -> list[int]:
        source = spark.readStream.format("rookery").option("spool", str(folder)).option("rowsPerBatch", 40).load()
        writing = source.writeStream.format("parquet").option("checkpointLocation", checkpoint)
        assert writing.trigger(availableNow=True).start(out).awaitTermination(120)
        return sorted(row["_offset"] for row in spark.read.parquet(out).select("_offset").collect())

    fill(folder, quotes(90))
    assert drain() == list(range(90))
    fill(folder, quotes(60))  # a writer appends to what is there
    assert drain() == list(range(150))
    assert drain() == list(range(150))


@pytest.mark.slow
def test_kill_9_of_the_driver_leaves_the_raw_output_exact(tmp_path: Path) -> None:
    import pyarrow.parquet as pq
    from benchmarks.kill9 import kill

    spool, rules, out, checkpoint = (tmp_path / name for name in ("spool", "rules.parquet", "out", "checkpoint"))
    sent = quotes(8_000)
    fill(spool, sent)
    pq.write_table(RULES, rules)
    driver = [sys.executable, str(Path(__file__).with_name("spool_driver.py"))]
    arguments = [str(path) for path in (spool, rules, out, checkpoint)]
    for enough in (2, 6, 10):
        child = subprocess.Popen([*driver, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            until(lambda enough=enough: len(list((checkpoint / "offsets").glob("[0-9]*"))) >= enough)
        finally:
            kill(child)
    subprocess.run([*driver, *arguments, "--drain"], check=True, capture_output=True, timeout=3_000)
    assert read_pairs(out) == expected_pairs(sent)


def test_offsets_belong_to_one_spool_and_never_go_back(tmp_path: Path) -> None:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

    spool = fill(tmp_path / "one", quotes(100))
    stream = SpoolStream(spool_tape({"spool": str(tmp_path / "one")}), {"rowsPerBatch": "30"})
    start = stream.initialOffset()
    end = stream.latestOffset(start, stream.getDefaultReadLimit())
    assert (start["offset"], end["offset"]) == (0, 30)
    assert stream.latestOffset(end, ReadAllAvailable()) == stream.reportLatestOffset()
    spans = [(part.first, part.last) for part in stream.partitions(start, end)]
    assert spans == [(0, 15), (15, 30)]
    read = [row for part in stream.partitions(start, end) for batch in stream.read(part) for row in batch.to_pylist()]
    assert [row["_offset"] for row in read] == list(range(30))
    stream.prepareForTriggerAvailableNow()
    fill(tmp_path / "one", quotes(30))
    assert stream.latestOffset(end, ReadMaxRows(1_000))["offset"] == 100 < spool.end

    latest = SpoolStream(spool_tape({"spool": str(tmp_path / "one")}), {"startingOffset": "latest"})
    assert latest.initialOffset()["offset"] == 130
    with pytest.raises(CheckpointError, match="records that counted are gone"):
        latest.latestOffset({**start, "offset": 131}, ReadAllAvailable())
    fill(tmp_path / "two", quotes(10))
    other = SpoolStream(spool_tape({"spool": str(tmp_path / "two")}), {})
    with pytest.raises(CheckpointError, match="this checkpoint belongs to the spool"):
        other.latestOffset(start, ReadAllAvailable())


def test_what_retention_deleted_is_an_error_and_never_a_gap(tmp_path: Path) -> None:
    spool = fill(tmp_path, quotes(600), segment_bytes=8_000, retention=Retention(size_bytes=20_000))
    assert spool.first > 0
    stream = SpoolStream(spool_tape({"spool": str(tmp_path)}), {})
    assert stream.initialOffset()["offset"] == spool.first
    start, end = {**stream.initialOffset(), "offset": 0}, stream.reportLatestOffset()
    with pytest.raises(SpoolError, match="not all there any more"):
        [list(stream.read(part)) for part in stream.partitions(start, end)]


def test_mistakes_say_what_to_do(spark: Any, tmp_path: Path) -> None:
    fill(tmp_path, quotes(3))
    with pytest.raises(PipelineError, match="a spool has no option 'rows'"):
        spool_tape({"spool": str(tmp_path), "rows": "3"})
    with pytest.raises(PipelineError, match="a number, 'earliest' or 'latest'"):
        spool_tape({"spool": str(tmp_path)}).place("soon")
    with pytest.raises(PipelineError, match="rowsPerBatch is at least 1"):
        SpoolStream(spool_tape({"spool": str(tmp_path)}), {"rowsPerBatch": "0"})
    with pytest.raises(SinkError, match="a column 'batch_id' already"):
        publish_to("t")(spark.range(1).withColumnRenamed("id", "batch_id"), 0)


def test_a_micro_batch_that_is_sent_again_can_be_told_by_its_number(spark: Any, domain_id: int) -> None:
    rows = spark.sql("select id as event_id, timestamp_micros(id * 1000001) as at from range(0, 40, 1, 2)")
    schema = {"event_id": "int64", "at": "timestamp[us]", "batch_id": "int64"}
    got: list[dict[str, Any]] = []
    listening, done = threading.Event(), threading.Event()

    async def listen() -> None:
        async with (
            rookery.open(f"dds://{domain_id}") as client,
            client.subscribe("rows", overflow="wait", schema=schema) as events,
        ):
            listening.set()
            async for event in events:
                got.append(event)
                if len(got) == 160:
                    break
        done.set()

    listener = threading.Thread(target=lambda: asyncio.run(listen()))
    listener.start()
    assert listening.wait(3_000)
    first = publish_to("rows", domain_id=domain_id)
    first(rows, 6)
    first(rows, 7)
    first.close()
    second = publish_to("rows", domain_id=domain_id)  # a driver that was killed before Spark noted batch 7
    second(rows, 7)
    second(rows, 8)
    second.close()
    assert done.wait(3_000)
    listener.join()
    numbers = [event["batch_id"] for event in got]
    assert numbers == [6] * 40 + [7] * 80 + [8] * 40
    assert {(event["batch_id"], event["event_id"]) for event in got} == {(b, n) for b in (6, 7, 8) for n in range(40)}
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=39 * 1_000_001)
    assert max(event["at"] for event in got) == moment


def test_a_row_with_null_and_readers_that_do_not_come_are_errors(spark: Any, domain_id: int) -> None:
    publish = publish_to("nobody", domain_id=domain_id, readers=1, seconds=0.2)
    with pytest.raises(SinkError, match=r"did not take micro-batch 7 within 0\.2 s"):
        publish(spark.range(3), 7)
    publish.close()
    publish = publish_to("nulls", domain_id=domain_id, readers=0)
    with pytest.raises(SinkError, match="'x' is NULL in a row for 'nulls'"):
        publish(spark.sql("select 1 as id, cast(null as int) as x"), 0)
    with pytest.raises(SinkError, match="other columns than before"):
        publish(spark.range(1), 1)
    publish.close()


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        (pa.uint8(), pa.int16()),
        (pa.uint64(), pa.decimal128(20, 0)),
        (pa.timestamp("s", tz="UTC"), pa.timestamp("us", tz="UTC")),
        (pa.list_(pa.uint32()), pa.list_(pa.int64())),
        (pa.struct([("x", pa.uint16())]), pa.struct([("x", pa.int32())])),
        (pa.string(), pa.string()),
    ],
)
def test_types_that_spark_lacks_become_wider(stored: pa.DataType, shown: pa.DataType) -> None:
    assert widened(stored) == shown
