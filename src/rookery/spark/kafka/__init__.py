"""The data source and sink `rookery.kafka`, over `confluent-kafka`: no connector jar is needed.

Source: rows of `key, value, topic, partition, offset, timestamp, timestampType` (and `headers`), as Spark's own
connector gives them, in a stream or a batch. The offset of a micro-batch is the next offset of each partition, kept in
Spark's checkpoint and never in Kafka, so a replay reads the very same messages. Of a transactional topic only what was
committed is read.

Sink: `value` (and `key`, `headers`, `topic`) in a stream. By default each micro-batch is one transaction that carries
the number of the batch: a reader that reads what is committed gets each match once, whatever is killed when.
"""

from __future__ import annotations

from rookery.spark.kafka.source import KafkaEvents

__all__ = ["KafkaEvents"]
