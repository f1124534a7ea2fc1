"""Effective dating: the set of times of each version is what the rule says of every single time."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.matching.timeline import Dating, deciding_times

DATES = st.none() | st.integers(0, 8)


@st.composite
def versions(draw: st.DrawFn) -> list[Dating]:
    found = []
    for version in draw(st.lists(st.integers(1, 9), unique=True, min_size=1, max_size=5)):
        begin, end = draw(DATES), draw(DATES)
        if begin is not None and end is not None and end <= begin:
            begin, end = (end, begin) if end < begin else (begin, None)
        found.append(Dating(version, begin, end))
    return found


def decides_at(versions: list[Dating], time: int) -> int | None:
    """The rule as the specification says it, one time at a time."""
    ordered = sorted(versions)
    for place in reversed(range(len(ordered))):
        version, begin, end = ordered[place]
        if end is None and place + 1 < len(ordered):
            following = ordered[place + 1].valid_from
            if following is None:
                continue  # an undated version holds from when it was seen: nothing is left for those before it
            end = following
        if (begin is None or begin <= time) and (end is None or time < end):
            return version
    return None


@settings(max_examples=400)
@given(versions())
def test_at_each_time_the_highest_version_in_effect_decides(family: list[Dating]) -> None:
    times = deciding_times(family)
    assert set(times) == {one.version for one in family}
    for time in range(-2, 11):
        held = [
            version
            for version, intervals in times.items()
            if intervals is None or any(low <= time <= high for low, high in intervals)
        ]
        wanted = decides_at(family, time)
        assert held == ([] if wanted is None else [wanted])


def test_one_version_without_dates_always_decides() -> None:
    assert deciding_times([Dating(1, None, None)]) == {1: None}


def test_a_version_that_was_replaced_never_decides() -> None:
    assert deciding_times([Dating(1, None, None), Dating(2, None, None)]) == {1: (), 2: None}


def test_a_later_version_may_leave_a_gap_to_the_earlier_one() -> None:
    times = deciding_times([Dating(1, 0, 100), Dating(2, 20, 30)])
    assert times == {1: ((0, 19), (30, 99)), 2: ((20, 29),)}
