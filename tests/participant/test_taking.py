"""What may be acknowledged when subscriptions take samples in any order: compared with the obvious account."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rookery.participant.taking import Taking
from rookery.rtps.identity import Guid

ONE, OTHER = (Guid(bytes([n]) * 12, 0x102) for n in (1, 2))


def test_a_sample_is_done_with_when_all_have_taken_it_and_those_before_are_done() -> None:
    taking = Taking()
    taking.deliver(ONE, 1, [7, 8])
    taking.deliver(ONE, 2, [])
    taking.deliver(OTHER, 1, [])
    assert taking.is_news
    assert taking.done() == {OTHER: 1}
    taking.take(7, ONE, 1)
    assert not taking.is_news
    taking.deliver(ONE, 3, [8])
    taking.take(8, ONE, 3)
    assert taking.done() == {}
    taking.take(8, ONE, 1)
    assert taking.done() == {ONE: 3}
    assert taking.done() == {}


def test_a_subscription_that_ends_is_not_waited_for() -> None:
    taking = Taking()
    for number in range(1, 4):
        taking.deliver(ONE, number, [7] if number < 3 else [7, 8])
    taking.forget(7)
    assert taking.done() == {ONE: 2}
    taking.take(7, ONE, 3)
    taking.take(8, ONE, 3)
    assert taking.done() == {ONE: 3}


@given(st.data())
def test_any_order(data: st.DataObject) -> None:
    wanting = data.draw(st.lists(st.sets(st.integers(1, 3)), max_size=12))
    taking, left = Taking(), {number: set(names) for number, names in enumerate(wanting, 1)}
    for number, names in left.items():
        taking.deliver(ONE, number, names)
    through = 0
    steps = data.draw(st.permutations([(number, name) for number, names in left.items() for name in names]))
    for step in [None, *steps]:
        if step is not None:
            taking.take(step[1], ONE, step[0])
            left[step[0]].discard(step[1])
        through = taking.done().get(ONE, through)
        waiting = [number for number, names in left.items() if names]
        assert through == (min(waiting) - 1 if waiting else len(wanting))
