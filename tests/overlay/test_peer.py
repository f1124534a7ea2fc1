"""The peer as a machine: what it is told and what it wants done, its one timer, and what comes back."""

from __future__ import annotations

import pytest

from rookery.machine import Emit, Machine
from rookery.overlay.configuration import SECOND
from rookery.overlay.dissemination import Deliver
from rookery.overlay.messages import (
    CellEvent,
    Cluster,
    ClusterJoin,
    Join,
    JoinReply,
    LinkHeartbeat,
    Lookup,
    Ping,
    Pong,
    encode,
)
from rookery.overlay.peer import BOOTSTRAPS
from rookery.overlay.state import Phase

from .peers import CHEAP, MARKET, SPACE, alone, described, linked, peer, sent


def test_a_peer_is_a_machine() -> None:
    machine: Machine = alone()
    machine.lose(3, 0)
    assert machine.effects() == []


def test_a_message_and_its_octets_do_the_same() -> None:
    by_struct, by_octets = alone(), alone()
    event = CellEvent((4, 1), 0, [0, 0.5], 3)
    by_struct.receive_many([event, event], 4, 0)
    by_octets.receive_many([encode(event), encode(event)], 4, 0)
    assert by_struct.effects() == by_octets.effects() == [Emit(Deliver((4, 1), [0, 0.5], 3, (0,)))]
    assert by_struct.counters == by_octets.counters == {"duplicate": 1}


@pytest.mark.parametrize("thing", [None, 3, "text", object(), b"", b"\x93\x01", [], Deliver((1, 1), None, 0, ())])
def test_what_is_no_message_is_counted(thing: object) -> None:
    made = alone()
    made.receive_many([thing], 4, 0)
    assert made.counters == {"message rejected": 1}
    assert made.effects() == []


def test_an_event_that_cannot_be_read_leaves_no_trace() -> None:
    made = linked(alone(), described(4, (0, 0.0, 1.9), (1, 0.0, 0.5)))
    made.receive_many([CellEvent((4, 1), 0, (0, "dear"), 1)], 4, 0)
    assert made.counters["message rejected"] == 1
    assert made.effects() == []
    assert (4, 1) not in made.state.seen


def test_an_event_carries_the_subscriptions_that_it_satisfies() -> None:
    made = alone()
    made.subscribe(MARKET.interests([(0, 0.0, 1.9), (0, 1.5, 1.9), (0, 0.5, 1.0)]), 0)
    made.receive_many([CellEvent((4, number), 0, (0, price), 1) for number, price in enumerate((0.7, 0.2))], 4, 0)
    delivered = [one.event for one in made.effects() if isinstance(one, Emit)]
    assert [one.subscriptions for one in delivered] == [(0, 2), (0,)]


def test_the_timer_is_the_next_heartbeat_or_the_first_overdue_answer() -> None:
    made = alone(heartbeat=5 * SECOND)
    beat = made.timer()
    assert beat is not None
    assert 0 < beat <= 5 * SECOND
    made.wake(beat - 1)
    assert made.timer() == beat
    assert made.effects() == []
    other = described(4, (0, 0.0, 1.9), (1, 0.0, 0.5))
    linked(made, other)
    made.wake(beat)
    assert sent(made.effects(), LinkHeartbeat)
    assert made.timer() == beat + 5 * SECOND or made.state.requests
    assert alone(heartbeat=None).timer() is None


def test_what_is_not_answered_is_asked_again() -> None:
    made = peer(heartbeat=None, request_timeout=SECOND)
    made.start([3], 0)
    assert [receiver for receiver, _ in sent(made.effects(), Join)] == [3]
    assert made.timer() == SECOND
    made.wake(SECOND)
    assert [receiver for receiver, _ in sent(made.effects(), Join)] == [3]
    assert made.timer() == 3 * SECOND


def test_who_has_left_neither_hears_nor_wakes() -> None:
    made = alone()
    made.leave(0)
    made.effects()
    made.receive_many([Ping(), b"noise"], 4, 0)
    made.undeliverable(Ping(), 4, 0)
    made.wake(1 << 40)
    assert (made.timer(), made.effects(), made.counters) == (None, [], {})


def test_confirmed_is_who_has_an_answer_from_all_its_links() -> None:
    other = described(4, (0, 0.0, 1.9), (1, 0.0, 0.5))
    made = linked(alone(heartbeat=None), other)
    assert made.is_ready
    assert not made.is_confirmed
    made.confirm(0)
    assert sent(made.effects(), Ping) == [(4, Ping())]
    made.receive_many([Pong(other)], 4, 0)
    assert made.is_confirmed
    made.confirm(0)
    assert made.effects() == []


def test_introductions_are_kept_within_limits() -> None:
    made = alone()
    made.introduce([9, *range(20, 40)], 0)
    made.introduce([50], 0)
    assert made.state.bootstraps == (50, *range(20, 20 + BOOTSTRAPS - 1))


def test_other_interests_in_the_same_cells_are_a_private_matter() -> None:
    made = linked(alone(), described(4, (0, 0.0, 1.9), (1, 0.0, 0.5)))
    made.subscribe(MARKET.interests([(0, 0.2, 1.1)]), 0)
    assert made.effects() == []
    made.subscribe(MARKET.interests([(2, 0.2, 1.1)]), 0)
    assert made.state.phase is Phase.JOINING
    assert [receiver for receiver, _ in sent(made.effects(), Join)] == [4]
    assert made.descriptor.epoch == 1


def test_a_member_of_our_cluster_is_no_finger() -> None:
    """It would hand all that it is sent back to us, its primary."""
    member = SPACE.describe(node=4, random_id=4 << 60, cells=CHEAP.cells)
    made = alone()
    made.receive_many([ClusterJoin(member), Pong(member)], 4, 0)
    made.receive_many([Lookup(0, frozenset({0}), member, True, False, 10, 1)], 4, 0)
    assert [one.node for one in made.state.members] == [4]
    assert not list(made.state.fingers)


def test_a_member_looks_up_through_its_primary_however_often() -> None:
    """Its fingers are of the time when it came, and nobody asks whether they live."""
    primary = SPACE.describe(node=4, random_id=4 << 60, cells=CHEAP.cells, epoch=5)
    gone = described(7, (0, 0.0, 1.9), (1, 0.0, 0.5))
    made = alone(heartbeat=None)
    own = made.state.self_descriptor
    made.receive_many([Cluster(primary, (own,), (gone,))], 4, 0)
    assert made.state.phase is Phase.MEMBER
    assert 7 in [one.node for one in made.state.fingers]
    made.publish((2, 3.5), 0)
    for _ in range(4):
        assert [receiver for receiver, _ in sent(made.effects(), Lookup)] == [4]
        made.wake(made.timer() or 0)


def test_a_reply_that_was_not_asked_for_changes_nothing() -> None:
    made = alone()
    made.receive_many([JoinReply(described(4, (0, 0.0, 1.9)), (), 77)], 4, 0)
    assert made.effects() == []
