"""An event's zone on Spark is its owner's zone live, for the same tree: texts, NULLs, infinities, decimals, instants.

On Spark a zone is one SQL expression in the JVM; live it is where a row's point lies. They share the axes and the cuts
and nothing else, so each is the other's oracle.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.live.broker_fleet import SCHEMA as QUOTES
from tests.live.brokers.fleets import Fleet, settled

import rookery
from rookery import BrokerOptions, Schema
from rookery.brokers.configuration import BrokerConfiguration
from rookery.live.brokers.resplit import ask_all, network_tree
from rookery.simulated.brokers import SimulatedBrokers
from rookery.space import EventSpace, KdTree
from rookery.space.zones import Path as ZonePath
from rookery.space.zones import box_of, contains
from rookery.spark import partition

pytestmark = pytest.mark.spark

SECOND = 1_000_000
ARROW = pa.schema(
    [
        ("event_id", pa.int64()),
        ("symbol", pa.string()),
        ("price", pa.float64()),
        ("size", pa.int64()),
        ("fee", pa.decimal128(12, 4)),
        ("at", pa.timestamp("us", tz="UTC")),
        ("buy", pa.bool_()),
    ]
)
SCHEMA = Schema.from_arrow(pa.schema(list(ARROW)[1:]))
AXES = ["symbol", "price", "size", "fee", "at", "buy"]
RULES = pa.table({"subscription_id": ["one"], "where": ["price > 1 AND symbol = 'A'"]})
NOTHING = 0.05


def made(count: int, seed: int) -> pa.Table:
    """Return events: a few common symbols, many rare ones of every script, heavy tails, and NULLs in each column."""
    generator = np.random.default_rng(seed)
    common = np.array(["ACME", "BOLT", "ZINC", "é", "東京", "", "~", "\x01"])
    rare = np.array([f"{chr(0x30 + number % 70)}{number:x}" for number in range(5000)])
    symbols = np.where(generator.random(count) < 0.5, generator.choice(common, count), generator.choice(rare, count))
    prices = generator.lognormal(3, 2, count)
    odd = np.array([np.inf, -np.inf, np.nan, -0.0, 5e-324, 1e300])
    prices = np.where(generator.random(count) < 0.004, generator.choice(odd, count), prices)
    steps = generator.integers(-(10**7), 10**7, count)
    start = np.datetime64("2026-01-01", "us").astype(np.int64)
    columns: dict[str, Any] = {
        "symbol": pa.array(symbols.tolist(), mask=generator.random(count) < NOTHING),
        "price": pa.array(prices, mask=generator.random(count) < NOTHING),
        "size": pa.array(generator.pareto(0.3, count).clip(0, 9e18).astype(np.int64)),
        "at": pa.array(start + generator.integers(0, 10**13, count)).cast(pa.timestamp("us", tz="UTC")),
        "buy": pa.array(generator.random(count) < 0.3, mask=generator.random(count) < NOTHING),
    }
    fees = [None if generator.random() < NOTHING else Decimal(int(step)).scaleb(-4) for step in steps]
    columns["fee"] = pa.array(fees, ARROW.field("fee").type)
    return pa.table({"event_id": pa.array(np.arange(count)), **columns}, schema=ARROW)


def spark_zones(
    spark: Any, table: pa.Table, tree: KdTree, folder: Path, rules: pa.Table = RULES
) -> np.ndarray[Any, Any]:
    """Return the zone of each event as Spark computes it, by event id."""
    pq.write_table(table, folder / "events.parquet")
    frame = spark.read.parquet(str(folder / "events.parquet"))
    found = partition(frame, rules, tree=tree).select("event_id", "zone").toArrow()
    zones = np.full(table.num_rows, -1, np.int64)
    zones[found["event_id"].to_numpy()] = found["zone"].to_numpy()
    return zones


def owner_of(point: tuple[float, ...], cuts: dict[ZonePath, tuple[int, float]]) -> ZonePath:
    """Return the zone that a point lies in, cut by cut, with no tree and no kernel."""
    path: Any = ()
    while path in cuts:
        axis, place = cuts[path]
        path = (*path, (axis, int(point[axis] >= place), place))
    return path


def compare(spark: Any, count: int, folder: Path) -> None:
    table = made(count, 1)
    space = EventSpace.learn(SCHEMA, AXES, made(20_000, 2))
    tree = KdTree.fit(space.points(made(20_000, 3)), axes=space.axes, zones=64, dimension="cyclic")
    assert tree.zone_count == 64
    assert {space.axes[axis].attribute for axis in tree.axis if axis >= 0} == set(AXES)
    tree = KdTree.from_json(tree.to_json())
    zones = spark_zones(spark, table, tree, folder)
    paths = tree.paths()
    cuts = {path[:depth]: (cut.axis, cut.place) for path in paths for depth, cut in enumerate(path)}
    number_of = {path: number for number, path in enumerate(paths)}
    different = 0
    for first in range(0, count, 100_000):
        part = table.slice(first, 100_000)
        points = space.points(part)
        for row, event in enumerate(part.to_pylist()):
            point = space.point(event)
            assert point == tuple(points[row]), event
            different += number_of[owner_of(point, cuts)] != zones[first + row]
    assert different == 0
    assert len(set(zones.tolist())) == 64


def test_every_event_lies_in_the_zone_of_its_point(spark: Any, tmp_path: Path) -> None:
    compare(spark, 20_000, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_one_of_a_million_events_lies_in_the_zone_of_its_point(spark: Any, tmp_path: Path) -> None:
    compare(spark, 1_000_000, tmp_path)


def test_days_local_times_small_numbers_and_fields_of_structs(spark: Any, tmp_path: Path) -> None:
    """The other kinds of columns, and a session whose time zone is not UTC: neither a day nor a local time has one."""
    generator = np.random.default_rng(5)
    count = 3000
    nothing = [generator.random(count) < NOTHING for _ in range(5)]
    micros = generator.integers(1_700_000_000, 1_800_000_000, count) * SECOND + 1
    table = pa.table(
        {
            "event_id": pa.array(np.arange(count)),
            "day": pa.array(generator.integers(-400, 30_000, count), pa.int32(), mask=nothing[0]).cast(pa.date32()),
            "local": pa.array(micros, mask=nothing[1]).cast(pa.timestamp("us")),
            "small": pa.array(generator.integers(-300, 300, count).astype(np.int16), mask=nothing[2]),
            "single": pa.array(generator.normal(0, 5, count).astype(np.float32), mask=nothing[3]),
            "part": pa.array([{"depth": float(one)} for one in generator.normal(0, 1, count)], mask=nothing[4]),
        }
    )
    schema = Schema.from_arrow(table.schema.remove(0))
    axes = ["day", "local", "small", "single", "part.depth"]
    space = EventSpace.learn(schema, axes, table)
    tree = KdTree.fit(space.points(table), axes=space.axes, zones=64, dimension="cyclic")
    assert {space.axes[axis].attribute for axis in tree.axis if axis >= 0} == set(axes)
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        rules = pa.table({"subscription_id": ["one"], "where": ["small > 1"]})
        zones = spark_zones(spark, table, tree, tmp_path, rules)
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    assert zones.tolist() == tree.zones_of(space.points(table)).tolist()


def test_spark_counts_in_each_zone_what_its_owner_took(spark: Any, tmp_path: Path) -> None:
    """Sixteen brokers in a world, joined while events flow; then each takes exactly what Spark says is its own."""
    table, generator = made(1500, 4), Random(1)
    space = EventSpace.learn(SCHEMA, AXES[:3], made(2000, 5))
    network = SimulatedBrokers(BrokerConfiguration(space=space, beat=SECOND), seed=1)
    publisher = None
    for _ in range(16):
        network.join()
        network.run(SECOND)
        publisher = publisher or network.client(next(iter(network.brokers)), retry=SECOND)
        publisher.publish(*made(50, generator.randrange(1000)).drop_columns("event_id").to_pylist())
        network.run(SECOND)
    network.run(30 * SECOND)
    assert publisher is not None
    owned = {path: zone for broker in network.brokers.values() for path, zone in broker.owned.items()}
    paths = sorted(owned)
    tree = KdTree.of_paths(paths, space.axes)
    before = [owned[path].reservoir.seen for path in paths]
    for first in range(0, 1500, 100):
        publisher.publish(*table.slice(first, 100).drop_columns("event_id").to_pylist())
        network.run(SECOND)
    network.run(30 * SECOND)
    assert {path for broker in network.brokers.values() for path in broker.owned} == set(paths), "zones have moved"
    took = [owned[path].reservoir.seen - old for path, old in zip(paths, before, strict=True)]
    zones = spark_zones(spark, table, tree, tmp_path)
    assert np.bincount(zones, minlength=16).tolist() == took
    for event, zone in zip(table.to_pylist(), zones.tolist(), strict=True):
        assert contains(box_of(paths[zone], 3), space.point(event))


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    fleet = Fleet(tmp_path)
    try:
        for _ in range(4):
            fleet.start()
        yield fleet
    finally:
        fleet.close()


@pytest.mark.wire
def test_spark_counts_in_each_zone_what_a_broker_process_took(fleet: Fleet, spark: Any, tmp_path: Path) -> None:
    """Four broker processes and the tree that they say they are cut by."""
    generator = Random(7)
    symbols = [None, "", "ACME", "zebra", "é", "東京", *(f"S{number}" for number in range(30))]
    events = [
        {
            "symbol": generator.choice(symbols),
            "price": generator.choice([None, float("inf"), generator.uniform(-10, 1100), generator.uniform(0, 50)]),
            "number": number,
        }
        for number in range(2000)
    ]

    async def publish() -> tuple[KdTree, Counter[int]]:
        await settled(fleet)
        opening = rookery.open(f"brokers://{','.join(fleet.addresses())}", BrokerOptions(attempts=600.0))
        async with opening as client:
            await client.publish_many("quotes", events)
            await client.flush(seconds=3_000)
        documents = await ask_all(fleet.addresses()[0])
        tree, owners = network_tree(documents)
        took = {one["broker"]: sum(zone["events"] for zone in one["zones"]) for one in documents}
        return tree, Counter({number: took[owner] for number, owner in enumerate(owners)})

    tree, took = asyncio.run(asyncio.wait_for(publish(), 1_800))
    assert tree.zone_count == 4
    rows = [{"event_id": number, **event} for number, event in enumerate(events)]
    table = pa.Table.from_pylist(rows, pa.schema([("event_id", pa.int64()), *QUOTES.to_arrow()]))
    zones = spark_zones(spark, table, KdTree.from_json(tree.to_json()), tmp_path)
    assert Counter(zones.tolist()) == Counter({zone: count for zone, count in took.items() if count})
