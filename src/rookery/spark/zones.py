"""The *zoned* plan, and the zones for their own sake: `partition`, `zone_stats`, `match_zoned` (seed 003 on Spark).

A set that is too large for every worker is cut by place. Axes are learned from a sample of the events that Spark draws,
and a K-D tree is fitted on the sample and on the boxes of the rules; or the tree is given, a broker network's say, and
an event's zone is then its owner's. The tree becomes one SQL expression (`zone_sql.py`), so the zone of an event is
computed inside the JVM; the rules of each zone are a set of their own, unpacked by the one worker that needs it. An
event goes to exactly one zone and a rule to every zone that it meets, so each pair is found once (spec, spark 10,
promise 5).

Skew. The fit cuts the zone of the greatest load first. A zone that cannot be cut (its events share one point) and
still carries too much is dealt out over several partitions with the same rules, by a hash of the event's id (promise
6).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rookery.errors import PipelineError, RookeryError
from rookery.model.schema import Schema
from rookery.space import Axis, EventSpace, KdTree
from rookery.space.axes import attribute_of
from rookery.spark.carried import RuleColumns
from rookery.spark.carriers import Carrier, carry
from rookery.spark.columns import map_batches
from rookery.spark.compat import partition_by, table_of
from rookery.spark.crossing import spark_schema, unfold
from rookery.spark.jobs import job_description
from rookery.spark.rules import CompiledRules, Reading, schema_of
from rookery.spark.worker import crossing_schema, loaded, rows
from rookery.spark.zone_sql import value_text, zone_expression

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["ZoneMap", "fit", "match_zoned", "partition", "zone_stats"]

#: Columns of ours beside the events' own, whose names are theirs to choose.
ZONE, PARTITION = "_rookery_zone", "_rookery_partition"

#: Events in the sample that zones are fitted on.
SAMPLE = 20_000

#: A zone with more than this many times the mean load is dealt out over several partitions.
SKEW = 2.0

#: Attributes that a tree cuts at most: the ones that the most rules bound.
MOST_ATTRIBUTES = 6


@dataclass(frozen=True, slots=True)
class ZoneMap:
    """The zones of a job: the space, the tree, and how many partitions each zone is dealt out over."""

    space: EventSpace
    tree: KdTree
    shares: tuple[int, ...]

    @property
    def offsets(self) -> list[int]:
        """The first partition of each zone."""
        return [0, *np.cumsum(self.shares).tolist()][:-1]

    @property
    def partitions(self) -> int:
        """How many partitions there are in all."""
        return sum(self.shares)


def fit(
    events: DataFrame,
    rules: CompiledRules,
    *,
    zones: int | None = None,
    sample: int = SAMPLE,
    tree: KdTree | None = None,
) -> ZoneMap:
    """Fit the zones on a sample of the events that Spark draws, and on the boxes of the rules; or take a tree's."""
    from rookery.spark.pipeline import arrow_schema

    schema = schema_of(arrow_schema(events))
    if tree is not None and zones is not None:
        raise PipelineError("a tree has its own zones: give zones= or tree=")
    if tree is None:
        attributes = _attributes(rules)
        if not attributes:
            raise PipelineError(
                "no rule bounds an attribute, so there is nothing to cut zones by: use plan='broadcast'"
            )
        drawn = _sample(events, schema, attributes, sample)
        space = EventSpace.learn(schema, attributes, drawn)
        boxes = rules.compiled.boxes(space)
        zones = zones or max(8, len(rules.compiled) // 20_000)
        points = space.points(drawn)
        tree = KdTree.fit(points, axes=space.axes, zones=zones, boxes=boxes)
    else:
        try:
            space = EventSpace(schema, tree.axes)
        except RookeryError as error:
            raise PipelineError(f"the tree is not one of these events: {error}") from error
        boxes = rules.compiled.boxes(space)
        points = space.points(_sample(events, schema, [axis.attribute for axis in tree.axes], sample))
    loads = [load.events * (1 + load.subscriptions) for load in tree.loads(points, boxes)]
    mean = max(1.0, sum(loads) / len(loads))
    shares = tuple(int(np.ceil(load / mean)) if load > SKEW * mean else 1 for load in loads)
    return ZoneMap(space, tree, shares)


def partition(
    events: DataFrame,
    rules: Any,
    *,
    event_id: str = "event_id",
    zones: int | None = None,
    tree: KdTree | None = None,
) -> DataFrame:
    """Add the column `zone` to the events and bring each zone's events together; with `tree`, its zones."""
    from rookery.spark.pipeline import prepare

    reading = Reading(event_id=event_id)
    zone_map = fit(events, prepare(events, rules, reading), zones=zones, tree=tree)
    if "zone" in events.columns:
        raise PipelineError("the events already have a column 'zone': rename it before partition() adds its own")
    return _placed(events, zone_map, event_id).drop(PARTITION).withColumnRenamed(ZONE, "zone")


def zone_stats(
    events: DataFrame,
    rules: Any,
    *,
    event_id: str = "event_id",
    time: str | None = None,
    zones: int | None = None,
    tree: KdTree | None = None,
) -> DataFrame:
    """Return load and replication by zone: `zone, events, subscriptions, load, skew, replication, lower, upper, tree`.

    `skew` is the zone's load over the mean; `replication` is how many zones a rule is in on average. `lower` and
    `upper` are the ends of the zone by axis, the least value in it and the least above it, NULL where there is no end.
    `tree` is the serial form, the same in each row, that `KdTree.from_json` reads and that brokers are cut by.
    """
    from pyspark.sql.functions import avg, col, count, lit
    from pyspark.sql.window import Window

    from rookery.spark.pipeline import prepare

    rules = prepare(events, rules, Reading(event_id=event_id, time=time))
    zone_map = fit(events, rules, zones=zones, tree=tree)
    space, tree = zone_map.space, zone_map.tree
    boxes = rules.compiled.boxes(space)
    met = np.bincount(tree.zones_met(boxes)[1], minlength=tree.zone_count)
    described = [
        (zone, int(met[zone]), *([value_text(space, *one) for one in enumerate(corner)] for corner in box))
        for zone, box in enumerate(tree.boxes())
    ]
    spark = events.sparkSession
    known = spark.createDataFrame(described, "zone int, subscriptions bigint, lower array<string>, upper array<string>")
    zone_of = zone_expression(tree, space, events)
    counted = events.select(zone_of.alias("zone")).groupBy("zone").agg(count("*").alias("events"))
    load = col("events") * (1 + col("subscriptions"))
    return (
        known.join(counted, "zone", "left")
        .fillna(0, ["events"])
        .withColumn("load", load)
        .withColumn("skew", col("load") / avg("load").over(Window.partitionBy(lit(0))))
        .withColumn("replication", lit(float(met.sum()) / max(1, len(boxes))))
        .withColumn("tree", lit(tree.to_json()))
        .select("zone", "events", "subscriptions", "load", "skew", "replication", "lower", "upper", "tree")
        .orderBy("zone")
    )


def match_zoned(
    events: DataFrame,
    rules: CompiledRules,
    reading: Reading,
    *,
    zones: int | None = None,
    tree: KdTree | None = None,
    explain: bool = False,
    columns: Sequence[str] = (),
    rule_columns: RuleColumns | None = None,
    most: int | None = None,
) -> DataFrame:
    """Match with the rules of one zone at a time in each worker."""
    from rookery.spark.pipeline import arrow_schema

    zone_map = fit(events, rules, zones=zones, tree=tree)
    row, zone = zone_map.tree.zones_met(rules.compiled.boxes(zone_map.space))
    order = np.argsort(zone, kind="stable")
    slots = np.split(row[order], np.cumsum(np.bincount(zone, minlength=zone_map.tree.zone_count))[:-1])
    spark = events.sparkSession
    carriers = tuple(
        carry(spark, rules.compiled.take(np.sort(part)), hold=False) if len(part) else None for part in slots
    )
    arrow, version = arrow_schema(events), rules.compiled.version
    output = crossing_schema(
        arrow.field(reading.event_id).type, rules.id_type, explain=explain, versions=version is None,
        columns=[arrow.field(name) for name in columns], rule_columns=rule_columns,
    )  # fmt: skip
    output = output.append(pa.field("zone", pa.int32()))
    spanning = [str(attribute.path[0]) for attribute in zone_map.space.attributes]
    needed = reading.columns([*rules.columns, *spanning, *columns], events.columns)
    placed = _placed(events.select(*(f"`{name}`" for name in needed)), zone_map, reading.event_id)
    task = MatchZone(carriers, reading, output, most, rule_columns)
    found = map_batches(placed, task, spark_schema(output, events))
    return unfold(found, version=version)


@dataclass(frozen=True, slots=True)
class MatchZone:
    """The task of the zoned plan: all its rows are of one zone; `most` is as in `fold`."""

    carriers: tuple[Carrier | None, ...]
    reading: Reading
    output: pa.Schema
    most: int | None = None
    rule_columns: RuleColumns | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match the task's batches; Spark may have coalesced several zones into one task."""
        pairs = self.output.remove(len(self.output) - 1)
        for batch in batches:
            if not batch.num_rows:
                continue
            numbers = batch.column(ZONE).to_numpy(zero_copy_only=False)
            for zone in np.unique(numbers):
                carrier = self.carriers[int(zone)]
                if carrier is None:
                    continue
                part = batch if (numbers == zone).all() else batch.filter(pa.array(numbers == zone))
                compiled, carried = loaded(carrier, self.reading), self.rule_columns
                for found in rows(compiled, part, self.reading, pairs, most=self.most, rule_columns=carried):
                    label = pa.array(np.full(found.num_rows, zone, dtype=np.int32))
                    yield pa.record_batch([*found.columns, label], schema=self.output)


def _placed(events: DataFrame, zone_map: ZoneMap, event_id: str) -> DataFrame:
    from pyspark.sql.functions import col, element_at, lit, pmod, xxhash64

    placed = events.withColumn(ZONE, zone_expression(zone_map.tree, zone_map.space, events))
    share = element_at(lit(list(zone_map.shares)), col(ZONE) + 1)
    offset = element_at(lit(zone_map.offsets), col(ZONE) + 1)
    turn = pmod(xxhash64(col(f"`{event_id}`")), share.cast("bigint"))
    number = (offset + turn).cast("int") if zone_map.partitions > zone_map.tree.zone_count else col(ZONE)
    placed = placed.withColumn(PARTITION, number if zone_map.partitions > 1 else lit(0))
    return partition_by(placed, zone_map.partitions, PARTITION)


def _attributes(rules: CompiledRules) -> list[str]:
    """Return the attributes that the most rules bound, the most bounded first: numbers, times, texts, booleans."""
    compiled = rules.compiled
    names = list(compiled.attributes)
    if not names:
        return []
    boxes = compiled.boxes(EventSpace(compiled.schema, [Axis(name) for name in names]))
    bounded = (boxes.lower > 0).sum(axis=0)  # NULL does not satisfy it, so it says something of the values
    order = sorted(range(len(names)), key=lambda index: -int(bounded[index]))
    return [names[index] for index in order if bounded[index]][:MOST_ATTRIBUTES]


def _sample(events: DataFrame, schema: Schema, attributes: list[str], rows_wanted: int) -> pa.Table:
    """Draw about so many events, of the axes' columns alone; the tree, not the data, comes to the driver."""
    names = dict.fromkeys(str(attribute_of(schema, text).path[0]) for text in attributes)
    points = events.select(*(f"`{name}`" for name in names))
    with job_description(events.sparkSession, f"a sample of the events, by {', '.join(names)}, for their zones"):
        total = points.count()
        if total > rows_wanted:
            points = points.sample(fraction=min(1.0, 1.1 * rows_wanted / total), seed=3)
        return table_of(points.limit(2 * rows_wanted))
