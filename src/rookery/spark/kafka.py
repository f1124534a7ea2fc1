"""The data source and sink `rookery.kafka`, over `confluent-kafka`: no connector jar is needed.

Source: a stream of `key, value, topic, partition, offset, timestamp`, as Spark's own connector gives it. The offset
of a micro-batch is the next offset of each partition, kept in Spark's checkpoint and never in Kafka, so a replay
reads the very same messages; `maxOffsetsPerTrigger` admits so many a micro-batch, shared among the partitions.

Sink: `value` (and `key`) to a topic, by an idempotent producer. A batch that is replayed after a crash is sent
again: delivery is at least once. Matches are idempotent on (event_id, subscription_id, version); use that as the key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from rookery.errors import PipelineError, SinkError
from rookery.spark.data_sources import (
    DataSource,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
    WriterCommitMessage,
    stream_reader,
    stream_writer,
)
from rookery.spark.types import arrow_schema_of

__all__ = ["KafkaEvents"]

SCHEMA = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp"
ARROW = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
    ]
)
TIMEOUT = 30.0


class KafkaEvents(DataSource):
    """The source and sink `rookery.kafka`."""

    @classmethod
    def name(cls) -> str:
        """Return the name that `format()` takes."""
        return "rookery.kafka"

    def schema(self) -> str:
        """Return the columns of a message."""
        return SCHEMA

    def _required(self, *names: str) -> list[str]:
        missing = [name for name in names if name not in self.options]
        if missing:
            raise PipelineError(f"rookery.kafka needs the option {missing[0]!r}")
        return [self.options[name] for name in names]

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return the reader of a topic."""
        servers, topic = self._required("kafka.bootstrap.servers", "subscribe")
        limit = self.options.get("maxOffsetsPerTrigger")
        starting = self.options.get("startingOffsets", "earliest")
        if starting not in ("earliest", "latest"):
            raise PipelineError(f"startingOffsets is 'earliest' or 'latest', not {starting!r}")
        reader = KafkaReader(servers, topic, starting, None if limit is None else int(limit))
        return stream_reader(reader, option="maxOffsetsPerTrigger")

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: N802
        """Return the writer to a topic."""
        servers, topic = self._required("kafka.bootstrap.servers", "topic")
        if "value" not in schema.names:
            raise PipelineError("rookery.kafka writes a column 'value' (and 'key' if there is one)")
        return stream_writer(KafkaWriter(servers, topic), arrow_schema_of(schema))


@dataclass
class Span(InputPartition):
    """Messages of one partition that one task reads."""

    partition: int
    first: int
    last: int


class KafkaReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads one topic; the offset is {partition: next offset}."""

    def __init__(self, servers: str, topic: str, starting: str, limit: int | None) -> None:
        self.servers, self.topic, self.starting, self.limit = servers, topic, starting, limit
        self.target: dict[str, int] | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Begin at the first message kept, or at the end."""
        low, high = self._ends()
        return low if self.starting == "earliest" else high

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Admit `maxOffsetsPerTrigger` messages."""
        return ReadAllAvailable() if self.limit is None else ReadMaxRows(self.limit)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Go to the end, or share the limit among the partitions that have messages."""
        low, high = self._ends()
        if self.target is not None:
            high = self.target
        start = {partition: int(start.get(partition, low[partition])) for partition in high}
        for partition, first in low.items():
            if start.get(partition, first) < first:
                raise PipelineError(
                    f"Kafka dropped messages {start[partition]} to {first - 1} of {self.topic}/{partition} before they "
                    "were read: keep them longer, or start with a new checkpoint"
                )
        if not isinstance(limit, ReadMaxRows):
            return high
        left = limit.max_rows
        end = dict(start)
        pending = sorted(partition for partition in high if high[partition] > end[partition])
        while left > 0 and pending:
            share = max(1, left // len(pending))
            for partition in pending:
                step = min(share, high[partition] - end[partition], left)
                end[partition] += step
                left -= step
            pending = [partition for partition in pending if high[partition] > end[partition]]
        return end

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Report how far the topic goes."""
        return self._ends()[1]

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Fix the end."""
        self.target = self._ends()[1]

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Give each partition with new messages to one task."""
        spans = [Span(int(partition), int(start.get(partition, 0)), int(last)) for partition, last in end.items()]
        return [span for span in spans if span.last > span.first]

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Read the messages of one span."""
        from confluent_kafka import TopicPartition

        consumer = self._consumer()
        try:
            consumer.assign([TopicPartition(self.topic, partition.partition, partition.first)])
            following, messages = partition.first, []
            while following < partition.last:
                got = consumer.consume(num_messages=min(5000, partition.last - following), timeout=TIMEOUT)
                if not got:
                    raise PipelineError(f"{self.servers} sent nothing of {self.topic}/{partition.partition} for 30 s")
                for message in got:
                    if message.error() is not None:
                        raise PipelineError(f"{self.topic}/{partition.partition}: {message.error()}")
                    if message.offset() < partition.last:
                        messages.append(message)
                    following = message.offset() + 1
                if messages:
                    yield _batch(messages)
                    messages = []
        finally:
            consumer.close()

    def _consumer(self) -> Any:
        from confluent_kafka import Consumer

        return Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "rookery",  # required by the client, used for nothing: offsets live in the checkpoint
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "log_level": 0,
            }
        )

    def _ends(self) -> tuple[dict[str, int], dict[str, int]]:
        from confluent_kafka import KafkaException, TopicPartition

        consumer = self._consumer()
        try:
            topic = consumer.list_topics(self.topic, timeout=TIMEOUT).topics[self.topic]
            if topic.error is not None:
                raise PipelineError(f"{self.servers} has no topic {self.topic!r}: {topic.error}")
            ends = {
                str(number): consumer.get_watermark_offsets(TopicPartition(self.topic, number), timeout=TIMEOUT)
                for number in topic.partitions
            }
        except KafkaException as error:
            raise PipelineError(f"no Kafka answers at {self.servers}: {error}") from error
        finally:
            consumer.close()
        return {n: int(end[0]) for n, end in ends.items()}, {n: int(end[1]) for n, end in ends.items()}


def _batch(messages: list[Any]) -> pa.RecordBatch:
    columns = [
        [message.key() for message in messages],
        [message.value() for message in messages],
        [message.topic() for message in messages],
        [message.partition() for message in messages],
        [message.offset() for message in messages],
        [message.timestamp()[1] * 1000 for message in messages],
    ]
    return pa.record_batch([pa.array(column, kind) for column, kind in zip(columns, ARROW.types, strict=True)], ARROW)


@dataclass
class Sent(WriterCommitMessage):
    """How many messages one task sent."""

    count: int


class KafkaWriter(DataSourceStreamArrowWriter):
    """Sends rows to a topic and waits until the broker has them."""

    def __init__(self, servers: str, topic: str) -> None:
        self.servers, self.topic = servers, topic

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Send one task's rows."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.servers, "enable.idempotence": True, "log_level": 0})
        failed: list[str] = []

        def delivered(error: Any, _: Any) -> None:
            if error is not None:
                failed.append(str(error))

        count = 0
        for batch in iterator:
            keys = batch.column("key").to_pylist() if "key" in batch.schema.names else [None] * batch.num_rows
            for key, value in zip(keys, batch.column("value").to_pylist(), strict=True):
                while True:
                    try:
                        producer.produce(self.topic, key=key, value=value, on_delivery=delivered)
                        break
                    except BufferError:
                        producer.poll(0.1)
                count += 1
            producer.poll(0)
        if producer.flush(TIMEOUT) or failed:
            raise SinkError(f"{self.servers} did not take all messages for {self.topic}: {failed[:1] or 'no answer'}")
        return Sent(count)

    def commit(self, messages: list[Any], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Do nothing: the messages are in the broker."""

    def abort(self, messages: list[Any], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Do nothing: what was sent stays sent, and the replay sends it again under the same key."""
