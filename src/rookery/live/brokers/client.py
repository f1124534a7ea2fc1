"""The client of a broker network: subscribe with a WHERE clause, publish dicts; any broker will do.

    async with rookery.connect("127.0.0.1:7401") as client:
        async with client.subscribe("quotes", "price < 10") as events:
            async for event in events:
                ...

The interface is `PublishSubscribe` (`pubsub.py`). What a client does is in its machine (`brokers.client`): how
it finds another broker when its own is gone, what it sends again, what counts once; `live/driver.py` runs it. Here are
its socket and the coroutines that wait for it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import msgspec

from rookery.brokers.batches import MALFORMED
from rookery.brokers.client import ClientMachine
from rookery.brokers.client_events import (
    Attached,
    BatchAccepted,
    BatchRefused,
    ClientEvent,
    Delivered,
    DeliveryKey,
    GaveUp,
    InForce,
    StatusGiven,
    SubscriptionFailed,
)
from rookery.brokers.client_messages import FromBroker, RequestZone, TransferZone
from rookery.errors import BrokerError, JoinError, SubscriptionError, TopicError
from rookery.live.brokers.feed import Feed
from rookery.live.brokers.settings import parse_address
from rookery.live.driver import Driver
from rookery.live.tcp import Address, Link, LinkSettings, dial, frame_of
from rookery.live.tcp_peers import node_address
from rookery.model.schema import Schema

__all__ = ["BrokerClient", "connect"]

SECOND = 1_000_000
_REPLIES: msgspec.msgpack.Decoder[FromBroker] = msgspec.msgpack.Decoder(FromBroker)
_encode = msgspec.msgpack.Encoder().encode


class BrokerClient:
    """A client; made by `connect`."""

    def __init__(
        self, brokers: tuple[Address, ...], settings: LinkSettings, *, window: int, retry: float, attempts: float
    ) -> None:
        self._settings = settings
        self.machine = ClientMachine(
            settings.identity,
            brokers,
            window=window,
            retry=round(retry * SECOND),
            patience=round(attempts * SECOND),
        )
        self._publish = self.machine.publish
        self.schema: Schema | None = None
        self._topic = ""
        #: The topic, while there is nothing that `publish` would have to raise.
        self._publishable: str | None = None
        self._feeds: dict[int, Feed] = {}
        self._refusals: list[str] = []
        #: Why some broker could not take a batch for now.
        self._obstacle = ""
        self._failure: Exception | None = None
        #: Why the last broker that was tried is not spoken to.
        self._refusal = ""
        self._line: _Line | None = None
        self._dialing: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._welcomed = asyncio.Event()
        self._answers: list[asyncio.Future[dict[str, Any]]] = []
        self._loop = asyncio.get_running_loop()
        self._driver = Driver(self.machine, transport=self, on_event=self._on_event, is_held=self._is_congested)
        self.machine.start(self._driver.now())
        self._driver.flush()

    # ---- for the program -----------------------------------------------------------------------------------------

    @property
    def identity(self) -> int:
        """The number of this client: its events are named by it."""
        return self.machine.identity

    @property
    def topic(self) -> str:
        """The topic that the brokers serve."""
        return self._topic

    @property
    def brokers(self) -> list[Address]:
        """Where brokers are, the present one first."""
        return list(dict.fromkeys(map(_address, self.machine.brokers)))

    @property
    def attachments(self) -> int:
        """How often it has attached to a broker."""
        return self.machine.attachments

    @property
    def repeated(self) -> int:
        """How many matches came again, and were dropped."""
        return self.machine.repeated

    def subscribe(self, topic: str, where: str | None = None, *, parameters: tuple[object, ...] = ()) -> Feed:
        """Subscribe to the events that satisfy a WHERE clause; all of them without one."""
        return self._subscribe(topic, {"": (where or "", parameters)}, named=False)

    def subscribe_many(self, topic: str, conditions: Mapping[str, str | tuple[str, tuple[object, ...]]]) -> Feed:
        """Subscribe to many conditions at once, each a text or a text and its parameters.

        The iterator gives (name, event) pairs.
        """
        entries = {name: (one, ()) if isinstance(one, str) else one for name, one in conditions.items()}
        return self._subscribe(topic, entries, named=True)

    def unsubscribe(self, feed: Feed) -> None:
        """End a subscription; to leave its `async with` does the same."""
        if self._feeds.pop(feed.number, None) is not None:
            self.machine.unsubscribe(feed.number)
            self._driver.flush_soon()
        feed.end()

    def publish(self, topic: str, event: Mapping[str, Any]) -> None:
        """Send an event; events published in one turn of the loop travel together."""
        if topic != self._publishable:
            self._check(topic)
        self._publish(event if type(event) is dict else dict(event), self._driver.flush_soon())

    async def room(self) -> None:
        """Wait until `publish` has room."""
        while not self.machine.has_room:
            self._raise()
            self._news.clear()
            await self._news.wait()

    async def flush(self, topic: str = "", *, seconds: float = 10.0) -> None:
        """Wait until all that was published is acknowledged: on two disks, unless the brokers promise less.

        Raise `BrokerError` for what was refused, `TimeoutError` if it takes longer.
        """
        if topic:
            self._check(topic)
        self._obstacle = ""
        try:
            async with asyncio.timeout(seconds):
                while self.machine.in_flight and not self._refusals:
                    self._raise()
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            if not self._obstacle:
                raise
            raise BrokerError(f"{self.machine.in_flight} events are not acknowledged: {self._obstacle}") from None
        if self._refusals:
            refusals, self._refusals = self._refusals, []
            raise BrokerError(f"{len(refusals)} batches were refused: {refusals[0]}")

    async def status(self) -> dict[str, Any]:
        """Return what the broker says of itself."""
        answer: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._answers.append(answer)
        self.machine.ask()
        self._driver.flush()
        return await answer

    def order(self, request: TransferZone | RequestZone) -> None:
        """Tell the broker that this client is attached to to move (`resplit.py`)."""
        self.machine.order(request)
        self._driver.flush()

    async def close(self) -> None:
        """End the subscriptions and leave."""
        if self._driver.is_closed:
            return
        for feed in list(self._feeds.values()):
            self.unsubscribe(feed)
        self.machine.close()
        self._driver.flush()
        await self._leave("goodbye")
        for answer in self._answers:
            answer.cancel()

    async def detach(self) -> None:
        """Leave and let the subscriptions stand: the brokers keep their events, within bounds."""
        await self._leave("back soon")

    async def _leave(self, reason: str) -> None:
        self._publishable = None
        self._driver.close()
        if self._dialing is not None:
            self._dialing.cancel()
            await asyncio.gather(self._dialing, return_exceptions=True)
        self._hang_up(reason)

    async def welcomed(self) -> None:
        """Wait until a broker has let this client in."""
        await self._welcomed.wait()
        self._raise()

    def _subscribe(self, topic: str, conditions: Mapping[str, tuple[str, tuple[object, ...]]], *, named: bool) -> Feed:
        self._check(topic)
        feed = Feed(named=named, acknowledge=self._acknowledge, over=self.unsubscribe)
        feed.number = self.machine.subscribe(conditions)
        self._feeds[feed.number] = feed
        self._driver.flush_soon()
        return feed

    def _acknowledge(self, feed: Feed, key: DeliveryKey) -> None:
        self.machine.acknowledge(feed.number, key)
        self._driver.flush_soon()

    def _check(self, topic: str) -> None:
        self._raise()
        if self._driver.is_closed:
            raise BrokerError("this client is closed")
        if topic != self._topic:
            host, port = self.brokers[0]
            raise TopicError(f"the brokers at {host}:{port} serve {self._topic!r}")

    def _raise(self) -> None:
        if self._failure is not None:
            raise self._failure

    # ---- the transport of the driver -------------------------------------------------------------------------------

    def send(self, receiver: Any, messages: list[Any]) -> None:
        """Send to a broker; the first message dials it."""
        if self._line is None or self._line.broker != receiver:
            self._dial(receiver)
        assert self._line is not None
        self._line.send(b"".join([frame_of(_encode(message)) for message in messages]))

    def disconnect(self, node: Any, reason: str) -> None:
        """Let go of the broker."""
        self._hang_up(reason)

    def _hang_up(self, reason: str) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.close(reason)

    def _is_congested(self) -> bool:
        """Whether what was sent does not go out: to publish it again would add to that."""
        return self._line is not None and self._line.congested

    def _on_event(self, event: ClientEvent) -> None:
        match event:
            case Delivered():
                feed = self._feeds.get(event.number)
                if feed is not None:
                    feed.take(event)
            case BatchAccepted():
                pass
            case BatchRefused(_, _, reason, final):
                self._obstacle = reason
                if final:
                    self._refusals.append(reason)
            case InForce(number):
                if number in self._feeds:
                    self._feeds[number].in_force()
            case SubscriptionFailed(number, reason):
                if number in self._feeds:
                    self._feeds[number].reject(SubscriptionError(reason))
            case StatusGiven(document):
                if self._answers:
                    self._answers.pop(0).set_result(document)
            case Attached(welcome):
                self.schema = Schema.from_dict(welcome.schema)
                self._topic = self._publishable = welcome.topic
                self._welcomed.set()
            case GaveUp():
                self._failure, self._publishable = JoinError(self._refusal), None
                self._welcomed.set()
                for feed in self._feeds.values():
                    feed.reject(self._failure)
        self._news.set()

    # ---- the line to the broker ----------------------------------------------------------------------------------

    def _dial(self, broker: Any) -> None:
        self._hang_up("elsewhere now")
        self._line = _Line(self, broker)
        self._dialing = self._loop.create_task(self._line.dial(self._settings))

    def take(self, line: _Line, frames: list[bytes]) -> None:
        """Take in what the broker says."""
        if line is not self._line:
            return
        replies: list[FromBroker] = []
        for frame in frames:
            try:
                replies.append(_REPLIES.decode(frame))
            except MALFORMED:
                self._settings.faults["malformed reply"] += 1
                line.close("malformed reply")
                return
        self._driver.receive(replies, line.broker)

    def lost(self, line: _Line, reason: str) -> None:
        """Find another broker."""
        if line is self._line and not self._driver.is_closed:
            self._line, self._refusal = None, reason
            self._driver.lose(line.broker)


class _Line:
    """One attempt to speak to one broker: dialed, perhaps opened, once over."""

    def __init__(self, client: BrokerClient, broker: Any) -> None:
        self.broker = broker
        self._client = client
        self._link: Link | None = None
        #: What waits for the link to open; None once it is over.
        self._unsent: list[bytes] | None = []

    async def dial(self, settings: LinkSettings) -> None:
        try:
            await dial(_address(self.broker), settings, self)
        except JoinError as error:
            self._client.lost(self, str(error))

    def send(self, frames: bytes) -> None:
        if self._link is not None:
            self._link.send_framed(frames)
        elif self._unsent is not None:
            self._unsent.append(frames)

    def close(self, reason: str) -> None:
        self._unsent = None
        if self._link is not None:
            self._link.close(reason)

    @property
    def congested(self) -> bool:
        return self._link is not None and self._link.congested

    def opened(self, link: Link) -> None:
        """Send what waits for the link."""
        if self._unsent is None:
            link.close("elsewhere now")
            return
        self._link = link
        if self._unsent:
            link.send_framed(b"".join(self._unsent))

    def received(self, link: Link, frames: list[bytes]) -> None:
        self._client.take(self, frames)

    def writable(self, link: Link) -> None:
        """The window bounds what waits here."""

    def closed(self, link: Link, reason: str) -> None:
        host, port = _address(self.broker)
        self._client.lost(self, f"the broker at {host}:{port} does not let us in: {reason}")


def _address(broker: Any) -> Address:
    """Return where a broker is: one that was named in full, or one that a broker gave the number of."""
    return node_address(broker) if isinstance(broker, int) else broker


@asynccontextmanager
async def connect(
    *brokers: str,
    key: bytes | None = None,
    tls: Any = None,
    window: int = 65_536,
    retry: float = 2.0,
    attempts: float = 10.0,
    settings: LinkSettings | None = None,
) -> AsyncIterator[BrokerClient]:
    """Attach to a broker network through any of these brokers (`host:port`).

    `window` events may be published and not acknowledged; after `retry` seconds they are sent again; when no broker has
    answered for `attempts` seconds the client gives up.
    """
    if not brokers:
        raise JoinError("name a broker to connect to, for example 127.0.0.1:7401")
    identity = int.from_bytes(os.urandom(8), "big") >> 1
    links = replace(settings or LinkSettings(0), identity=identity, role="client", key=key, tls_dial=tls)
    addresses = tuple(map(parse_address, brokers))
    client = BrokerClient(addresses, links, window=window, retry=retry, attempts=attempts)
    try:
        await client.welcomed()
        yield client
    finally:
        await client.close()
