"""Rookery in Spark SQL, and the registration of its data sources.

After `register(spark, rules=…)`, `select * from rookery_match(table(events))` gives the matches of a table or a
subquery, and `select *, rookery_matches(struct(*)) from events` the ids that want each row. A table function learns the
columns of its rows only when they come, so each worker compiles the rules at its first rows; a scalar function does so
too unless `events` tells them. Spark 3.5 has the scalar function alone, and no Python data sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rookery import extras
from rookery.errors import PipelineError
from rookery.spark.compat import arrow_batches, has, need
from rookery.spark.functions import UncompiledRules, matches_of
from rookery.spark.rules import Reading, require_columns
from rookery.spark.subscriptions import MemoryRules, Subscriptions
from rookery.spark.types import arrow_schema_of, arrow_type_of, spark_schema_of
from rookery.spark.worker import match_schema, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

__all__ = ["register", "register_sources"]

#: Rows that the table function of Spark 4.0 gathers before it matches them.
GATHERED = 10_000


#: The data sources: where each is, and the package that it needs.
SOURCES = {
    "rookery": ("source", "RookerySource", None),
    "rookery.parquet": ("sinks", "ParquetSink", None),
    "rookery.jsonl": ("sinks", "JsonLinesSink", None),
    "rookery.delta": ("delta", "DeltaSink", "deltalake"),
    "rookery.kafka": ("kafka", "KafkaEvents", "confluent_kafka"),
}


def register_sources(spark: SparkSession, *names: str) -> None:
    """Make data sources known to the session: those named, else all whose packages are there; only they are imported.

    Spark 3.5 has no Python data sources.
    """
    if not has((4, 0)):
        return
    for name in names or SOURCES:
        if name not in SOURCES:
            raise PipelineError(f"there is no data source {name!r}: there are {', '.join(SOURCES)}")
        module, kind, package = SOURCES[name]
        if package is not None and not extras.have(package):
            if names:
                extras.need(package, name)
            continue
        spark.dataSource.register(getattr(import_module(f"rookery.spark.{module}"), kind))


def register(
    spark: SparkSession,
    *,
    rules: Any = None,
    events: DataFrame | StructType | None = None,
    event_id: str = "event_id",
    time: str | None = None,
    topic: str | None = None,
    as_of: datetime | None = None,
    engine: str = "bitmap",
    id_type: str = "string",
    name: str = "rookery_match",
    scalar: str = "rookery_matches",
    sources: Sequence[str] = (),
) -> None:
    """Register the data sources (all, or those of `sources`) and, with `rules`, the table and the scalar function.

    `id_type` is the SQL type of `event_id` (Spark 4.0 finds it itself). `events` tells the columns of the rows that the
    scalar function will see; before Spark 4.1 there is none without.
    """
    register_sources(spark, *sources)
    if rules is None:
        return
    records = Subscriptions.of(rules).records()
    reading = Reading(event_id=event_id, time=time, topic=topic, as_of=as_of, engine=engine)
    rule_set = UncompiledRules(MemoryRules(records).fingerprint(), records, reading)
    if has((4, 1)) or events is not None:
        wanted = matches_of(spark, records, events=events, time=time, topic=topic, as_of=as_of, engine=engine)
        spark.udf.register(scalar, wanted)
    if has((4, 1)):
        spark.udtf.register(name, _arrow_table_function(rule_set, id_type))
    elif has((4, 0)):
        spark.udtf.register(name, _row_table_function(rule_set))
    elif events is None:
        need((4, 0), "a table function that sees its table's columns", f"give events= and use {scalar}(struct(*))")


def _arrow_table_function(rules: UncompiledRules, id_type: str) -> Any:
    """Return the table function over Arrow."""
    from pyspark.sql.functions import arrow_udtf
    from pyspark.sql.types import DataType

    reading = rules.reading
    output = match_schema(
        arrow_type_of(DataType.fromDDL(id_type)), rules.records.schema.field("subscription_id").type
    )  # fmt: skip

    class RookeryMatch:
        def eval(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
            require_columns(batch.schema.names, event_id=reading.event_id)
            found = [*rows(rules.compiled(batch.schema), batch, reading, output)]
            yield pa.Table.from_batches(found, schema=output)

    RookeryMatch.eval.__annotations__ = {"batch": pa.RecordBatch, "return": Iterator[pa.Table]}
    return arrow_udtf(RookeryMatch, returnType=spark_schema_of(output))


def _row_table_function(rules: UncompiledRules) -> Any:
    """Return the table function of Spark 4.0, which sees rows: they are gathered and matched in batches."""
    from pyspark.sql.functions import AnalyzeArgument, AnalyzeResult, udtf

    reading = rules.reading
    id_type = rules.records.schema.field("subscription_id").type

    @dataclass
    class Columns(AnalyzeResult):  # type: ignore[misc, unused-ignore]
        events: Any = None

    class RookeryMatch:
        def __init__(self, columns: Columns) -> None:
            self.events, self.gathered = columns.events, list[Any]()
            self.output = match_schema(self.events.field(reading.event_id).type, id_type)

        @staticmethod
        def analyze(table: AnalyzeArgument) -> AnalyzeResult:
            events = arrow_schema_of(table.dataType)
            require_columns(events.names, event_id=reading.event_id)
            output = match_schema(events.field(reading.event_id).type, id_type)
            return Columns(schema=spark_schema_of(output), events=events)

        def eval(self, row: Any) -> Iterator[tuple[Any, ...]]:
            self.gathered.append(row)
            if len(self.gathered) >= GATHERED:
                yield from self.terminate()

        def terminate(self) -> Iterator[tuple[Any, ...]]:
            compiled = rules.compiled(self.events)
            for batch in arrow_batches(iter(self.gathered), self.events):
                for found in rows(compiled, batch, reading, self.output):
                    yield from zip(*(column.to_pylist() for column in found.columns), strict=True)
            self.gathered = []

    return udtf(RookeryMatch)
