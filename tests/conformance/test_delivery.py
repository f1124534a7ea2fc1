"""Who gets what: the same cases on the four networks, live and in a world.

What a program is given does not depend on how events find their way.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import rookery
from rookery.errors import ClientError, EventError, SubscriptionError

from .live import LIVE
from .networks import CLIENTS, SCHEMA, Event, Network
from .worlds import WORLDS

pytestmark = pytest.mark.wire

Case = Callable[[Network], Awaitable[None]]
SYMBOLS = ("ACME", "AJAX", "BOLT", "ZULU", "Ørsted")
#: The seconds after which a case hangs.
HANGS = 300


@pytest.fixture(params=[*(f"{name} live" for name in LIVE), *(f"{name} world" for name in WORLDS)])
def play(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Case], None]:
    """Return what plays a case on a network."""
    name, _, where = str(request.param).rpartition(" ")

    async def live(case: Case) -> None:
        async with asyncio.timeout(HANGS), LIVE[name](tmp_path) as network:
            await case(network)

    async def in_a_world(case: Case) -> None:
        await case(WORLDS[name]())

    return lambda case: asyncio.run(live(case) if where == "live" else in_a_world(case))


def an_event(number: int, generator: random.Random) -> Event:
    return {"symbol": generator.choice(SYMBOLS), "price": generator.uniform(-20, 1100), "number": number}


def a_condition(generator: random.Random) -> str | None:
    price = generator.randrange(1000)
    return generator.choice(
        [
            f"symbol = '{generator.choice(SYMBOLS)}' AND price < {price}",
            f"price >= {price} OR symbol LIKE 'A%'",
            f"symbol > 'B' AND NOT (price BETWEEN 200 AND {price + 20})",
            f"number > 30 AND price > {price} AND price < {price - 1}",
            "symbol IN ('ZULU', 'Ørsted') AND number <> 5",
            None,
        ]
    )


def wanted(where: str | None, events: list[Event]) -> list[int]:
    """Return the numbers of the events that a condition wants, by the obvious matcher."""
    oracle = rookery.matcher(SCHEMA, engine="scan")
    oracle.add(1, where or "")
    return [event["number"] for event in events if oracle.match(event)]


def numbers(events: list[Event]) -> list[int]:
    return sorted(event["number"] for event in events)


def test_exactly_once_what_the_condition_wants(play: Callable[[Case], None]) -> None:
    async def case(network: Network) -> None:
        generator = random.Random(11)
        conditions = [a_condition(generator) for _ in range(12)]
        events = [an_event(number, generator) for number in range(90)]
        subscriptions = [await network.subscribe(place % CLIENTS, where) for place, where in enumerate(conditions)]
        await network.settle()
        for client in range(CLIENTS):
            await network.publish(client, *events[client::CLIENTS])
        given = 0
        for where, subscription in zip(conditions, subscriptions, strict=True):
            due = wanted(where, events)
            got = await network.received(subscription, len(due))
            assert Counter(numbers(got)) == Counter(due), where
            assert all(event == events[event["number"]] for event in got)
            given += len(got)
        assert given > len(events)

    play(case)


def test_null(play: Callable[[Case], None], record_property: Callable[[str, Any], None]) -> None:
    async def case(network: Network) -> None:
        events: list[Event] = [
            {"symbol": None, "price": 1.0, "number": 1},
            {"symbol": "ACME", "price": None, "number": 2},
            {"symbol": "ACME", "price": 3.0, "number": 3},
        ]
        conditions = ["symbol IS NULL", "NOT (price < 2)", "price IS NULL AND symbol = 'ACME'", None]
        subscriptions = [await network.subscribe(0, where) for where in conditions]
        await network.settle()
        if not network.has_null:
            record_property("answer", "refused")
            with pytest.raises(EventError, match="symbol is NULL, and that member is not optional"):
                await network.publish(1, events[0])
            return
        await network.publish(1, *events)
        for where, subscription in zip(conditions, subscriptions, strict=True):
            due = wanted(where, events)
            assert numbers(await network.received(subscription, len(due))) == due

    play(case)


def test_two_subscriptions_of_one_client_and_its_own_event(play: Callable[[Case], None]) -> None:
    async def case(network: Network) -> None:
        one, two = [await network.subscribe(2, "symbol = 'ACME'") for _ in range(2)]
        await network.settle()
        event = {"symbol": "ACME", "price": 1.0, "number": 1}
        await network.publish(2, event)
        assert await network.received(one, 1) == await network.received(two, 1) == [event]

    play(case)


def test_unsubscribed(play: Callable[[Case], None]) -> None:
    async def case(network: Network) -> None:
        gone, stays = [await network.subscribe(1, "price < 10") for _ in range(2)]
        await network.settle()
        await network.publish(0, {"symbol": "ACME", "price": 1.0, "number": 1})
        assert numbers(await network.received(gone, 1)) == [1]
        await network.unsubscribe(gone)
        await network.settle()
        await network.publish(0, {"symbol": "ACME", "price": 2.0, "number": 2})
        got = numbers(await network.received(stays, 1))
        assert got in ([1, 2], [2]), "a live one was not read before"
        assert 2 not in numbers(await network.received(gone, 0))

    play(case)


def test_published_before_any_subscriber(play: Callable[[Case], None]) -> None:
    async def case(network: Network) -> None:
        await network.publish(0, {"symbol": "ACME", "price": 1.0, "number": 1})
        subscription = await network.subscribe(1, None)
        await network.settle()
        await network.publish(0, {"symbol": "ACME", "price": 2.0, "number": 2})
        assert numbers(await network.received(subscription, 1)) == [2]

    play(case)


def test_a_bad_condition_is_refused_with_its_place(play: Callable[[Case], None]) -> None:
    async def case(network: Network) -> None:
        for where, place in (("price < 10 AND prize > 3", 15), ("price < 10 AND", 14)):
            with pytest.raises(SubscriptionError) as refused:
                await network.subscribe(0, where)
            text, caret = str(refused.value).splitlines()[1:3]
            assert (text, caret) == (f"  {where}", " " * (place + 2) + "^")
        good = await network.subscribe(0, "number = 1")  # and it still works
        await network.settle()
        await network.publish(1, {"symbol": "ACME", "price": 1.0, "number": 1})
        assert numbers(await network.received(good, 1)) == [1]

    play(case)


def test_parameters(play: Callable[[Case], None], record_property: Callable[[str, Any], None]) -> None:
    async def case(network: Network) -> None:
        where, parameters = "price < %0 AND symbol = %1", (5, "'ACME'")
        if not network.has_parameters:
            record_property("answer", "refused")
            # A client says it at once; in the world the condition says that it was given none.
            with pytest.raises((ClientError, SubscriptionError), match=r"write the values into|has no value"):
                await network.subscribe(0, where, parameters)
            return
        subscription = await network.subscribe(0, where, parameters)
        await network.settle()
        await network.publish(1, *({"symbol": "ACME", "price": float(n), "number": n} for n in (1, 4, 5, 6)))
        assert numbers(await network.received(subscription, 2)) == [1, 4]

    play(case)
