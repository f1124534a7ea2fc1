"""A peer that cannot be reached is gone at once, and what it was sent goes another way."""

from __future__ import annotations

from rookery.machine import Send
from rookery.overlay.configuration import SECOND
from rookery.overlay.messages import CellEvent, Find, Join, LinkHeartbeat, Lookup, Ping, encode

from .peers import alone, described, linked, peer, sent

NEAR = described(4, (0, 0.0, 1.9), (1, 0.0, 0.5))
FAR = described(12, (0, 0.0, 1.9), (2, 0.0, 0.5))


def test_it_is_removed_and_its_links_are_told() -> None:
    made = linked(alone(), NEAR, FAR)
    made.receive_many([LinkHeartbeat(True, (FAR, described(7, (2, 0.0, 0.5))))], 4, 0)
    made.effects()
    made.undeliverable(encode(Ping()), 4, 0)
    told = {one.receiver for one in made.effects() if isinstance(one, Send)}
    assert 4 not in made.state.table.known
    assert {7, 12} <= told
    assert made.counters["undeliverable"] == made.counters["failure noticed"] == 1


def test_each_arc_goes_to_the_one_before() -> None:
    """Several arcs come back one after the other: the place of the lost one is still known at the last."""
    made = linked(alone(arc=True), NEAR, FAR)
    events = [CellEvent((9, number), 0, (0, 0.5), 0) for number in (1, 2)]
    for event in events:
        made.publish(event.payload, 0)
    arcs = [message for receiver, message in sent(made.effects(), CellEvent) if receiver == 12]
    assert len(arcs) == 2
    for arc in arcs:
        made.undeliverable(arc, 12, 0)
    again = sent(made.effects(), CellEvent)
    assert [(receiver, one.event_id, one.arc_end) for receiver, one in again] == [
        (4, arc.event_id, arc.arc_end) for arc in arcs
    ]


def test_walks_of_others_and_look_ups_go_another_way() -> None:
    made = linked(alone(), NEAR, FAR)
    stranger = described(15, (0, 0.0, 0.9))
    made.undeliverable(Find(stranger, frozenset({0}), 10, 1), 12, 0)
    effects = made.effects()
    assert {one.receiver for one in effects if isinstance(one, Send)} & {4, 15}
    made.undeliverable(Lookup(0, frozenset({0}), stranger, False, False, 10, 1), 4, 0)
    assert made.effects()


def test_a_join_is_tried_again_at_once() -> None:
    made = peer(heartbeat=None)
    made.start([3, 4], 0)
    ((receiver, join),) = sent(made.effects(), Join)
    made.undeliverable(join, receiver, 100)
    assert made.timer() == 100
    made.wake(100)
    ((other, _),) = sent(made.effects(), Join)
    assert {receiver, other} == {3, 4}


def test_who_cannot_be_reached_stays_a_way_back() -> None:
    """Both may only have been cut off from each other: an island that forgot everybody would stay one."""
    made = linked(alone(), NEAR, FAR)
    for node in (4, 12):
        made.undeliverable(Ping(), node, 0)
    assert not made.state.table.known
    assert {4, 12} <= set(made.state.ways_in)


def test_who_has_tried_every_way_in_waits_before_it_tries_again() -> None:
    made = peer(heartbeat=None, request_timeout=SECOND)
    made.start([3, 4], 0)
    for _ in range(2):
        ((receiver, join),) = sent(made.effects(), Join)
        made.undeliverable(join, receiver, 100)
        made.wake(100)
    assert not made.effects()
    assert (made.timer() or 0) >= SECOND
