"""What runs inside a Spark task: Arrow batches of events in, Arrow batches of matches out.

Each class here is a small value that Spark pickles by reference to this installed module, so the kernels come from the
disk cache and nothing is compiled in a task. Calling it with the task's batches is the task. The output is a pure
function of the events and of the compiled set: a retried task writes the same rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rookery.spark.carriers import Carrier
from rookery.spark.rules import Reading

if TYPE_CHECKING:
    from rookery import CompiledSet

__all__ = ["MatchRows", "explained", "match_schema", "matches"]

#: Rows of one output batch: enough to be fast, few enough that a broad rule does not fill the worker's memory.
OUTPUT_ROWS = 262_144


def match_schema(event_id: pa.DataType, subscription_id: pa.DataType, *, explain: bool = False) -> pa.Schema:
    """Return the schema of matches for these two id types."""
    fields = [("event_id", event_id), ("subscription_id", subscription_id), ("version", pa.int64())]
    return pa.schema([*fields, ("explain", pa.string())] if explain else fields)


def matches(compiled: CompiledSet, batch: Any, reading: Reading) -> pa.Table:
    """Match one batch: `event_id, subscription_id, version`."""
    return compiled.match_many(
        batch, event_id=reading.event_id, time=reading.time, topic=reading.topic, as_of=reading.as_of
    )


def explained(compiled: CompiledSet, batch: Any, reading: Reading, pairs: pa.Table) -> pa.Array:
    """Say for each match why: the explanation as JSON. One at a time, for reading, not for bulk."""
    row_of = {value: row for row, value in enumerate(batch.column(reading.event_id).to_pylist())}
    texts = []
    for event, subscription in zip(pairs["event_id"].to_pylist(), pairs["subscription_id"].to_pylist(), strict=True):
        row = batch.slice(row_of[event], 1).to_pylist()[0]
        texts.append(json.dumps(compiled.explain(subscription, row).to_dict(), default=str, ensure_ascii=False))
    return pa.array(texts, pa.string())


@dataclass(frozen=True, slots=True)
class MatchRows:
    """The task of the broadcast plan: match each batch against the one set."""

    carrier: Carrier
    reading: Reading
    output: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match the task's batches."""
        compiled = self.carrier.load()
        for batch in batches:
            yield from rows(compiled, batch, self.reading, self.output)


def rows(compiled: CompiledSet, batch: pa.RecordBatch, reading: Reading, output: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Match one batch and give the matches in batches of the declared types, which Spark does not cast."""
    if not batch.num_rows:
        return
    found = matches(compiled, batch, reading)
    if "explain" in output.names:
        found = found.append_column("explain", explained(compiled, batch, reading, found))
    yield from found.cast(output).to_batches(max_chunksize=OUTPUT_ROWS)
