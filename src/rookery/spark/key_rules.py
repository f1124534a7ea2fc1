"""The rules of the plan *keys* as tasks have them: read by Spark, sent to the parts of their values, compiled there.

A task reads records, compiles them to find the values that each names, and sends each to its parts, a stream of Arrow
for a part. The task of a part compiles what all of them sent. No process has more than some tens of thousands of rules.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rookery.errors import PipelineError, SubscriptionError
from rookery.model.datasets import find_dataset
from rookery.model.tables import read_subscriptions
from rookery.spark.carriers import keep
from rookery.spark.compat import frame_of
from rookery.spark.jobs import job_description
from rookery.spark.key_map import KeyMap, Named, parts_of
from rookery.spark.rules import OnError, Reading, compile_rules
from rookery.spark.subscriptions import FileRules, FrameRules, Subscriptions
from rookery.spark.types import spark_schema_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rookery import CompiledSet, Schema

log = logging.getLogger("rookery.spark")

__all__ = ["BLOB", "PART", "PartRules", "RuleReader", "SpreadRules", "check_unique", "rules_frame", "spread_rules"]

#: Rules that a task looks at together.
TOGETHER = 50_000
#: The columns of a part's number and of its rules.
PART, BLOB = "_rookery_part", "_rookery_rules"


def rules_frame(spark: Any, rules: Subscriptions) -> DataFrame:
    """Return the records as a DataFrame, read by Spark where it can."""
    source = rules.source
    if isinstance(source, FrameRules):
        frame = source.frame if source.table is None else spark.table(source.table)
        assert frame is not None
        return frame
    if isinstance(source, FileRules) and source.edits is None:
        found = find_dataset(source.paths, error=SubscriptionError)
        files = [str(path) for path in found.paths]
        plain = found.declared is None and not len(found.partitions)
        if plain and files and all(file.endswith(".parquet") for file in files):
            return spark.read.parquet(*files)
    return frame_of(spark, rules.records().replace_schema_metadata(None))


@dataclass(frozen=True, slots=True)
class RuleReader:
    """How tasks read rules: the events' schema, and the type of ids and the dialect of the source."""

    schema: Schema
    reading: Reading
    id_type: str | None = None
    dialect: str | None = None
    on_error: OnError = "quarantine"

    @classmethod
    def of(cls, schema: Schema, reading: Reading, rules: Subscriptions, on_error: OnError = "quarantine") -> RuleReader:
        """Return the reader of a source."""
        source = rules.source
        if isinstance(source, FileRules | FrameRules):
            return cls(schema, reading, source.id_type, source.dialect, on_error)
        return cls(schema, reading, on_error=on_error)

    def __call__(self, records: pa.Table) -> CompiledSet:
        """Compile records; bad ones are left out, or the first of them is raised."""
        read = read_subscriptions(records, id_type=self.id_type, dialect=self.dialect)
        made = compile_rules(read, self.schema, reading=self.reading)
        if self.on_error == "raise" and made.quarantined:
            raise made.quarantined[0]
        for error in made.quarantined:
            log.warning("quarantined %s", error)
        return made.compiled


@dataclass(frozen=True, slots=True)
class SpreadRules:
    """The task that sends rules to their parts: a row for each part, with its rules as a stream of Arrow."""

    read: RuleReader
    parts: KeyMap

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Spread the rules of the task."""
        waiting: list[pa.RecordBatch] = []
        for batch in batches:
            waiting.append(batch)
            if sum(one.num_rows for one in waiting) >= TOGETHER:
                yield self._spread(waiting)
                waiting = []
        if waiting:
            yield self._spread(waiting)

    def _spread(self, batches: list[pa.RecordBatch]) -> pa.RecordBatch:
        compiled = self.read(pa.Table.from_batches(batches))
        parts, slots = parts_of(compiled, self.parts, Named.of(compiled, self.parts.column))
        records = _slim(compiled.subscriptions).take(pa.array(slots)).combine_chunks()
        starts = [*np.flatnonzero(np.diff(parts, prepend=-1)).tolist(), len(parts)]
        blobs = [_blob(records.slice(start, end - start)) for start, end in pairwise(starts)]
        numbers = parts[starts[:-1]].astype(np.int32)
        return pa.record_batch([pa.array(numbers), pa.array(blobs, pa.binary())], names=[PART, BLOB])


def _slim(records: pa.Table) -> pa.Table:
    """Return records without the columns in which all are null."""
    return records.drop_columns([name for name in records.column_names if records[name].null_count == len(records)])


def _blob(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


@dataclass(frozen=True, slots=True)
class PartRules:
    """How the rules of a part, sent by several tasks, become one set."""

    read: RuleReader

    def compiled(self, blobs: list[bytes]) -> CompiledSet:
        """Compile the rules of a part; a process that has just compiled the same ones keeps them."""
        blobs.sort()
        told = blake2b(digest_size=16)
        for one in blobs:
            told.update(one)

        def compile() -> CompiledSet:
            tables = [pa.ipc.open_stream(one).read_all() for one in blobs]
            records = pa.concat_tables(tables, promote_options="default")
            return compile_rules(records, self.read.schema, reading=self.read.reading).compiled

        return keep(f"{self.read.schema.to_dict()} {told.hexdigest()}", compile)


def check_unique(rules: DataFrame) -> None:
    """Refuse rules of which two have one id and version: they may have different parts, and only one of them counts."""
    from pyspark.sql.functions import coalesce, col, lit

    version = coalesce(col("version").cast("bigint"), lit(1)) if "version" in rules.columns else lit(1)
    with job_description(rules.sparkSession, "ids of the rules that are there twice"):
        twice = rules.groupBy("subscription_id", version.alias("version")).count().where("count > 1").limit(1).collect()
    if twice:
        raise PipelineError(
            f"subscription {twice[0][0]!r} is in the rules {twice[0][2]} times in version {twice[0][1]}: the plan "
            "'keys' needs rules of which each is there once"
        )


def spread_rules(frame: DataFrame, reader: RuleReader, key_map: KeyMap) -> DataFrame:
    """Return the rules by part, as streams of Arrow."""
    schema = spark_schema_of(pa.schema([(PART, pa.int32()), (BLOB, pa.binary())]))
    return frame.mapInArrow(SpreadRules(reader, key_map), schema)
