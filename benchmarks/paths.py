"""How far one event goes through the code, on each of its ways: files, package crossings, how often it is matched.

Two live ends on loopback in one process; a few events warm them, then single events are traced from `publish` to the
subscriber's hands. A crossing is a call from one package of `rookery` into another; the least of several events counts,
since heartbeats fall into the others. A match is a call of the matcher from outside `rookery.matching`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import rookery
from rookery import IslandOptions, OverlayOptions, Schema
from rookery.papers.loopback import loopback_brokers
from rookery.space.axes import Axis, EventSpace
from rookery.space.grid import Grid, NumericAxis

__all__ = ["WAYS", "main", "trace_way"]

SCHEMA = Schema(symbol=str, price=float)
TOPIC = "quotes"
ROOT = str(Path(rookery.__file__).parent)
#: Events that warm the two ends, and all of them; where there is a bar, heartbeats may fall into so many at the most.
WARM, EVENTS, MOST_EVENTS = 6, 12, 60
MATCHES = {"match", "match_many", "match_columns", "match_batch"}


class Trace(NamedTuple):
    """What one event touched."""

    files: int
    crossings: int
    matches: int


Publish = Callable[[dict[str, Any]], Any]
Take = Callable[[], Awaitable[Any]]


class Tracer:
    """Notes every call within the package while it is on."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.crossings = 0
        self.matches = 0

    def __call__(self, frame: FrameType, kind: str, _: Any) -> None:
        if kind != "call" or not frame.f_code.co_filename.startswith(ROOT):
            return
        self.files.add(frame.f_code.co_filename)
        here, there = package(frame), package(frame.f_back)
        self.crossings += there not in ("", here)
        self.matches += here == "matching" != there and frame.f_code.co_name in MATCHES

    @property
    def trace(self) -> Trace:
        return Trace(len(self.files), self.crossings, self.matches)


def package(frame: FrameType | None) -> str:
    """Return the package of a frame's file, without `rookery`; nothing for what is not ours."""
    if frame is None or not frame.f_code.co_filename.startswith(ROOT):
        return ""
    return frame.f_code.co_filename[len(ROOT) + 1 :].partition("/")[0]


async def traced(publish: Publish, take: Take, *, bar: int | None = None) -> Trace:
    """Publish some events one by one and return the shortest trace; with a bar, until one is no longer than that."""
    found: list[Trace] = []
    for number in range(EVENTS if bar is None else MOST_EVENTS):
        tracer = Tracer()
        waiting = asyncio.ensure_future(take())
        await asyncio.sleep(0)
        if number >= WARM:
            sys.setprofile(tracer)
        try:
            publish({"symbol": "A", "price": float(number)})
            await asyncio.wait_for(waiting, 300)
        finally:
            sys.setprofile(None)
        if number >= WARM:
            found.append(tracer.trace)
            if bar is not None and tracer.crossings <= bar:
                break
        await asyncio.sleep(0.3)
    return min(found, key=lambda one: one.crossings)


async def answered() -> None:
    """The answer was the call's own."""


@asynccontextmanager
async def matcher() -> AsyncIterator[tuple[Publish, Take]]:
    """The matcher alone, as a program calls it."""
    compiled = rookery.matcher(SCHEMA)
    compiled.add(1, "price >= 0")

    yield compiled.match, answered


@asynccontextmanager
async def participants() -> AsyncIterator[tuple[Publish, Take]]:
    """DDS: one node publishes, another one subscribes."""
    async with (
        rookery.open("dds://91") as one,
        rookery.open("dds://91") as other,
        other.subscribe(TOPIC, "price >= 0", overflow="drop-oldest", schema=SCHEMA) as events,
    ):
        one.advertise(TOPIC, schema=SCHEMA)
        await one.dds.wait_for_readers(TOPIC)
        yield lambda event: one.publish(TOPIC, event), events.__anext__


@asynccontextmanager
async def brokers() -> AsyncIterator[tuple[Publish, Take]]:
    """Two brokers with logs, a client at each."""
    space = EventSpace(SCHEMA, [Axis("price", low=0.0, high=100.0)])
    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {"topic": TOPIC, "space": space, "data": Path(folder)}
        async with (
            loopback_brokers(2, **options) as (here, there),
            rookery.open(f"brokers://{here}") as one,
            rookery.open(f"brokers://{there}") as other,
            other.subscribe(TOPIC, "price >= 0", overflow="wait") as events,
        ):
            yield lambda event: one.publish(TOPIC, event), events.__anext__


@asynccontextmanager
async def overlay() -> AsyncIterator[tuple[Publish, Take]]:
    """Two peers of the overlay."""
    options = OverlayOptions(topic=TOPIC, schema=SCHEMA, grid=Grid([NumericAxis("price", (0.0, 50.0, 100.0))]))
    async with (
        rookery.open("overlay://", options) as one,
        one.subscribe(TOPIC, "price > 1000", overflow="drop-oldest"),
        rookery.open("overlay://{}:{}".format(*one.overlay.address), options) as other,
        other.subscribe(TOPIC, "price >= 0", overflow="drop-oldest") as events,
    ):
        yield lambda event: one.publish(TOPIC, event), events.__anext__


@asynccontextmanager
async def islands() -> AsyncIterator[tuple[Publish, Take]]:
    """Two islands: a node of one publishes, the gateway of the other subscribes with a condition."""
    async with (
        rookery.open("island://a", IslandOptions(listen=("127.0.0.1", 0), domain_id=92)) as one,
        rookery.open("island://b@{}:{}".format(*(one.island.address or ())), IslandOptions(domain_id=93)) as other,
        rookery.open("dds://92") as node,
    ):
        node.advertise(TOPIC, schema=SCHEMA)
        async with other.subscribe(TOPIC, "price >= 0", overflow="drop-oldest", schema=SCHEMA) as events:
            await node.dds.wait_for_readers(TOPIC, seconds=60)
            await asyncio.sleep(1)
            yield lambda event: node.publish(TOPIC, event), events.__anext__


@asynccontextmanager
async def batches() -> AsyncIterator[tuple[Publish, Take]]:
    """A batch, as Spark's workers match it."""
    import pyarrow as pa

    compiled = rookery.matcher(SCHEMA)
    compiled.add(1, "price >= 0")

    yield (
        lambda event: compiled.match_many(pa.table({"event_id": [1], **{name: [event[name]] for name in event}})),
        answered,
    )


WAYS = {
    "matcher": matcher,
    "batch": batches,
    "DDS": participants,
    "brokers": brokers,
    "overlay": overlay,
    "islands": islands,
}


async def trace_way(way: Callable[[], Any], *, bar: int | None = None) -> Trace:
    """Open the two ends, trace, close."""
    async with way() as (publish, take):
        await asyncio.sleep(1)
        return await traced(publish, take, bar=bar)


def main(arguments: list[str]) -> int:
    """Print a line for each way."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks paths", description=__doc__)
    parser.add_argument("ways", nargs="*", choices=[*WAYS, []], help="which ones; all of them unless named")
    options = parser.parse_args(arguments)
    print(f"{'way':10} {'files':>6} {'crossings':>10} {'matched':>8}")
    for name in options.ways or WAYS:
        trace = asyncio.run(trace_way(WAYS[name]))
        print(f"{name:10} {trace.files:6} {trace.crossings:10} {trace.matches:8}")
    return 0
