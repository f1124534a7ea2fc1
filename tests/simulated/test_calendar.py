"""The calendar: in the order of time, and at one time in the order of entry."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import CalendarError
from rookery.simulated.calendar import Calendar


@given(st.lists(st.integers(0, 20)))
def test_actions_happen_in_the_order_of_their_times_and_of_their_entry(times: list[int]) -> None:
    calendar = Calendar()
    done: list[tuple[int, int]] = []
    for number, when in enumerate(times):
        calendar.at(when, lambda number=number: done.append((calendar.now, number)))  # type: ignore[misc]
    assert not calendar.run(30)
    assert done == sorted((when, number) for number, when in enumerate(times))
    assert (calendar.now, len(calendar)) == (30, 0)


def test_an_action_may_enter_others_and_a_condition_stops_the_run() -> None:
    calendar = Calendar()
    done: list[int] = []

    def again() -> None:
        done.append(calendar.now)
        calendar.after(10, again)

    again()
    assert calendar.run(1_000, condition=lambda: len(done) == 3)
    assert (done, calendar.now) == ([0, 10, 20], 20)
    assert not calendar.run(25, condition=lambda: len(done) == 4)
    assert calendar.now == 25


def test_time_does_not_go_back() -> None:
    calendar = Calendar()
    calendar.run(5)
    with pytest.raises(CalendarError, match="does not go back"):
        calendar.at(4, lambda: None)
