"""SPDP, the simple participant discovery protocol: who is in the domain (RTPS 2.5, 8.5.3).

Every participant repeats its announcement to a multicast address known to all. A stranger who hears it takes the
participant in and answers once, directly, so that a newcomer need not wait for the others' next turn; an answer is
marked as directed (INFO_DST) and is not answered. Where many come at once, the first few are answered so, and those to
whom there is something to say; one announcement to all is the answer to the others, before long. Each announcement
grants a lease: anything heard from the participant renews it, and silence for its length means that the participant is
gone. Who leaves in good order says so with a dispose, and is gone at once. The table is bounded: where it is half full,
who has never answered is given seconds, and where it is full that one makes room for whoever comes.

An announcement can say more than who is there: vendor parameters carry discovery summaries. New content goes out under
a new sequence number, with the same quick repetitions as the first; in the slow repetitions afterwards a shorter form
can stand for it. Where a seal is used, an announcement that bears it is not replaced by one that does not.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from ipaddress import IPv4Address
from typing import Protocol

from rookery.errors import WireFormatError
from rookery.rtps.announcements import (
    ParticipantAnnouncement,
    decode_key,
    decode_participant,
    decode_shared_participant,
)
from rookery.rtps.context import ParticipantContext
from rookery.rtps.events import SampleKind
from rookery.rtps.identity import PARTICIPANT, SPDP_READER, SPDP_WRITER, UNKNOWN_PREFIX, Guid, guid_from_octets
from rookery.rtps.locators import Address
from rookery.rtps.parameters import Parameter, ParameterId
from rookery.rtps.peers import Destination, RemoteParticipant
from rookery.rtps.stateless import StatelessWriter
from rookery.rtps.submessages import Data

__all__ = ["AnnouncementSeal", "ParticipantDiscovery", "ParticipantListener", "read_repetition"]

_FIRST_SUBMESSAGE = 20
_INFO_TS, _DATA = b"\x09\x01\x08\x00", 0x15
_DATA_HEAD = struct.Struct("<BBHHHIIiI")
_SHARED_BYTES = 2_048
#: So many strangers are answered one by one in that time; if more come, all others are answered at its end, at once.
CROWD = 4
CROWD_TIME = 1_000_000


class AnnouncementSeal(Protocol):
    """Proves that an announcement was made by a member of the domain."""

    def close(self, payload: bytes, *, sequence: int) -> bytes:
        """Return a payload with its seal."""
        ...

    def is_whole(self, payload: bytes, *, sequence: int) -> bool:
        """Say whether a payload bears the seal and was not changed."""
        ...


def read_repetition(data: bytes) -> tuple[bytes, int] | None:
    """Return who speaks and under which number, where a datagram is one announcement as we write it; else None.

    In a domain of hundreds nearly all that arrives is the same announcements again: this is all that is read of them.
    """
    at = _FIRST_SUBMESSAGE
    if data[at : at + 4] == _INFO_TS:
        at += 12
    if len(data) < at + _DATA_HEAD.size or data[at] != _DATA or not data[at + 1] & 1 or data[:5] != b"RTPS\x02":
        return None
    _, flags, length, _, _, _, writer, high, low = _DATA_HEAD.unpack_from(data, at)
    # Octets have no byte order; with little-endian numbers around them an entity id is read the wrong way round.
    if flags != 0x05 or at + 4 + length != len(data) or writer != _SPDP_WRITER_SWAPPED:
        return None
    return data[8:_FIRST_SUBMESSAGE], (high << 32) + low


_SPDP_WRITER_SWAPPED = int.from_bytes(SPDP_WRITER.to_bytes(4, "big"), "little")


@dataclass(frozen=True, slots=True)
class ParticipantListener:
    """What is called when a participant is found, announces something new, and is lost."""

    discovered: Callable[[RemoteParticipant, int], None]
    changed: Callable[[RemoteParticipant, int], None]
    lost: Callable[[RemoteParticipant, str, int], None]


class ParticipantDiscovery:
    """Announces one participant and keeps the table of the others."""

    def __init__(
        self,
        context: ParticipantContext,
        announcement: ParticipantAnnouncement,
        *,
        announce_to: tuple[Address, ...],
        period: int,
        quick_repeats: tuple[int, ...],
        listener: ParticipantListener,
        seal: AnnouncementSeal | None = None,
    ) -> None:
        self.announcement = announcement
        self._seal = seal
        self._quick: list[int] = []
        self._renew: Callable[[int], bool] = lambda _: False
        self._multicasts = any(IPv4Address(address.host).is_multicast for address in announce_to)
        self._named = frozenset(announce_to)
        self._everyone = tuple(Destination(UNKNOWN_PREFIX, address) for address in announce_to)
        self._period = period
        self._quick_repeats = quick_repeats
        self._context = context
        self._listener = listener
        #: Peers that call on us directly, because somebody named us to them: they hear us in no other way.
        self._callers: dict[bytes, RemoteParticipant] = {}
        #: Strangers that are yet to be answered; when the first of those around them came, and how many came since.
        self._unanswered: dict[bytes, RemoteParticipant] = {}
        self._crowd_began = -CROWD_TIME
        self._crowd = 0
        self._key_hash = Guid(announcement.prefix, PARTICIPANT).octets()
        self._writer = StatelessWriter(reader=SPDP_READER, writer=SPDP_WRITER, outbox=context.outbox)

    @property
    def bare_payload(self) -> bytes:
        """What is announced without any vendor parameter."""
        return self._sealed(replace(self.announcement, vendor_parameters=()).encode())

    @property
    def next_sequence(self) -> int:
        """The number under which new content will be announced."""
        return self._writer.sequence + 1

    def start(self, now: int, *, renew: Callable[[int], bool] = lambda _: False) -> None:
        """Announce, repeat quickly a few times in case of loss, then at the period.

        `renew` is called before each repetition at the period; it may `set` something new and says whether it did.
        """
        self._renew = renew
        if not self._writer.sequence:
            self._set(())
        self._repeat_quickly(now)
        self._announce_periodically(now, first=True)

    def set(
        self, *, vendor_parameters: tuple[Parameter, ...], repeated_parameters: tuple[Parameter, ...] | None = None
    ) -> None:
        """Take new content, under a new sequence number; `repeated_parameters` stand for it in slow repetitions."""
        self.announcement = replace(self.announcement, vendor_parameters=vendor_parameters)
        self._set(repeated_parameters)

    def announce(self, now: int) -> None:
        """Announce at once what was set, and repeat it quickly, in case of loss."""
        self._repeat_quickly(now)
        self._announce(now)

    def _set(self, repeated_parameters: tuple[Parameter, ...] | None) -> None:
        brief = None
        if repeated_parameters:
            brief = self._sealed(replace(self.announcement, vendor_parameters=repeated_parameters).encode())
        self._writer.set(
            SampleKind.ALIVE, self._sealed(self.announcement.encode()), key_hash=self._key_hash, brief=brief
        )

    def _sealed(self, payload: bytes) -> bytes:
        return payload if self._seal is None else self._seal.close(payload, sequence=self.next_sequence)

    def _repeat_quickly(self, now: int) -> None:
        self._quick = [now + delay for delay in self._quick_repeats]
        for index, when in enumerate(self._quick):
            self._context.deadlines.arm(("announce", index), when, self._announce)

    def stop(self, now: int) -> None:
        """Say goodbye, to everyone and to each known peer."""
        goodbye = self._sealed(self.announcement.encode_key())
        self._writer.set(SampleKind.DISPOSED_AND_UNREGISTERED, goodbye, key_hash=self._key_hash)
        self._announce(now)
        for peer in self._context.peers:
            self._writer.send(peer.metatraffic_destination, timestamp=now + self._context.epoch)

    def is_repetition(self, prefix: bytes, sequence: int) -> bool:
        """Say whether an announcement is the one that is known already."""
        known = self._context.peers.get(prefix)
        return known is not None and sequence == known.sequence and not known.incomplete and self._believes(known)

    def receive(
        self, message: Data, *, source: bytes, directed: bool, size_bytes: int, now: int, by_multicast: bool = False
    ) -> None:
        """Take an announcement or a goodbye in; raise `WireFormatError` where it is wrong."""
        status = next((p.value[3:4] for p in message.inline if p.id == ParameterId.STATUS), b"\0")
        if status and status[0] & 3:
            self._receive_goodbye(message, source, now)
            return
        if message.payload is None:
            return
        known = self._context.peers.get(source)
        if known is not None and self._is_old(message.sequence, known) and self._believes(known):
            return
        authentic = self._is_sealed(message)
        if known is not None and known.authentic and not authentic:
            self._context.counters["unauthentic"] += 1
            raise WireFormatError("an announcement without the seal that the participant has")
        shared = by_multicast and len(message.payload) <= _SHARED_BYTES
        announcement = (decode_shared_participant if shared else decode_participant)(message.payload)
        if announcement.prefix != source:
            raise WireFormatError("a participant announced by another")
        if announcement.domain_id not in (None, self.announcement.domain_id):
            self._context.counters["other_domain"] += 1
            return
        if announcement.domain_tag != self.announcement.domain_tag:
            self._context.counters["other_domain"] += 1
            return
        if known is not None and self._is_old(message.sequence, known) and not authentic:
            return
        metatraffic = self._context.addresses(announcement.metatraffic)
        default = self._context.addresses(announcement.default) or metatraffic
        if not metatraffic:
            raise WireFormatError("a participant without an address in the allowed networks")
        if known is not None and (known.metatraffic, known.default) != (metatraffic, default):
            # Whoever is reached elsewhere from now on has proved nothing there: begin again.
            self._remove(source, "moved", now)
            known = None
        if known is not None:
            known.announcement, known.sequence, known.authentic = announcement, message.sequence, authentic
            self._watch_lease(known, now)
            self._listener.changed(known, now)
            return
        peer = RemoteParticipant(announcement, message.sequence, metatraffic, default, heard=now, bytes_in=size_bytes)
        peer.authentic = authentic
        stranger = self._context.peers.least_known()
        if stranger is not None:
            self._context.counters["participants"] += 1
            self._remove(stranger.prefix, "no room", now)
        if not self._context.peers.add(peer, sender=self._context.sender.host):
            raise WireFormatError(f"no room for another participant; the limit is {self._context.limits.participants}")
        self._watch_lease(peer, now)
        if not directed and not by_multicast and peer.metatraffic_destination.address not in self._named:
            self._callers[source] = peer
        if not directed and self._writer.sequence and not (by_multicast and self._will_multicast(now)):
            self._answer(peer, now, with_others=by_multicast and self._multicasts)
        self._listener.discovered(peer, now)

    def introduce(self, prefix: bytes, now: int) -> None:
        """Answer a stranger now if that was left for later: there is something to say to it, and it has to know us."""
        peer = self._unanswered.pop(prefix, None)
        if peer is not None:
            self._writer.send(peer.metatraffic_destination, timestamp=now + self._context.epoch)

    def _answer(self, peer: RemoteParticipant, now: int, *, with_others: bool) -> None:
        if now >= self._crowd_began + CROWD_TIME:
            self._crowd_began, self._crowd = now, 0
        self._crowd += 1
        self._unanswered[peer.prefix] = peer
        if with_others and self._crowd > CROWD:
            self._context.deadlines.arm_sooner(
                ("announce", "crowd"), self._crowd_began + CROWD_TIME, self._answer_crowd
            )
        else:
            self.introduce(peer.prefix, now)

    def _answer_crowd(self, now: int) -> None:
        if self._unanswered:
            self._renew(now)
            self._announce(now)

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
        known = self._context.peers.get(source)
        if known is not None and known.authentic and not self._is_sealed(message):
            self._context.counters["unauthentic"] += 1
            raise WireFormatError("a goodbye without the seal that the participant has")
        self._remove(source, "disposed", now)

    def _remove(self, prefix: bytes, reason: str, now: int) -> None:
        self._callers.pop(prefix, None)
        self._unanswered.pop(prefix, None)
        peer = self._context.peers.remove(prefix)
        if peer is not None:
            self._context.deadlines.cancel(("lease", prefix))
            self._listener.lost(peer, reason, now)

    def _watch_lease(self, peer: RemoteParticipant, now: int) -> None:
        lease, limits = self._lease_of(peer), self._context.limits
        first = lease if peer.is_known else min(lease, limits.unanswered_lease)
        self._context.deadlines.arm(("lease", peer.prefix), now + first, partial(self._check_lease, peer))

    def _check_lease(self, peer: RemoteParticipant, now: int) -> None:
        lease, limits = self._lease_of(peer), self._context.limits
        granted = lease
        if not peer.is_known:  # who has nothing for us never answers: it has to go only where room is short
            granted = min(lease, limits.unanswered_lease) if self._context.peers.is_crowded else lease
        if peer.heard + granted > now:
            again = peer.heard + lease if peer.is_known else min(peer.heard + lease, now + limits.unanswered_lease)
            self._context.deadlines.arm(("lease", peer.prefix), again, partial(self._check_lease, peer))
        else:
            self._remove(peer.prefix, "expired", now)

    def _lease_of(self, peer: RemoteParticipant) -> int:
        return min(peer.announcement.lease, self._context.limits.lease)

    def _is_sealed(self, message: Data) -> bool:
        return self._seal is not None and self._seal.is_whole(message.payload or b"", sequence=message.sequence)

    def _is_old(self, sequence: int, known: RemoteParticipant) -> bool:
        return sequence < known.sequence or (sequence == known.sequence and not known.incomplete)

    def _believes(self, known: RemoteParticipant) -> bool:
        """Say whether nothing about a peer can be more believable than what is known."""
        return known.authentic or self._seal is None

    def _will_multicast(self, now: int) -> bool:
        """Say whether a newcomer who is reached by multicast will hear of us soon anyway."""
        return self._multicasts and any(when > now for when in self._quick)

    def _announce(self, now: int, *, brief: bool = False) -> None:
        if self._multicasts:
            self._unanswered.clear()
        for destination in (*self._everyone, *(peer.metatraffic_destination for peer in self._callers.values())):
            self._writer.send(destination, timestamp=now + self._context.epoch, brief=brief)

    def _announce_periodically(self, now: int, *, first: bool = False) -> None:
        self._announce(now, brief=not first and not self._renew(now))
        self._context.deadlines.arm(("announce", "period"), now + self._period, self._announce_periodically)
