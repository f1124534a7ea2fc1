"""The events of a subscription at its client: in order, acknowledged when the program comes for the next batch."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rookery.brokers.client_events import Delivered, DeliveryKey
from rookery.errors import SubscriptionError
from rookery.live.brokers.feed import Feed


def delivered(number: int, *names: str) -> Delivered:
    return Delivered(1, (2, number), 7, names, range(len(names)), [{"n": number, "of": name} for name in names])


def with_feed(scenario: Callable[[Feed, list[DeliveryKey]], Awaitable[None]], *, named: bool = False) -> None:
    async def run() -> None:
        acknowledged: list[DeliveryKey] = []
        feed = Feed(named=named, acknowledge=lambda _, key: acknowledged.append(key), over=Feed.end)
        feed.in_force()
        await scenario(feed, acknowledged)

    asyncio.run(asyncio.wait_for(run(), 10))


def test_a_batch_is_acknowledged_when_the_program_wants_the_next_one() -> None:
    async def scenario(feed: Feed, acknowledged: list[DeliveryKey]) -> None:
        feed.take(delivered(4, "a", "b"))
        feed.take(delivered(5, "c"))
        async with feed as events:
            found = [(await anext(events))["of"] for _ in range(2)]
            assert (found, acknowledged) == (["a", "b"], [])
            assert (await anext(events))["of"] == "c"
            assert acknowledged == [(2, 4)]

    with_feed(scenario)


def test_a_feed_of_many_names_them() -> None:
    async def scenario(feed: Feed, _: list[DeliveryKey]) -> None:
        feed.take(delivered(4, "a", "b"))
        feed.end()
        batches: list[Any] = [batch async for batch in feed.batches()]
        assert batches == [[("a", {"n": 4, "of": "a"}), ("b", {"n": 4, "of": "b"})]]

    with_feed(scenario, named=True)


def test_after_its_end_what_comes_is_acknowledged_and_the_iterator_gives_the_rest() -> None:
    async def scenario(feed: Feed, acknowledged: list[DeliveryKey]) -> None:
        feed.take(delivered(4, "a"))
        feed.end()
        feed.take(delivered(5, "b"))
        assert acknowledged == [(2, 5)]
        assert [event["of"] async for event in feed] == ["a"]
        assert acknowledged == [(2, 5), (2, 4)]

    with_feed(scenario)


def test_a_rejected_subscription_raises_where_it_is_entered_and_where_it_is_read() -> None:
    async def scenario(feed: Feed, _: list[DeliveryKey]) -> None:
        feed.reject(SubscriptionError("no such attribute"))
        with pytest.raises(SubscriptionError, match="no such attribute"):
            async with feed:
                pass
        with pytest.raises(SubscriptionError):
            await anext(feed)

    with_feed(scenario)
