"""Who has several hosts is reached where it is heard; what is for the other addresses goes there."""

from __future__ import annotations

from rookery.rtps.announcements import ParticipantAnnouncement
from rookery.rtps.context import ParticipantContext
from rookery.rtps.detours import Destination, Detours
from rookery.rtps.limits import Counters, Limits
from rookery.rtps.locators import Address
from rookery.rtps.peers import RemoteParticipant, RemoteParticipants
from rookery.rtps.submessages import InfoTimestamp

PREFIX, OTHER = b"p" * 12, b"q" * 12
FIRST, SECOND = Address("10.0.0.1", 7_410), Address("10.1.0.1", 7_412)
META = (Address("10.0.0.1", 7_400), Address("10.1.0.1", 7_402))
LEASE = 1_000


def heard(peers: RemoteParticipants, host: str, now: int) -> None:
    peers.heard(PREFIX, host=host, size_bytes=100, addressed_to_us=False, now=now)


def peer_of_two(
    *, prefix: bytes = PREFIX, lease: int = LEASE, limits: Limits | None = None, sender: str = SECOND.host
) -> tuple[RemoteParticipants, RemoteParticipant]:
    peers = RemoteParticipants(limits or Limits(), Counters())
    announcement = ParticipantAnnouncement(prefix, lease, (), ())
    peer = RemoteParticipant(announcement, 1, META, (FIRST, SECOND), heard=0, bytes_in=0)
    assert peers.add(peer, sender=sender)
    return peers, peer


def test_detours_stand_for_addresses_that_serve_the_same_end() -> None:
    detours = Detours()
    detours.lead(PREFIX, SECOND.host, (META, (FIRST, SECOND)))
    assert detours.ways == {
        Destination(PREFIX, META[0]): Destination(PREFIX, META[1]),
        Destination(PREFIX, FIRST): Destination(PREFIX, SECOND),
    }
    detours.lead(OTHER, FIRST.host, ((FIRST, SECOND), (FIRST,)))
    detours.lead(PREFIX, FIRST.host, (META, (FIRST, SECOND)))
    assert Destination(PREFIX, FIRST) not in detours.ways
    assert detours.ways[Destination(PREFIX, SECOND)] == Destination(PREFIX, FIRST)
    detours.end(PREFIX)
    assert detours.ways == {Destination(OTHER, SECOND): Destination(OTHER, FIRST)}


def test_a_host_where_nothing_is_is_not_led_to() -> None:
    detours = Detours()
    detours.lead(PREFIX, SECOND.host, (META, (FIRST,)))
    assert detours.ways == {Destination(PREFIX, META[0]): Destination(PREFIX, META[1])}


def test_who_has_several_hosts_is_reached_where_it_spoke_first() -> None:
    peers, peer = peer_of_two()
    assert peer.host == SECOND.host
    assert peers.detours.ways[Destination(PREFIX, FIRST)].address == SECOND
    _, unknown = peer_of_two(sender="10.9.9.9")  # behind a router: the first that it names
    assert unknown.host == FIRST.host


def test_a_silent_host_is_left_after_a_lease_for_one_that_speaks() -> None:
    peers, peer = peer_of_two()
    heard(peers, SECOND.host, 500)
    heard(peers, FIRST.host, 500 + LEASE)
    assert peer.host == SECOND.host
    heard(peers, "10.9.9.9", 501 + LEASE)  # none of its hosts: proves nothing
    assert peer.host == SECOND.host
    heard(peers, FIRST.host, 501 + LEASE)
    assert peer.host == FIRST.host
    assert peers.detours.ways == {
        Destination(PREFIX, META[1]): Destination(PREFIX, META[0]),
        Destination(PREFIX, SECOND): Destination(PREFIX, FIRST),
    }
    peers.remove(PREFIX)
    assert not peers.detours.ways


def test_an_endless_lease_is_no_longer_than_the_limit() -> None:
    peers, peer = peer_of_two(lease=1 << 60, limits=Limits(lease=LEASE))
    heard(peers, FIRST.host, LEASE + 1)
    assert peer.host == FIRST.host


def test_a_host_that_has_not_answered_is_sent_no_more_than_its_share() -> None:
    peers, peer = peer_of_two()
    peers.heard(PREFIX, host=SECOND.host, size_bytes=100, addressed_to_us=True, now=1)
    assert peers.has_credit(peer, 10_000)
    heard(peers, FIRST.host, 2 + LEASE)
    assert peer.host == FIRST.host
    assert not peers.has_credit(peer, 10_000)
    assert not peers.permit(Destination(PREFIX, FIRST), 10_000)
    assert peers.has_credit(peer, 600)  # three for each of the two hundred that came


def test_what_waits_to_be_sent_takes_the_detour() -> None:
    context = ParticipantContext(b"u" * 12)
    announcement = ParticipantAnnouncement(PREFIX, LEASE, (), ())
    peer = RemoteParticipant(announcement, 1, META, (FIRST, SECOND), heard=0, bytes_in=1_000)
    context.peers.add(peer, sender=SECOND.host)
    context.outbox.add(Destination(PREFIX, FIRST), InfoTimestamp(1))
    context.outbox.add(Destination(PREFIX, SECOND), InfoTimestamp(1))
    context.outbox.add(Destination(OTHER, FIRST), InfoTimestamp(1))
    assert [send.receiver for send in context.outbox.sends()] == [SECOND]
    assert context.counters["forgotten_peer"] == 1  # the other one is nobody's
