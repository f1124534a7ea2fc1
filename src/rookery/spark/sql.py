"""Rookery in Spark SQL, and the registration of its data sources.

After `register(spark, rules=…)`, `select * from rookery_match(table(events))` gives the matches of a table or a
subquery. A table function learns the columns of its rows only when they come, so each worker compiles the rules at
its first rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rookery.spark.carriers import keep
from rookery.spark.rules import Reading, compile_rules, require_columns, schema_of
from rookery.spark.subscriptions import MemoryRules, Subscriptions
from rookery.spark.worker import match_schema, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rookery import CompiledSet

__all__ = ["register", "register_sources"]


def register_sources(spark: SparkSession) -> None:
    """Make `format("rookery")` and the sinks `rookery.*` known to the session."""
    from rookery.spark.sinks import JsonLinesSink, ParquetSink
    from rookery.spark.source import RookerySource

    for source in (RookerySource, ParquetSink, JsonLinesSink):
        spark.dataSource.register(source)
    from importlib.util import find_spec

    if find_spec("deltalake") is not None:
        from rookery.spark.delta import DeltaSink

        spark.dataSource.register(DeltaSink)
    if find_spec("confluent_kafka") is not None:
        from rookery.spark.kafka import KafkaEvents

        spark.dataSource.register(KafkaEvents)


def register(
    spark: SparkSession,
    *,
    rules: Any = None,
    event_id: str = "event_id",
    time: str | None = None,
    topic: str | None = None,
    as_of: datetime | None = None,
    engine: str = "bitmap",
    id_type: str = "string",
    name: str = "rookery_match",
) -> None:
    """Register the data sources and, with `rules`, the table function; `id_type` is the SQL type of `event_id`."""
    register_sources(spark)
    if rules is None:
        return
    from pyspark.sql.functions import arrow_udtf
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type
    from pyspark.sql.types import DataType

    records = Subscriptions.of(rules).records()
    identity = to_arrow_type(DataType.fromDDL(id_type), timezone="UTC")
    output = match_schema(identity, records.schema.field("subscription_id").type)
    reading = Reading(event_id=event_id, time=time, topic=topic, as_of=as_of, engine=engine)
    rule_set = UncompiledRules(MemoryRules(records).fingerprint(), records, reading)

    class RookeryMatch:
        def eval(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
            found = [*rows(rule_set.compiled(batch.schema), batch, reading, output)]
            yield pa.Table.from_batches(found, schema=output)

    RookeryMatch.eval.__annotations__ = {"batch": pa.RecordBatch, "return": Iterator[pa.Table]}
    spark.udtf.register(name, arrow_udtf(RookeryMatch, returnType=from_arrow_schema(output)))


@dataclass(frozen=True, slots=True)
class UncompiledRules:
    """Records that wait for the first rows: only then is the events' schema known. Compiled once in each worker."""

    key: str
    records: pa.Table
    reading: Reading

    def compiled(self, events: pa.Schema) -> CompiledSet:
        """Return the set, compiled against the schema of the rows at hand."""
        require_columns(events.names, event_id=self.reading.event_id, time=self.reading.time)
        from rookery.matching import matched_by

        reading = self.reading
        return keep(
            f"{self.key}|{events}|{reading.engine}",
            lambda: matched_by(
                compile_rules(self.records, schema_of(events), reading=reading).compiled, reading.engine
            ),
        )
