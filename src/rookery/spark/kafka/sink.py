"""Writing to Kafka: exactly once by transactions, or at least once and faster.

Exactly once. Tasks only pack their rows; the driver sends the whole micro-batch in one transaction, in which it also
commits the number of the batch, as the offset of a consumer group of the query's own. A driver that comes back after a
crash first asks for that number: a batch that is there is not sent again, and what its predecessor had not committed is
aborted by Kafka, which knows both by one transactional id. Readers must read what is committed only, as librdkafka's
do; the driver holds one micro-batch in memory. Kafka forgets the number when the group was idle for its
`offsets.retention.minutes` (a week): a query that rests longer may send its last batch again.

At least once. Tasks send their rows themselves, by an idempotent producer; a batch that is replayed is sent again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

import pyarrow as pa

from rookery.errors import PipelineError, SinkError
from rookery.spark.data_sources import DataSourceStreamArrowWriter, WriterCommitMessage
from rookery.spark.kafka.options import WriteOptions, connect

__all__ = ["kafka_writer"]

TIMEOUT = 30.0
COLUMNS = ("key", "value", "topic", "headers")


class KafkaMessage(NamedTuple):
    """One row, as Kafka takes it."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]] | None


@dataclass
class Sent(WriterCommitMessage):
    """How many messages one task has, and the messages if the driver is to send them."""

    count: int
    messages: list[KafkaMessage] | None = None


def kafka_writer(options: WriteOptions, columns: pa.Schema) -> DataSourceStreamArrowWriter:
    """Return the writer that the options ask for; columns that it cannot write are refused."""
    if "value" not in columns.names:
        raise PipelineError("rookery.kafka writes a column 'value' (and 'key', 'headers', 'topic' if they are there)")
    for name in columns.names:
        if name not in COLUMNS:
            raise PipelineError(
                f"rookery.kafka does not write the column {name!r}: put it into 'value', as with to_json(struct(*))"
            )
    if options.topic is None and "topic" not in columns.names:
        raise PipelineError("rookery.kafka needs the option 'topic', or a column 'topic'")
    if options.query is None:
        return AtLeastOnce(options)
    if options.topic is None:
        raise PipelineError("exactly once needs the option 'topic' too: the batch's number is kept beside it in Kafka")
    return ExactlyOnce(options)


class AtLeastOnce(DataSourceStreamArrowWriter):
    """Tasks send their rows and wait until the brokers have them."""

    def __init__(self, options: WriteOptions) -> None:
        self.options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Send one task's rows."""
        from confluent_kafka import Producer

        sending = _Sending(connect(Producer, self.options.client, enable_idempotence=True), self.options)
        count = sum(map(sending.send, _messages(iterator, self.options)))
        sending.finish()
        return Sent(count)

    def commit(self, messages: list[Any], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Do nothing: the messages are in the broker."""

    def abort(self, messages: list[Any], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Do nothing: what was sent stays sent, and the replay sends it again under the same key."""


class ExactlyOnce(DataSourceStreamArrowWriter):
    """The driver sends a micro-batch in one transaction that carries its number."""

    def __init__(self, options: WriteOptions) -> None:
        self.options = options
        name = blake2b(str(options.query).encode(), digest_size=8).hexdigest()
        self.identity = f"rookery-{name}"

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Pack one task's rows for the driver."""
        packed = list(_messages(iterator, self.options))
        return Sent(len(packed), packed)

    def commit(self, messages: list[Any], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Send the micro-batch, unless a run before a crash has."""
        from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

        packed = [one for message in messages if message is not None for one in message.messages]
        if not packed:
            return
        client, servers = self.options.client, self.options.client["bootstrap.servers"]
        producer = connect(Producer, client, transactional_id=self.identity)
        group = connect(Consumer, client, group_id=self.identity, enable_auto_commit=False)
        try:
            producer.init_transactions(TIMEOUT)  # from here on a driver of before can commit nothing
            place = TopicPartition(self.options.topic, 0)
            (known,) = group.committed([place], timeout=TIMEOUT)
            if known.offset > batchId:
                return
            producer.begin_transaction()
            sending = _Sending(producer, self.options)
            for one in packed:
                sending.send(one)
            sending.finish()
            place = TopicPartition(self.options.topic, 0, batchId + 1)
            producer.send_offsets_to_transaction([place], group.consumer_group_metadata(), TIMEOUT)
            _committed(producer)
        except KafkaException as error:
            raise SinkError(f"{servers} did not take batch {batchId} for {self.options.topic}: {error}") from error
        finally:
            group.close()

    def abort(self, messages: list[Any], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Do nothing: nothing was sent."""


def _committed(producer: Any) -> None:
    """Commit; an answer that was lost is asked for again, which Kafka allows."""
    from confluent_kafka import KafkaException

    for _ in range(4):
        try:
            producer.commit_transaction(TIMEOUT)
            return
        except KafkaException as error:
            if not error.args[0].retriable():
                raise
    producer.commit_transaction(TIMEOUT)


class _Sending:
    """A producer and what it could not send."""

    def __init__(self, producer: Any, options: WriteOptions) -> None:
        self.producer, self.servers = producer, options.client["bootstrap.servers"]
        self.failed: list[str] = []

    def send(self, one: KafkaMessage) -> int:
        while True:
            try:
                self.producer.produce(
                    one.topic, key=one.key, value=one.value, headers=one.headers, on_delivery=self._delivered
                )
                break
            except BufferError:
                self.producer.poll(0.1)
        self.producer.poll(0)
        return 1

    def finish(self) -> None:
        if self.producer.flush(TIMEOUT) or self.failed:
            raise SinkError(f"{self.servers} did not take all messages: {self.failed[:1] or 'no answer'}")

    def _delivered(self, error: Any, _: Any) -> None:
        if error is not None:
            self.failed.append(str(error))


def _messages(batches: Iterator[pa.RecordBatch], options: WriteOptions) -> Iterator[KafkaMessage]:
    """Return the rows of a task as messages."""
    for batch in batches:
        columns = {name: batch.column(name).to_pylist() for name in batch.schema.names}
        empty = [None] * batch.num_rows
        topics, headers = columns.get("topic", empty), columns.get("headers", empty)
        rows = zip(topics, columns.get("key", empty), columns["value"], headers, strict=True)
        for topic, key, value, pairs in rows:
            named = topic if topic is not None else options.topic
            if named is None:
                raise SinkError("a row has no topic, and the option 'topic' is not given")
            listed = None if pairs is None else [(pair["key"], pair["value"]) for pair in pairs]
            yield KafkaMessage(named, _bytes(key), _bytes(value), listed)


def _bytes(value: Any) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
