"""One suite for every router: what a program sees does not depend on how events find their way."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import rookery
from rookery.errors import RookeryError
from rookery.live.pubsub import Events, PublishSubscribe

from .networks import NETWORKS, SCHEMA, TOPIC, MakeClient

SYMBOLS = ("ACME", "AJAX", "BOLT", "ZULU", "Ørsted")


@pytest.fixture(params=list(NETWORKS))
def network(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., None]:
    """Return what runs a scenario on a network."""

    def run(scenario: Callable[[MakeClient], Awaitable[None]]) -> None:
        async def limited() -> None:
            async with asyncio.timeout(120), NETWORKS[request.param](tmp_path) as make_client:
                await scenario(make_client)

        asyncio.run(limited())

    return run


def an_event(number: int, dice: random.Random) -> dict[str, Any]:
    return {
        "symbol": dice.choice([*SYMBOLS, None]),
        "price": dice.choice([None, dice.uniform(-20, 1100)]),
        "number": number,
    }


def a_condition(dice: random.Random) -> str | None:
    price = dice.randrange(1000)
    return dice.choice(
        [
            f"symbol = '{dice.choice(SYMBOLS)}' AND price < {price}",
            f"price >= {price} OR symbol LIKE 'A%'",
            f"symbol > 'B' AND NOT (price BETWEEN 200 AND {price + 20})",
            "price IS NULL",
            f"number > 30 AND price > {price} AND price < {price - 1}",
            "symbol IN ('ZULU', 'Ørsted') AND number <> 5",
            None,
        ]
    )


async def take(events: Events, count: int) -> list[dict[str, Any]]:
    return [await anext(aiter(events)) for _ in range(count)]


async def nothing_more(events: Events) -> bool:
    """Tell whether nothing comes for a while."""
    waiting = asyncio.ensure_future(take(events, 1))
    done, _ = await asyncio.wait([waiting], timeout=0.3)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    return not done


def test_everyone_gets_what_scan_says_exactly_once(network: Callable[..., None]) -> None:
    async def scenario(make_client: MakeClient) -> None:
        dice = random.Random(11)
        conditions = {f"s{number}": a_condition(dice) for number in range(18)}
        events = [an_event(number, dice) for number in range(120)]
        oracle = rookery.matcher(SCHEMA, engine="scan")
        for name, where in conditions.items():
            oracle.add(name, where or "")
        due = Counter((str(name), event["number"]) for event in events for name in oracle.match(event))
        async with make_client(0) as one, make_client(1) as two, make_client(2) as three:
            clients: list[PublishSubscribe] = [one, two, three]
            feeds: dict[str, Events] = {}
            for number, (name, where) in enumerate(conditions.items()):
                feeds[name] = await clients[number % 3].subscribe(TOPIC, where).__aenter__()
            for event in events:
                clients[event["number"] % 3].publish(TOPIC, event)
            for client in clients:
                await client.flush(TOPIC)
            got: Counter[tuple[str, int]] = Counter()
            for name, feed in feeds.items():
                for event in await take(feed, sum(pair[0] == name for pair in due)):
                    got[name, event["number"]] += 1
                    assert event == events[event["number"]]
            assert got == due
            assert all([await nothing_more(feed) for feed in list(feeds.values())[:4]])

    network(scenario)


def test_a_subscription_in_force_misses_nothing_and_ends_when_left(network: Callable[..., None]) -> None:
    async def scenario(make_client: MakeClient) -> None:
        async with make_client(0) as publisher, make_client(1) as subscriber:
            async with subscriber.subscribe(TOPIC, "price < 10") as events:
                publisher.publish(TOPIC, {"symbol": "ACME", "price": 1.0, "number": 1})
                publisher.publish(TOPIC, {"symbol": "ACME", "price": 11.0, "number": 2})
                publisher.publish(TOPIC, {"symbol": "ACME", "price": 3.0, "number": 3})
                await publisher.flush(TOPIC)
                assert sorted(event["number"] for event in await take(events, 2)) == [1, 3]
            publisher.publish(TOPIC, {"symbol": "ACME", "price": 2.0, "number": 4})
            await publisher.flush(TOPIC)
            assert [event async for event in events] == []

    network(scenario)


def test_a_client_hears_itself_and_two_subscriptions_are_two(network: Callable[..., None]) -> None:
    async def scenario(make_client: MakeClient) -> None:
        async with (
            make_client(2) as client,
            client.subscribe(TOPIC, "symbol = 'ACME'") as one,
            client.subscribe(TOPIC, "symbol = 'ACME'") as two,
        ):
            client.publish(TOPIC, {"symbol": "ACME", "price": 1.0, "number": 1})
            await client.flush(TOPIC)
            assert [await take(one, 1), await take(two, 1)] == [[{"symbol": "ACME", "price": 1.0, "number": 1}]] * 2

    network(scenario)


def test_mistakes_of_the_caller_raise(network: Callable[..., None]) -> None:
    async def scenario(make_client: MakeClient) -> None:
        async with make_client(0) as client:
            with pytest.raises(RookeryError):
                client.publish("no such topic", {"number": 1})
            with pytest.raises(RookeryError):
                client.subscribe("no such topic")
            with pytest.raises(RookeryError):
                async with client.subscribe(TOPIC, "prize < 10"):
                    pass
            async with client.subscribe(TOPIC, "number = 1") as events:  # and it still works
                client.publish(TOPIC, {"symbol": None, "price": None, "number": 1})
                assert (await take(events, 1))[0]["number"] == 1

    network(scenario)
