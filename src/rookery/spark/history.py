"""What would these rules have done? `backtest` and `diff`: rules judged on events that already happened.

Neither joins matches with events. An event's id may repeat, and such a join would multiply its matches: what a backtest
says of the events (their time, a key, samples) crosses with the match. An event's matches under both sets are found in
the same task, so a difference needs no shuffle either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rookery.errors import PipelineError
from rookery.model.choices import NUMBER, asks_choices
from rookery.spark.carried import carried_name
from rookery.spark.carriers import Carrier, carry
from rookery.spark.columns import map_batches
from rookery.spark.compat import frame_of
from rookery.spark.crossing import first_rows
from rookery.spark.documents import Documents
from rookery.spark.names import folds_names
from rookery.spark.rules import CompiledRules, Reading
from rookery.spark.types import spark_schema_of
from rookery.spark.worker import loaded, matches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rookery.spark.documents import Events

__all__ = ["Backtest", "backtest", "diff"]

#: The columns of a match.
OWN = ("event_id", "subscription_id", "version")
#: The columns of a record that decide what it matches.
_DECIDING = ["subscription_id", "topic", "where", "parameters", "version", "valid_from", "valid_to"]


@dataclass(frozen=True, slots=True)
class Backtest:
    """The answers of a backtest, each a DataFrame."""

    counts: DataFrame
    keys: DataFrame | None
    samples: DataFrame
    silent: DataFrame


def backtest(
    events: Events,
    rules: Any,
    *,
    event_id: str = "event_id",
    time: str | None = None,
    topic: str | None = None,
    as_of: datetime | None = None,
    key: str | None = None,
    samples: int = 3,
    engine: str = "bitmap",
) -> Backtest:
    """Say what the rules would have fired on.

    `counts`: matches by subscription and version, first and last time; `keys`: the values of `key` with the most
    matches, by subscription; `samples`: some matched events of each subscription, whose own columns `event_id`,
    `subscription_id` and `version` are named `event_…` there; `silent`: those that never fired.
    """
    from pyspark.sql import functions as f
    from pyspark.sql.window import Window

    from rookery.spark.pipeline import match_compiled, prepare
    from rookery.spark.plans import choose
    from rookery.spark.rules import require_columns

    if events.isStreaming:
        raise PipelineError("a backtest judges events that already happened: give it a batch, not a stream")
    folded = folds_names(events.sparkSession)
    reading = Reading(event_id=event_id, time=time, topic=topic, as_of=as_of, engine=engine, folded=folded)
    reading = reading.named(events.columns)
    event_id, time = reading.event_id, reading.time
    key = None if key is None else reading.carried([key], events.columns)[0]
    require_columns(events.columns, event_id=event_id, key=key)
    compiled = prepare(events, rules, reading)
    plan = choose(compiled.compiled)
    carried = [name for name in dict.fromkeys([time, key]) if name is not None]
    found = match_compiled(events, compiled, reading, plan, columns=carried)
    measures = [f.count("*").alias("matches")]
    if time is not None:
        measures += [f.min(_carried(time)).alias("first"), f.max(_carried(time)).alias("last")]
    counts = found.groupBy("subscription_id", "version").agg(*measures).orderBy(f.desc("matches"), "subscription_id")
    keys = None
    if key is not None:
        by = found.groupBy("subscription_id", _carried(key).alias(key))
        keys = by.agg(f.count("*").alias("matches")).orderBy(f.desc("matches"))
    others = [name for name in events.columns if name != event_id]
    whole = match_compiled(events, compiled, reading, plan, columns=others, most=samples)
    rank = f.row_number().over(Window.partitionBy("subscription_id").orderBy("event_id"))
    chosen = whole.withColumn("_rank", rank).where(f.col("_rank") <= samples)
    shown = [_carried(name).alias(f"event_{name}" if name in OWN else name) for name in others]
    sampled = chosen.select(*OWN, *shown)
    names = compiled.compiled.subscriptions.select(["subscription_id"]).group_by("subscription_id").aggregate([])
    known = frame_of(events.sparkSession, names)
    silent = known.join(found.select("subscription_id").distinct(), "subscription_id", "left_anti")
    return Backtest(counts, keys, sampled, silent.orderBy("subscription_id"))


def _carried(name: str) -> Any:
    from pyspark.sql.functions import col

    return col(f"`{carried_name(name)}`")


def diff(
    events: Events,
    old: Any,
    new: Any,
    *,
    event_id: str = "event_id",
    time: str | None = None,
    topic: str | None = None,
    as_of: datetime | None = None,
    engine: str = "bitmap",
) -> DataFrame:
    """Return what changes between two rule sets: `event_id, subscription_id, change, old_version, new_version`.

    `change` is added, removed, or changed: matched before and after, by another version. Subscriptions that are the
    same in both sets are not matched.
    """
    from rookery.spark.pipeline import arrow_schema, prepare

    folded = folds_names(events.sparkSession)
    reading = Reading(event_id=event_id, time=time, topic=topic, as_of=as_of, engine=engine, folded=folded)
    reading = reading.named(events.columns)
    event_id, time = reading.event_id, reading.time
    before, after = (prepare(events, rules, reading) for rules in (old, new))
    if before.id_type != after.id_type:
        raise PipelineError(f"the ids of the old set are {before.id_type} and of the new {after.id_type}: use one type")
    before, after = _without_same(before, after)
    output = pa.schema(
        [
            ("event_id", arrow_schema(events).field(event_id).type),
            ("subscription_id", before.id_type),
            ("change", pa.string()),
            ("old_version", pa.int64()),
            ("new_version", pa.int64()),
        ]
    )
    needed = reading.columns([*before.columns, *after.columns], events.columns)
    if asks_choices(needed) and not isinstance(events, Documents):  # a document's rows may lie in several batches
        return _between(events, before, after, reading)
    spark = events.sparkSession
    task = MatchBoth(carry(spark, before.compiled), carry(spark, after.compiled), reading, output)
    return map_batches(events.select(*(f"`{name}`" for name in needed)), task, spark_schema_of(output))


def _without_same(before: CompiledRules, after: CompiledRules) -> tuple[CompiledRules, CompiledRules]:
    """Return both sets without the subscriptions all of whose records are the same in both."""
    old, new = (_records_by_id(rules) for rules in (before, after))
    same = {
        name for name, records in old.items() if [one for one, _ in records] == [one for one, _ in new.get(name, ())]
    }
    parts = []
    for rules, records in ((before, old), (after, new)):
        slots = sorted(slot for name, own in records.items() if name not in same for _, slot in own)
        parts.append(replace(rules, compiled=rules.compiled.take(np.array(slots, np.int64))))
    return parts[0], parts[1]


def _records_by_id(rules: CompiledRules) -> dict[Any, list[tuple[str, int]]]:
    """Return for each id what decides of its records, in order, each with its slot."""
    found: dict[Any, list[tuple[str, int]]] = {}
    for slot, row in enumerate(rules.compiled.subscriptions.select(_DECIDING).to_pylist()):
        found.setdefault(row["subscription_id"], []).append((repr(row), slot))
    return {name: sorted(records) for name, records in found.items()}


def _between(events: DataFrame, before: CompiledRules, after: CompiledRules, reading: Reading) -> DataFrame:
    """Return the changes between the matches of two sets, each given once for an event."""
    from pyspark.sql import functions as f

    from rookery.spark.pipeline import match_compiled
    from rookery.spark.plans import choose

    key = ["event_id", "subscription_id"]
    old, new = (
        match_compiled(events, rules, reading, choose(rules.compiled)).select(*key, f.col("version").alias(name))
        for rules, name in ((before, "old_version"), (after, "new_version"))
    )
    change = f.when(f.isnull("old_version"), "added").when(f.isnull("new_version"), "removed").otherwise("changed")
    both = old.join(new, key, "full_outer").where(~f.col("old_version").eqNullSafe(f.col("new_version")))
    return both.select(*key, change.alias("change"), "old_version", "new_version")


@dataclass(frozen=True, slots=True)
class MatchBoth:
    """The task of a difference: match each batch against both sets and keep what is not the same."""

    old: Carrier
    new: Carrier
    reading: Reading
    output: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Compare the task's batches."""
        old, new = loaded(self.old, self.reading), loaded(self.new, self.reading)
        for batch in batches:
            if not batch.num_rows:
                continue
            # Rows, not ids, name the events here: an id may repeat, a row does not.
            several = NUMBER in batch.schema.names
            places = first_rows(batch) if several else range(batch.num_rows)
            numbered = batch.append_column("_row", pa.array(places, pa.int64()))
            reading = Reading(
                event_id="_row",
                time=self.reading.time,
                topic=self.reading.topic,
                as_of=self.reading.as_of,
                now=self.reading.now,
            )
            before = matches(old, numbered, reading).rename_columns(["row", "subscription_id", "old_version"])
            after = matches(new, numbered, reading).rename_columns(["row", "subscription_id", "new_version"])
            if several:  # a document that has several rows
                before, after = (one.group_by(one.column_names).aggregate([]) for one in (before, after))
            both = before.join(after, ["row", "subscription_id"], join_type="full outer")
            same = pc.fill_null(pc.equal(both["old_version"], both["new_version"]), False)
            both = both.filter(pc.invert(same))
            change = pc.if_else(
                pc.is_null(both["old_version"]),
                "added",
                pc.if_else(pc.is_null(both["new_version"]), "removed", "changed"),
            )
            ids = batch.column(self.reading.event_id).take(both["row"].combine_chunks())
            columns = [ids, both["subscription_id"], change, both["old_version"], both["new_version"]]
            yield from pa.table(columns, names=self.output.names).cast(self.output).to_batches()
