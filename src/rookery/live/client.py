"""The client: join a DDS domain, subscribe with a WHERE clause, publish dicts.

    async with rookery.join(domain_id=0) as node:
        async with node.subscribe("quotes", "price < 10", schema={"symbol": "string", "price": "float64"}) as events:
            async for event in events:
                ...

`join` is the only thing that opens sockets. A subscription is an asynchronous iterator over a bounded queue: a consumer
that does not keep up loses the oldest events, and `dropped` counts them; the network is never held up. `publish` does
not wait: it sends, and what gets lost is repaired in the background; `flush` waits until the readers have everything.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

from rookery.discovery import warm as warm_discovery
from rookery.errors import TopicError
from rookery.live.udp import UdpParticipant, open_participant
from rookery.model import Schema
from rookery.participant.event_types import EventType, event_type, infer_schema
from rookery.participant.exchange import Exchange, warm
from rookery.rtps.events import Event, MessageRejected, QualityIncompatible
from rookery.rtps.qos import Durability, QualityOfService, Reliability
from rookery.rtps.types import CdrStruct

__all__ = ["Node", "Subscription", "join"]

_LOG = logging.getLogger("rookery.live")
AnySchema = Schema | CdrStruct | Mapping[str, object]


class Subscription:
    """The events of one subscription, as they come; leave its `async with` to end it."""

    def __init__(self, node: Node, subscription_id: int, *, queue: int) -> None:
        self.subscription_id = subscription_id
        self.dropped = 0
        self._node = node
        self._waiting: deque[dict[str, Any]] = deque()
        self._queue = queue
        self._news = asyncio.Event()
        self._closed = False

    def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        return self

    async def __anext__(self) -> dict[str, Any]:
        while not self._waiting:
            if self._closed:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._waiting.popleft()

    async def __aenter__(self) -> Subscription:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._node.unsubscribe(self)

    def put(self, event: dict[str, Any]) -> None:
        """Queue an event, at the cost of the oldest if there is no room."""
        if len(self._waiting) >= self._queue:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append(event)
        self._news.set()

    def end(self) -> None:
        """Let the iterator end after what is queued."""
        self._closed = True
        self._news.set()


class Node:
    """A member of a DDS domain; made by `join`."""

    def __init__(
        self, open_udp: Callable[[Callable[[Event], None]], UdpParticipant], *, engine: str = "bitmap"
    ) -> None:
        self._subscriptions: dict[int, Subscription] = {}
        self._changed = asyncio.Event()
        self.udp = open_udp(self._on_event)
        self._exchange = Exchange(self.udp.participant, engine=engine)

    def subscribe(
        self,
        topic: str,
        where: str | None = None,
        *,
        schema: AnySchema,
        type_name: str | None = None,
        key: Iterable[str] = (),
        reliable: bool = True,
        transient_local: bool = False,
        queue: int = 10_000,
    ) -> Subscription:
        """Subscribe to the events of a topic that satisfy a WHERE clause; all of them without one.

        `type_name` is the name that the other side gives to the type; the topic's own name unless said otherwise.
        Without `reliable` the reader also takes best-effort writers; with `transient_local` it gets what a writer kept.
        """
        if queue < 1:
            raise TopicError(f"a queue of {queue} events; give at least 1")
        kind = event_type(schema, type_name=type_name or topic, key=key)
        qos = _quality(reliable=reliable, transient_local=transient_local, depth=None)
        number = self._exchange.subscribe(topic, where, type=kind, qos=qos, now=self.udp.now())
        subscription = self._subscriptions[number] = Subscription(self, number, queue=queue)
        self.udp.flush()
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """End a subscription; to leave its `async with` does the same."""
        if self._subscriptions.pop(subscription.subscription_id, None) is not None:
            self._exchange.unsubscribe(subscription.subscription_id, self.udp.now())
            self.udp.flush()
        subscription.end()

    def advertise(
        self,
        topic: str,
        *,
        schema: AnySchema,
        type_name: str | None = None,
        key: Iterable[str] = (),
        reliable: bool = True,
        transient_local: bool = False,
        keep_last: int | None = None,
    ) -> None:
        """Say the type of a topic that this node will publish to, so that readers find it before the first event."""
        kind = event_type(schema, type_name=type_name or topic, key=key)
        self._advertise(topic, kind, _quality(reliable=reliable, transient_local=transient_local, depth=keep_last))

    def publish(self, topic: str, event: Mapping[str, Any]) -> None:
        """Send an event; the first one of a topic that was not advertised shows the type."""
        if self._exchange.writer_of(topic) is None:
            kind = self._exchange.type_of(topic) or event_type(infer_schema(event), type_name=topic)
            self._advertise(topic, kind, _quality(reliable=True, transient_local=False, depth=None))
        self._exchange.publish(topic, event, now=self.udp.now())
        self.udp.flush()

    async def flush(self, topic: str, *, seconds: float = 10.0) -> None:
        """Wait until every reliable reader of the topic has everything; raise `TimeoutError` if that takes longer."""
        participant, writer = self.udp.participant, self._writer(topic)
        async with asyncio.timeout(seconds):
            while not participant.is_acknowledged(writer):
                await asyncio.sleep(0.005)  # acknowledgments are no events

    async def wait_for_readers(self, topic: str, *, count: int = 1, seconds: float = 10.0) -> None:
        """Wait until the topic has so many readers; raise `TimeoutError` if that takes longer."""
        writer = self._writer(topic)
        async with asyncio.timeout(seconds):
            while len(self.udp.participant.matched(writer)) < count:
                self._changed.clear()
                await self._changed.wait()

    async def close(self) -> None:
        """Leave the domain; `join`'s `async with` does it."""
        for subscription in tuple(self._subscriptions.values()):
            subscription.end()
        await self.udp.close()

    def _advertise(self, topic: str, kind: EventType, qos: QualityOfService) -> None:
        self._exchange.advertise(topic, type=kind, qos=qos, now=self.udp.now())
        self.udp.flush()

    def _writer(self, topic: str) -> Any:
        writer = self._exchange.writer_of(topic)
        if writer is None:
            raise TopicError(f"this node does not publish to {topic!r}")
        return writer

    def _on_event(self, event: Event) -> None:
        for delivery in self._exchange.take(event):
            subscription = self._subscriptions.get(delivery.subscription_id)
            if subscription is not None:
                subscription.put(delivery.event)
        if isinstance(event, QualityIncompatible):
            _LOG.warning("no match with %s: %s", event.remote, ", ".join(event.policies))
        elif isinstance(event, MessageRejected):
            _LOG.info("message from %s rejected: %s", event.sender, event.reason)
        self._changed.set()


def _quality(*, reliable: bool, transient_local: bool, depth: int | None) -> QualityOfService:
    return QualityOfService(
        reliability=Reliability.RELIABLE if reliable else Reliability.BEST_EFFORT,
        durability=Durability.TRANSIENT_LOCAL if transient_local else Durability.VOLATILE,
        history_depth=depth,
    )


@asynccontextmanager
async def join(
    *,
    domain_id: int = 0,
    interface: str = "lo",
    name: str = "",
    seconds_of_lease: float = 10.0,
    discovery: str = "simple",
    engine: str = "bitmap",
    **options: Any,
) -> AsyncIterator[Node]:
    """Join a DDS domain; on loopback, unless another interface is named.

    `discovery` is the protocol: `simple` announces everything to everyone, the others (`ribbon`, `cuckoo`, `tree`,
    `bloom`, `hashes`) announce a summary, and endpoints to those who may want them; `cuckoo:patent` is the setting of
    seed 001. `engine` matches what arrives, as in `rookery.matcher`. Further options are those of
    `rookery.live.udp.open_participant`: `networks`, `initial_peers`, `multicast`, `multicast_hops`, `limits`,
    `observer`, `pre_shared_key`.
    """
    lease = round(seconds_of_lease * 1_000_000)
    # Before the first announcement: whoever is announced must not fall silent while it compiles.
    await asyncio.to_thread(warm, engine)
    await asyncio.to_thread(warm_discovery, discovery)
    node = Node(
        lambda on_event: open_participant(
            on_event=on_event,
            domain_id=domain_id,
            interface=interface,
            name=name,
            lease=lease,
            discovery=discovery,
            **options,
        ),
        engine=engine,
    )
    try:
        yield node
    finally:
        await node.close()
