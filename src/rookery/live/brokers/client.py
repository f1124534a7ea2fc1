"""A broker network as a client's network: any broker will do.

What a client does is in its machine (`brokers.client`): how it finds another broker when its own is gone, what it sends
again, what counts once; `live/driver.py` runs it. Here are its socket and the coroutines that wait for it.

Rule: a subscription that waits acknowledges a delivery when the program is done with it. The brokers give a client no
more events than their window before that; what more there is waits with them, up to their backlog for each
subscription. The window is the client's: a subscription that is not read holds up the others of its client.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
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
from rookery.brokers.fitting import EventCheck
from rookery.errors import BrokerError, ClientError, EventError, JoinError, SubscriptionError, TopicError
from rookery.live.admission import new_secret, session_number
from rookery.live.brokers.session_file import SessionFile
from rookery.live.credentials import Credentials
from rookery.live.driver import Driver
from rookery.live.subscription import Subscription
from rookery.live.tcp import Address, Link, LinkSettings, frame_of
from rookery.live.tcp_peers import node_address
from rookery.live.tcp_ports import dial
from rookery.live.transport import AnySchema, DdsWriterOptions, SubscriptionRequest, check_schema, refuse
from rookery.model.schema import Schema
from rookery.model.shapes import Shapes

__all__ = ["BrokerOptions", "BrokerTransport", "open_brokers"]

SECOND = 1_000_000
_REPLIES: msgspec.msgpack.Decoder[FromBroker] = msgspec.msgpack.Decoder(FromBroker)
_encode = msgspec.msgpack.Encoder().encode
_try_to_encode = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True, slots=True)
class BrokerOptions:
    """How to be a client of a broker network."""

    #: What this client proves itself with; the key is the one that clients share, for an operator the brokers'.
    credentials: Credentials = field(default_factory=Credentials)
    #: What this client is to be: "client", or "operator", who may give orders.
    role: str = "client"
    #: Events that may be published and not acknowledged.
    window: int = 65_536
    #: Seconds after which what is not acknowledged is sent again.
    retry: float = 2.0
    #: Seconds without an answer of any broker after which the client gives up.
    attempts: float = 10.0
    #: The secret of a client that was here before and has detached; a new one unless given.
    secret: bytes | None = None
    #: The file that keeps the secret of this program from one start to the next, which makes it the same client.
    session: Path | str | None = None
    #: Limits and heartbeats of the connection.
    links: LinkSettings | None = None


class BrokerTransport:
    """A client's session with the brokers; made by `open_brokers`."""

    default_queue = 10_000
    has_durable = True

    def __init__(self, brokers: tuple[Address, ...], options: BrokerOptions) -> None:
        #: Who has it is this client: brokers are told, subscribers learn the number that is made of it.
        if options.secret is not None and options.session is not None:
            raise ClientError("a secret and a file that has one: give secret= or session=")
        self._session = None if options.session is None else SessionFile(Path(options.session))
        kept = options.secret if self._session is None else self._session.secret
        self._can_return = options.secret is not None or self._session is not None
        self.secret = kept or new_secret()
        identity = session_number(self.secret)
        self._settings = replace(
            options.links or LinkSettings(0),
            identity=identity,
            secret=self.secret,
            role=options.role,
            key=options.credentials.key,
            broker_key=options.credentials.key,
            tls_dial=options.credentials.dialing,
        )
        self.machine = ClientMachine(
            identity,
            brokers,
            window=options.window,
            retry=round(options.retry * SECOND),
            patience=round(options.attempts * SECOND),
            resumed=kept is not None,
            # An earlier life has used numbers, and brokers know them: what has one of these would count as published.
            first=secrets.randbelow(1 << 40) << 20 if kept is not None else 0,
        )
        self._publish = self.machine.publish
        self.schema: Schema | None = None
        #: Reads conditions over that schema; those that differ in their values alone cost little.
        self._shapes: Shapes | None = None
        #: Raises where an event does not fit the schema, as soon as that is known.
        self._fits: Callable[[Mapping[str, Any], bytes], None] = _fits_unknown
        self._topic = ""
        #: The topic, while there is nothing that `publish` would have to raise.
        self._publishable: str | None = None
        self._subscriptions: dict[int, Subscription[Any]] = {}
        self._numbers: dict[Subscription[Any], int] = {}
        #: How many events were refused at a time, why, and the number of the first.
        self._refusals: list[tuple[int, str, int]] = []
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
    def addresses(self) -> list[Address]:
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

    def subscribe(self, request: SubscriptionRequest, subscription: Subscription[Any]) -> None:
        """Ask the brokers for the events of some conditions."""
        self._check(request.topic)
        assert self.schema is not None  # a client that is let in has it
        assert self._shapes is not None
        check_schema(request.topic, request.schema, self.schema)
        if request.dds is not None:
            raise refuse("DDS options", network="a broker network", instead="leave dds= away")
        if request.overflow == "wait" and request.queue is not None:
            raise ClientError("the brokers' window says how many events wait for a client: leave queue= away")
        if request.durable is not None:
            if not self._can_return:
                raise ClientError(
                    "a durable subscription needs a client that can come back: open it with BrokerOptions(session=FILE)"
                )
            if self.machine.is_open(request.durable):
                raise ClientError(f"the durable subscription {request.durable!r} is open already")
        for where, parameters in request.conditions.values():  # a bad one raises here, with its place
            self._shapes.lower(where, parameters or None)
        number = self.machine.subscribe(request.conditions, durable=request.durable)
        self._subscriptions[number], self._numbers[subscription] = subscription, number
        self._driver.flush_soon()

    def unsubscribe(self, subscription: Subscription[Any]) -> None:
        """Let the brokers forget a subscription."""
        number = self._numbers.pop(subscription)
        del self._subscriptions[number]
        self.machine.unsubscribe(number)  # a durable one is only closed
        self._driver.flush_soon()

    def end(self, subscription: Subscription[Any]) -> None:
        """Let the brokers forget a durable subscription that is open, and what waits for it."""
        number = self._numbers.get(subscription)
        if number is not None:
            self.machine.unsubscribe(number, for_good=True)
            self._driver.flush_soon()

    def taken(self, subscription: Subscription[Any], token: DeliveryKey) -> None:
        """Acknowledge a delivery."""
        number = self._numbers.get(subscription)
        if number is not None:  # or its end has acknowledged all of it
            self.machine.acknowledge(number, token)
            self._driver.flush_soon()

    def advertise(self, topic: str, schema: AnySchema, dds: DdsWriterOptions | None) -> None:
        """Compare the schema with the brokers'."""
        self._check(topic)
        assert self.schema is not None  # a client that is let in has it
        check_schema(topic, schema, self.schema)
        if dds is not None:
            raise refuse("DDS options", network="a broker network", instead="leave dds= away")

    def is_in_force(self, subscription: Subscription[Any]) -> bool:
        """Tell whether every zone has a subscription, as far as the present broker has said."""
        return subscription in self._numbers and self.machine.is_in_force(self._numbers[subscription])

    def publish(self, topic: str, event: Mapping[str, Any]) -> None:
        """Send an event; events published in one turn of the loop travel together."""
        if topic != self._publishable:
            self._check(topic)
        plain = event if type(event) is dict else dict(event)
        # Here, since events are packed later, many at once, when nobody can be told whose fault it is.
        try:
            encoded = _try_to_encode(plain)
        except (TypeError, ValueError, OverflowError) as error:
            raise EventError(f"this event cannot be sent to brokers: {error}") from error
        self._fits(plain, encoded)
        self._publish(plain, self._driver.flush_soon())

    async def room(self, topic: str) -> None:
        """Wait until `publish` has room."""
        while not self.machine.has_room:
            self._raise()
            self._news.clear()
            await self._news.wait()

    async def flush(self, topic: str | None, *, seconds: float) -> None:
        """Wait until all that was published is acknowledged: on two disks, unless the brokers promise less.

        Raise `BrokerError` for what was refused, `TimeoutError` if it takes longer.
        """
        if topic is not None:
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
            _, reason, first = refusals[0]
            count = sum(refused for refused, _, _ in refusals)
            raise BrokerError(f"{count} of this client's events were refused, the first is number {first}: {reason}")

    async def status(self, *, sample: bool = False) -> dict[str, Any]:
        """Return what the broker says of itself, perhaps with a sample of its events' places in each zone."""
        answer: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._answers.append(answer)
        self.machine.ask(sample=sample)
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
        if self._session is not None:
            self._session.close()
        if self._dialing is not None:
            self._dialing.cancel()
            await asyncio.gather(self._dialing, return_exceptions=True)
        self._hang_up(reason)

    async def welcomed(self) -> None:
        """Wait until a broker has let this client in."""
        await self._welcomed.wait()
        self._raise()

    def _check(self, topic: str) -> None:
        self._raise()
        if self._driver.is_closed:
            raise ClientError("this client has detached from its brokers: open another one with its secret")
        if topic != self._topic:
            host, port = self.addresses[0]
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
        host, port = _address(node)
        self._refusal = f"the broker at {host}:{port} does not let us in: {reason}"
        self._hang_up(reason)

    def _hang_up(self, reason: str) -> None:
        if self._dialing is not None:
            self._dialing.cancel()  # if it is still at it: nobody waits for it any more
        line, self._line = self._line, None
        if line is not None:
            line.close(reason)

    def _is_congested(self) -> bool:
        """Whether what was sent does not go out: to publish it again would add to that."""
        return self._line is not None and self._line.congested

    def _on_event(self, event: ClientEvent) -> None:
        match event:
            case Delivered():
                subscription = self._subscriptions.get(event.number)
                if subscription is not None:
                    subscription.deliver(event.names, event.events, event.key)
            case BatchAccepted():
                pass
            case BatchRefused(first, count, reason, final, offsets):
                self._obstacle = reason
                if final:
                    self._refusals.append((len(offsets) or count, reason, first + (offsets[0] if offsets else 0)))
            case InForce(number):
                if number in self._subscriptions:
                    self._subscriptions[number].come_into_force()
            case SubscriptionFailed(number, reason):
                if number in self._subscriptions:
                    self._subscriptions[number].reject(SubscriptionError(reason))
            case StatusGiven(document):
                if self._answers:
                    self._answers.pop(0).set_result(document)
            case Attached(welcome):
                self.schema = Schema.from_dict(welcome.schema)
                self._shapes = Shapes(self.schema, wall_time=False)
                self._fits = EventCheck(self.schema)
                self._topic = self._publishable = welcome.topic
                self._welcomed.set()
            case GaveUp():
                self._failure, self._publishable = JoinError(self._refusal), None
                self._welcomed.set()
                for subscription in self._subscriptions.values():
                    subscription.reject(self._failure)
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

    def __init__(self, client: BrokerTransport, broker: Any) -> None:
        self.broker = broker
        self._client = client
        #: The link that was dialed, and the same when it has opened.
        self._dialed: Link | None = None
        self._link: Link | None = None
        #: What waits for the link to open; None once it is over.
        self._unsent: list[bytes] | None = []

    async def dial(self, settings: LinkSettings) -> None:
        try:
            self._dialed = await dial(_address(self.broker), settings, self)
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
        elif self._dialed is not None:
            self._dialed.abort(reason)

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


def _fits_unknown(event: Mapping[str, Any], encoded: bytes) -> None:
    """Nothing is known of the schema yet."""


def _address(broker: Any) -> Address:
    """Return where a broker is: one that was named in full, or one that a broker gave the number of."""
    return node_address(broker) if isinstance(broker, int) else broker


async def open_brokers(brokers: tuple[Address, ...], options: BrokerOptions) -> BrokerTransport:
    """Attach to a broker network through any of these brokers."""
    if not brokers:
        raise JoinError("name a broker to connect to, for example brokers://127.0.0.1:7401")
    made = BrokerTransport(brokers, options)
    try:
        await made.welcomed()
    except BaseException:
        await made.close()
        raise
    return made
