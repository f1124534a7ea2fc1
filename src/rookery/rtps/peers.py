"""The remote participants: what is known of each, and what may be sent to it.

Anyone can put a third party's address into an announcement. Until something comes back from an address that only a
receiver of our packets could have written (our own prefix, 96 random bits, in INFO_DST), that address gets at most
`amplification` bytes for each byte that came in on its behalf: an attacker gains nothing over sending to the victim
directly. QUIC has the same rule with the same factor (RFC 9000, section 8).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rookery.rtps.announcements import ParticipantAnnouncement
from rookery.rtps.detours import Destination, Detours
from rookery.rtps.identity import UNKNOWN_PREFIX
from rookery.rtps.limits import Counters, Limits
from rookery.rtps.locators import Address

__all__ = ["Destination", "RemoteParticipant", "RemoteParticipants"]


@dataclass(slots=True)
class RemoteParticipant:
    """One remote participant."""

    announcement: ParticipantAnnouncement
    sequence: int
    metatraffic: tuple[Address, ...]
    default: tuple[Address, ...]
    heard: int
    bytes_in: int = 0
    bytes_out: int = 0
    answered: dict[str, None] = field(default_factory=dict)
    authentic: bool = False
    """Whether the announcement bore the seal of the domain."""
    incomplete: bool = False
    """Whether the announcement stands for one that says more under the same number."""
    host: str = ""
    """Where it is reached, if it has several hosts."""
    hosts: dict[str, int] = field(default_factory=dict)
    """If it has several: when each was heard from."""

    @property
    def prefix(self) -> bytes:
        """The participant's name."""
        return self.announcement.prefix

    @property
    def is_known(self) -> bool:
        """Whether it has proved that it is there: by an answer to what was sent to it, or by the domain's seal."""
        return bool(self.answered) or self.authentic

    @property
    def metatraffic_destination(self) -> Destination:
        """Where discovery goes."""
        return Destination(self.prefix, self.metatraffic[0])


class RemoteParticipants:
    """The table of remote participants, bounded."""

    def __init__(self, limits: Limits, counters: Counters) -> None:
        self._limits = limits
        self._counters = counters
        self._peers: dict[bytes, RemoteParticipant] = {}
        self.detours = Detours()

    def __len__(self) -> int:
        return len(self._peers)

    def __iter__(self) -> Iterator[RemoteParticipant]:
        return iter(tuple(self._peers.values()))

    def get(self, prefix: bytes) -> RemoteParticipant | None:
        """Return the peer, if it is known."""
        return self._peers.get(prefix)

    def add(self, peer: RemoteParticipant, *, sender: str = "") -> bool:
        """Take a new peer in, who spoke from the host `sender`; say whether there was room."""
        if len(self._peers) >= self._limits.participants:
            self._counters["participants"] += 1
            return False
        self._peers[peer.prefix] = peer
        hosts = _hosts_of(peer)
        if len(hosts) > 1:
            peer.hosts = dict.fromkeys(hosts, peer.heard)
            self._reach(peer, sender if sender in hosts else peer.metatraffic[0].host)
        return True

    @property
    def is_crowded(self) -> bool:
        """Whether there is so little room that who has never answered gets seconds."""
        return 2 * len(self._peers) > self._limits.participants

    def least_known(self) -> RemoteParticipant | None:
        """Return who has to go where there is no room: the one heard least recently of those that never answered."""
        if len(self._peers) < self._limits.participants:
            return None
        unknown = (peer for peer in self._peers.values() if not peer.is_known)
        return min(unknown, key=lambda peer: peer.heard, default=None)

    def remove(self, prefix: bytes) -> RemoteParticipant | None:
        """Forget a peer."""
        self.detours.end(prefix)
        return self._peers.pop(prefix, None)

    def heard(self, prefix: bytes, *, host: str, size_bytes: int, addressed_to_us: bool, now: int) -> None:
        """Note that a datagram came in the peer's name: it lives, has credit, and may have proved its address."""
        peer = self._peers.get(prefix)
        if peer is None:
            return
        peer.heard = now
        peer.bytes_in += size_bytes
        if host in peer.hosts:
            peer.hosts[host] = now
            if host != peer.host and now - peer.hosts[peer.host] > min(peer.announcement.lease, self._limits.lease):
                self._counters["moved_to_another_host"] += 1
                self._reach(peer, host)
        if addressed_to_us and host not in peer.answered and host in _hosts_of(peer):
            peer.answered[host] = None

    def _reach(self, peer: RemoteParticipant, host: str) -> None:
        peer.host = host
        self.detours.lead(peer.prefix, host, (peer.metatraffic, peer.default))

    def has_credit(self, peer: RemoteParticipant, size_bytes: int) -> bool:
        """Say whether so much may be sent to a peer now, as far as its address and its credit go."""
        if (peer.host or peer.metatraffic[0].host) in peer.answered:
            return True
        return peer.bytes_out + size_bytes <= self._limits.amplification * peer.bytes_in

    def permit(self, destination: Destination, size_bytes: int) -> bool:
        """Say whether a datagram may go out, and charge it."""
        if destination.prefix == UNKNOWN_PREFIX:  # an announcement to everyone, or to an address that the owner named
            return True
        peer = self._peers.get(destination.prefix)
        if peer is None:  # it left in the same breath as it came, and took its credit with it
            self._counters["forgotten_peer"] += 1
            return False
        if destination.address.host in peer.answered:
            return True
        if peer.bytes_out + size_bytes > self._limits.amplification * peer.bytes_in:
            self._counters["amplification"] += 1
            return False
        peer.bytes_out += size_bytes
        return True


def _hosts_of(peer: RemoteParticipant) -> set[str]:
    return {address.host for address in (*peer.metatraffic, *peer.default)}
