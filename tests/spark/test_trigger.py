"""Edge and cooldown as a pure function: the state machine without Spark, against an obvious twin."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rookery.spark.trigger import Fire, Moment, step


def one(number: int, time: int, *matched: tuple[str, bool, int]) -> Moment:
    return Moment(number, time, [(name, 1, edge, cooldown) for name, edge, cooldown in matched])


def test_an_edge_fires_on_the_rise_and_again_after_a_fall() -> None:
    high = ("r", True, 0)
    fired = step({}, [one(1, 1, high), one(2, 2, high), one(3, 3), one(4, 4, high)])
    assert fired == [Fire(1, "r", 1), Fire(4, "r", 1)]


def test_a_cooldown_is_by_event_time_and_an_edge_waits_for_it_too() -> None:
    assert [f.event_id for f in step({}, [one(n, n, ("r", False, 3)) for n in range(8)])] == [0, 3, 6]
    moments = [
        one(1, 0, ("r", True, 10)),
        one(2, 5),
        one(3, 6, ("r", True, 10)),
        one(4, 7),
        one(5, 12, ("r", True, 10)),
    ]
    assert [f.event_id for f in step({}, moments)] == [1, 5]


def test_a_late_event_changes_nothing() -> None:
    state: dict[str, Any] = {}
    assert step(state, [one(1, 10, ("r", True, 0))])
    assert step(state, [one(2, 5)]) == []
    assert step(state, [one(3, 11, ("r", True, 0))]) == []


@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=20),
    st.lists(st.integers(0, 20), max_size=3),
    st.integers(0, 4),
    st.integers(0, 4),
)
def test_the_cut_into_micro_batches_does_not_matter(
    holds: list[tuple[bool, bool]], cuts: list[int], first: int, second: int
) -> None:
    moments = [
        one(n, n, *([("a", True, first)] if a else []), *([("b", False, second)] if b else []))
        for n, (a, b) in enumerate(holds)
    ]
    expected, last, before = [], {"a": None, "b": None}, False
    for n, (a, b) in enumerate(holds):
        for name, now, edge, cooldown in (("a", a, True, first), ("b", b, False, second)):
            cool = last[name] is None or n - last[name] >= cooldown
            if now and cool and not (edge and before):
                expected.append((n, name))
                last[name] = n
        before = a
    state: dict[str, Any] = {}
    found = []
    for low, high in zip([0, *sorted(cuts)], [*sorted(cuts), len(moments)], strict=True):
        found += step(state, moments[low:high])
    assert [(fire.event_id, fire.subscription_id) for fire in found] == expected
