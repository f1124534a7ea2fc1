"""What peers hold wrong about each other after messages were lost, and how they find out."""

from __future__ import annotations

import random

import msgspec
import pytest

from rookery.overlay.configuration import SECOND, OverlayConfiguration
from rookery.overlay.messages import ClusterJoin, Join, Leave, LinkHeartbeat, LinkRequest, Lookup, Ping, Pong
from rookery.overlay.state import Phase
from rookery.simulated.overlay import SimulatedOverlay

from .oracle import check_quiet_tables
from .peers import CHEAP, MARKET, SPACE, alone, described, linked, peer, sent

OTHER = described(4, (0, 0.0, 1.9), (1, 0.0, 0.5))
#: The same peer, after it left for other interests.
MOVED = SPACE.describe(node=4, random_id=4 << 60, cells=described(4, (0, 0.0, 0.4), (2, 0.0, 0.5)).cells, epoch=1)


def test_a_heartbeat_of_a_later_epoch_is_asked_who_that_is() -> None:
    """A newcomer may have heard of a peer as it was; that one chose nobody, so it announces nothing."""
    made = linked(alone(), OTHER)
    made.receive_many([LinkHeartbeat(False, None, 0)], 4, 0)
    assert sent(made.effects(), Ping) == []
    made.receive_many([LinkHeartbeat(False, None, 1)], 4, 0)
    assert sent(made.effects(), Ping) == [(4, Ping())]
    made.receive_many([Pong(MOVED)], 4, 0)
    assert made.state.table.known[4] == MOVED


def test_a_heartbeat_says_the_epoch() -> None:
    made = linked(alone(), OTHER)
    made.state.table.own = SPACE.describe(node=9, random_id=1 << 60, cells=CHEAP.cells, epoch=7)
    made.wake(made.timer() or 0)
    assert {message.epoch for _, message in sent(made.effects(), LinkHeartbeat)} == {7}


def test_who_is_linked_under_other_interests_is_no_member_any_more() -> None:
    """Its LEAVE was lost, and it comes back to the rings: the cluster must not hold it too."""
    member = SPACE.describe(node=4, random_id=4 << 60, cells=CHEAP.cells)
    made = alone()
    made.receive_many([ClusterJoin(member)], 4, 0)
    made.receive_many([LinkRequest(OTHER, True, frozenset())], 4, 0)  # of before it was a member
    assert [one.node for one in made.state.members] == [4]
    made.receive_many([LinkRequest(MOVED, True, frozenset())], 4, 0)
    assert made.state.members == []
    assert made.state.table.known[4] == MOVED


def test_who_is_buried_and_named_by_others_is_asked_once_and_comes_back() -> None:
    made = linked(alone(), OTHER, described(12, (0, 0.0, 1.9), (2, 0.0, 0.5)))
    made.undeliverable(Ping(), 4, 0)
    assert 4 not in made.state.table.known
    made.receive_many([LinkHeartbeat(True, (OTHER,), 0)], 12, 0)
    assert 4 not in made.state.table.known
    made.effects()
    for asked in (1, 0):
        made.wake(made.state.heartbeat_at or 0)
        assert [receiver for receiver, _ in sent(made.effects(), Ping)].count(4) == asked
    made.receive_many([Pong(OTHER)], 4, 0)
    assert made.state.table.known[4] == OTHER
    assert 4 in [receiver for receiver, _ in sent(made.effects(), LinkRequest)]


def test_a_joiner_remembers_who_wants_to_join_through_it() -> None:
    """All that it knew may be gone: who asks it has a place, or will have one."""
    made = peer()
    made.start([3], 0)
    made.receive_many([Join(OTHER, OTHER.cells, 10, 1)], 4, 0)
    made.effects()
    made.wake(made.timer() or 0)
    assert [receiver for receiver, _ in sent(made.effects(), Join)] == [4]


@pytest.mark.parametrize("count", [2, 3])
def test_all_that_change_their_interests_at_once_find_each_other(count: int) -> None:
    """Nobody has its place any more, and each waits for the others."""
    overlay = SimulatedOverlay(seed=count, space=SPACE)
    dice = random.Random(count)
    for _ in range(count):
        overlay.join(MARKET.draw_interests(dice))
        overlay.run(20 * SECOND)
    for node in range(count):
        overlay.subscribe(node, MARKET.interests([(node, 0.0, 1.9)]))
    assert {one.state.phase for one in overlay} == {Phase.JOINING}
    overlay.run(150 * SECOND)
    check_quiet_tables(overlay)


def test_the_directory_forgets_a_stranger_that_leaves() -> None:
    made = alone()
    made.receive_many([Lookup(0, frozenset({0}), OTHER, True, True, 10, 1)], 4, 0)
    assert made.state.directory.contacts(0, now=0)[-1] == OTHER
    made.receive_many([Leave(())], 4, 0)
    assert OTHER not in made.state.directory.contacts(0, now=0)


def test_where_a_linked_peer_stood_before_it_is_no_finger() -> None:
    """Also where it is no finger now, since another of its distance stands nearer."""
    near, moved = described(12, (0, 0.0, 1.9), (2, 0.0, 0.5), place=5 << 60), described(4, (0, 0.0, 0.4), place=6 << 60)
    made = linked(alone(), near, msgspec.structs.replace(moved, epoch=1))
    assert [one.node for one in made.state.fingers] == [12]
    made.receive_many([LinkHeartbeat(True, (msgspec.structs.replace(moved, random_id=2 << 60),))], 12, 0)
    assert [one.node for one in made.state.fingers] == [12]


def static(seed: int, count: int) -> SimulatedOverlay:
    """Peers that joined one by one; no heartbeat, so no lease ends and nothing is renewed."""
    overlay = SimulatedOverlay(seed=seed, space=SPACE, configuration=OverlayConfiguration(heartbeat=None, block_size=4))
    dice = random.Random(seed)
    for _ in range(count):
        overlay.join(MARKET.draw_interests(dice))
        overlay.settle()
    return overlay


def named(overlay: SimulatedOverlay) -> set[tuple[int, int]]:
    """Return who is named by the directory, as a contact or a primary, and in which epoch."""
    found = set()
    for one in overlay:
        contacts, claims = one.state.directory.select(lambda cell: True, now=0)
        found |= {(peer.node, peer.epoch) for peers in (*contacts.values(), claims) for peer in peers}
    return found


@pytest.mark.parametrize("seed", range(4))
def test_who_goes_is_named_by_no_directory_any_more(seed: int) -> None:
    overlay = static(seed, 12)
    for node in (3, 7, 11):
        overlay.leave(node)
        overlay.settle()
        assert node not in {one for one, _ in named(overlay)}
    for node, stocks in ((0, 3), (5, 2)):
        before = overlay.peers[node].descriptor
        overlay.subscribe(node, MARKET.interests([(stock, 0.0, 3.9) for stock in range(stocks)]))
        overlay.settle()
        assert overlay.peers[node].descriptor.cells != before.cells
        assert (node, before.epoch) not in named(overlay)
        contacts, claims = overlay.peers[node].state.copies.select(lambda cell: True, now=0)
        assert before not in {one for peers in (*contacts.values(), claims) for one in peers}


def test_who_takes_over_a_place_has_its_part_of_the_directory() -> None:
    overlay = static(0, 6)
    for _ in range(2):
        overlay.join(CHEAP)
        overlay.settle()
    first, second = (overlay.peers[node] for node in (6, 7))
    assert second.state.primary == first.descriptor
    kept = first.state.directory.select(lambda cell: True, now=0)[0]
    others = {cell: [one for one in peers if one.node != 6] for cell, peers in kept.items()}
    assert any(others.values())
    overlay.leave(6)
    overlay.settle()
    found = second.state.directory.select(lambda cell: True, now=0)[0]
    assert all(set(peers) <= set(found.get(cell, ())) for cell, peers in others.items())
