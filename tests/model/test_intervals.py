"""Lengths of time: how they are written, and what they do to an instant."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rookery
from rookery.errors import EventError, SubscriptionError
from rookery.model import parse, to_text
from rookery.model.expressions import Interval, interval_text
from rookery.model.instants import parse_instant
from rookery.model.intervals import moved, parse_interval

SCHEMA = rookery.Schema.from_dict({"t": "timestamp[us]", "i": "int64"})


@given(st.integers(-1000, 1000), st.integers(-(10**18), 10**18))
def test_a_length_is_written_as_it_is_read(months: int, nanoseconds: int) -> None:
    length = Interval(months, nanoseconds)
    assert parse_interval(interval_text(length)) == length
    tree = parse(f"t > DATE '2026-01-01' + INTERVAL '{interval_text(length)}'")
    assert parse(to_text(tree)) == tree


@pytest.mark.parametrize(
    "text", ["", "1", "day", "1 parsec", "1.5 months", "1e5 days", "1 day 2", "0.0000000001 seconds"]
)
def test_what_is_no_length_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no"):
        parse_interval(text)


def test_a_length_past_the_calendar_is_refused_and_an_instant_moved_past_it_is_null() -> None:
    with pytest.raises(ValueError, match="longer than the calendar"):
        parse_interval("10000 years")
    at = parse_instant("2024-02-29T12:00:00.123456789Z")
    assert moved(at, Interval(12, 1)) == parse_instant("2025-02-28T12:00:00.123456790Z")
    assert moved(at, Interval(12 * 8000, 0)) is None
    assert moved(at, 5, -1) == at - 5


@pytest.mark.parametrize("engine", ["bitmap", "matrix", "scan"])
def test_now_is_given_once_for_a_batch_and_is_no_column_of_the_events(engine: str) -> None:
    matcher = rookery.matcher(SCHEMA, engine=engine)
    matcher.add("fresh", "t > now() - INTERVAL '1 hour'")
    matcher.add("before june", "now() < '2026-06-01' AND i = 1")
    events = [
        {"event_id": 0, "t": "2026-05-01T11:30:00Z", "i": 1},
        {"event_id": 1, "t": "2026-05-01T10:00:00Z", "i": 2},
    ]
    now = datetime(2026, 5, 1, 12, tzinfo=UTC)
    assert [matcher.match(event, now=now) for event in events] == [["fresh", "before june"], []]
    for moment, due in ((now, [(0, "fresh"), (0, "before june")]), ("2026-06-01", [])):
        found = matcher.match_many(events, now=moment).to_pylist()
        assert [(row["event_id"], row["subscription_id"]) for row in found] == due
    assert "now() is '2026-05-01T12:00:00Z'" in str(matcher.explain("fresh", events[0], now=now))
    assert matcher.compile().columns == ["t", "i"]
    with pytest.raises(EventError, match="give now="):
        matcher.match(events[0])
    with pytest.raises(EventError, match="give now="):
        matcher.match_many(events)


@pytest.mark.parametrize("engine", ["bitmap", "scan"])
def test_a_network_refuses_now(engine: str) -> None:
    matcher = rookery.matcher(SCHEMA, engine=engine, wall_time=False)
    with pytest.raises(SubscriptionError, match="a network has no one clock") as caught:
        matcher.add("late", "i = 1 AND t < now()")
    assert caught.value.position == 14
