"""Who matches whom in a fleet that does not fit one machine: endpoints as a DataFrame in, matches as a DataFrame out.

    matches = discover(endpoints)                        # writer | reader | topic | type_name
    contacts = contact_counts(endpoints, "ribbon")       # what each participant would announce, and hear in vain

Rule 1: a writer and a reader of different participants match when topic and type are equal. That is an equality, so it
is a hash or merge join on topic and type, never a comparison of all pairs; topics that nobody reads, or nobody writes,
fall out in the join. The result is as large as the matches are: a topic that everyone writes and everyone reads has
10¹⁰ of them in a fleet of 10⁵, and `infrastructure=False` leaves those of ROS 2 out.
Rule 2: summaries are made as each participant makes its own (`rookery.discovery`), and false contacts are counted by
asking them for keys of others. Asking 10⁵ summaries for 10⁵ keys is 10¹⁰ questions, so above `ask_at_most` keys a
sample is asked, the same for all, and the count is scaled up; the column `asked` says how many were.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rookery.discovery.planning.sizes import record_size
from rookery.discovery.planning.summaries import SUMMARIES, build_summary
from rookery.discovery.planning.topology import INFRASTRUCTURE, PlannedEndpoint
from rookery.errors import PipelineError
from rookery.spark.compat import table_of
from rookery.spark.types import arrow_type_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["ASK_AT_MOST", "contact_counts", "discover", "interests", "key_counts"]

#: Keys that each summary is asked for, unless told otherwise.
ASK_AT_MOST = 4_096

#: Participants in one batch of results.
_ROWS = 1_024
_COLUMNS = ("participant", "kind", "topic", "type_name")
_SEPARATOR = "\x1f"


def discover(endpoints: DataFrame, *, infrastructure: bool = True) -> DataFrame:
    """Return every match: the participants of the writer and of the reader, topic and type; each once.

    `endpoints` has the columns participant, kind ('W' or 'R'), topic and type_name; others are ignored.
    """
    from pyspark.sql import functions

    listed = _endpoints(endpoints, infrastructure).distinct()
    on = ["topic", "type_name"]
    writers = listed.where(functions.col("kind") == "W").select(functions.col("participant").alias("writer"), *on)
    readers = listed.where(functions.col("kind") == "R").select(functions.col("participant").alias("reader"), *on)
    joined = writers.join(readers, on=on).where(functions.col("writer") != functions.col("reader"))
    return joined.select("writer", "reader", *on)


def interests(endpoints: DataFrame, *, infrastructure: bool = True) -> DataFrame:
    """Return one row for each participant and key: how many endpoints have the key, their octets, what they seek.

    The key is that of `rookery.discovery.interests`: both halves of a service have the key of the request.
    """
    from pyspark.sql import functions

    listed = _endpoints(endpoints, infrastructure)
    topic, type_name, kind = functions.col("topic"), functions.col("type_name"), functions.col("kind")
    reply = topic.startswith("rr/") & topic.endswith("Reply") & type_name.endswith("_Response_")
    request = functions.concat(
        functions.lit("rq"), functions.regexp_replace(topic, "^rr|Reply$", ""), functions.lit("Request")
    )
    request_type = functions.regexp_replace(type_name, "_Response_$", "_Request_")
    opposite = functions.when(kind == "W", "R").otherwise("W")
    separator = functions.lit(_SEPARATOR)
    rest = functions.concat(
        separator,
        functions.when(reply, request).otherwise(topic),
        separator,
        functions.when(reply, request_type).otherwise(type_name),
    )
    own = functions.when(reply, opposite).otherwise(kind)
    sought = functions.when(reply, kind).otherwise(opposite)
    keyed = listed.select(
        "participant",
        functions.concat(own, rest).alias("key"),
        functions.concat(sought, rest).alias("sought"),
        _record_octets(kind, topic, type_name).alias("octets"),
    )
    return keyed.groupBy("participant", "key", "sought").agg(
        functions.count("*").alias("records"), functions.sum("octets").alias("octets")
    )


def key_counts(interested: DataFrame) -> DataFrame:
    """Return one row for each key: how many participants have it, in how many endpoints, of how many octets."""
    from pyspark.sql import functions

    return interested.groupBy("key", "sought").agg(
        functions.count("*").alias("holders"),
        functions.sum("records").alias("records"),
        functions.sum("octets").alias("octets"),
    )


def contact_counts(
    endpoints: DataFrame, protocol: str = "ribbon", *, infrastructure: bool = True, ask_at_most: int = ASK_AT_MOST
) -> DataFrame:
    """Return one row for each participant: its endpoints, its summary's octets, and what it is told.

    participant | endpoints | octets | summary_octets | announced_octets | heard | heard_octets | false_contacts | asked

    `heard` counts the records of others that it needs, exactly; `false_contacts` those that it is told in vain because
    its summary says yes to them (scaled up where a sample was asked); `octets` are those of its own records.
    """
    from pyspark.sql import functions

    if protocol not in SUMMARIES:
        raise PipelineError(f"no protocol with a summary is called {protocol!r}; choose from {', '.join(SUMMARIES)}")
    interested = interests(endpoints, infrastructure=infrastructure)
    keys = key_counts(interested)
    heard = _heard(interested, keys)
    # What is asked of a summary is what somebody seeks; the same sample for all, by the order of its hash.
    sample = table_of(keys.orderBy(functions.xxhash64("key"), "key").limit(ask_at_most).select("sought", "records"))
    total = keys.agg(functions.count("*"), functions.sum("records")).first()
    questions = sample["sought"].combine_chunks()  # in Arrow, so that no task makes strings of them again
    asked, weights = questions.to_pylist(), sample["records"].to_numpy().astype(np.float64)
    scale = _scale(total, weights)
    counted = [pa.field(name, pa.int64()) for name in ("summary_octets", "announced_octets", "false_contacts", "asked")]
    identity = interested.schema["participant"].dataType
    participants = interested.agg(functions.countDistinct("participant")).first()[0]
    arrow_schema = pa.schema([pa.field("participant", arrow_type_of(identity)), *counted])

    def build(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows: list[tuple[Any, int, int, int, int]] = []
        for participant, own in _runs(batches):
            summary = build_summary(protocol, sorted(own), participants=participants)
            hits = summary.received.contains_many(questions) if asked else np.zeros(0, dtype=np.bool_)
            # Few say yes; only those are looked up.
            in_vain = sum(weights[place] for place in np.flatnonzero(hits) if asked[place] not in own)
            rows.append((participant, summary.size, len(summary.announced), round(float(in_vain) * scale), len(asked)))
            if len(rows) == _ROWS:
                yield _batch(rows, arrow_schema)
                rows = []
        yield _batch(rows, arrow_schema)

    named = ", ".join(f"{field.name} bigint" for field in counted)
    ordered = interested.select("participant", "key").repartition("participant").sortWithinPartitions("participant")
    return (
        ordered.mapInArrow(build, f"participant {identity.simpleString()}, {named}")
        .join(heard, on="participant")
        .select(
            "participant", "endpoints", "octets", "summary_octets", "announced_octets", "heard", "heard_octets",
            "false_contacts", "asked",
        )
    )  # fmt: skip


def _heard(interested: DataFrame, keys: DataFrame) -> DataFrame:
    """Return, for each participant, its own records, and those of others that it needs."""
    from pyspark.sql import functions

    offered = keys.select(
        functions.col("sought").alias("key"),
        functions.col("records").alias("offered"),
        functions.col("octets").alias("offered_octets"),
    )
    # What a participant offers to itself does not travel.
    own = interested.select(
        "participant",
        functions.col("sought").alias("key"),
        functions.col("records").alias("own"),
        functions.col("octets").alias("own_octets"),
    )
    joined = interested.join(offered, on="key", how="left").join(own, on=["participant", "key"], how="left")

    def others(name: str) -> Column:
        zero = functions.lit(0)
        return functions.coalesce(f"offered{name}", zero) - functions.coalesce(f"own{name}", zero)

    return joined.groupBy("participant").agg(
        functions.sum("records").alias("endpoints"),
        functions.sum("octets").alias("octets"),
        functions.sum(others("")).alias("heard"),
        functions.sum(others("_octets")).alias("heard_octets"),
    )


def _endpoints(endpoints: DataFrame, infrastructure: bool) -> DataFrame:
    from pyspark.sql import functions

    missing = [name for name in _COLUMNS if name not in endpoints.columns]
    if missing:
        raise PipelineError(
            f"no column {', '.join(map(repr, missing))}; there are {', '.join(endpoints.columns)}: rename yours to "
            f"{', '.join(_COLUMNS)}"
        )
    # Each column checks itself where the rows are: a filter that a join pushes down would let a null vanish in
    # silence, and an endpoint with it.
    fault = functions.raise_error(functions.lit("an endpoint lacks its participant, kind ('W' or 'R'), topic or type"))
    kind = functions.when(functions.col("kind").isin("W", "R"), functions.col("kind")).otherwise(fault.cast("string"))
    chosen = endpoints.select(
        *(
            functions.coalesce(name, fault.cast(endpoints.schema[name].dataType)).alias(name)
            if name != "kind"
            else kind.alias(name)
            for name in _COLUMNS
        )
    )
    return chosen if infrastructure else chosen.where(~functions.col("topic").rlike(INFRASTRUCTURE))


def _record_octets(kind: Column, topic: Column, type_name: Column) -> Column:
    """Return the octets of an endpoint's record: what is fixed, and two strings padded to multiples of four."""
    from pyspark.sql import functions

    def padded(text: Column) -> Column:
        return functions.ceil((functions.octet_length(text) + 1) / 4) * 4

    fixed = {each: record_size(PlannedEndpoint(each, "t", "t")) - 8 for each in ("W", "R")}
    first = functions.when(kind == "W", fixed["W"]).otherwise(fixed["R"])
    return (first + padded(topic) + padded(type_name)).cast("bigint")


def _scale(total: Any, weights: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Return by how much the records of the sample are to be multiplied."""
    records, sampled = float(total[1] or 0), float(weights.sum())
    return records / sampled if sampled else 0.0


def _runs(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Any, set[str]]]:
    """Yield each participant with its keys; rows of one participant lie together, across batches too."""
    name: Any = None
    keys: set[str] = set()
    for batch in batches:
        for each, key in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
            if each != name:
                if keys:
                    yield name, keys
                name, keys = each, set()
            keys.add(key)
    if keys:
        yield name, keys


def _batch(rows: list[tuple[Any, int, int, int, int]], schema: pa.Schema) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema
    )
