"""The connection of a client to a live broker: frames become requests for the machine, its replies become frames.

Rule: what a client may not do is refused here, before the machine hears of it. Orders are an operator's; who may
publish and who may subscribe is in the rights, by the name in the certificate.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from rookery.brokers.batches import MALFORMED, Refused
from rookery.brokers.client_messages import (
    FromBroker,
    FromClient,
    PublishBatch,
    RequestZone,
    Subscribe,
    SubscribeMany,
    SubscriptionRejected,
    TransferZone,
)
from rookery.live.brokers.pace import Pace
from rookery.live.slices import Slices
from rookery.live.tcp import Link
from rookery.machine import ClientId

if TYPE_CHECKING:
    from rookery.live.brokers.server import LiveBroker

__all__ = ["Session"]

_REQUESTS: msgspec.msgpack.Decoder[FromClient] = msgspec.msgpack.Decoder(FromClient)


class Session:
    """A client at the broker that it is connected to."""

    def __init__(self, broker: LiveBroker, link: Link) -> None:
        self.link = link
        self.client = ClientId(link.identity)
        self._broker = broker
        self._slices: Slices[bytes] = Slices(self._take, payload=bytes)
        self._pace = Pace(batches=broker.settings.batches_per_second, events=broker.settings.events_per_second)
        #: When a client that has published too much is read from again.
        self._resuming: asyncio.TimerHandle | None = None
        name = "" if link.certificate is None else link.certificate.name
        rights, topic = broker.settings.rights, broker.settings.topic
        self._may_publish = rights is None or rights.may(name, "publish", topic)
        self._may_subscribe = rights is None or rights.may(name, "subscribe", topic)

    def opened(self, link: Link) -> None:
        """The client speaks first."""
        self._broker.arrived(self)

    def received(self, link: Link, frames: list[bytes]) -> None:
        """Do what the client asks, in turns; while some of it waits, no more is read."""
        self._slices.add(frames)
        if self._slices:
            link.pause()

    def _take(self, frames: list[bytes]) -> None:
        """Hand over some of what the client asks; its batches go into the machine together."""
        broker = self._broker
        requests: list[FromClient] = []
        try:
            for frame in frames:
                request = _REQUESTS.decode(frame)
                if self._is_permitted(request):
                    requests.append(request)
        except MALFORMED:
            self.link.let_go("malformed request")
        if broker.is_session(self):
            broker.driver.receive(requests, self.client)
        pause = self._pace.spend(requests, asyncio.get_running_loop().time())
        if pause:
            broker.machine.counters["throttled"] += 1
            self.link.pause()
            self._resuming = asyncio.get_running_loop().call_later(pause, self._resume)
        else:
            self._resume()

    def _resume(self) -> None:
        self._resuming = None
        if not self._slices and not self._broker.is_paused:
            self.link.resume()

    def _is_permitted(self, request: FromClient) -> bool:
        """Tell whether this client may ask that; where not, it is told, or its link is closed."""
        refused: FromBroker
        if isinstance(request, PublishBatch) and not self._may_publish:
            batch = request.batch
            refused = Refused(batch.publisher, batch.first, "you may not publish to this topic: ask for the right")
        elif isinstance(request, SubscribeMany) and not self._may_subscribe:
            for one in request.subscriptions:
                self._is_permitted(one)  # each is told
            return False
        elif isinstance(request, Subscribe) and not self._may_subscribe:
            refused = SubscriptionRejected(request.name, "you may not subscribe to this topic: ask for the right")
        elif isinstance(request, TransferZone | RequestZone) and self.link.role != "operator":
            self.link.let_go("not an operator")
            return False
        else:
            return True
        self._broker.machine.counters["without right"] += 1
        self._broker.send(self.client, [refused])
        return False

    def writable(self, link: Link) -> None:
        """What waits for this client is kept by the owners, not here."""

    def closed(self, link: Link, reason: str) -> None:
        """The client is away."""
        if self._resuming is not None:
            self._resuming.cancel()
        self._broker.departed(self)
