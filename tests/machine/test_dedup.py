"""The dedup window: against a list that is looked through, within its bounds, and what it refuses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import SettingsError
from rookery.machine.dedup import DedupWindow

arrivals = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5)), max_size=60)


@given(arrivals, st.integers(1, 6), st.none() | st.integers(1, 10))
def test_a_window_holds_the_latest_keys_of_its_lifetime(
    drawn: list[tuple[int, int]], limit: int, lifetime: int | None
) -> None:
    """The oracle looks through all that was let in: a key is new unless it is among the latest, and young enough."""
    window: DedupWindow[int, int] = DedupWindow(limit, lifetime=lifetime)
    held: list[tuple[int, int]] = []
    now = 0
    for key, pause in drawn:
        now += pause
        held = [one for one in held if lifetime is None or one[1] + lifetime > now]
        is_new = all(key != one for one, _ in held)
        assert window.add(key, now, now) is is_new
        if is_new:
            held = [*held, (key, now)][-limit:]
        assert list(window) == [one for one, _ in held]
        assert len(window) == len(held) <= limit


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 12), max_size=8), st.integers(0, 5)), max_size=20),
    st.integers(1, 12),
    st.none() | st.integers(1, 10),
)
def test_many_keys_come_in_together(drawn: list[tuple[list[int], int]], limit: int, lifetime: int | None) -> None:
    window: DedupWindow[int, int] = DedupWindow(limit, lifetime=lifetime)
    held: list[tuple[int, int]] = []
    now = 0
    for keys, pause in drawn:
        now += pause
        held = [one for one in held if lifetime is None or one[1] + lifetime > now]
        known = {key for key, _ in held}
        is_new = [key not in known and key not in keys[:place] for place, key in enumerate(keys)]
        assert window.add_many(keys, now, now) == is_new
        held += [(key, now) for key, new in zip(keys, is_new, strict=True) if new]
        held = held[-limit:]
        assert list(window) == [key for key, _ in held]
        assert [window.get(key) for key in window] == [when for _, when in held]


def test_only_a_key_that_was_seen_can_be_changed() -> None:
    window: DedupWindow[str, int] = DedupWindow(8)
    with pytest.raises(KeyError):
        window.change("a", 1)


def test_a_key_keeps_its_value_and_its_age() -> None:
    window: DedupWindow[str, int] = DedupWindow(8, lifetime=10)
    assert window.get("a") is None
    assert window.add("a", 1, now=0)
    assert not window.add("a", 2, now=5)
    assert window.get("a") == 1
    window.change("a", 3)
    assert window.get("a") == 3
    assert "a" in window
    assert window.add("b", 0, now=10)
    assert "a" not in window


@pytest.mark.parametrize(("limit", "lifetime"), [(0, None), (-1, None), (1, 0)])
def test_a_window_of_nothing_is_refused(limit: int, lifetime: int | None) -> None:
    with pytest.raises(SettingsError, match="at least 1"):
        DedupWindow(limit, lifetime=lifetime)
