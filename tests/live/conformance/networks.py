"""The networks that the conformance suite runs on, each behind `PublishSubscribe`.

To add one, write a function like `brokers` and give it a name in `NETWORKS`: an asynchronous context manager that
starts a network of a few nodes for the schema below and gives a function that makes client number n, itself an
asynchronous context manager. Clients of different numbers attach to different nodes where there are several.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from rookery import Schema
from rookery.brokers.flooding import FloodingBroker, Reached
from rookery.errors import SubscriptionError, TopicError
from rookery.live.brokers.client import connect
from rookery.live.brokers.loopback import loopback_brokers
from rookery.live.overlay import join_overlay
from rookery.live.pubsub import PublishSubscribe
from rookery.overlay.configuration import OverlayConfiguration
from rookery.space.grid import CategoricalAxis, Grid, NumericAxis
from rookery.space.notation import read_space

__all__ = ["NETWORKS", "SCHEMA", "TOPIC", "MakeClient"]

SCHEMA = Schema(symbol=str, price=float, number=int)
TOPIC = "quotes"
NODES = 3

MakeClient = Callable[[int], AbstractAsyncContextManager[PublishSubscribe]]


# ---- flooding: the oracle -------------------------------------------------------------------------------------------


class FloodingEvents:
    """The events of a subscription at a flooding node."""

    def __init__(self, client: FloodingClient, name: str) -> None:
        self.name = name
        self.waiting: deque[dict[str, Any]] = deque()
        self.news = asyncio.Event()
        self.ended = False
        self._client = client

    def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        return self

    async def __anext__(self) -> dict[str, Any]:
        while not self.waiting:
            if self.ended:
                raise StopAsyncIteration
            self.news.clear()
            await self.news.wait()
        return self.waiting.popleft()

    async def __aenter__(self) -> FloodingEvents:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.unsubscribe(self)


class FloodingClient:
    """A client of one flooding broker; messages between brokers are carried at once."""

    def __init__(self, nodes: dict[int, FloodingBroker], clients: list[FloodingClient], number: int) -> None:
        self._nodes = nodes
        self._clients = clients
        self._node = nodes[number % len(nodes)]
        self._number = number
        self._made = 0
        self._events: dict[str, FloodingEvents] = {}

    def subscribe(self, topic: str, where: str | None = None) -> FloodingEvents:
        self._check(topic)
        self._made += 1
        events = FloodingEvents(self, f"{self._number}/{self._made}")
        self._node.subscribe(events.name, where or "")
        self._events[events.name] = events
        return events

    def unsubscribe(self, events: FloodingEvents) -> None:
        if self._events.pop(events.name, None) is not None:
            self._node.unsubscribe(events.name)
        events.ended = True
        events.news.set()

    def publish(self, topic: str, event: Mapping[str, Any]) -> None:
        self._check(topic)
        self._node.publish(event)
        waiting = deque((self._node.id, *sent) for sent in self._node.messages_to_send())
        while waiting:
            sender, receiver, message = waiting.popleft()
            self._nodes[receiver].receive(message, sender, now=0)
            waiting += [(receiver, *sent) for sent in self._nodes[receiver].messages_to_send()]
        for node in self._nodes.values():
            while (happened := node.next_event()) is not None:
                for client in self._clients:
                    client.take(happened)

    def take(self, delivered: Reached) -> None:
        events = self._events.get(delivered.subscription_id)
        if events is not None:
            events.waiting.append(dict(delivered.event))
            events.news.set()

    async def flush(self, topic: str, *, seconds: float = 10.0) -> None:
        self._check(topic)

    async def close(self) -> None:
        for events in list(self._events.values()):
            self.unsubscribe(events)

    def _check(self, topic: str) -> None:
        if topic != TOPIC:
            raise TopicError(f"this network has {TOPIC!r}")


@asynccontextmanager
async def flooding(folder: Path) -> AsyncIterator[MakeClient]:
    nodes = {number: FloodingBroker(number, SCHEMA, [(number + 1) % NODES]) for number in range(NODES)}
    clients: list[FloodingClient] = []

    @asynccontextmanager
    async def client(number: int) -> AsyncIterator[PublishSubscribe]:
        made = FloodingClient(nodes, clients, number)
        clients.append(made)
        yield made
        await made.close()

    yield client


# ---- the K-D brokers, live ------------------------------------------------------------------------------------------


@asynccontextmanager
async def brokers(folder: Path) -> AsyncIterator[MakeClient]:
    space = read_space("price:0:1000,symbol", SCHEMA)
    async with loopback_brokers(NODES, topic=TOPIC, space=space, data=folder, beat=0.5, refresh=5.0) as addresses:

        @asynccontextmanager
        async def client(number: int) -> AsyncIterator[PublishSubscribe]:
            async with connect(addresses[number % NODES]) as made:
                yield made

        yield client


# ---- the overlay, live ----------------------------------------------------------------------------------------------


async def overlay(arc: bool = False, multicast: bool = False) -> AsyncIterator[MakeClient]:
    """Every client is a peer; a first one that only lives there is what the others join through."""
    axes = [CategoricalAxis("symbol", ("ACME", "BOLT", "ZULU")), NumericAxis("price", tuple(range(0, 1001, 125)))]
    configuration = OverlayConfiguration(arc=arc, downgrade=multicast, heartbeat=2_000_000, request_timeout=300_000)
    options: dict[str, Any] = {"schema": SCHEMA, "grid": Grid(axes), "configuration": configuration}
    async with join_overlay(topic=TOPIC, **options) as first:
        await first.settled()

        @asynccontextmanager
        async def client(number: int) -> AsyncIterator[PublishSubscribe]:
            async with join_overlay(topic=TOPIC, join=[first.address], **options) as made:
                yield made

        yield client


@asynccontextmanager
async def overlay_by_flooding(folder: Path) -> AsyncIterator[MakeClient]:
    async for network in overlay():
        yield network


@asynccontextmanager
async def overlay_by_arcs(folder: Path) -> AsyncIterator[MakeClient]:
    async for network in overlay(arc=True):
        yield network


@asynccontextmanager
async def overlay_by_multicast(folder: Path) -> AsyncIterator[MakeClient]:
    async for network in overlay(multicast=True):
        yield network


NETWORKS: dict[str, Callable[[Path], AbstractAsyncContextManager[MakeClient]]] = {
    "flooding": flooding,
    "brokers": brokers,
    "overlay": overlay_by_flooding,
    "overlay, arcs": overlay_by_arcs,
    "overlay, multicast": overlay_by_multicast,
}
#: What a network raises for a condition that cannot be.
REFUSALS = (SubscriptionError,)
