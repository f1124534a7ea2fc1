"""The plan *keys*: rules and events meet by the values of one column, and no process ever holds the whole set.

Most rules of a very large set name values of one column: a device, an account. The rules stay a DataFrame: tasks read
them, find the values that each names, and send it to the parts of these values; events go to the part of their value,
by a hash that Spark computes. The task of a part gets its rules first, compiles them and matches its events. The driver
sees samples and counts. A rule that names no value goes to every part (`key_stats` counts these).

Rule 1: a part has every rule that an event in it may want. What values a rule names is read from its rows, which are
never smaller than the truth (`matching/ranges.py`); where they do not name values, it names none.
Rule 2: a pair is found once. A value has one part, or is *hot*: then it has a grid of parts of its own. Its events are
dealt out over the rows of the grid by a hash of their id, and each goes to all parts of its row; its rules are dealt
out over the columns by a hash of theirs, and each goes to all parts of its column. So both meet in one part. Ids decide
and not places, so a task that is run again sends the same.
Rule 3: a part is as large as the limits say (`RULES`, `EVENTS`), of a grid too, so that no task is much longer than
another.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rookery.errors import PipelineError
from rookery.model.tables import read_subscriptions
from rookery.spark.columns import map_batches
from rookery.spark.compat import partition_by, table_of
from rookery.spark.crossing import spark_schema, unfold
from rookery.spark.jobs import job_description
from rookery.spark.key_map import HotKey, KeyMap, Named, parts_of
from rookery.spark.key_rules import BLOB, PART, PartRules, RuleReader, check_unique, rules_frame, spread_rules
from rookery.spark.names import folds_names
from rookery.spark.projection import check_read
from rookery.spark.range_sql import quoted
from rookery.spark.rules import OnError, Reading, schema_of
from rookery.spark.subscriptions import Subscriptions
from rookery.spark.worker import crossing_schema, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rookery import CompiledSet

log = logging.getLogger("rookery.spark")

__all__ = ["fit_keys", "key_stats", "match_keys"]

#: Rules and events of a part at the most, by estimate.
RULES, EVENTS = 50_000, 500_000
#: Rows of the samples of rules and of events.
SAMPLE = 20_000
#: Hot values at the most.
MOST_HOT = 64
#: The part of the rules that must name values of a column for it to be the key unasked.
MOST_NAMED = 0.5

ORDER = "_rookery_order"
_FIRST, _LATER = 0, 1


def fit_keys(
    events: DataFrame, rules: DataFrame, reader: RuleReader, *, key: str | None = None, parts: int | None = None
) -> tuple[KeyMap, pa.Table, bool]:
    """Return the parts of the values, by counts and samples; the sample of the rules, and whether it is all of them.

    Of a stream's events nothing is known: its parts go by the rules alone.
    """
    spark = events.sparkSession
    with job_description(spark, "counts of rules and events, and samples of them, for their parts"):
        counts = [rules.count(), 0 if events.isStreaming else events.count()]
        drawn = table_of(_sampled(rules, counts[0]))
        compiled = reader(drawn)
        column = _key_of(compiled, events, key)
        of_events = (
            events.sparkSession.createDataFrame([], "value string")
            if events.isStreaming
            else (_sampled(events.select(quoted(column)), counts[1]))
        )
        values = table_of(of_events)[0].to_pylist()
    rates = counts[0] / max(1, len(compiled)), counts[1] / max(1, len(values))
    told = (
        Counter(Named.of(compiled, column).counts()),
        Counter(str(value) for value in values if value is not None),
    )
    cores = spark.sparkContext.defaultParallelism if hasattr(spark, "sparkContext") else 8
    limits = [max(1, min(most, math.ceil(count / (parts or 2 * cores)))) for most, count in
              zip((RULES, EVENTS), counts, strict=True)]  # fmt: skip
    found: list[tuple[float, str, int, int]] = []
    for text in {*told[0], *told[1]}:
        loads = [one[text] * rate for one, rate in zip(told, rates, strict=True)]
        shares = [max(1, math.ceil(load / limit)) for load, limit in zip(loads, limits, strict=True)]
        if max(shares) > 1 and max(one[text] for one in told) >= 8:  # fewer in a sample say nothing
            found.append((max(loads[0] / limits[0], loads[1] / limits[1]), text, shares[1], shares[0]))
    found = sorted(found, reverse=True)[:MOST_HOT]
    gone = [sum(one[text] for _, text, _, _ in found) * rate for one, rate in zip(told, rates, strict=True)]
    left = [max(0.0, count - less) for count, less in zip(counts, gone, strict=True)]
    plain = max(1, *(math.ceil(load / limit) for load, limit in zip(left, limits, strict=True)))
    hot, first = [], plain
    for _, text, across, down in found:
        hot.append(HotKey(text, first, across, down))
        first += hot[-1].cells
    return KeyMap(column, plain, tuple(hot)), drawn, counts[0] <= SAMPLE


def _sampled(frame: DataFrame, count: int) -> DataFrame:
    return frame if count <= SAMPLE else frame.sample(fraction=min(1.0, SAMPLE / count), seed=3)


def _key_of(compiled: CompiledSet, events: DataFrame, key: str | None) -> str:
    """Return the column whose values the most rules name, or check the one that is asked for."""
    from pyspark.sql import types

    kinds = types.ByteType | types.ShortType | types.IntegerType | types.LongType
    able = [
        field.name for field in events.schema
        if isinstance(field.dataType, kinds) or field.dataType.simpleString() == "string"
    ]  # fmt: skip
    if key is not None:
        if key not in able:
            raise PipelineError(f"the plan 'keys' goes by a column of whole numbers or texts, and {key!r} is none")
        return key
    named = {name: int(np.count_nonzero(~Named.of(compiled, name).every)) for name in able}
    best = max(named, key=named.__getitem__, default=None)
    if best is None or named[best] < MOST_NAMED * len(compiled) or not len(compiled):
        raise PipelineError(
            "the plan 'keys' is for rules of which most name values of one column; here no column is named by half of "
            "them: give key=, or another plan"
        )
    return str(best)


@dataclass(frozen=True, slots=True)
class MatchParts:
    """The task of the plan: of each part the rules come first, then its events."""

    read: RuleReader
    output: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match the parts of the task."""
        pairs = self.output.remove(len(self.output) - 1)
        current, blobs, compiled = -1, list[bytes](), None
        for batch in batches:
            numbers = batch.column(PART).to_numpy(zero_copy_only=False)
            starts = [*np.flatnonzero(np.diff(numbers, prepend=-1)).tolist(), batch.num_rows]
            for start, end in pairwise(starts):
                part = batch.slice(start, end - start)
                if numbers[start] != current:
                    current, blobs, compiled = int(numbers[start]), [], None
                told = part.column(BLOB).drop_null().to_pylist()
                blobs += told
                part = part.slice(len(told)).drop_columns([PART, ORDER, BLOB])
                if not part.num_rows or not blobs:
                    continue
                if compiled is None:
                    compiled = PartRules(self.read).compiled(blobs)
                    check_read(compiled.columns, part)
                for found in rows(compiled, part, self.read.reading, pairs):
                    label = pa.array(np.full(found.num_rows, current, np.int32))
                    yield pa.record_batch([*found.columns, label], schema=self.output)


def match_keys(
    events: DataFrame,
    rules: Any,
    reading: Reading,
    *,
    key: str | None = None,
    parts: int | None = None,
    explain: bool = False,
    columns: Sequence[str] = (),
    on_error: OnError = "quarantine",
) -> DataFrame:
    """Match with rules that meet their events by the values of a column."""
    from pyspark.sql.functions import explode, lit

    from rookery.spark.pipeline import arrow_schema

    subscriptions, arrow = Subscriptions.of(rules), arrow_schema(events)
    reader = RuleReader.of(schema_of(arrow), reading, subscriptions, on_error)
    frame = rules_frame(events.sparkSession, subscriptions)
    check_unique(frame)
    key_map, drawn, whole = fit_keys(events, frame, reader, key=key, parts=parts)
    id_type = read_subscriptions(drawn.slice(0, 1), id_type=reader.id_type).schema.field("subscription_id").type
    spread = spread_rules(frame, reader, key_map)
    needed = _needed(events, arrow, reader, drawn, [*columns, key_map.column], whole=whole)
    sent = events.select(
        explode(key_map.of_event(reading.event_id)).alias(PART) if any(one.columns > 1 for one in key_map.hot)
        else key_map.of_event(reading.event_id)[0].alias(PART),
        lit(_LATER).alias(ORDER), lit(None).cast("binary").alias(BLOB), *(quoted(name) for name in needed),
    )  # fmt: skip
    nulls = [lit(None).cast(events.schema[name].dataType).alias(name) for name in needed]
    both = spread.select(PART, lit(_FIRST).alias(ORDER), BLOB, *nulls).union(sent)
    placed = partition_by(both, key_map.parts, PART).sortWithinPartitions(PART, ORDER)
    output = crossing_schema(
        arrow.field(reading.event_id).type, id_type, explain=explain,
        columns=[arrow.field(name) for name in columns],
    ).append(pa.field("zone", pa.int32()))  # fmt: skip
    return unfold(map_batches(placed, MatchParts(reader, output), spark_schema(output, events)))


def _needed(
    events: DataFrame, arrow: pa.Schema, reader: RuleReader, drawn: pa.Table, columns: Sequence[str], *, whole: bool
) -> list[str]:
    """Return the columns that cross: those that the rules read, where the sample is all of them; else all."""
    if not whole:
        return [name for name in events.columns if name in arrow.names]
    return reader.reading.columns([*reader(drawn).columns, *columns], events.columns)


def key_stats(
    events: DataFrame, rules: Any, *, event_id: str = "event_id", key: str | None = None, parts: int | None = None
) -> DataFrame:
    """Return what each part has: `zone, events, subscriptions, everywhere, hot`, counted by Spark.

    `everywhere` are its rules that name no value, the same ones in every part; `hot` is the value whose grid it is of.
    """
    from pyspark.sql.functions import col, explode, sum

    from rookery.spark.pipeline import arrow_schema

    subscriptions = Subscriptions.of(rules)
    reading = Reading(event_id, folded=folds_names(events.sparkSession)).named(events.columns)
    reader = RuleReader.of(schema_of(arrow_schema(events)), reading, subscriptions)
    frame = rules_frame(events.sparkSession, subscriptions)
    key_map, _, _ = fit_keys(events, frame, reader, key=key, parts=parts)
    counted = frame.mapInArrow(CountRules(reader, key_map), "zone int, subscriptions bigint, everywhere bigint")
    by_rules = counted.groupBy("zone").agg(
        sum("subscriptions").alias("subscriptions"), sum("everywhere").alias("everywhere")
    )
    by_events = events.select(explode(key_map.of_event(reading.event_id)).alias("zone")).groupBy("zone").count()
    named = [
        (zone, next((one.text for one in key_map.hot if one.first <= zone < one.first + one.cells), None))
        for zone in range(key_map.parts)
    ]
    known = events.sparkSession.createDataFrame(named, "zone int, hot string")
    whole = known.join(by_events, "zone", "left").join(by_rules, "zone", "left")
    whole = whole.withColumnRenamed("count", "events").fillna(0, ["events", "subscriptions", "everywhere"])
    return whole.select("zone", "events", "subscriptions", "everywhere", "hot").orderBy(col("zone"))


@dataclass(frozen=True, slots=True)
class CountRules:
    """The task that counts rules by part."""

    read: RuleReader
    parts: KeyMap

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Count the rules of each batch."""
        for batch in batches:
            compiled = self.read(pa.Table.from_batches([batch]))
            named = Named.of(compiled, self.parts.column)
            parts, slots = parts_of(compiled, self.parts, named)
            told = np.bincount(parts, minlength=self.parts.parts)
            every = np.bincount(parts[named.every[slots]], minlength=self.parts.parts)
            columns = [np.arange(self.parts.parts), told, every]
            kinds = (pa.int32(), pa.int64(), pa.int64())
            names = ["zone", "subscriptions", "everywhere"]
            made = [pa.array(one, kind) for one, kind in zip(columns, kinds, strict=True)]
            yield pa.record_batch(made, names=names)
