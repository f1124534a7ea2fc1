"""What the parts of one participant share: where datagrams wait, timers, bounds, counters, peers, events.

Every part has the context of its participant and, where it needs them, the parts that it calls. The time is not in the
context: whatever depends on it is given `now`.
"""

from __future__ import annotations

from collections.abc import Iterable

from rookery.rtps.deadlines import Deadlines
from rookery.rtps.events import Event, MessageRejected
from rookery.rtps.limits import Counters, Limits
from rookery.rtps.locators import Address, AllowedNetworks, Locator
from rookery.rtps.outbox import Outbox
from rookery.rtps.peers import RemoteParticipants

__all__ = ["ParticipantContext"]


class ParticipantContext:
    """The context of one participant."""

    __slots__ = (
        "counters",
        "data_group",
        "deadlines",
        "epoch",
        "events",
        "fragment_bytes",
        "limits",
        "networks",
        "outbox",
        "peers",
        "prefix",
        "sender",
        "type_bytes",
    )

    def __init__(
        self,
        prefix: bytes,
        *,
        limits: Limits | None = None,
        networks: AllowedNetworks | None = None,
        datagram_bytes: int = 1_400,
        epoch: int = 0,
        data_group: Address | None = None,
    ) -> None:
        self.prefix = prefix
        self.limits = limits or Limits()
        #: Where peers may live.
        self.networks = networks or AllowedNetworks()
        #: What to add to `now` to get microseconds since 1970.
        self.epoch = epoch
        #: Where samples that many want are sent once for all of them, if anywhere.
        self.data_group = data_group
        self.counters = Counters()
        self.deadlines = Deadlines()
        self.peers = RemoteParticipants(self.limits, self.counters)
        self.outbox = Outbox(
            prefix, datagram_bytes=datagram_bytes, permit=self.peers.permit, detours=self.peers.detours.ways
        )
        #: Bytes in use by all unfinished samples.
        self.fragment_bytes = 0
        #: Bytes of the descriptions of types that are kept of others.
        self.type_bytes = 0
        #: What has happened and the owner does not know yet.
        self.events: list[Event] = []
        #: Who sent the datagram that is being read.
        self.sender = Address("0.0.0.0", 0)

    def addresses(self, locators: Iterable[Locator]) -> tuple[Address, ...]:
        """Return the addresses among locators that are in the allowed networks, as many as are kept of one peer."""
        return self.networks.addresses(locators, at_most=self.limits.locators, counters=self.counters)

    def report(self, event: Event) -> None:
        """Let the owner know what happened."""
        self.events.append(event)

    def reject(self, reason: str) -> None:
        """Count and report that a datagram, or a part of it, is refused."""
        self.counters["rejected"] += 1
        self.events.append(MessageRejected(self.sender, reason))
