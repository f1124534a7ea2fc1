"""Where the events of a batch lie: by column where there are many, and as row by row in every case."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rookery import Schema
from rookery.brokers.batches import batch_of
from rookery.brokers.event_places import FEW, EventPlaces
from rookery.errors import EventError
from rookery.space.axes import Axis, EventSpace

SPACE = EventSpace(
    Schema(symbol=str, price=float, size=int, deep={"x": float}),
    [Axis("price", 0, 100), Axis("symbol"), Axis("size", 0, 10), Axis("deep.x")],
)
PLAIN = EventSpace(SPACE.schema, [Axis("price", 0, 100), Axis("symbol")])
EVENTS = st.fixed_dictionaries(
    {},
    optional={
        "symbol": st.none() | st.text(max_size=5),
        "price": st.none() | st.floats() | st.integers(0, 100),
        "size": st.none() | st.integers(-5, 2**60),
        "deep": st.none() | st.fixed_dictionaries({}, optional={"x": st.floats(0, 1)}),
        "more": st.integers(0, 1),
    },
)


@given(events=st.lists(EVENTS, min_size=1, max_size=6), times=st.sampled_from([1, FEW]))
@settings(max_examples=60)
def test_a_batch_lies_where_its_events_do(events: list[dict[str, Any]], times: int) -> None:
    points, bad = EventPlaces(SPACE).points(batch_of(1, 1, events * times))
    assert list(map(tuple, points.tolist())) == [SPACE.point(event) for event in events * times]
    assert not bad
    rows = [len(events) - 1, 0, len(events) - 1]
    assert EventPlaces(SPACE).some(batch_of(1, 1, events * times), rows).tolist() == points[rows].tolist()
    prices = [event["price"] for event in events if event.get("price") is not None]
    assert EventPlaces(PLAIN).fits(batch_of(1, 1, events * times)) == all(abs(price) < 2**53 for price in prices)


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=2),
    st.just([1]),
)


@given(events=st.lists(st.fixed_dictionaries({"price": ODD, "symbol": ODD}), min_size=1, max_size=6))
@example(events=[{"price": 2**53 + 1, "symbol": None}])  # no double, but a decoder of doubles takes it
@settings(max_examples=100)
def test_what_is_said_to_fit_at_a_glance_fits(events: list[dict[str, Any]]) -> None:
    batch = batch_of(1, 1, events)
    _, bad = EventPlaces(PLAIN).points(batch)
    assert not (bad and EventPlaces(PLAIN).fits(batch))


@pytest.mark.parametrize("count", [2, 2 * FEW])
@pytest.mark.parametrize("wrong", [{"price": "dear"}, {"symbol": 5}, {"size": 2.5}, {"deep": 3}])
def test_an_event_that_does_not_fit_is_named_by_its_row(wrong: dict[str, Any], count: int) -> None:
    events: list[dict[str, Any]] = [{"price": 1.0, "symbol": "a", "size": 1, "deep": {"x": 0.5}}] * (count - 2)
    batch = batch_of(1, 1, [*events, wrong, {"price": 2.0}])
    points, bad = EventPlaces(SPACE).points(batch)
    assert bad == [count - 2]
    assert tuple(points[-1].tolist()) == SPACE.point({"price": 2.0})
    with pytest.raises(EventError):
        SPACE.point(wrong)
