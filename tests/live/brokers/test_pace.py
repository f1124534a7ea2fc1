"""A client publishes no more than its pace, on the average, and waits no longer than it must."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from rookery.brokers.batches import NOTHING, EventBatch
from rookery.brokers.client_messages import AskStatus, PublishBatch
from rookery.live.brokers.pace import Pace


def batch(count: int) -> PublishBatch:
    return PublishBatch(EventBatch(1, 0, count, msgspec.Raw(NOTHING)))


@given(st.lists(st.tuples(st.integers(1, 300), st.floats(0.0, 0.5)), min_size=1, max_size=60))
def test_nobody_is_faster_than_the_pace(steps: list[tuple[int, float]]) -> None:
    pace, now, events = Pace(batches=100, events=1000), 10.0, 0
    for number, (count, idle) in enumerate(steps, 1):
        events += count
        wait = pace.spend([batch(count), AskStatus()], now)
        now += max(idle, wait)
        assert number <= 100 * (1.0 + now - 10.0) + 1e-6
        assert events <= 1000 * (1.0 + now - 10.0) + 1e-6


def test_who_keeps_to_the_pace_never_waits() -> None:
    pace = Pace(batches=100, events=1000)
    assert all(pace.spend([batch(10)], 5.0 + 0.01 * turn) == 0.0 for turn in range(1000))
