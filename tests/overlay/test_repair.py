"""What peers hold wrong about each other after messages were lost, and how they find out."""

from __future__ import annotations

import random

import pytest

from rookery.overlay.configuration import SECOND
from rookery.overlay.identity import SemanticSpace
from rookery.overlay.messages import ClusterJoin, Join, LinkHeartbeat, LinkRequest, Ping, Pong
from rookery.overlay.state import Phase
from rookery.overlay.workload import StockMarket
from rookery.simulated.overlay import SimulatedOverlay

from .oracle import check_quiet_tables
from .peers import CHEAP, SPACE, alone, described, linked, peer, sent

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
    market = StockMarket(stocks=3, buckets=4)
    overlay = SimulatedOverlay(seed=count, space=SemanticSpace(cell_count=market.cell_count))
    dice = random.Random(count)
    for _ in range(count):
        overlay.join(market.draw_interests(dice))
        overlay.run(20 * SECOND)
    for node in range(count):
        overlay.subscribe(node, market.interests([(node, 0.0, 1.9)]))
    assert {one.state.phase for one in overlay} == {Phase.JOINING}
    overlay.run(150 * SECOND)
    check_quiet_tables(overlay)
