"""The connection of a client to a live broker: frames become requests for the machine, its replies become frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rookery.brokers.batches import MALFORMED
from rookery.brokers.client_messages import FromClient
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
        self._slices: Slices[bytes] = Slices(self._take)

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
                requests.append(_REQUESTS.decode(frame))
        except MALFORMED:
            broker.peers.settings.faults["malformed request"] += 1
            self.link.close("malformed request")
        if broker.is_session(self):
            broker.driver.receive(requests, self.client)
        if not self._slices and not broker.is_paused:
            self.link.resume()

    def writable(self, link: Link) -> None:
        """What waits for this client is kept by the owners, not here."""

    def closed(self, link: Link, reason: str) -> None:
        """The client is away."""
        self._broker.departed(self)
