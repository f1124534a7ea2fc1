"""Live ways through the system, over loopback: DDS, K-D brokers on TCP, and the overlay on TCP.

A reader and a writer stand in one process and speak through real sockets. When the subscription without a condition has
every event and nothing more has come for a second, the others have what they will get.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

from rookery import Schema
from rookery.errors import ExperimentError, JoinError

__all__ = ["SCHEMA", "Events", "Pairs", "Rules", "live_brokers", "live_dds", "live_overlay"]

Rules = Mapping[str, str]
Events = Sequence[Mapping[str, Any]]
Pairs = set[tuple[int, str]]

SCHEMA = Schema(symbol=str, price=float, size=int)
TOPIC = "quotes"
#: The subscription without a condition.
EVERYTHING = "everything"
PATIENCE = 120.0
BROKERS = 3


async def _play(
    feeds: Mapping[str, AsyncIterator[Any]], events: Events, publish: Callable[[], Awaitable[None]]
) -> Pairs:
    """Read all feeds while the events are published; `size` holds the number of an event, in thousands."""
    found: Pairs = set()

    async def read(name: str, feed: AsyncIterator[Any]) -> None:
        async for event in feed:
            found.add((event["size"] // 1000, name))

    readers = [asyncio.ensure_future(read(name, feed)) for name, feed in feeds.items()]
    try:
        await publish()
        async with asyncio.timeout(PATIENCE):
            seen = -1
            while seen != len(found) or sum(name == EVERYTHING for _, name in found) < len(events):
                seen = len(found)
                await asyncio.sleep(1.0)
    except TimeoutError as error:
        raise ExperimentError(
            f"after {PATIENCE:.0f} s not every event has arrived: is the machine overloaded?"
        ) from error
    finally:
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
    return {(number, name) for number, name in found if name != EVERYTHING}


async def _publish(
    publish: Callable[[str, Mapping[str, Any]], None], flush: Callable[..., Any], events: Events
) -> None:
    for first in range(0, len(events), 50):
        for event in events[first : first + 50]:
            publish(TOPIC, event)
        await flush(TOPIC, seconds=PATIENCE)


def live_dds(rules: Rules, events: Events) -> Pairs | None:
    """Two nodes of a DDS domain; None where this machine lets nobody join one."""
    from rookery import open

    async def play() -> Pairs:
        domain_id = 110 + os.getpid() % 100
        async with open(f"dds://{domain_id}") as reader, open(f"dds://{domain_id}") as writer:
            feeds = {
                name: reader.subscribe(TOPIC, where, overflow="wait", schema=SCHEMA)
                for name, where in {**rules, EVERYTHING: ""}.items()
            }
            writer.advertise(TOPIC, schema=SCHEMA)
            await writer.dds.wait_for_readers(TOPIC, seconds=PATIENCE)
            return await _play(feeds, events, lambda: _publish(writer.publish, writer.flush, events))

    try:
        return asyncio.run(play())
    except JoinError:
        return None


def live_brokers(rules: Rules, events: Events) -> Pairs:
    """Three brokers, each a server on TCP, a client at the first and one at the last."""
    from rookery import open
    from rookery.brokers.configuration import BrokerDurability
    from rookery.papers.loopback import loopback_brokers
    from rookery.space.notation import read_space

    space = read_space("price:0:100,symbol", SCHEMA)

    async def play() -> Pairs:
        async with AsyncExitStack() as stack:
            addresses = await stack.enter_async_context(
                loopback_brokers(BROKERS, topic=TOPIC, space=space, durability=BrokerDurability.MEMORY)
            )
            reader = await stack.enter_async_context(open(f"brokers://{addresses[0]}"))
            writer = await stack.enter_async_context(open(f"brokers://{addresses[-1]}"))
            feeds = {
                name: await stack.enter_async_context(reader.subscribe(TOPIC, where, overflow="wait"))
                for name, where in {**rules, EVERYTHING: ""}.items()
            }
            return await _play(feeds, events, lambda: _publish(writer.publish, writer.flush, events))

    return asyncio.run(play())


def live_overlay(rules: Rules, events: Events) -> Pairs:
    """Two peers, and a first one that they join through."""
    from rookery import OverlayOptions, open
    from rookery.space.grid import CategoricalAxis, Grid, NumericAxis

    symbols = tuple(sorted({event["symbol"] for event in events}))
    grid = Grid([CategoricalAxis("symbol", symbols), NumericAxis("price", tuple(float(10 * n) for n in range(11)))])

    async def play() -> Pairs:
        async with AsyncExitStack() as stack:

            async def enter(known: str = "") -> Any:
                options = OverlayOptions(topic=TOPIC, schema=SCHEMA, grid=grid)
                made = await stack.enter_async_context(open(f"overlay://{known}", options))
                await made.overlay.settled(seconds=PATIENCE)
                return made

            host, port = (await enter()).overlay.address
            reader, writer = await enter(f"{host}:{port}"), await enter(f"{host}:{port}")
            feeds = {
                name: reader.subscribe(TOPIC, where, overflow="drop-oldest", queue=len(events) + 1)
                for name, where in {**rules, EVERYTHING: ""}.items()
            }
            await reader.overlay.settled(seconds=PATIENCE)
            return await _play(feeds, events, lambda: _publish(writer.publish, writer.flush, events))

    return asyncio.run(play())
