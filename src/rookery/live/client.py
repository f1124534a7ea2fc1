"""The client: subscribe with a WHERE clause, publish dicts, on whatever network `rookery.open` has been given.

    async with rookery.open("brokers://127.0.0.1:7401") as client:
        async with client.subscribe("quotes", "price < 10", overflow="wait") as events:
            client.publish("quotes", {"symbol": "ACME", "price": 9.5})
            await client.flush("quotes")
            async for event in events:
                ...

`publish` does not wait: what cannot be sent on waits in the client, and when too much waits it raises
`HistoryFullError`; `room` and `publish_many` wait. `flush` waits until everything is accepted: by every reliable reader
on DDS, on two disks with brokers unless they promise less, by somebody who wants it in the overlay. To enter a
subscription's `async with` waits until it is in force. What only one network has is behind `dds`, `brokers`, `overlay`
and `island`, which the others refuse.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, get_args

from rookery.errors import ClientError, HistoryFullError, TopicError
from rookery.live.loop_thread import LoopThread
from rookery.live.subscription import Event, Overflow, Subscription
from rookery.live.transport import (
    AnySchema,
    ClientTransport,
    Condition,
    DdsReaderOptions,
    DdsWriterOptions,
    SubscriptionRequest,
    refuse,
)
from rookery.model.parameters import parameter_values

if TYPE_CHECKING:
    from rookery.live.brokers.client import BrokerTransport
    from rookery.live.dds import DdsTransport
    from rookery.live.island import IslandTransport
    from rookery.live.overlay import OverlayTransport

__all__ = ["Client"]

#: Events that are published before the loop's other tasks get their turn.
_TURN = 512


class Client:
    """A client of one network; made by `rookery.open`."""

    def __init__(self, address: str, transport: ClientTransport, *, thread: LoopThread | None = None) -> None:
        #: What it was opened with.
        self.address = address
        self._transport = transport
        self._thread = thread
        self._subscriptions: dict[Subscription[Any], None] = {}
        self._is_closed = False

    def subscribe(
        self,
        topic: str,
        where: str | None = None,
        *,
        overflow: Overflow,
        queue: int | None = None,
        parameters: Sequence[object] | Mapping[str, object] = (),
        schema: AnySchema | None = None,
        durable: str | None = None,
        dds: DdsReaderOptions | None = None,
    ) -> Subscription[Event]:
        """Subscribe to the events of a topic that satisfy a WHERE clause; all of them without one.

        `overflow` says what becomes of events that come faster than they are taken: `"wait"` makes those who send them
        wait, where the network can; `"drop-oldest"` keeps the newest `queue` of them. `parameters` are the values of
        `%0`, `%1`, … in the clause, or a mapping of those of `:name`. DDS has to be told the `schema`; brokers and the
        overlay know it, and compare. A `durable` subscription has a name under which brokers keep it, and what its
        program has not taken, while nobody has it open (`BrokerOptions(session=…)`).
        """
        conditions = {"": (where or "", parameter_values(where or "", parameters))}
        return self._subscribe(topic, conditions, overflow, queue, schema, dds, durable, named=False)

    def subscribe_many(
        self,
        topic: str,
        conditions: Mapping[str, str | Condition | tuple[str, Mapping[str, object]]],
        *,
        overflow: Overflow,
        queue: int | None = None,
        schema: AnySchema | None = None,
        durable: str | None = None,
        dds: DdsReaderOptions | None = None,
    ) -> Subscription[tuple[str, Event]]:
        """Subscribe to many conditions at once, each a text or a text and its parameters.

        The iterator gives (name, event) pairs, one for each condition that an event satisfies.
        """
        entries = {
            name: (one, ()) if isinstance(one, str) else (one[0], parameter_values(*one))
            for name, one in conditions.items()
        }
        return self._subscribe(topic, entries, overflow, queue, schema, dds, durable, named=True)

    def advertise(self, topic: str, *, schema: AnySchema, dds: DdsWriterOptions | None = None) -> None:
        """Say what this client will publish to a topic.

        On DDS readers find the topic before its first event, and nothing has to be guessed from that; brokers and the
        overlay compare the schema with theirs.
        """
        self._check_open()
        self._transport.advertise(topic, schema, dds)

    def publish(self, topic: str, event: Mapping[str, Any]) -> None:
        """Send an event to everyone who wants it."""
        self._check_open()
        self._transport.publish(topic, event)

    async def publish_many(self, topic: str, events: Iterable[Mapping[str, Any]]) -> int:
        """Send events as fast as the network takes them; return how many."""
        count = 0
        for event in events:
            self._check_open()
            while True:
                try:
                    self._transport.publish(topic, event)
                    break
                except HistoryFullError:
                    await self._transport.room(topic)
            count += 1
            if not count % _TURN:
                await asyncio.sleep(0)
        return count

    async def room(self, topic: str) -> None:
        """Wait until `publish` has room."""
        self._check_open()
        await self._transport.room(topic)

    async def flush(self, topic: str | None = None, *, seconds: float = 10.0) -> None:
        """Wait until all that was published, to one topic or to all, is accepted; `TimeoutError` if it takes longer."""
        self._check_open()
        await self._transport.flush(topic, seconds=seconds)

    async def close(self) -> None:
        """End the subscriptions and leave the network; again does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        for subscription in list(self._subscriptions):
            self._unsubscribe(subscription)
        await self._transport.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def is_closed(self) -> bool:
        """Whether it has left the network."""
        return self._is_closed

    # ---- what only one network has ---------------------------------------------------------------------------------

    @property
    def dds(self) -> DdsTransport:
        """The DDS participant of a client of `dds://` or `island://`: `wait_for_readers`, its sockets and counters."""
        from rookery.live.dds import DdsTransport
        from rookery.live.island import IslandTransport

        found = self._transport.dds if isinstance(self._transport, IslandTransport) else self._transport
        if not isinstance(found, DdsTransport):
            raise self._not_on("a DDS domain (dds:// or island://)")
        return found

    @property
    def brokers(self) -> BrokerTransport:
        """The session of a client of `brokers://`: `status`, `detach`, which brokers there are, what came twice."""
        from rookery.live.brokers.client import BrokerTransport

        if not isinstance(self._transport, BrokerTransport):
            raise self._not_on("a broker network (brokers://)")
        return self._transport

    @property
    def overlay(self) -> OverlayTransport:
        """The peer that a client of `overlay://` is: its address, `settled`."""
        from rookery.live.overlay import OverlayTransport

        if not isinstance(self._transport, OverlayTransport):
            raise self._not_on("an overlay (overlay://)")
        return self._transport

    @property
    def island(self) -> IslandTransport:
        """The gateway that a client of `island://` is: its address, `status`, `taken_over`."""
        from rookery.live.island import IslandTransport

        if not isinstance(self._transport, IslandTransport):
            raise self._not_on("an island (island://)")
        return self._transport

    # ---- inside ----------------------------------------------------------------------------------------------------

    def _subscribe(
        self,
        topic: str,
        conditions: Mapping[str, Condition],
        overflow: Overflow,
        queue: int | None,
        schema: AnySchema | None,
        dds: DdsReaderOptions | None,
        durable: str | None,
        *,
        named: bool,
    ) -> Subscription[Any]:
        self._check_open()
        if overflow not in get_args(Overflow):
            raise ClientError(f"there is no overflow {overflow!r}: say {' or '.join(map(repr, get_args(Overflow)))}")
        if queue is not None and queue < 1:
            raise TopicError(f"a queue of {queue} events; give at least 1")
        transport = self._transport
        subscription: Subscription[Any] = Subscription(
            topic,
            named=named,
            overflow=overflow,
            queue=queue or transport.default_queue,
            on_taken=lambda token: transport.taken(subscription, token),
            on_close=self._unsubscribe,
            thread=self._thread,
        )
        if durable is not None and not transport.has_durable:
            raise refuse("durable subscriptions", network=self.address, instead="leave durable= away")
        request = SubscriptionRequest(topic, conditions, overflow, queue, schema, dds, durable)
        transport.subscribe(request, subscription)
        self._subscriptions[subscription] = None
        return subscription

    def _unsubscribe(self, subscription: Subscription[Any]) -> None:
        if self._subscriptions.pop(subscription, subscription) is None:
            self._transport.unsubscribe(subscription)
        subscription.end()

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClientError(f"this client of {self.address} is closed: open another one")

    def _not_on(self, network: str) -> ClientError:
        return ClientError(f"this client is not on {network}: it was opened with {self.address}")
