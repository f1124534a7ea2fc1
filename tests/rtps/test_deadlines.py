"""Timers against a dictionary: whatever is armed, moved or cancelled, the same ones run in the same order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rookery.rtps.deadlines import Deadlines

STEPS = st.lists(
    st.tuples(st.sampled_from(["arm", "sooner", "cancel", "run"]), st.integers(0, 8), st.integers(0, 50)), max_size=60
)


@given(STEPS)
def test_agrees_with_a_dictionary(steps: list[tuple[str, int, int]]) -> None:
    timers, plain = Deadlines(), {}
    ran: list[int] = []
    for ticket, (step, name, when) in enumerate(steps):
        if step == "arm" or (step == "sooner" and (name not in plain or when < plain[name][0])):
            plain[name] = (when, ticket)
        if step == "arm":
            timers.arm(name, when, lambda _, name=name: ran.append(name))  # type: ignore[misc]
        elif step == "sooner":
            timers.arm_sooner(name, when, lambda _, name=name: ran.append(name))  # type: ignore[misc]
        elif step == "cancel":
            timers.cancel(name)
            plain.pop(name, None)
        else:
            due = sorted((key for key in plain if plain[key][0] <= when), key=lambda key: plain[key])
            ran.clear()
            timers.run(when)
            assert ran == due
            for key in due:
                del plain[key]
        assert timers.next() == min((when for when, _ in plain.values()), default=None)
        assert len(timers) == len(plain)
        assert all((key in timers) == (key in plain) for key in range(9))


def test_what_an_action_arms_for_now_waits_for_the_next_run() -> None:
    timers = Deadlines()
    ran: list[int] = []

    def again(now: int) -> None:
        ran.append(now)
        timers.arm("again", now, again)

    timers.arm("again", 1, again)
    timers.run(5)
    assert ran == [5]
    timers.run(5)
    assert ran == [5, 5]


def test_moving_a_timer_a_thousand_times_does_not_fill_the_heap() -> None:
    timers = Deadlines()
    for when in range(10_000):
        timers.arm("lease", when, lambda _: None)
    assert len(timers._heap) < 100
    assert timers.next() == 9_999
