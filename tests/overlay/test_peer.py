"""The peer as a machine: what it is told and what it wants done, its one timer, and what comes back."""

from __future__ import annotations

import random
from typing import Any

import pytest

from rookery.machine import Effect, Emit, Machine, Send
from rookery.overlay.configuration import SECOND, OverlayConfiguration
from rookery.overlay.dissemination import Deliver
from rookery.overlay.identity import Descriptor, SemanticSpace
from rookery.overlay.messages import (
    Cluster,
    ClusterJoin,
    Event,
    Find,
    Heartbeat,
    Join,
    JoinReply,
    Link,
    Lookup,
    Ping,
    Pong,
    encode,
)
from rookery.overlay.peer import BOOTSTRAPS, Peer
from rookery.overlay.state import Phase
from rookery.overlay.workload import StockMarket

MARKET = StockMarket(stocks=3, buckets=4)
SPACE = SemanticSpace(cell_count=MARKET.cell_count)
CHEAP = MARKET.interests([(0, 0.0, 1.9)])


def peer(**changes: Any) -> Peer:
    configuration = OverlayConfiguration(**changes)
    return Peer(
        node=9, interests=CHEAP, space=SPACE, random=random.Random(0), configuration=configuration, random_id=1 << 60
    )


def alone(**changes: Any) -> Peer:
    """Return a peer that has its place and nobody beside it."""
    made = peer(**changes)
    made.start([], 0)
    while sent := [one for one in made.effects() if isinstance(one, Send)]:
        assert all(one.receiver == 9 for one in sent)  # nobody else to ask
        made.receive_many([one.message for one in sent], 9, 0)
    return made


def described(node: int, *boxes: tuple[int, float, float], place: int | None = None) -> Descriptor:
    cells = MARKET.interests(boxes).cells
    return SPACE.describe(node=node, random_id=node << 60 if place is None else place, cells=cells)


def linked(made: Peer, *others: Descriptor) -> Peer:
    """Let others link to a peer."""
    for other in others:
        made.receive_many([Link(other, True, frozenset())], other.node, 0)
    made.effects()
    return made


def sent(effects: list[Effect], kind: type) -> list[tuple[int, Any]]:
    return [(one.receiver, one.message) for one in effects if isinstance(one, Send) and isinstance(one.message, kind)]


def test_a_peer_is_a_machine() -> None:
    machine: Machine = alone()
    machine.lose(3, 0)
    assert machine.effects() == []


def test_a_message_and_its_octets_do_the_same() -> None:
    by_struct, by_octets = alone(), alone()
    event = Event((4, 1), 0, [0, 0.5], 3)
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
    made.receive_many([Event((4, 1), 0, (0, "dear"), 1)], 4, 0)
    assert made.counters["message rejected"] == 1
    assert made.effects() == []
    assert (4, 1) not in made.state.seen


def test_an_event_carries_the_subscriptions_that_it_satisfies() -> None:
    made = alone()
    made.subscribe(MARKET.interests([(0, 0.0, 1.9), (0, 1.5, 1.9), (0, 0.5, 1.0)]), 0)
    made.receive_many([Event((4, number), 0, (0, price), 1) for number, price in enumerate((0.7, 0.2))], 4, 0)
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
    assert sent(made.effects(), Heartbeat)
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


class TestUndeliverable:
    """A peer that cannot be reached is gone at once, and what it was sent goes another way."""

    near = described(4, (0, 0.0, 1.9), (1, 0.0, 0.5))
    far = described(12, (0, 0.0, 1.9), (2, 0.0, 0.5))

    def test_it_is_removed_and_its_links_are_told(self) -> None:
        made = linked(alone(), self.near, self.far)
        made.receive_many([Heartbeat(True, (self.far, described(7, (2, 0.0, 0.5))))], 4, 0)
        made.effects()
        made.undeliverable(encode(Ping()), 4, 0)
        told = {one.receiver for one in made.effects() if isinstance(one, Send)}
        assert 4 not in made.state.table.known
        assert {7, 12} <= told
        assert made.counters["undeliverable"] == made.counters["failure noticed"] == 1

    def test_each_arc_goes_to_the_one_before(self) -> None:
        """Several arcs come back one after the other: the place of the lost one is still known at the last."""
        made = linked(alone(arc=True), self.near, self.far)
        events = [Event((9, number), 0, (0, 0.5), 0) for number in (1, 2)]
        for event in events:
            made.publish(event.payload, 0)
        arcs = [message for receiver, message in sent(made.effects(), Event) if receiver == 12]
        assert len(arcs) == 2
        for arc in arcs:
            made.undeliverable(arc, 12, 0)
        again = sent(made.effects(), Event)
        assert [(receiver, one.event_id, one.arc_end) for receiver, one in again] == [
            (4, arc.event_id, arc.arc_end) for arc in arcs
        ]

    def test_walks_of_others_and_look_ups_go_another_way(self) -> None:
        made = linked(alone(), self.near, self.far)
        stranger = described(15, (0, 0.0, 0.9))
        made.undeliverable(Find(stranger, frozenset({0}), 10, 1), 12, 0)
        effects = made.effects()
        assert {one.receiver for one in effects if isinstance(one, Send)} & {4, 15}
        made.undeliverable(Lookup(0, frozenset({0}), stranger, False, False, 10, 1), 4, 0)
        assert made.effects()

    def test_a_join_is_tried_again_at_once(self) -> None:
        made = peer(heartbeat=None)
        made.start([3, 4], 0)
        ((receiver, join),) = sent(made.effects(), Join)
        made.undeliverable(join, receiver, 100)
        assert made.timer() == 100
        made.wake(100)
        ((other, _),) = sent(made.effects(), Join)
        assert {receiver, other} == {3, 4}

    def test_who_cannot_be_reached_stays_a_way_back(self) -> None:
        """Both may only have been cut off from each other: an island that forgot everybody would stay one."""
        made = linked(alone(), self.near, self.far)
        for node in (4, 12):
            made.undeliverable(Ping(), node, 0)
        assert not made.state.table.known
        assert {4, 12} <= set(made.state.ways_in)

    def test_who_has_tried_every_way_in_waits_before_it_tries_again(self) -> None:
        made = peer(heartbeat=None, request_timeout=SECOND)
        made.start([3, 4], 0)
        for _ in range(2):
            ((receiver, join),) = sent(made.effects(), Join)
            made.undeliverable(join, receiver, 100)
            made.wake(100)
        assert not made.effects()
        assert (made.timer() or 0) >= SECOND


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
