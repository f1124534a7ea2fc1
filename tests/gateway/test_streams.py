"""Streams: in order, each once, whatever a link does to what is on its way."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from rookery.gateway.streams import MOST_BYTES, Inbound, Outbound

SECOND = 1_000_000


@given(st.integers(0, 1 << 32), st.integers(0, 60))
def test_everything_arrives_once_and_in_order_over_a_bad_link(seed: int, count: int) -> None:
    random, now = Random(seed), 0
    outbound, inbound = Outbound(session=7, incarnation=1), Inbound()
    bodies = [bytes([number]) for number in range(count)]
    taken: list[bytes] = []
    link: list[tuple[int, bytes]] = []
    waiting = list(bodies)
    while waiting or outbound.waiting:
        now += random.randrange(SECOND)
        if waiting:
            body = waiting.pop(0)
            link.append((outbound.append(body, now), body))
        if outbound.due is not None and now >= outbound.due:
            link += outbound.again(now)
        random.shuffle(link)
        link = link[: random.randrange(len(link) + 1)]  # the rest is lost
        for number, body in link:
            inbound.begins(7)
            if inbound.is_next(7, number):
                inbound.taken()
                taken.append(body)
        if random.random() < 0.5:
            outbound.acknowledge(7, random.randint(0, inbound.expected), now)
    assert taken == bodies
    assert (outbound.size_bytes, outbound.due) == (0, None)


def test_what_was_never_sent_is_not_acknowledged_and_neither_is_another_session() -> None:
    outbound = Outbound(session=7, incarnation=1)
    outbound.append(b"x", 0)
    outbound.acknowledge(7, 2, 0)
    outbound.acknowledge(6, 1, 0)
    outbound.acknowledge(7, -1, 0)
    assert len(outbound.waiting) == 1
    outbound.acknowledge(7, 1, 0)
    assert not outbound.waiting


def test_pauses_grow_until_something_is_acknowledged() -> None:
    outbound = Outbound(session=7, incarnation=1)
    outbound.append(b"x", 0)
    outbound.append(b"y", 0)
    pauses = []
    now = 0
    for _ in range(5):
        assert outbound.due is not None
        pauses.append(outbound.due - now)
        now = outbound.due
        outbound.again(now)
    assert pauses == [SECOND, 2 * SECOND, 4 * SECOND, 8 * SECOND, 8 * SECOND]
    outbound.acknowledge(7, 1, now)
    assert outbound.due == now + SECOND


def test_a_session_is_begun_once_and_never_an_older_one() -> None:
    inbound = Inbound()
    assert inbound.begins(5)
    inbound.taken()
    assert not inbound.begins(5)
    assert not inbound.begins(4)
    assert inbound.is_next(5, 1)
    assert inbound.begins(6)
    assert not inbound.is_next(5, 0)  # sent again on another way, and late
    assert inbound.is_next(6, 0)


def test_there_is_room_for_so_many_bytes() -> None:
    outbound = Outbound(session=7, incarnation=1)
    outbound.append(bytes(MOST_BYTES - 1), 0)
    assert outbound.has_room(1)
    assert not outbound.has_room(2)
