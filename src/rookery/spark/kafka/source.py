"""Reading Kafka: a micro-batch, or a batch, is a span of offsets of each partition.

Rule 1: spans end where Kafka says that everything below is decided: of a transactional topic only committed messages
are read, and a span may end in markers that no consumer is given. So a span is done when a message at or beyond its end
comes, or when the client says that it has reached the end of the partition there.
Rule 2: a partition or a topic that appears later is read from its first message.
Rule 3: messages that Kafka dropped before they were read are an error, unless `failOnDataLoss` is false.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from rookery.errors import PipelineError
from rookery.spark.data_sources import (
    DataSource,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
    stream_reader,
    stream_writer,
)
from rookery.spark.kafka.options import EARLIEST, LATEST, Position, ReadOptions, WriteOptions, connect
from rookery.spark.types import arrow_schema_of

__all__ = ["KafkaEvents"]

log = logging.getLogger("rookery.spark")

HEADERS = ", headers array<struct<key: string, value: binary>>"
SCHEMA = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int"
)  # fmt: skip
TIMEOUT = 30.0

#: Offsets by topic and partition, as they stand in a checkpoint.
Offsets = dict[str, dict[str, int]]


class KafkaEvents(DataSource):
    """The source and sink `rookery.kafka`."""

    @classmethod
    def name(cls) -> str:
        """Return the name that `format()` takes."""
        return "rookery.kafka"

    def schema(self) -> str:
        """Return the columns of a message."""
        return SCHEMA + (HEADERS if ReadOptions.of(self.options).headers else "")

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch."""
        options = ReadOptions.of(self.options)
        if options.limit is not None:
            raise PipelineError("maxOffsetsPerTrigger is for streams: leave it out, or give endingOffsets")
        return KafkaBatch(KafkaTopics(options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Return the reader of a stream."""
        options = ReadOptions.of(self.options)
        if options.ending != Position(LATEST):
            raise PipelineError("a stream has no end: leave endingOffsets and endingTimestamp out")
        return stream_reader(KafkaStream(KafkaTopics(options)), option="maxOffsetsPerTrigger")

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: N802
        """Return the writer to a topic."""
        from rookery.spark.kafka.sink import kafka_writer

        columns = arrow_schema_of(schema)
        return stream_writer(kafka_writer(WriteOptions.of(self.options), columns), columns)


@dataclass
class Span(InputPartition):
    """Messages of one partition that one task reads."""

    topic: str
    partition: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class KafkaTopics:
    """The topics that are read, as Kafka has them at the moment of asking."""

    options: ReadOptions

    def consumer(self) -> Any:
        """Return a client; the caller closes it."""
        from confluent_kafka import Consumer

        return connect(
            Consumer,
            {"isolation.level": "read_committed", **self.options.client},
            group_id="rookery",  # required by the client, used for nothing: offsets live in the checkpoint
            enable_auto_commit=False,
            auto_offset_reset="error" if self.options.fails_on_data_loss else "earliest",
            enable_partition_eof=True,
        )

    def ends(self) -> tuple[Offsets, Offsets]:
        """Return the first offset of each partition, and the one before which everything is decided."""
        low: Offsets = {}
        high: Offsets = {}
        with _asking(self) as consumer:
            for topic, number in self._partitions(consumer):
                first, last = consumer.get_watermark_offsets(_partition(topic, number), timeout=TIMEOUT)
                low.setdefault(topic, {})[str(number)] = int(first)
                high.setdefault(topic, {})[str(number)] = int(last)
        return low, high

    def place(self, position: Position) -> Offsets:
        """Return the offsets of a position."""
        low, high = self.ends()
        if position.time is not None:
            return self._at(position.time, high)
        chosen = low if position.place == EARLIEST else high
        found = {topic: dict(partitions) for topic, partitions in chosen.items()}
        for topic, partitions in (position.offsets or {}).items():
            for number, offset in partitions.items():
                if topic not in found or number not in found[topic]:
                    raise PipelineError(f"offsets are given for {topic}/{number}, which is not read")
                named = {EARLIEST: low, LATEST: high}.get(offset)
                found[topic][number] = offset if named is None else named[topic][number]
        return found

    def _at(self, time: int, high: Offsets) -> Offsets:
        asked = [_partition(topic, int(number), time) for topic in high for number in high[topic]]
        with _asking(self) as consumer:
            answers = consumer.offsets_for_times(asked, timeout=TIMEOUT)
        found: Offsets = {}
        for one in answers:
            end = high[one.topic][str(one.partition)]
            found.setdefault(one.topic, {})[str(one.partition)] = end if one.offset < 0 else int(one.offset)
        return found

    def _partitions(self, consumer: Any) -> list[tuple[str, int]]:
        options = self.options
        known = consumer.list_topics(timeout=TIMEOUT).topics
        if options.pattern is not None:
            names = sorted(name for name in known if re.fullmatch(options.pattern, name))
        else:
            names = list(options.topics or options.assigned or ())
        for name in names:
            if name not in known:  # ask for it by name: a broker may make it
                known[name] = consumer.list_topics(name, timeout=TIMEOUT).topics[name]
            if known[name].error is not None:
                raise PipelineError(f"{self.servers} has no topic {name!r}: {known[name].error}")
        pairs = [(name, number) for name in names for number in sorted(known[name].partitions)]
        if options.assigned is None:
            return pairs
        wanted = [(name, number) for name in names for number in options.assigned[name]]
        for pair in wanted:
            if pair not in pairs:
                raise PipelineError(f"{self.servers} has no partition {pair[1]} of {pair[0]!r}")
        return wanted

    @property
    def servers(self) -> str:
        """Who is asked."""
        return self.options.client["bootstrap.servers"]

    def read(self, span: Span) -> Iterator[pa.RecordBatch]:
        """Read the messages of one span."""
        from confluent_kafka import OFFSET_BEGINNING, KafkaError

        if not span.last:
            return
        consumer = self.consumer()
        where = f"{span.topic}/{span.partition}"
        try:
            first = OFFSET_BEGINNING if span.first == EARLIEST else span.first
            consumer.assign([_partition(span.topic, span.partition, first)])
            done, heard = False, monotonic()
            while not done:
                # The client waits for as many messages as are asked for, or for so long: it must not be long.
                got = consumer.consume(num_messages=5000, timeout=0.1)
                if got:
                    heard = monotonic()
                elif monotonic() - heard > TIMEOUT:
                    raise PipelineError(f"{self.servers} sent nothing of {where} for {TIMEOUT:.0f} s")
                messages = []
                for message in got:
                    error = message.error()
                    if error is not None and error.code() != KafkaError._PARTITION_EOF:
                        raise PipelineError(f"{where}: {error}")
                    if message.offset() >= span.last:
                        done = True
                    elif error is None:
                        messages.append(message)
                if messages:
                    done = done or messages[-1].offset() + 1 >= span.last
                    yield _batch(messages, headers=self.options.headers)
        finally:
            consumer.close()


class _asking:  # noqa: N801 - reads as what it does
    """A client for a question; who does not answer is named."""

    def __init__(self, topics: KafkaTopics) -> None:
        self.topics = topics

    def __enter__(self) -> Any:
        self.consumer = self.topics.consumer()
        return self.consumer

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        from confluent_kafka import KafkaException

        self.consumer.close()
        if isinstance(error, KafkaException):
            raise PipelineError(f"no Kafka answers at {self.topics.servers}: {error}") from error


class KafkaBatch(DataSourceReader):
    """Reads from one position to another."""

    def __init__(self, topics: KafkaTopics) -> None:
        self.topics = topics

    def partitions(self) -> Sequence[InputPartition]:
        """Give each partition to one task."""
        options = self.topics.options
        spans = _spans(self.topics.place(options.starting), self.topics.place(options.ending))
        return spans or [Span("", 0, 0, 0)]  # of no partition at all Spark would make one that is none of ours

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Read the messages of one span."""
        return self.topics.read(partition)


class KafkaStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows topics in micro-batches."""

    def __init__(self, topics: KafkaTopics) -> None:
        self.topics, self.limit = topics, topics.options.limit
        self.target: Offsets | None = None

    def initialOffset(self) -> Offsets:  # noqa: N802 - Spark's name
        """Begin where the options say."""
        return self.topics.place(self.topics.options.starting)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Admit `maxOffsetsPerTrigger` messages."""
        return ReadAllAvailable() if self.limit is None else ReadMaxRows(self.limit)

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802 - Spark's name
        """Go to the end, or share the limit among the partitions that have messages."""
        low, high = self.topics.ends()
        if self.target is not None:
            high = {topic: numbers for topic, numbers in self.target.items() if topic in low}
        self._check_deleted(start, low)
        begun = {
            topic: {number: max(int(start.get(topic, {}).get(number, first)), 0) for number, first in numbers.items()}
            for topic, numbers in low.items()
        }
        self._check_loss(begun, low)
        if not isinstance(limit, ReadMaxRows):
            return high
        return _admitted(begun, high, limit.max_rows)

    def _check_deleted(self, start: Offsets, low: Offsets) -> None:
        """Tell of topics that were deleted while they were followed; what was read to its end is no loss."""
        known = start if self.target is None else self.target
        for topic in known.keys() - low.keys():
            read, ends = start.get(topic, {}), (self.target or {}).get(topic)
            if ends is not None and all(int(read.get(number, 0)) >= int(end) for number, end in ends.items()):
                continue
            lost = f"the topic {topic!r} was deleted, and what was not read of it is gone"
            if self.topics.options.fails_on_data_loss:
                raise PipelineError(f"{lost}: start with a new checkpoint, or set failOnDataLoss to false")
            log.warning("%s; the stream goes on (failOnDataLoss is false)", lost)

    def _check_loss(self, begun: Offsets, low: Offsets) -> None:
        for topic, numbers in begun.items():
            for number, offset in numbers.items():
                first = low[topic][number]
                if offset < first:
                    lost = f"Kafka dropped messages {offset} to {first - 1} of {topic}/{number} before they were read"
                    if self.topics.options.fails_on_data_loss:
                        raise PipelineError(f"{lost}: keep them longer, or start with a new checkpoint")
                    log.warning("%s; the stream goes on (failOnDataLoss is false)", lost)
                    numbers[number] = first

    def reportLatestOffset(self) -> Offsets:  # noqa: N802 - Spark's name
        """Report how far the topics go."""
        return self.topics.ends()[1]

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Fix the end."""
        self.target = self.topics.ends()[1]

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        """Give each partition with new messages to one task."""
        return _spans(start, end)

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Read the messages of one span."""
        return self.topics.read(partition)


def _admitted(begun: Offsets, high: Offsets, left: int) -> Offsets:
    """Share so many messages among the partitions that have some."""
    end = {topic: {number: begun[topic][number] for number in numbers} for topic, numbers in high.items()}
    pending = [(topic, number) for topic, numbers in high.items() for number in numbers]
    while left > 0:
        pending = [(topic, number) for topic, number in pending if high[topic][number] > end[topic][number]]
        if not pending:
            break
        share = max(1, left // len(pending))
        for topic, number in pending:
            step = min(share, high[topic][number] - end[topic][number], left)
            end[topic][number] += step
            left -= step
    return end


def _spans(start: Mapping[str, Mapping[str, int]], end: Mapping[str, Mapping[str, int]]) -> list[Span]:
    spans = [
        Span(topic, int(number), int(start.get(topic, {}).get(number, EARLIEST)), int(last))
        for topic, numbers in end.items()
        for number, last in numbers.items()
    ]
    return [span for span in spans if span.last > max(span.first, 0)]


def _partition(topic: str, number: int, offset: int | None = None) -> Any:
    from confluent_kafka import TopicPartition

    return TopicPartition(topic, number) if offset is None else TopicPartition(topic, number, offset)


def _batch(messages: list[Any], *, headers: bool) -> pa.RecordBatch:
    stamps = [message.timestamp() for message in messages]
    columns: dict[str, pa.Array] = {
        "key": pa.array([message.key() for message in messages], pa.binary()),
        "value": pa.array([message.value() for message in messages], pa.binary()),
        "topic": pa.array([message.topic() for message in messages], pa.string()),
        "partition": pa.array([message.partition() for message in messages], pa.int32()),
        "offset": pa.array([message.offset() for message in messages], pa.int64()),
        "timestamp": pa.array([stamp[1] * 1000 for stamp in stamps], pa.timestamp("us", tz="UTC")),
        "timestampType": pa.array([max(stamp[0] - 1, -1) for stamp in stamps], pa.int32()),
    }
    if headers:
        pair = pa.struct([("key", pa.string()), ("value", pa.binary())])
        lists = [
            None if message.headers() is None else [{"key": key, "value": value} for key, value in message.headers()]
            for message in messages
        ]
        columns["headers"] = pa.array(lists, pa.list_(pair))
    return pa.record_batch(columns)
