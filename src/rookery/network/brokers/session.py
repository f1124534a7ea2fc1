"""A client at its access broker: what it asks is done, what it says wrongly closes its link and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rookery.errors import BrokerError, RookeryError
from rookery.network.brokers.messages import (
    Ask,
    FromClient,
    Offer,
    Place,
    Rejected,
    Release,
    Status,
    Subscribe,
    Taken,
    Unsubscribe,
)
from rookery.network.slices import Slices
from rookery.network.tcp import Link
from rookery.routing.brokers.parcels import MALFORMED, is_readable

if TYPE_CHECKING:
    from rookery.network.brokers.server import LiveBroker

__all__ = ["Session"]

#: Seconds that a broker waits for a zone at most.
MOST_PATIENCE = 600.0
_REQUESTS: msgspec.msgpack.Decoder[FromClient] = msgspec.msgpack.Decoder(FromClient)


class Session:
    """A client at its access broker."""

    def __init__(self, broker: LiveBroker, link: Link) -> None:
        self.link = link
        self.client = link.identity
        self._broker = broker
        #: Frames that wait for the broker's next flush.
        self.outbox: list[bytes] = []
        self._slices: Slices[bytes] = Slices(self._do)

    def flush(self) -> None:
        """Send what waits, in one write."""
        if self.outbox:
            self.link.send_framed(b"".join(self.outbox) if len(self.outbox) > 1 else self.outbox[0])
            self.outbox = []

    def opened(self, link: Link) -> None:
        """Say what is served here."""
        self._broker.arrived(self)

    def received(self, link: Link, frames: list[bytes]) -> None:
        """Do what the client asks, in turns; while some of it waits, no more is read."""
        self._slices.add(frames)
        if self._slices:
            link.pause()

    def _do(self, frames: list[bytes]) -> None:
        """Do some of what the client asks; the parcels go into the machine together."""
        link = self.link
        broker, machine = self._broker, self._broker.machine
        parcels = []
        subscribed = False
        taken: list[tuple[int, int]] = []
        try:
            for frame in frames:
                request = _REQUESTS.decode(frame)
                match request:
                    case Offer(parcel):
                        if parcel.publisher != self.client or parcel.offsets or not is_readable(parcel):
                            raise msgspec.DecodeError
                        parcels.append(parcel)
                    case Taken(keys):
                        taken += keys
                    case Subscribe():
                        self._subscribe(request)
                        subscribed = True
                    case Unsubscribe(name):
                        if self._owns(name):
                            machine.unsubscribe_client(name, now=broker.now())
                    case Ask():
                        broker.tell(self, Status(broker.status()))
                    case Release(seconds, back):
                        if not 0 <= seconds <= MOST_PATIENCE:
                            raise msgspec.DecodeError
                        machine.release(broker.now(), patience=round(seconds * 1e6), back=back)
                    case Place(path, cut):
                        machine.place(path, cut, broker.now())
            if subscribed:
                machine.settle()
            if taken:
                machine.confirm(self.client, taken, now=broker.now())
            if parcels:
                machine.publish_parcels(parcels, now=broker.now())
        except MALFORMED:
            broker.peers.settings.faults["malformed request"] += 1
            link.close("malformed request")
        except BrokerError:
            link.close("leaving")
        broker.flush()
        if not self._slices and not broker.is_paused:
            link.resume()

    def _subscribe(self, request: Subscribe) -> None:
        try:
            if not self._owns(request.name):
                raise BrokerError("a subscription is named after its client")
            self._broker.machine.subscribe_client(
                self.client,
                request.name,
                request.where,
                now=self._broker.now(),
                parameters=request.parameters,
                version=request.version,
            )
        except RookeryError as error:
            self._broker.tell(self, Rejected(request.name, str(error)))

    def _owns(self, name: str) -> bool:
        return name.startswith(f"{self.client:x}/")

    def writable(self, link: Link) -> None:
        """What waits for this client is kept by the owners, not here."""

    def closed(self, link: Link, reason: str) -> None:
        """The client is away."""
        self._broker.departed(self)
