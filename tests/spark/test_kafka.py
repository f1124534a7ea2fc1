"""Kafka over confluent-kafka, against a real broker: transactions, TLS and passwords, patterns, times, headers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rookery.errors import PipelineError
from rookery.spark import match, write_stream
from rookery.spark.kafka.options import ReadOptions, WriteOptions

from .conftest import read_pairs
from .kafka_server import KafkaServer, kafka_server

confluent_kafka = pytest.importorskip("confluent_kafka")
pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaServer]:
    with kafka_server(tmp_path_factory.mktemp("kafka")) as server:
        yield server


def produce(kafka: KafkaServer, topic: str, values: list[Any], *, transaction: str | None = None, **how: Any) -> None:
    """Send values as JSON; in a transaction, which is "commit" or "abort", if one is named."""
    settings = {"bootstrap.servers": kafka.plain, "log_level": 0}
    if transaction:
        settings["transactional.id"] = f"test-{topic}"
    producer = confluent_kafka.Producer(settings)
    if transaction:
        producer.init_transactions(30)
        producer.begin_transaction()
    for value in values:
        producer.produce(topic, value=json.dumps(value), **how)
    assert producer.flush(600) == 0
    if transaction == "commit":
        producer.commit_transaction(30)
    elif transaction == "abort":
        producer.abort_transaction(30)


def read(spark: Any, kafka: KafkaServer, **options: Any) -> list[Any]:
    """Read a batch."""
    reader = spark.read.format("rookery.kafka").option("kafka.bootstrap.servers", kafka.plain)
    return list(reader.options(**options).load().orderBy("topic", "partition", "offset").collect())


def consume(kafka: KafkaServer, topic: str) -> list[Any]:
    """Read all that a reader of committed messages is given."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": kafka.plain, "group.id": f"test-{topic}", "auto.offset.reset": "earliest",
            "enable.partition.eof": True, "isolation.level": "read_committed", "log_level": 0,
        }
    )  # fmt: skip
    parts = consumer.list_topics(topic, timeout=3_000).topics[topic].partitions
    consumer.assign([confluent_kafka.TopicPartition(topic, number, 0) for number in parts])
    got, ended = [], 0
    while ended < len(parts):
        for message in consumer.consume(num_messages=500, timeout=0.5):
            if message.error() is None:
                got.append(message)
            else:
                assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF
                ended += 1
    consumer.close()
    return got


def values(rows: list[Any]) -> list[Any]:
    return sorted(json.loads(bytes(row["value"])) for row in rows)


def test_events_come_over_tls_and_alerts_go_back_exactly_once(spark: Any, kafka: KafkaServer, tmp_path: Path) -> None:
    for lot in range(3):  # a transactional producer, whose markers take offsets, and one that gives up
        produce(kafka, "readings", [{"id": lot * 100 + n, "device": f"d{n % 3}", "x": n % 10} for n in range(100)],
                transaction="commit")  # fmt: skip
        produce(kafka, "readings", [{"id": 9999, "device": "none", "x": 9}], transaction="abort")
    rules = pa.table({"subscription_id": ["nine"], "where": ["x = 9"], "severity": ["high"]})

    def run() -> None:
        source = spark.readStream.format("rookery.kafka").options(**kafka.secure_options, subscribe="readings")
        source = source.option("maxOffsetsPerTrigger", 80).load()
        events = source.selectExpr("from_json(cast(value as string), 'id bigint, device string, x int') as e")
        found = match(
            events.select("e.*"), rules, event_id="id", checkpoint=str(tmp_path / "state"), columns=["device", "x"],
            subscription_columns=["severity"],
        )  # fmt: skip
        alerts = found.selectExpr("cast(event_id as string) as key", "to_json(struct(*)) as value")
        sink = alerts.writeStream.format("rookery.kafka").options(**kafka.secure_options, topic="alerts")
        query = sink.option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True).start()
        query.awaitTermination()
        assert query.exception() is None

    run()
    commits = sorted((tmp_path / "state" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    assert len(commits) > 3  # admission control
    for path in (commits[-1], commits[-1].with_name(f".{commits[-1].name}.crc")):
        path.unlink(missing_ok=True)  # as if the driver had died between Kafka's commit and Spark's
    run()
    alerts = [json.loads(message.value()) for message in consume(kafka, "alerts")]
    assert sorted(alert["event_id"] for alert in alerts) == [
        lot * 100 + n for lot in range(3) for n in range(9, 100, 10)
    ]
    assert {(alert["severity"], alert["x"]) for alert in alerts} == {("high", 9)}
    assert all(alert["device"] == f"d{alert['event_id'] % 100 % 3}" for alert in alerts)


def test_at_least_once_sends_at_once(spark: Any, kafka: KafkaServer, tmp_path: Path) -> None:
    produce(kafka, "plain-in", list(range(20)))
    source = spark.readStream.format("rookery.kafka").option("kafka.bootstrap.servers", kafka.plain)
    rows = source.option("subscribe", "plain-in").load().selectExpr(
        "value", "'plain-out' as topic", "array(named_struct('key', 'from', 'value', cast(topic as binary))) as headers"
    )  # fmt: skip
    sink = rows.writeStream.format("rookery.kafka").option("kafka.bootstrap.servers", kafka.plain)
    sink = sink.option("delivery", "at-least-once").option("checkpointLocation", str(tmp_path / "state"))
    sink.trigger(availableNow=True).start().awaitTermination()
    got = consume(kafka, "plain-out")
    assert sorted(json.loads(message.value()) for message in got) == list(range(20))
    assert {tuple(message.headers()) for message in got} == {(("from", b"plain-in"),)}


def test_a_batch_by_names_pattern_partition_offsets_and_time(spark: Any, kafka: KafkaServer) -> None:
    produce(kafka, "one-a", [1, 2], partition=0)
    produce(kafka, "one-b", [3], partition=1, headers=[("who", b"us"), ("no", None)])
    assert values(read(spark, kafka, subscribe="one-a, one-b")) == [1, 2, 3]
    assert values(read(spark, kafka, subscribePattern="one-.")) == [1, 2, 3]
    assert values(read(spark, kafka, assign='{"one-a": [0], "one-b": [0]}')) == [1, 2]
    first = '{"one-a": {"0": 1, "1": -2, "2": -1}}'
    assert values(read(spark, kafka, subscribe="one-a", startingOffsets=first)) == [2]
    assert values(read(spark, kafka, subscribe="one-a", endingOffsets='{"one-a": {"0": 1}}')) == [1]
    stamps = [row["timestamp"].timestamp() for row in read(spark, kafka, subscribe="one-a")]
    later = str(round(max(stamps) * 1000) + 1)
    assert read(spark, kafka, subscribe="one-a", startingTimestamp=later) == []
    assert values(read(spark, kafka, subscribe="one-a", startingTimestamp="0", endingTimestamp=later)) == [1, 2]
    (row,) = read(spark, kafka, subscribe="one-b", includeHeaders="true")
    assert [(one["key"], one["value"]) for one in row["headers"]] == [("who", bytearray(b"us")), ("no", None)]
    assert (row["topic"], row["partition"], row["offset"], row["timestampType"]) == ("one-b", 1, 0, 0)


def test_a_topic_that_appears_later_is_read_from_its_beginning(spark: Any, kafka: KafkaServer, tmp_path: Path) -> None:
    rules = pa.table({"subscription_id": ["all"], "where": ["x > 0"]})

    def run() -> None:
        source = spark.readStream.format("rookery.kafka").option("kafka.bootstrap.servers", kafka.plain)
        events = source.option("subscribePattern", "late-.*").load().selectExpr("cast(cast(value as string) as int) x")
        found = match(events, rules, event_id="x", checkpoint=str(tmp_path / "state"))
        query = write_stream(
            found, str(tmp_path / "out"), checkpoint=str(tmp_path / "state"), trigger={"availableNow": True}
        )
        query.awaitTermination()

    produce(kafka, "late-1", [1, 2])
    run()
    produce(kafka, "late-2", [3])
    produce(kafka, "late-1", [4], transaction="commit")
    run()
    assert [pair[0] for pair in read_pairs(tmp_path / "out")] == [1, 2, 3, 4]


@pytest.mark.parametrize("limit", [None, 2])
def test_a_topic_that_is_deleted_while_it_is_drained(
    kafka: KafkaServer, caplog: pytest.LogCaptureFixture, limit: int | None
) -> None:
    from confluent_kafka.admin import AdminClient

    from rookery.spark.data_sources import ReadAllAvailable, ReadMaxRows
    from rookery.spark.kafka.source import KafkaStream, KafkaTopics

    caplog.set_level("WARNING", logger="rookery.spark")  # commands that ran in this process may have hushed it
    name = f"gone-{limit}"
    produce(kafka, f"{name}-1", [1, 2], partition=0)
    produce(kafka, f"{name}-2", [3], partition=0)
    plain = {"kafka.bootstrap.servers": kafka.plain, "subscribePattern": f"{name}-.*"}
    streams = [
        KafkaStream(KafkaTopics(ReadOptions.of({**plain, "failOnDataLoss": loss}))) for loss in ("true", "false")
    ]
    reading = ReadAllAvailable() if limit is None else ReadMaxRows(limit)
    for stream in streams:
        stream.prepareForTriggerAvailableNow()
    start = streams[0].initialOffset()
    whole = streams[0].latestOffset(start, ReadAllAvailable())
    admin = AdminClient({"bootstrap.servers": kafka.plain})  # kept: the answer needs it
    admin.delete_topics([f"{name}-1"])[f"{name}-1"].result()
    while f"{name}-1" in streams[0].topics.ends()[0]:
        pass  # the broker forgets it in its own time
    for stream in streams:  # what was read to its end is no loss
        assert list(stream.latestOffset(whole, reading)) == [f"{name}-2"]
    with pytest.raises(PipelineError, match=f"{name}-1' was deleted.*failOnDataLoss"):
        streams[0].latestOffset(start, reading)
    end = streams[1].latestOffset(start, reading)
    assert (end[f"{name}-2"]["0"], f"{name}-1" in end) == (1, False)
    assert "was deleted" in caplog.text
    assert [span.topic for span in streams[1].partitions(start, end)] == [f"{name}-2"]


SERVERS = {"kafka.bootstrap.servers": "127.0.0.1:1"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"subscribe": "a"}, "needs the option 'kafka.bootstrap.servers'"),
        (SERVERS, "one of the options 'subscribe'"),
        ({**SERVERS, "subscribe": "a", "subscribePattern": "b"}, "it has subscribe, subscribePattern"),
        ({**SERVERS, "subscribe": "a", "startingOfsets": "latest"}, "did you mean 'startingOffsets'"),
        ({**SERVERS, "subscribe": "a", "startingOffsets": "middle"}, "'earliest', 'latest' or JSON"),
        ({**SERVERS, "subscribe": "a", "startingOffsets": "latest", "startingTimestamp": "5"}, "say two things"),
        ({**SERVERS, "subscribe": "a", "maxOffsetsPerTrigger": "0"}, "is a whole number"),
        ({**SERVERS, "subscribe": "a", "includeHeaders": "maybe"}, "is true or false"),
        ({**SERVERS, "subscribe": "a", "kafka.group.id": "mine"}, "leave it out"),
        ({**SERVERS, "subscribe": "a", "kafka.sasl.jaas.config": "x"}, "kafka.sasl.username"),
        ({**SERVERS, "subscribePattern": "("}, "subscribePattern"),
        ({**SERVERS, "assign": "[1]"}, "assign is JSON"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(PipelineError, match=said.replace("(", r"\(")):
        ReadOptions.of(options)


def test_a_setting_that_the_client_does_not_know_is_named() -> None:
    from rookery.spark.kafka.source import KafkaTopics

    options = {**SERVERS, "subscribe": "a", "kafka.sasl.mecanism": "PLAIN"}
    with pytest.raises(PipelineError, match=r'refuses its settings.*"sasl.mecanism"'):
        KafkaTopics(ReadOptions.of(options)).consumer()


def test_sinks_say_what_they_lack() -> None:
    from rookery.spark.kafka.sink import kafka_writer

    value = pa.schema([("value", pa.binary())])
    options = WriteOptions.of({**SERVERS, "query": "q", "topic": "t"})
    with pytest.raises(PipelineError, match="writes a column 'value'"):
        kafka_writer(options, pa.schema([("x", pa.int8())]))
    with pytest.raises(PipelineError, match="does not write the column 'x'"):
        kafka_writer(options, value.append(pa.field("x", pa.int8())))
    with pytest.raises(PipelineError, match="needs the option 'topic'"):
        kafka_writer(WriteOptions.of({**SERVERS, "query": "q"}), value)
    with pytest.raises(PipelineError, match="checkpointLocation"):
        WriteOptions.of({**SERVERS, "topic": "t"})
    with pytest.raises(PipelineError, match="delivery is"):
        WriteOptions.of({**SERVERS, "topic": "t", "query": "q", "delivery": "twice"})
