"""The events of a subscription at its client: in order, taken in batches, bounded as the caller has said."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rookery import Subscription
from rookery.errors import ClientError, SubscriptionError
from rookery.live.subscription import Overflow

Scenario = Callable[[Subscription[Any], list[Any]], Awaitable[None]]


def deliver(subscription: Subscription[Any], number: int, *names: str) -> None:
    subscription.deliver(names, [{"n": number, "of": name} for name in names], number)


def with_subscription(
    scenario: Scenario, *, named: bool = False, overflow: Overflow = "wait", queue: int = 100
) -> None:
    async def run() -> None:
        taken: list[Any] = []
        subscription: Subscription[Any] = Subscription(
            "quotes", named=named, overflow=overflow, queue=queue, on_taken=taken.append, on_close=Subscription.end
        )
        subscription.come_into_force()
        await scenario(subscription, taken)

    asyncio.run(asyncio.wait_for(run(), 1_800))


def test_a_batch_is_taken_when_the_program_wants_the_next_one() -> None:
    async def scenario(subscription: Subscription[Any], taken: list[Any]) -> None:
        deliver(subscription, 4, "a", "b")
        deliver(subscription, 5, "c")
        async with subscription as events:
            assert events.waiting == 3
            found = [(await anext(events))["of"] for _ in range(2)]
            assert (found, taken) == (["a", "b"], [])
            assert (await anext(events))["of"] == "c"
            assert taken == [4]

    with_subscription(scenario)


def test_who_leaves_without_an_error_is_done_with_what_he_has_begun() -> None:
    """Not so after an error, nor where some of the batch is left: a durable subscription has that once more."""

    async def leave(subscription: Subscription[Any], error: Exception | None, events: int) -> None:
        with contextlib.suppress(ZeroDivisionError):
            async with subscription as feed:
                for _ in range(events):
                    await anext(feed)
                if error is not None:
                    raise error

    def left(error: Exception | None, events: int) -> list[Any]:
        found: list[Any] = []

        async def scenario(subscription: Subscription[Any], taken: list[Any]) -> None:
            deliver(subscription, 4, "a", "b")
            await leave(subscription, error, events)
            found.extend(taken)

        with_subscription(scenario)
        return found

    assert left(None, 2) == [4]
    assert left(None, 1) == []
    assert left(ZeroDivisionError(), 2) == []


def test_many_conditions_name_their_events_and_batches_go_on_where_the_iterator_stopped() -> None:
    async def scenario(subscription: Subscription[Any], _: list[Any]) -> None:
        deliver(subscription, 4, "a", "b")
        deliver(subscription, 5, "c")
        assert await anext(subscription) == ("a", {"n": 4, "of": "a"})
        subscription.close()
        batches = [batch async for batch in subscription.batches()]
        assert batches == [[("b", {"n": 4, "of": "b"})], [("c", {"n": 5, "of": "c"})]]

    with_subscription(scenario, named=True)


def test_after_its_end_what_comes_is_acknowledged_and_the_iterator_gives_the_rest() -> None:
    async def scenario(subscription: Subscription[Any], taken: list[Any]) -> None:
        deliver(subscription, 4, "a")
        subscription.close()
        subscription.close()
        assert subscription.is_closed
        deliver(subscription, 5, "b")
        assert taken == [5]
        assert [event["of"] async for event in subscription] == ["a"]
        assert taken == [5, 4]
        assert [event async for event in subscription] == []
        assert taken == [5, 4], "once"

    with_subscription(scenario)


def test_a_rejected_subscription_raises_where_it_is_entered_and_where_it_is_read() -> None:
    async def scenario(subscription: Subscription[Any], _: list[Any]) -> None:
        subscription.reject(SubscriptionError("no such attribute"))
        with pytest.raises(SubscriptionError, match="no such attribute"):
            async with subscription:
                pass
        with pytest.raises(SubscriptionError):
            await anext(subscription)

    with_subscription(scenario)


def test_the_oldest_are_dropped_across_batches_counted_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(subscription: Subscription[Any], taken: list[Any]) -> None:
        for number in range(4):
            deliver(subscription, number, "a", "b")
        assert taken == [0, 1, 2, 3], "nobody waits for the program"
        assert (subscription.dropped, subscription.waiting) == (5, 3)
        subscription.close()
        left = [(event["n"], event["of"]) async for event in subscription]
        assert left == [(2, "b"), (3, "a"), (3, "b")]

    with caplog.at_level(logging.WARNING, logger="rookery.live"):
        with_subscription(scenario, overflow="drop-oldest", queue=3)
    assert [record.getMessage() for record in caplog.records] == [
        "a subscription to quotes drops its oldest events: more than 3 wait"
    ]


def test_who_waits_in_vain_and_is_cancelled_costs_no_event() -> None:
    async def scenario(subscription: Subscription[Any], _: list[Any]) -> None:
        waiting = asyncio.ensure_future(anext(subscription))
        await asyncio.sleep(0)
        deliver(subscription, 1, "a")
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert (await anext(subscription))["n"] == 1

    with_subscription(scenario)


def test_a_subscription_of_a_loop_is_not_for_plain_code() -> None:
    async def scenario(subscription: Subscription[Any], _: list[Any]) -> None:
        with pytest.raises(ClientError, match="`async for`"):
            next(subscription)
        with pytest.raises(ClientError, match="`async for`"), subscription:
            pass

    with_subscription(scenario)
