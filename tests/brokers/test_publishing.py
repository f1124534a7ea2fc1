"""Where the events of a batch lie: by column where there are many, and as row by row in every case."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery import Schema
from rookery.brokers.batches import batch_of
from rookery.brokers.configuration import BrokerConfiguration
from rookery.brokers.publishing import FEW, Publishing
from rookery.simulated.brokers import SimulatedBrokers
from rookery.space.axes import Axis, EventSpace

SPACE = EventSpace(
    Schema(symbol=str, price=float, size=int, deep={"x": float}),
    [Axis("price", 0, 100), Axis("symbol"), Axis("size", 0, 10), Axis("deep.x")],
)
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


@pytest.fixture(scope="module")
def publishing() -> Publishing:
    network = SimulatedBrokers(BrokerConfiguration(space=SPACE), seed=1)
    network.join()
    network.run(1_000_000)
    return next(iter(network.brokers.values())).publishing


@given(events=st.lists(EVENTS, min_size=1, max_size=6), times=st.sampled_from([1, FEW]))
@settings(max_examples=60)
def test_a_batch_lies_where_its_events_do(publishing: Publishing, events: list[dict[str, Any]], times: int) -> None:
    batch = batch_of(1, 1, events * times)
    assert publishing.points_in(batch) == tuple(SPACE.point(event) for event in events * times)


@pytest.mark.parametrize("count", [2, 2 * FEW])
@pytest.mark.parametrize("wrong", [{"price": "dear"}, {"symbol": 5}, {"size": 2.5}, {"deep": 3}])
def test_a_batch_with_an_event_that_does_not_fit_lies_nowhere(
    publishing: Publishing, wrong: dict[str, Any], count: int
) -> None:
    events: list[dict[str, Any]] = [{"price": 1.0, "symbol": "a", "size": 1, "deep": {"x": 0.5}}] * (count - 1)
    assert publishing.points_in(batch_of(1, 1, [*events, wrong])) is None
