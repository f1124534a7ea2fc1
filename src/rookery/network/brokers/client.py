"""The client of a broker network: subscribe with a WHERE clause, publish dicts; any broker will do.

    async with rookery.connect("127.0.0.1:7401") as client:
        async with client.subscribe("quotes", "price < 10") as events:
            async for event in events:
                ...

The interface is `PublishSubscribe` (`pubsub.py`). A client attaches to one broker and learns of others; when its broker
is gone it attaches to another one, subscribes again under the same names and sends again what was not acknowledged.
Subscriptions have versions that the client counts, whatever its clock says (`versions.py`). Events are numbered by
their publisher and subscriptions remember the numbers they have had, so whatever is sent again is counted once. An
event is confirmed when the program has taken it: what a slow program leaves waits at the brokers.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from rookery.errors import BrokerError, HistoryFullError, JoinError, SubscriptionError, TopicError
from rookery.model.schema import Schema
from rookery.network.brokers.feed import Feed
from rookery.network.brokers.messages import (
    Ask,
    Deliver,
    FromBroker,
    FromClient,
    Offer,
    Place,
    Rejected,
    Release,
    Status,
    Subscribe,
    Subscribed,
    Taken,
    Unsubscribe,
    Welcome,
)
from rookery.network.brokers.settings import parse_address
from rookery.network.tcp import Address, Link, LinkSettings, dial, frame_of
from rookery.routing.brokers.parcels import MALFORMED, Accepted, Refused, Superseded, parcel_of
from rookery.routing.brokers.versions import Versions

__all__ = ["BrokerClient", "connect"]

_REPLIES: msgspec.msgpack.Decoder[FromBroker] = msgspec.msgpack.Decoder(FromBroker)
_encode = msgspec.msgpack.Encoder().encode
#: Events of one parcel, at most.
PARCEL = 1024


@dataclass(slots=True)
class Unacknowledged:
    """A parcel on its way."""

    frame: bytes
    accepted: set[int]
    count: int
    sent: float


class BrokerClient:
    """A client; made by `connect`."""

    def __init__(
        self, brokers: tuple[Address, ...], settings: LinkSettings, *, window: int, retry: float, attempts: float
    ) -> None:
        self.identity = settings.identity
        self._settings = settings
        self._window = window
        self._retry = retry
        self._attempts = attempts
        self.brokers = list(brokers)
        self.topic = ""
        self.schema: Schema | None = None
        #: How often it has attached to a broker.
        self.attachments = 0
        self._link: Link | None = None
        self._feeds: dict[int, Feed] = {}
        self._feed_of: dict[str, tuple[Feed, str]] = {}
        self._feed_count = 0
        self._versions = Versions()
        self._events: list[dict[str, Any]] = []
        self._unacknowledged: dict[int, Unacknowledged] = {}
        self._in_flight = 0
        self._sequence = 0
        self._refusals: list[str] = []
        #: Why some broker could not take a parcel for now.
        self._obstacle = ""
        self._taken: list[tuple[int, int]] = []
        self._scheduled = False
        self._news = asyncio.Event()
        self._welcomed = asyncio.Event()
        self._answers: list[asyncio.Future[dict[str, Any]]] = []
        self._lost = asyncio.Event()
        self._closed = False
        self._failure: Exception | None = None
        self._loop = asyncio.get_running_loop()
        self._runner = self._loop.create_task(self._run())

    # ---- for the program -----------------------------------------------------------------------------------------

    def subscribe(self, topic: str, where: str | None = None, *, parameters: tuple[object, ...] = ()) -> Feed:
        """Subscribe to the events that satisfy a WHERE clause; all of them without one."""
        return self._subscribe(topic, {"": (where or "", parameters)}, named=False)

    def subscribe_many(self, topic: str, conditions: Mapping[str, str | tuple[str, tuple[object, ...]]]) -> Feed:
        """Subscribe to many conditions at once, each a text or a text and its parameters.

        The iterator gives (name, event) pairs.
        """
        entries = {name: (one, ()) if isinstance(one, str) else one for name, one in conditions.items()}
        return self._subscribe(topic, entries, named=True)

    def publish(self, topic: str, event: Mapping[str, Any]) -> None:
        """Send an event; events published in one turn of the loop travel together."""
        self._check(topic)
        if self._in_flight >= self._window:
            raise HistoryFullError(f"{self._in_flight} events are not acknowledged: await room() or flush()")
        self._in_flight += 1
        self._events.append(event if type(event) is dict else dict(event))
        if len(self._events) >= PARCEL:
            self._pack()
        elif not self._scheduled:
            self._schedule()

    async def room(self) -> None:
        """Wait until `publish` has room."""
        while self._in_flight >= self._window:
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
                while self._in_flight and not self._refusals:
                    self._raise()
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            if not self._obstacle:
                raise
            raise BrokerError(f"{self._in_flight} events are not acknowledged: {self._obstacle}") from None
        if self._refusals:
            refusals, self._refusals = self._refusals, []
            raise BrokerError(f"{len(refusals)} parcels were refused: {refusals[0]}")

    async def status(self) -> dict[str, Any]:
        """Return what the broker says of itself."""
        answer: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._answers.append(answer)
        self._say(Ask())
        return await answer

    def order(self, request: Release | Place) -> None:
        """Tell the broker that this client is attached to to move (`resplit.py`)."""
        self._say(request)

    async def close(self) -> None:
        """End the subscriptions and leave."""
        if self._closed:
            return
        for feed in list(self._feeds.values()):
            self.unsubscribe(feed)
        self._flush()
        self._closed = True
        self._runner.cancel()
        await asyncio.gather(self._runner, return_exceptions=True)
        if self._link is not None:
            self._link.close("goodbye")
        for answer in self._answers:
            answer.cancel()

    async def detach(self) -> None:
        """Leave and let the subscriptions stand: the brokers keep their events, within bounds."""
        self._closed = True
        self._runner.cancel()
        await asyncio.gather(self._runner, return_exceptions=True)
        if self._link is not None:
            self._link.close("back soon")

    # ---- subscriptions -------------------------------------------------------------------------------------------

    def _subscribe(self, topic: str, conditions: Mapping[str, tuple[str, tuple[object, ...]]], *, named: bool) -> Feed:
        self._check(topic)
        self._feed_count += 1
        number = self._feed_count
        wires = {f"{self.identity:x}/{number}/{name}": (name, *entry) for name, entry in conditions.items()}
        feed = Feed(number, wires, named=named, over=self.unsubscribe)
        self._feeds[number] = feed
        for wire, (name, _, _) in wires.items():
            self._feed_of[wire] = (feed, name)
        self._place(feed)
        return feed

    def _place(self, feed: Feed) -> None:
        feed.waiting = set(feed.wires)
        for wire in feed.wires:
            self._send(feed, wire)

    def _send(self, feed: Feed, wire: str) -> None:
        """Send a subscription as the latest: it may go to another broker than before."""
        version = self._versions.next(wire)
        if version is None:
            feed.reject(SubscriptionError("the versions of this client are used up: connect anew"))
            return
        _, where, parameters = feed.wires[wire]
        self._say(Subscribe(wire, version, where, parameters))

    def unsubscribe(self, feed: Feed) -> None:
        """End a subscription; to leave its `async with` does the same."""
        if self._feeds.pop(feed.number, None) is not None:
            for wire in feed.wires:
                self._feed_of.pop(wire, None)
                self._versions.forget(wire)
                self._say(Unsubscribe(wire))
        feed.end()

    def _confirm(self, key: tuple[int, int]) -> None:
        self._taken.append(key)
        if not self._scheduled:
            self._schedule()

    # ---- sending -------------------------------------------------------------------------------------------------

    def _schedule(self) -> None:
        self._scheduled = True
        self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._scheduled = False
        if self._events:
            self._pack()
        if self._taken:
            taken, self._taken = self._taken, []
            self._say(Taken(tuple(taken)))

    def _pack(self) -> None:
        events, self._events = self._events, []
        parcel = parcel_of(self.identity, self._sequence, events)
        frame = frame_of(_encode(Offer(parcel)))
        self._unacknowledged[self._sequence] = Unacknowledged(frame, set(), len(events), self._loop.time())
        self._sequence += len(events)
        if self._link is not None:
            self._link.send_framed(frame)

    def _say(self, request: FromClient) -> None:
        if self._link is not None:
            self._link.send(_encode(request))

    def _check(self, topic: str) -> None:
        self._raise()
        if self._closed:
            raise BrokerError("this client is closed")
        if topic != self.topic:
            raise TopicError(f"the brokers at {self.brokers[0][0]}:{self.brokers[0][1]} serve {self.topic!r}")

    def _raise(self) -> None:
        if self._failure is not None:
            raise self._failure

    # ---- the broker's side ---------------------------------------------------------------------------------------

    def opened(self, link: Link) -> None:
        """The broker speaks first."""

    def received(self, link: Link, frames: list[bytes]) -> None:
        """Take in what the broker says."""
        for frame in frames:
            try:
                reply = _REPLIES.decode(frame)
            except MALFORMED:
                self._settings.faults["malformed reply"] += 1
                link.close("malformed reply")
                return
            match reply:
                case Deliver(owner, notice):
                    self._deliver(owner, notice)
                case Accepted(_, first, offsets):
                    self._accepted(first, offsets)
                case Refused(_, first, reason, final):
                    self._obstacle = reason
                    gone = self._unacknowledged.pop(first, None) if final else None
                    if gone is not None:
                        self._in_flight -= gone.count
                        self._refusals.append(reason)
                case Subscribed(name, version):
                    found = self._feed_of.get(name)
                    if found is not None and self._versions.is_current(name, version):
                        found[0].placed(name)
                case Superseded(name, _, stored):
                    found = self._feed_of.get(name)
                    if found is not None and self._versions.is_beaten(name, stored):
                        self._send(found[0], name)
                case Rejected(name, reason):
                    found = self._feed_of.get(name)
                    if found is not None:
                        found[0].reject(SubscriptionError(reason))
                case Status(document):
                    if self._answers:
                        self._answers.pop(0).set_result(document)
                case Welcome():
                    self._welcome(link, reply)
        self._news.set()

    def writable(self, link: Link) -> None:
        """The window bounds what waits here."""

    def closed(self, link: Link, reason: str) -> None:
        """Find another broker."""
        self._link = None
        self._lost.set()

    def _welcome(self, link: Link, welcome: Welcome) -> None:
        if self.topic and welcome.topic != self.topic:
            link.close("another topic")
            return
        self.topic = welcome.topic
        self.schema = Schema.from_dict(welcome.schema)
        self.brokers = list(dict.fromkeys([*((str(h), int(p)) for h, p in welcome.brokers), *self.brokers]))[:32]
        self._link = link
        self.attachments += 1
        self._versions.learn(welcome.version)
        for feed in self._feeds.values():
            self._place(feed)
        waiting = list(self._unacknowledged.values())
        if waiting:
            link.send_framed(b"".join(one.frame for one in waiting))
        self._welcomed.set()

    def _deliver(self, owner: int, notice: Any) -> None:
        key = (owner, notice.part)
        names = {*notice.every, *notice.names}
        feeds = {found[0] for name in names if (found := self._feed_of.get(name)) is not None}
        if not feeds:
            self._confirm(key)
            return
        remaining = [len(feeds)]

        def taken() -> None:
            remaining[0] -= 1
            if not remaining[0]:
                self._confirm(key)

        for feed in feeds:
            feed.take(notice, taken)

    def _accepted(self, first: int, offsets: tuple[int, ...]) -> None:
        waiting = self._unacknowledged.get(first)
        if waiting is None:
            return
        waiting.accepted.update(offsets)
        if not offsets or len(waiting.accepted) >= waiting.count:
            del self._unacknowledged[first]
            self._in_flight -= waiting.count

    async def _run(self) -> None:
        """Stay attached to some broker; send again what is not acknowledged for long."""
        pause, refused_since = 0.05, self._loop.time()
        while not self._closed:
            address = self.brokers[0]
            self._lost.clear()
            try:
                await dial(address, self._settings, self)
                lost = self._loop.create_task(self._lost.wait())
                try:
                    while not lost.done():
                        await asyncio.wait([lost], timeout=self._retry)
                        self._send_again()
                        if self._link is not None:
                            pause, refused_since = 0.05, self._loop.time()
                finally:
                    lost.cancel()
            except JoinError as error:
                if self._loop.time() - refused_since > self._attempts:
                    self._failure = error
                    self._news.set()
                    self._welcomed.set()
                    for feed in self._feeds.values():
                        feed.reject(error)
                    return
            self.brokers.append(self.brokers.pop(0))
            await asyncio.sleep(pause)
            pause = min(1.0, pause * 1.5)

    def _send_again(self) -> None:
        now = self._loop.time()
        again = [one for one in self._unacknowledged.values() if now - one.sent > self._retry]
        if again and self._link is not None and not self._link.congested:
            for one in again:
                one.sent = now
            self._link.send_framed(b"".join(one.frame for one in again))

    async def welcomed(self) -> None:
        """Wait until a broker has let this client in."""
        await self._welcomed.wait()
        self._raise()


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
