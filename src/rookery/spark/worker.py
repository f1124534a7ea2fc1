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

from rookery.spark.carriers import Carrier, keep
from rookery.spark.crossing import OUTPUT_ROWS, fold, folded_schema, is_folded
from rookery.spark.rules import Reading

if TYPE_CHECKING:
    from rookery import CompiledSet

__all__ = ["MatchRows", "crossing_schema", "explained", "loaded", "match_schema", "matches"]


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
) -> pa.Schema:
    """Return the schema in which matches cross to the JVM, where `unfold` takes them; explanations carry no columns."""
    if explain:
        return match_schema(event_id, subscription_id, explain=True)
    return folded_schema(event_id, subscription_id, versions=versions, columns=columns)


def matches(compiled: CompiledSet, batch: Any, reading: Reading) -> pa.Table:
    """Match one batch: `event_id, subscription_id, version`."""
    return compiled.match_many(
        batch, event_id=reading.event_id, time=reading.time, topic=reading.topic, as_of=reading.as_of
    )


def explained(compiled: CompiledSet, batch: Any, reading: Reading) -> pa.Table:
    """Match one batch and say for each match why, as JSON. One explanation at a time: for reading, not for bulk."""
    found, slots = compiled.match_indices(batch, time=reading.time, topic=reading.topic, as_of=reading.as_of)
    events = {row: batch.slice(row, 1).to_pylist()[0] for row in set(found.tolist())}
    records = compiled.subscriptions.select(["subscription_id", "version"]).take(pa.array(slots))
    texts = []
    for row, record in zip(found.tolist(), records.to_pylist(), strict=True):
        event = events[row]
        topic = reading.topic if reading.topic is not None else event.get("topic")
        moment = reading.as_of if reading.as_of is not None else (event[reading.time] if reading.time else None)
        why = compiled.explain(record["subscription_id"], event, topic=topic, time=moment, version=record["version"])
        texts.append(json.dumps(why.to_dict(), default=str, ensure_ascii=False))
    ids = batch.column(reading.event_id).take(pa.array(found))
    columns = [ids, records["subscription_id"], records["version"], pa.array(texts, pa.string())]
    return pa.table(columns, names=["event_id", "subscription_id", "version", "explain"])


def loaded(carrier: Carrier, reading: Reading) -> CompiledSet:
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

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match the task's batches."""
        compiled = loaded(self.carrier, self.reading)
        for batch in batches:
            yield from rows(compiled, batch, self.reading, self.output, most=self.most)


def rows(
    compiled: CompiledSet, batch: pa.RecordBatch, reading: Reading, output: pa.Schema, *, most: int | None = None
) -> Iterator[pa.RecordBatch]:
    """Match one batch and give the matches in batches of the declared form and types, which Spark does not cast."""
    if not batch.num_rows:
        return
    if is_folded(output):
        yield from fold(compiled, batch, reading, output, most=most)
        return
    found = (explained if "explain" in output.names else matches)(compiled, batch, reading)
    yield from found.select(output.names).cast(output).to_batches(max_chunksize=OUTPUT_ROWS)
