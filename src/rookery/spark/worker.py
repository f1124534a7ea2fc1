"""What runs inside a Spark task: Arrow batches of events in, Arrow batches of matches out.

Each class here is a small value that Spark pickles by reference to this installed module, so the kernels come from the
disk cache and nothing is compiled in a task. Calling it with the task's batches is the task. The output is a pure
function of the events and of the compiled set: a retried task writes the same rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rookery.spark.carried import EVENT, RuleColumns, carried_name, rule_name
from rookery.spark.carriers import Carrier, keep
from rookery.spark.crossing import OUTPUT_ROWS, fold, folded_schema, is_folded, match_places
from rookery.spark.rules import Reading

if TYPE_CHECKING:
    from rookery import CompiledSet
    from rookery.spark.states import EditedSet

__all__ = ["MatchRows", "crossing_schema", "flat", "loaded", "match_schema", "matches"]


def match_schema(event_id: pa.DataType, subscription_id: pa.DataType, *, explain: bool = False) -> pa.Schema:
    """Return the schema of matches for these two id types."""
    fields = [("event_id", event_id), ("subscription_id", subscription_id), ("version", pa.int64())]
    return pa.schema([*fields, ("explain", pa.string())] if explain else fields)


def crossing_schema(
    event_id: pa.DataType,
    subscription_id: pa.DataType,
    *,
    explain: bool,
    versions: bool = True,
    columns: Sequence[pa.Field] = (),
    rule_columns: RuleColumns | None = None,
) -> pa.Schema:
    """Return the schema in which matches cross to the JVM, `unfold` takes them: explanations flat, else folded."""
    attached = [] if rule_columns is None else rule_columns.fields
    if not explain:
        return folded_schema(event_id, subscription_id, versions=versions, columns=columns, rule_columns=attached)
    fields = [*match_schema(event_id, subscription_id, explain=True)]
    fields += [pa.field(rule_name(one.name), one.type) for one in attached]
    return pa.schema([*fields, *(pa.field(carried_name(one.name), one.type) for one in columns)])


def matches(compiled: CompiledSet, batch: Any, reading: Reading) -> pa.Table:
    """Match one batch: `event_id, subscription_id, version`."""
    return compiled.match_many(
        batch, event_id=reading.event_id, time=reading.time, topic=reading.topic, as_of=reading.as_of, now=reading.now
    )


def flat(
    compiled: CompiledSet,
    batch: Any,
    reading: Reading,
    *,
    explain: bool = False,
    columns: Sequence[str] = (),
    rule_columns: RuleColumns | None = None,
) -> pa.Table:
    """Match one batch into one row a match, with what it carries and, if asked, why."""
    found, slots = match_places(compiled, batch, reading)
    ids, versions = compiled.names(slots)
    made = {"event_id": batch.column(reading.event_id).take(pa.array(found)), "subscription_id": ids}
    made["version"] = versions
    if explain:
        made["explain"] = pa.array(_reasons(compiled, batch, reading, found, slots), pa.string())
    if rule_columns is not None:
        made |= rule_columns.of(compiled, slots)
    for name in columns:
        made[carried_name(name)] = batch.column(name).take(pa.array(found))
    return pa.table(made)


def _reasons(compiled: CompiledSet, batch: Any, reading: Reading, found: Any, slots: Any) -> list[str]:
    """Say for each match why, as JSON. One explanation at a time: for reading, not for bulk."""
    events = {row: batch.slice(row, 1).to_pylist()[0] for row in set(found.tolist())}
    records = compiled.subscriptions.select(["subscription_id", "version"]).take(pa.array(slots))
    texts = []
    for row, record in zip(found.tolist(), records.to_pylist(), strict=True):
        event = events[row]
        topic = reading.topic if reading.topic is not None else event.get("topic")
        moment = reading.as_of if reading.as_of is not None else (event[reading.time] if reading.time else None)
        why = compiled.explain(
            record["subscription_id"], event, topic=topic, time=moment, version=record["version"], now=reading.now
        )
        texts.append(json.dumps(why.to_dict(), default=str, ensure_ascii=False))
    return texts


def loaded(carrier: Carrier | EditedSet, reading: Reading) -> CompiledSet:
    """Return the set of a carrier for the engine that is asked for, which is built at the first call in a process."""
    compiled = carrier.load()
    if reading.engine == "bitmap":
        return compiled
    from rookery.matching import matched_by

    return keep(f"{carrier.key}/{reading.engine}", lambda: matched_by(compiled, reading.engine))


@dataclass(frozen=True, slots=True)
class MatchRows:
    """The task of the broadcast plan: match each batch against the one set; `most` is as in `fold`."""

    carrier: Carrier
    reading: Reading
    output: pa.Schema
    most: int | None = None
    rule_columns: RuleColumns | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match the task's batches."""
        compiled = loaded(self.carrier, self.reading)
        for batch in batches:
            yield from rows(compiled, batch, self.reading, self.output, most=self.most, rule_columns=self.rule_columns)


def rows(
    compiled: CompiledSet,
    batch: pa.RecordBatch,
    reading: Reading,
    output: pa.Schema,
    *,
    most: int | None = None,
    rule_columns: RuleColumns | None = None,
) -> Iterator[pa.RecordBatch]:
    """Match one batch and give the matches in batches of the declared form and types, which Spark does not cast."""
    if not batch.num_rows:
        return
    if is_folded(output):
        yield from fold(compiled, batch, reading, output, most=most, rule_columns=rule_columns)
        return
    columns = [name.removeprefix(EVENT) for name in output.names if name.startswith(EVENT)]
    explain = "explain" in output.names
    found = flat(compiled, batch, reading, explain=explain, columns=columns, rule_columns=rule_columns)
    yield from found.select(output.names).cast(output).to_batches(max_chunksize=OUTPUT_ROWS)
