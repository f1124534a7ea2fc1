"""Kafka over confluent-kafka, against librdkafka's own mock broker on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rookery.spark import match, write_stream

from .conftest import read_pairs

confluent_kafka = pytest.importorskip("confluent_kafka")
pytestmark = pytest.mark.spark


@pytest.fixture
def broker() -> Iterator[tuple[str, Any]]:
    producer = confluent_kafka.Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 1, "log_level": 0})
    metadata = producer.list_topics(timeout=10)
    address = next(iter(metadata.brokers.values()))
    yield f"{address.host}:{address.port}", producer
    producer.flush(5)


def test_events_come_from_kafka_and_matches_go_back(spark: Any, broker: tuple[str, Any], tmp_path: Path) -> None:
    servers, producer = broker
    for number in range(500):
        producer.produce("events", value=json.dumps({"id": number, "x": number % 10}), partition=number % 3)
    assert producer.flush(10) == 0
    source = (
        spark.readStream.format("rookery.kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", "events")
        .option("maxOffsetsPerTrigger", 120)
        .load()
    )
    events = source.selectExpr("from_json(cast(value as string), 'id bigint, x int') as e").select("e.*")
    rules = pa.table({"subscription_id": ["nine"], "where": ["x = 9"]})
    checkpoint = str(tmp_path / "checkpoint")
    hits = match(events, rules, event_id="id", checkpoint=checkpoint)
    query = write_stream(hits, str(tmp_path / "out"), checkpoint=checkpoint, trigger={"availableNow": True})
    assert query.awaitTermination(120)
    expected = [(number, "nine", 1) for number in range(9, 500, 10)]
    assert read_pairs(tmp_path / "out") == expected
    assert len(list((Path(checkpoint) / "commits").glob("[0-9]*"))) >= 500 // 120  # admission control

    back = match(events, rules, event_id="id", checkpoint=str(tmp_path / "c2")).selectExpr(
        "cast(cast(event_id as string) as binary) as key", "cast(to_json(struct(*)) as binary) as value"
    )
    query = (
        back.writeStream.format("rookery.kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("topic", "matches")
        .option("checkpointLocation", str(tmp_path / "c2"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": servers, "group.id": "test", "auto.offset.reset": "earliest", "log_level": 0}
    )
    consumer.subscribe(["matches"])
    got: list[int] = []
    while len(got) < len(expected):
        messages = consumer.consume(num_messages=100, timeout=20)
        assert messages, "the broker sent nothing"
        got += [json.loads(message.value())["event_id"] for message in messages if message.error() is None]
    consumer.close()
    assert sorted(got) == [pair[0] for pair in expected]
