"""The four networks on sockets of this machine, each behind `rookery.open`."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.domains import new_domain

import rookery
from rookery import BrokerOptions, Client, DdsOptions, IslandOptions, OverlayOptions, Subscription
from rookery.live.opening import ClientOpening
from rookery.overlay.configuration import OverlayConfiguration
from rookery.papers.loopback import loopback_brokers
from rookery.rtps.limits import Limits
from rookery.space.notation import read_space

from .networks import CLIENTS, GRID, SCHEMA, SPACE, TOPIC, Event

__all__ = ["LIVE", "LiveNetwork", "Reached"]

Reached = Callable[[Path], AbstractAsyncContextManager["LiveNetwork"]]

#: Seconds in which what should not come has the time to.
_QUIET = 0.3


@dataclass
class LiveNetwork:
    """Clients that are opened as users open them."""

    #: How a client of a number is opened.
    opening: Callable[[int], ClientOpening]
    has_null: bool
    has_parameters: bool
    #: Whether `overflow="wait"` can be had.
    has_wait: bool
    clients: dict[int, Client] = field(default_factory=dict)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _marks: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    async def client(self, number: int) -> Client:
        """Return the client of a number, opened at its first use."""
        if number not in self.clients:
            self.clients[number] = await self._stack.enter_async_context(self.opening(number))
        return self.clients[number]

    async def subscribe(
        self, client: int, where: str | None, parameters: tuple[object, ...] = ()
    ) -> Subscription[Event]:
        opened = await self.client(client)
        wanted = opened.subscribe(TOPIC, where, overflow="drop-oldest", parameters=parameters, schema=SCHEMA)
        return await wanted.__aenter__()

    async def unsubscribe(self, subscription: Subscription[Event]) -> None:
        await subscription.__aexit__(None, None, None)

    async def settle(self) -> None:
        """Let every client publish marks until every one has them: what was subscribed before is known then too."""
        mark = -next(self._marks)
        for number in range(CLIENTS):
            await self.client(number)
        listening = {number: await self.subscribe(number, f"number = {mark}") for number in self.clients}
        missing = {(to, f"from {of}") for to in listening for of in self.clients}

        async def listen(number: int) -> None:
            async for event in listening[number]:
                missing.discard((number, event["symbol"]))

        listeners = [asyncio.ensure_future(listen(number)) for number in listening]
        while missing:
            for number, client in self.clients.items():
                client.publish(TOPIC, {"symbol": f"from {number}", "price": 0.0, "number": mark})
            await asyncio.sleep(0.05)
        for one in listeners:
            one.cancel()
        await asyncio.gather(*listeners, return_exceptions=True)

    async def publish(self, client: int, *events: Event) -> None:
        opened = await self.client(client)
        opened.advertise(TOPIC, schema=SCHEMA)
        for event in events:
            opened.publish(TOPIC, event)
        await opened.flush(TOPIC, seconds=600)

    async def received(self, subscription: Subscription[Event], count: int) -> list[Event]:
        got: list[Event] = []

        async def read() -> None:
            async for event in subscription:
                if event["number"] >= 0:  # no mark
                    got.append(event)

        reading = asyncio.ensure_future(read())
        while len(got) < count and not reading.done():
            await asyncio.sleep(0.01)
        await asyncio.sleep(_QUIET)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        return got

    async def __aenter__(self) -> LiveNetwork:
        return self

    async def __aexit__(self, *failure: Any) -> None:
        await self._stack.aclose()


@asynccontextmanager
async def dds(folder: Path) -> AsyncIterator[LiveNetwork]:
    domain = new_domain()
    options = DdsOptions(limits=Limits(history_samples=1_000))
    opening = lambda number: rookery.open(f"dds://{domain}", options)  # noqa: E731
    async with LiveNetwork(opening, has_null=False, has_parameters=True, has_wait=True) as network:
        yield network


@asynccontextmanager
async def brokers(folder: Path) -> AsyncIterator[LiveNetwork]:
    settings: dict[str, Any] = {"space": read_space(SPACE, SCHEMA), "beat": 1.0, "refresh": 5.0, "window": 256}
    async with loopback_brokers(CLIENTS, topic=TOPIC, data=folder, **settings) as addresses:
        ordered = [",".join([*addresses[number:], *addresses[:number]]) for number in range(CLIENTS)]
        opening = lambda number: rookery.open(f"brokers://{ordered[number % CLIENTS]}", BrokerOptions(attempts=600.0))  # noqa: E731
        async with LiveNetwork(opening, has_null=True, has_parameters=True, has_wait=True) as network:
            yield network


def overlay(*, arc: bool = False, downgrade: bool = False) -> Reached:
    """Every client is a peer; a first one that only lives there is what the others join through."""

    @asynccontextmanager
    async def start(folder: Path) -> AsyncIterator[LiveNetwork]:
        configuration = OverlayConfiguration(heartbeat=2_000_000, request_timeout=300_000, arc=arc, downgrade=downgrade)
        options = OverlayOptions(topic=TOPIC, schema=SCHEMA, grid=GRID, configuration=configuration)
        async with rookery.open("overlay://", options) as first:
            await first.overlay.settled()
            address = "overlay://{}:{}".format(*first.overlay.address)
            opening = lambda number: rookery.open(address, options)  # noqa: E731
            async with LiveNetwork(opening, has_null=True, has_parameters=True, has_wait=False) as network:
                yield network

    return start


@asynccontextmanager
async def island(folder: Path) -> AsyncIterator[LiveNetwork]:
    """Every client is the gateway of a site; all are joined to one that only lives there."""
    hub = IslandOptions(listen=("127.0.0.1", 0), domain_id=new_domain())
    async with rookery.open("island://hub", hub) as first:
        assert first.island.address is not None
        at = "{}:{}".format(*first.island.address)

        def opening(number: int) -> ClientOpening:
            return rookery.open(f"island://site-{number}@{at}", IslandOptions(domain_id=new_domain()))

        async with LiveNetwork(opening, has_null=False, has_parameters=False, has_wait=False) as network:
            yield network


LIVE: dict[str, Reached] = {
    "dds": dds,
    "brokers": brokers,
    "overlay": overlay(),
    "overlay, arcs": overlay(arc=True),
    "overlay, multicast": overlay(downgrade=True),
    "island": island,
}
