"""SPDP, the simple participant discovery protocol: who is in the domain (RTPS 2.5, 8.5.3).

Every participant repeats its announcement to a multicast address known to all. A stranger who hears it takes the
participant in and answers once, directly, so that a newcomer need not wait for the others' next turn; an answer is
marked as directed (INFO_DST) and is not answered. Each announcement grants a lease: anything heard from the participant
renews it, and silence for its length means that the participant is gone. Who leaves in good order says so with a
dispose, and is gone at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rookery.errors import WireFormatError
from rookery.rtps.announcements import ParticipantAnnouncement, decode_key, decode_participant
from rookery.rtps.deadlines import Deadlines
from rookery.rtps.events import SampleKind
from rookery.rtps.identity import PARTICIPANT, SPDP_READER, SPDP_WRITER, UNKNOWN_PREFIX, Guid, guid_from_octets
from rookery.rtps.limits import Counters, Limits
from rookery.rtps.locators import Address, AllowedNetworks
from rookery.rtps.outbox import Outbox
from rookery.rtps.parameters import Parameter, ParameterId
from rookery.rtps.peers import Destination, Peer, Peers
from rookery.rtps.stateless import StatelessWriter
from rookery.rtps.submessages import Data

__all__ = ["ParticipantDiscovery", "ParticipantListener"]


@dataclass(frozen=True, slots=True)
class ParticipantListener:
    """Whom to tell."""

    discovered: Callable[[Peer, int], None]
    changed: Callable[[Peer, int], None]
    lost: Callable[[Peer, str, int], None]


class ParticipantDiscovery:
    """Announces one participant and keeps the table of the others."""

    def __init__(
        self,
        announcement: ParticipantAnnouncement,
        *,
        announce_to: tuple[Address, ...],
        period: int,
        quick_repeats: tuple[int, ...],
        epoch: int,
        peers: Peers,
        networks: AllowedNetworks,
        listener: ParticipantListener,
        outbox: Outbox,
        deadlines: Deadlines,
        limits: Limits,
        counters: Counters,
    ) -> None:
        self.announcement = announcement
        self._everyone = tuple(Destination(UNKNOWN_PREFIX, address) for address in announce_to)
        self._period = period
        self._quick_repeats = quick_repeats
        self._epoch = epoch
        self._peers = peers
        self._networks = networks
        self._listener = listener
        self._deadlines = deadlines
        self._limits = limits
        self._counters = counters
        self._key_hash = Guid(announcement.prefix, PARTICIPANT).octets()
        self._writer = StatelessWriter(reader=SPDP_READER, writer=SPDP_WRITER, outbox=outbox)
        self._writer.set(SampleKind.ALIVE, announcement.encode(), key_hash=self._key_hash)

    def start(self, now: int) -> None:
        """Announce, repeat quickly a few times in case of loss, then at the period."""
        for index, delay in enumerate(self._quick_repeats):
            self._deadlines.arm(("announce", index), now + delay, self._announce)
        self._announce_periodically(now)

    def update(self, now: int, *, vendor_parameters: tuple[Parameter, ...]) -> None:
        """Announce new content at once, under a new sequence number."""
        self.announcement = replace(self.announcement, vendor_parameters=vendor_parameters)
        self._writer.set(SampleKind.ALIVE, self.announcement.encode(), key_hash=self._key_hash)
        self._announce(now)

    def stop(self, now: int) -> None:
        """Say goodbye, to everyone and to each known peer."""
        self._writer.set(SampleKind.DISPOSED_AND_UNREGISTERED, self.announcement.encode_key(), key_hash=self._key_hash)
        self._announce(now)
        for peer in self._peers:
            self._writer.send(peer.metatraffic_destination, timestamp=now + self._epoch)

    def receive(self, message: Data, *, source: bytes, directed: bool, octets: int, now: int) -> None:
        """Take an announcement or a goodbye in; raise `WireFormatError` where it is wrong."""
        status = next((p.value[3:4] for p in message.inline if p.id == ParameterId.STATUS), b"\0")
        if status and status[0] & 3:
            self._receive_goodbye(message, source, now)
            return
        if message.payload is None:
            return
        announcement = decode_participant(message.payload)
        if announcement.prefix != source:
            raise WireFormatError("a participant announced by another")
        if announcement.domain_id not in (None, self.announcement.domain_id):
            self._counters["other_domain"] += 1
            return
        if announcement.domain_tag != self.announcement.domain_tag:
            self._counters["other_domain"] += 1
            return
        known = self._peers.get(source)
        if known is not None and message.sequence <= known.sequence:
            return
        believed = [
            self._networks.addresses(locators, at_most=self._limits.locators, counters=self._counters)
            for locators in (announcement.metatraffic, announcement.default)
        ]
        metatraffic, default = believed[0], believed[1] or believed[0]
        if not metatraffic:
            raise WireFormatError("a participant without an address in the allowed networks")
        if known is not None and (known.metatraffic, known.default) != (metatraffic, default):
            # Whoever is reached elsewhere from now on has proved nothing there: begin again.
            self._remove(source, "moved", now)
            known = None
        if known is not None:
            known.announcement, known.sequence = announcement, message.sequence
            self._watch_lease(known, now)
            self._listener.changed(known, now)
            return
        peer = Peer(announcement, message.sequence, metatraffic, default, heard=now, octets_in=octets)
        if not self._peers.add(peer):
            raise WireFormatError(f"no room for another participant; the limit is {self._limits.participants}")
        self._watch_lease(peer, now)
        if not directed:
            self._writer.send(peer.metatraffic_destination, timestamp=now + self._epoch)
        self._listener.discovered(peer, now)

    def _receive_goodbye(self, message: Data, source: bytes, now: int) -> None:
        key_hash = next((p.value for p in message.inline if p.id == ParameterId.KEY_HASH), b"")
        if message.payload:
            guid = decode_key(message.payload)
        elif len(key_hash) == 16:
            guid = guid_from_octets(key_hash)
        else:
            raise WireFormatError("a goodbye that names nobody")
        if guid.prefix != source:
            raise WireFormatError("a goodbye in another's name")
        self._remove(source, "disposed", now)

    def _remove(self, prefix: bytes, reason: str, now: int) -> None:
        peer = self._peers.remove(prefix)
        if peer is not None:
            self._deadlines.cancel(("lease", prefix))
            self._listener.lost(peer, reason, now)

    def _watch_lease(self, peer: Peer, now: int) -> None:
        def check(then: int) -> None:
            end = peer.heard + lease
            if end > then:
                self._deadlines.arm(("lease", peer.prefix), end, check)
            else:
                self._remove(peer.prefix, "expired", then)

        lease = min(peer.announcement.lease, self._limits.lease)
        self._deadlines.arm(("lease", peer.prefix), now + lease, check)

    def _announce(self, now: int) -> None:
        for destination in self._everyone:
            self._writer.send(destination, timestamp=now + self._epoch)

    def _announce_periodically(self, now: int) -> None:
        self._announce(now)
        self._deadlines.arm(("announce", "period"), now + self._period, self._announce_periodically)
