"""The scalar function: a row in, the ids of the subscriptions that want it out.

    wanted = matches_of(spark, rules, events=frame)
    frame.withColumn("rules", wanted(struct("*")))

It goes where no table function can: into a view, a declarative pipeline, `foreachBatch`, an older Spark. The set is
compiled on the driver where the columns are known there (`events`), else by each worker at its first rows, and is
loaded once in each worker process. From Spark 4.1 on rows come as Arrow, batch by batch. Before, each comes as a Python
row: a pandas function would be faster, but pandas turns the NULLs of integers into floats and makes NaN and NULL one,
which would be other answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rookery.errors import PipelineError
from rookery.spark.carriers import Carrier, carry, keep
from rookery.spark.compat import arrow_value, has
from rookery.spark.rules import Reading, compile_rules, require_columns, schema_of
from rookery.spark.subscriptions import MemoryRules, Subscriptions
from rookery.spark.types import arrow_schema_of, spark_type_of
from rookery.spark.worker import loaded

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from rookery import CompiledSet

__all__ = ["UncompiledRules", "matches_of"]


def matches_of(
    spark: SparkSession,
    rules: Any,
    *,
    events: DataFrame | StructType | None = None,
    time: str | None = None,
    topic: str | None = None,
    as_of: datetime | None = None,
    engine: str = "bitmap",
) -> Callable[..., Column]:
    """Return a function of a struct column that gives the ids of the subscriptions that the row satisfies.

    `events` tells the columns of the rows; before Spark 4.1 it must be given. A NULL struct is a row of NULLs.
    """
    from pyspark.sql.functions import udf
    from pyspark.sql.types import ArrayType

    reading = Reading(time=time, topic=topic, as_of=as_of, engine=engine)
    source = Subscriptions.of(rules)
    if events is None:
        if not has((4, 1)):
            raise PipelineError(
                "before Spark 4.1 a row does not tell its types: give events=, a DataFrame or its schema"
            )
        records = source.records()
        found: UncompiledRules | CarriedRules = UncompiledRules(MemoryRules(records).fingerprint(), records, reading)
        id_type = records.schema.field("subscription_id").type
    else:
        columns = arrow_schema_of(getattr(events, "schema", events))
        require_columns(columns.names, time=time)
        made = source.compiled(schema_of(columns), reading)
        found, id_type = CarriedRules(carry(spark, made.compiled), reading, columns), made.id_type
    returned = ArrayType(spark_type_of(id_type), containsNull=False)
    if has((4, 1)):
        from pyspark.sql.functions import arrow_udf

        function: Callable[..., Column] = arrow_udf(MatchStructs(found, id_type).__call__, returned)
        return function
    assert isinstance(found, CarriedRules)
    row: Callable[..., Column] = udf(MatchRow(found), returned)
    return row


@dataclass(frozen=True, slots=True)
class UncompiledRules:
    """Records that wait for the first rows: only then is the events' schema known. Compiled once in each worker."""

    key: str
    records: pa.Table
    reading: Reading

    def compiled(self, events: pa.Schema) -> CompiledSet:
        """Return the set, compiled against the schema of the rows at hand."""
        from rookery.matching import matched_by

        require_columns(events.names, time=self.reading.time)
        reading = self.reading
        return keep(
            f"{self.key}|{events}|{reading.engine}",
            lambda: matched_by(
                compile_rules(self.records, schema_of(events), reading=reading).compiled, reading.engine
            ),
        )


@dataclass(frozen=True, slots=True)
class CarriedRules:
    """Rules that the driver compiled for rows of these columns."""

    carrier: Carrier
    reading: Reading
    columns: pa.Schema

    def compiled(self, events: pa.Schema) -> CompiledSet:
        """Return the set, for rows that have the columns that it was compiled for."""
        require_columns(events.names, time=self.reading.time)
        return loaded(self.carrier, self.reading)


@dataclass(frozen=True, slots=True)
class MatchStructs:
    """The function over Arrow."""

    rules: UncompiledRules | CarriedRules
    id_type: pa.DataType

    def __call__(self, rows: pa.Array) -> pa.Array:
        """Match the rows of one batch."""
        batch = pa.RecordBatch.from_arrays(rows.flatten(), schema=pa.schema(list(rows.type)))
        reading, compiled = self.rules.reading, self.rules.compiled(batch.schema)
        found, slots = compiled.match_indices(
            batch, time=reading.time, topic=reading.topic, as_of=reading.as_of, now=reading.now
        )
        places = np.searchsorted(found, np.arange(batch.num_rows + 1)).astype(np.int32)
        ids, _ = compiled.names(slots)
        return pa.ListArray.from_arrays(pa.array(places), ids.cast(self.id_type))


@dataclass(frozen=True, slots=True)
class MatchRow:
    """The function over single rows."""

    rules: CarriedRules

    def __call__(self, row: Any) -> list[Any]:
        """Match one row."""
        columns, reading = self.rules.columns, self.rules.reading
        event = (
            dict.fromkeys(columns.names) if row is None
            else {one.name: arrow_value(row[one.name], one.type) for one in columns}
        )  # fmt: skip
        moment = reading.as_of if reading.as_of is not None else event[reading.time] if reading.time else None
        return loaded(self.rules.carrier, reading).match(event, topic=reading.topic, time=moment, now=reading.now)
