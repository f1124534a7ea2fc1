"""What is not acknowledged is due again after its patience, in the order in which it was sent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rookery.machine.redelivery import Redelivery

PATIENCE = 10
STEPS = st.lists(st.tuples(st.sampled_from(["sent", "acknowledged", "look"]), st.integers(0, 5), st.integers(0, 7)))


@given(STEPS)
def test_it_is_a_table_of_times(steps: list[tuple[str, int, int]]) -> None:
    redelivery: Redelivery[int] = Redelivery(PATIENCE)
    times: dict[int, int] = {}
    now = 0
    for step, key, later in steps:
        now += later
        if step == "sent":
            redelivery.sent(key, now)
            times[key] = now
        elif step == "acknowledged":
            redelivery.acknowledged(key)
            times.pop(key, None)
        due = redelivery.due(now)
        assert sorted(due) == sorted(key for key, sent in times.items() if now - sent >= PATIENCE)
        assert [times[key] for key in due] == sorted(times[key] for key in due)
        assert redelivery.timer() == min((sent + PATIENCE for sent in times.values()), default=None)
        assert (len(redelivery), set(redelivery)) == (len(times), set(times))
        assert (key in redelivery) == (key in times)


def test_what_is_sent_again_waits_behind_the_others() -> None:
    redelivery: Redelivery[str] = Redelivery(PATIENCE)
    for key, now in (("a", 0), ("b", 0), ("c", 5)):
        redelivery.sent(key, now)
    assert redelivery.due(10) == ["a", "b"]
    redelivery.sent("a", 10)
    assert (redelivery.due(10), redelivery.due(20), redelivery.timer()) == (["b"], ["b", "c", "a"], 10)
