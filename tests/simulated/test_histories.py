"""A failing history is told with its fewest faults, and its replay fails in the same way."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.histories import Faults, fewest, live_or_shrink, live_through_all, replayed


@given(st.sets(st.integers(0, 39), max_size=4))
def test_the_fewest_faults_are_those_that_it_takes(culprits: set[int]) -> None:
    assert set(fewest(lambda faults: culprits <= set(faults), list(range(40)))) == culprits


@given(st.lists(st.sets(st.integers(0, 15), min_size=1, max_size=3), min_size=1, max_size=3))
def test_none_of_the_fewest_can_be_left_out(ways: list[set[int]]) -> None:
    def fails(faults: list[int]) -> bool:
        return any(way <= set(faults) for way in ways)

    left = fewest(fails, list(range(16)))
    assert fails(left)
    assert not any(fails([other for other in left if other != fault]) for fault in left)


def live(seed: int, faults: Faults) -> None:
    """Ten faults; the third and the seventh together break something, in every history but the first."""
    struck = [number for number in range(10) if faults.strikes()]
    assert seed == 0 or not {3, 7} <= set(struck), "broken"


def test_a_failing_history_says_how_to_replay_it(monkeypatch: pytest.MonkeyPatch) -> None:
    live_or_shrink(live, 0, test="here")
    with pytest.raises(AssertionError, match="history 5 fails with 2 of its 10 faults; replay: ") as failure:
        live_or_shrink(live, 5, test="tests/here.py -k replay")
    assert "broken" in str(failure.value.__cause__)
    said = re.search(r"ROOKERY_SEED=(\d+) ROOKERY_FAULTS=([\d,]+) pytest tests/here.py -k replay", str(failure.value))
    assert said is not None
    assert replayed() is None
    monkeypatch.setenv("ROOKERY_SEED", said[1])
    monkeypatch.setenv("ROOKERY_FAULTS", said[2])
    again = replayed()
    assert again is not None
    with pytest.raises(AssertionError, match="broken"):
        live(*again)


def test_all_histories_are_lived_through_even_where_some_fail() -> None:
    said: list[str] = []
    with pytest.raises(AssertionError, match=r"history 5 fails(.|\n)*history 7 fails") as failure:
        live_through_all(live, (0, 5, 0, 7, 0), test="here", say=said.append)
    assert "broken" in str(failure.value.__cause__)
    assert [line.split(" fails")[0] for line in said[:2]] == ["history 5", "history 7"]
    assert "broken" in said[0]
    assert said[2] == "5 histories, the last one 0: 2 failed"
    live_through_all(live, (0, 0), test="here", say=said.append)
    assert said[3] == "2 histories, the last one 0: 0 failed"


def test_a_history_that_fails_without_any_fault_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def hopeless(seed: int, faults: Faults) -> None:
        faults.strikes()
        raise ValueError("always")

    with pytest.raises(AssertionError, match=r"with 0 of its 1 faults.*ROOKERY_FAULTS=none") as failure:
        live_or_shrink(hopeless, 1, test="t")
    assert isinstance(failure.value.__cause__, ValueError)
    monkeypatch.setenv("ROOKERY_SEED", "1")
    monkeypatch.setenv("ROOKERY_FAULTS", "none")
    again = replayed()
    assert again is not None
    assert not again[1].strikes()
