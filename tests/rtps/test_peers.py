"""What may be sent to a peer: three bytes for one, until its address has shown that it hears us."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rookery.rtps.announcements import ParticipantAnnouncement
from rookery.rtps.identity import UNKNOWN_PREFIX
from rookery.rtps.limits import Counters, Limits
from rookery.rtps.locators import Address
from rookery.rtps.peers import Destination, RemoteParticipant, RemoteParticipants

PLACE = Address("127.0.0.2", 9)


def peers_with(prefix: bytes, *, most: int = 1_024) -> tuple[RemoteParticipants, RemoteParticipant, Counters]:
    counters = Counters()
    peers = RemoteParticipants(Limits(participants=most), counters)
    peer = RemoteParticipant(ParticipantAnnouncement(prefix, 1, (), ()), 1, (PLACE,), (PLACE,), heard=0, bytes_in=0)
    assert peers.add(peer)
    return peers, peer, counters


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 1_500)), max_size=60))
def test_an_address_that_has_proved_nothing_gets_three_bytes_for_one(steps: list[tuple[bool, int]]) -> None:
    peers, peer, counters = peers_with(b"p" * 12)
    received = sent = refused = 0
    for comes, size in steps:
        if comes:
            received += size
            peers.heard(b"p" * 12, host="127.0.0.9", size_bytes=size, addressed_to_us=True, now=5)
        else:
            may = peers.has_credit(peer, size)
            assert may == (sent + size <= 3 * received)
            assert peers.permit(Destination(b"p" * 12, PLACE), size) == may
            sent, refused = sent + size * may, refused + (not may)
    assert counters["amplification"] == refused
    assert peer.heard == (5 if received else 0)


def test_an_answer_from_its_own_address_ends_the_bound() -> None:
    peers, peer, _ = peers_with(b"p" * 12)
    assert not peers.permit(Destination(b"p" * 12, PLACE), 10_000)
    peers.heard(b"p" * 12, host=PLACE.host, size_bytes=1, addressed_to_us=False, now=1)
    assert not peers.permit(Destination(b"p" * 12, PLACE), 10_000)
    peers.heard(b"p" * 12, host=PLACE.host, size_bytes=1, addressed_to_us=True, now=1)
    assert peers.permit(Destination(b"p" * 12, PLACE), 10_000)
    assert peers.has_credit(peer, 10_000)


def test_who_is_not_known_gets_nothing_and_everyone_gets_announcements() -> None:
    peers, _, counters = peers_with(b"p" * 12, most=1)
    assert peers.permit(Destination(UNKNOWN_PREFIX, PLACE), 10_000)
    assert not peers.permit(Destination(b"q" * 12, PLACE), 1)
    assert counters["forgotten_peer"] == 1
    more = RemoteParticipant(ParticipantAnnouncement(b"q" * 12, 1, (), ()), 1, (PLACE,), (PLACE,), heard=0)
    assert not peers.add(more)
    assert counters["participants"] == 1
    assert peers.remove(b"p" * 12) is not None
    assert peers.add(more)
    assert [peer.prefix for peer in peers] == [b"q" * 12]
