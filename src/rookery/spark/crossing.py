"""How matches cross from a Python worker to the JVM: folded, a row for each event with the list of its subscriptions.

A row that crosses costs the JVM a call for each of its columns, and an event with ten matches would bring its id ten
times. A list is copied as a whole, and the code that Spark generates unfolds it: twenty million matches of two million
events cross in less than half the time. Explanations, of which each is a text, cross flat.

Columns of the event cross with its matches once, those of the rules in lists beside the ids (`carried`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rookery.model.choices import NUMBER
from rookery.spark.carried import EVENT, RULE, RuleColumns, carried_name, rule_name
from rookery.spark.rules import Reading
from rookery.spark.types import spark_schema_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from rookery import CompiledSet
    from rookery.spark.documents import Events

Numbers = np.ndarray[Any, np.dtype[np.int64]]

__all__ = [
    "OUTPUT_ROWS",
    "event_count",
    "first_rows",
    "fold",
    "folded_schema",
    "is_folded",
    "match_places",
    "shown",
    "spark_schema",
    "unfold",
]

#: Matches of one output batch: enough to be fast, few enough that a broad rule does not fill the worker's memory.
OUTPUT_ROWS = 262_144


def folded_schema(
    event_id: pa.DataType,
    subscription_id: pa.DataType,
    *,
    versions: bool,
    columns: Sequence[pa.Field] = (),
    rule_columns: Sequence[pa.Field] = (),
) -> pa.Schema:
    """Return the schema of folded matches; without `versions` the rules have one version, and it need not cross.

    `columns` of the event and `rule_columns` cross with the matches.
    """
    fields = [pa.field("event_id", event_id), pa.field("subscription_ids", pa.list_(subscription_id))]
    if versions:
        fields.append(pa.field("versions", pa.list_(pa.int64())))
    fields += [pa.field(rule_name(one.name), pa.list_(one.type)) for one in rule_columns]
    return pa.schema([*fields, *(pa.field(carried_name(one.name), one.type) for one in columns)])


def spark_schema(output: pa.Schema, events: Events) -> StructType:
    """Return the schema of what crosses as Spark knows it; a column of the event keeps the type that it has there."""
    made = spark_schema_of(output, local=True)
    for field in made.fields:
        if field.name.startswith(EVENT):
            field.dataType = events.schema[field.name.removeprefix(EVENT)].dataType
    return made


def is_folded(output: pa.Schema) -> bool:
    """Say whether a schema is one of folded matches."""
    return "subscription_ids" in output.names


def match_places(compiled: CompiledSet, batch: pa.RecordBatch, reading: Reading) -> tuple[Numbers, Numbers]:
    """Return the matches of a batch as places of events and of subscriptions, in the order of the events.

    Of a document that has several rows (`choices.NUMBER`) each match is given once, at a row that shows it.
    """
    found, slots = compiled.match_indices(
        batch, time=reading.time, topic=reading.topic, as_of=reading.as_of, now=reading.now
    )
    if NUMBER not in batch.schema.names:
        return found, slots
    subscriptions = int(slots.max(initial=0)) + 1
    _, once = np.unique(first_rows(batch)[found] * subscriptions + slots, return_index=True)
    return found[once], slots[once]


def first_rows(batch: pa.RecordBatch) -> Numbers:
    """Return for each row the first one of its document."""
    numbers = batch.column(NUMBER).to_numpy()
    first: Numbers = np.searchsorted(numbers, numbers).astype(np.int64)
    return first


def event_count(batch: pa.RecordBatch) -> int:
    """Return how many events the rows of a batch are."""
    return len(np.unique(first_rows(batch))) if NUMBER in batch.schema.names else batch.num_rows


def fold(
    compiled: CompiledSet,
    batch: pa.RecordBatch,
    reading: Reading,
    output: pa.Schema,
    *,
    most: int | None = None,
    rule_columns: RuleColumns | None = None,
) -> Iterator[pa.RecordBatch]:
    """Match one batch and give the events that match, each with its subscriptions.

    `most` is how many matches of one subscription are wanted: those whose event ids are the least.
    """
    found, slots = match_places(compiled, batch, reading)
    if most is not None:
        kept = _first(most, _order(batch.column(reading.event_id))[found], slots)
        found, slots = found[kept], slots[kept]
    first = np.flatnonzero(np.diff(found, prepend=-1))  # where the matches of each event begin
    offsets = np.append(first, len(found))
    # A batch ends with the event that fills it: the matches of one event stay together, however many they are.
    ends = np.unique(np.searchsorted(offsets, np.arange(OUTPUT_ROWS, len(found) + OUTPUT_ROWS, OUTPUT_ROWS)))
    carried = [name.removeprefix(EVENT) for name in output.names if name.startswith(EVENT)]
    start = 0
    for end in np.minimum(ends, len(first)).tolist():
        begin = offsets[start]
        places = pa.array((offsets[start : end + 1] - begin).astype(np.int32))
        ids, versions = compiled.names(slots[begin : offsets[end]])
        chosen = pa.array(found[first[start:end]])
        columns = [batch.column(reading.event_id).take(chosen), pa.ListArray.from_arrays(places, ids)]
        if "versions" in output.names:
            columns.append(pa.ListArray.from_arrays(places, versions))
        if rule_columns is not None:
            lists = rule_columns.of(compiled, slots[begin : offsets[end]]).values()
            columns += [pa.ListArray.from_arrays(places, one) for one in lists]
        columns += [batch.column(name).take(chosen) for name in carried]
        yield pa.record_batch([one.cast(field.type) for one, field in zip(columns, output, strict=True)], schema=output)
        start = end


def _order(ids: pa.Array) -> Numbers:
    """Return the place of each row in the order of the ids, where Arrow and Spark agree on it, else in that of rows."""
    if not (pa.types.is_integer(ids.type) or pa.types.is_string(ids.type)):
        return np.arange(len(ids))
    order = np.empty(len(ids), np.int64)
    order[pc.sort_indices(ids).to_numpy()] = np.arange(len(ids))
    order[ids.is_null().to_numpy(zero_copy_only=False)] = -1  # Spark has NULL before all others
    return order


def _first(most: int, order: Numbers, slots: Numbers) -> Numbers:
    """Return, ascending, the first `most` matches of each subscription in the given order."""
    sorted_ = np.lexsort((order, slots))
    starts = np.flatnonzero(np.diff(slots[sorted_], prepend=-1))
    rank = np.arange(len(sorted_)) - np.repeat(starts, np.diff(np.append(starts, len(sorted_))))
    return np.sort(sorted_[rank < most])


def shown(found: DataFrame, names: Mapping[str, str]) -> DataFrame:
    """Return matches with what they carry under the names of the output."""
    from pyspark.sql.functions import col

    return found.select(*(col(f"`{name}`").alias(names.get(name, name)) for name in found.columns)) if names else found


def unfold(found: DataFrame, *, version: int | None = None) -> DataFrame:
    """Return matches that crossed as `event_id, subscription_id, version, zone [, explain]` and what they carried.

    `version` is that of all rules where theirs did not cross; who names no zone has one.
    """
    from pyspark.sql.functions import get, lit, posexplode

    if "subscription_ids" in found.columns:
        found = found.select("*", posexplode("subscription_ids").alias("place", "subscription_id"))
        each = get("versions", "place") if version is None else lit(version).cast("bigint")
        found = found.withColumn("version", each)
        lists = {name: get(name, "place") for name in found.columns if name.startswith(RULE)}
        found = found.withColumns(lists) if lists else found
    if "zone" not in found.columns:
        found = found.withColumn("zone", lit(0))
    tail = [name for name in found.columns if name == "explain" or name.startswith((EVENT, RULE))]
    return found.select("event_id", "subscription_id", "version", "zone", *(f"`{name}`" for name in tail))
