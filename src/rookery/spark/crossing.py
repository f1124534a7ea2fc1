"""How matches cross from a Python worker to the JVM: folded, a row for each event with the list of its subscriptions.

A row that crosses costs the JVM a call for each of its columns, and an event with ten matches would bring its id ten
times. A list is copied as a whole, and the code that Spark generates unfolds it: twenty million matches of two million
events cross in less than half the time. Explanations, of which each is a text, cross flat.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rookery.spark.rules import Reading

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rookery import CompiledSet

__all__ = ["OUTPUT_ROWS", "fold", "folded_schema", "is_folded", "unfold"]

#: Matches of one output batch: enough to be fast, few enough that a broad rule does not fill the worker's memory.
OUTPUT_ROWS = 262_144


def folded_schema(event_id: pa.DataType, subscription_id: pa.DataType, *, versions: bool) -> pa.Schema:
    """Return the schema of folded matches; without `versions` the rules have one version, and it need not cross."""
    fields = [("event_id", event_id), ("subscription_ids", pa.list_(subscription_id))]
    return pa.schema([*fields, ("versions", pa.list_(pa.int64()))] if versions else fields)


def is_folded(output: pa.Schema) -> bool:
    """Say whether a schema is one of folded matches."""
    return "subscription_ids" in output.names


def fold(compiled: CompiledSet, batch: pa.RecordBatch, reading: Reading, output: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Match one batch and give the events that match, each with its subscriptions."""
    found, slots = compiled.match_indices(batch, time=reading.time, topic=reading.topic, as_of=reading.as_of)
    first = np.flatnonzero(np.diff(found, prepend=-1))  # where the matches of each event begin
    offsets = np.append(first, len(found))
    # A batch ends with the event that fills it: the matches of one event stay together, however many they are.
    ends = np.unique(np.searchsorted(offsets, np.arange(OUTPUT_ROWS, len(found) + OUTPUT_ROWS, OUTPUT_ROWS)))
    events, start = batch.column(reading.event_id), 0
    for end in np.minimum(ends, len(first)).tolist():
        begin = offsets[start]
        places = pa.array((offsets[start : end + 1] - begin).astype(np.int32))
        ids, versions = compiled.names(slots[begin : offsets[end]])
        columns = [events.take(pa.array(found[first[start:end]])), pa.ListArray.from_arrays(places, ids)]
        if "versions" in output.names:
            columns.append(pa.ListArray.from_arrays(places, versions))
        yield pa.record_batch([one.cast(field.type) for one, field in zip(columns, output, strict=True)], schema=output)
        start = end


def unfold(found: DataFrame, *, version: int | None = None) -> DataFrame:
    """Return matches that crossed as `event_id, subscription_id, version, zone [, explain]`.

    `version` is that of all rules where theirs did not cross; who names no zone has one.
    """
    from pyspark.sql.functions import get, lit, posexplode

    if "subscription_ids" in found.columns:
        found = found.select("*", posexplode("subscription_ids").alias("place", "subscription_id"))
        each = get("versions", "place") if version is None else lit(version).cast("bigint")
        found = found.withColumn("version", each)
    if "zone" not in found.columns:
        found = found.withColumn("zone", lit(0))
    tail = ["explain"] if "explain" in found.columns else []
    return found.select("event_id", "subscription_id", "version", "zone", *tail)
