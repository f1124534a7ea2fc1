"""A live network kept even: what two looks say, and zones that move because of it while every event comes once."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from typing import Any

import pytest

import rookery
from rookery import BrokerOptions
from rookery.live.brokers.balance import balance, measured
from rookery.live.brokers.resplit import ask_all

from .test_session import a_broker


def look(**events: int) -> list[dict[str, Any]]:
    return [{"zones": [{"path": path, "cuts": [], "events": count}]} for path, count in events.items()]


def test_only_events_between_two_looks_at_the_same_zones_count() -> None:
    assert measured(look(a=5, b=7), look(a=6, b=70)) == {"a": 1.0, "b": 63.0}
    assert measured(look(a=5, b=7), look(a=6, c=70)) is None
    assert measured(look(a=5, b=7), look(a=6, b=2)) is None, "another owner counts anew"


@pytest.mark.parametrize("by_themselves", [False, True])
def test_idle_brokers_get_their_share_while_events_flow(by_themselves: bool) -> None:
    """All events are cheap; four brokers have cut prices in the middle before any came. By an operator, or without."""

    async def scenario() -> None:
        options = {"balance": 2.0 if by_themselves else 0.0}
        brokers = [a_broker(**options)]
        await brokers[0].start()
        async with AsyncExitStack() as stack:
            stack.push_async_callback(stop, brokers)
            for _ in range(3):
                brokers.append(a_broker(join=(brokers[0].address,), **options))
                await brokers[-1].start()
                while not brokers[-1].machine.owned:
                    await asyncio.sleep(0.05)
            at = "{}:{}".format(*brokers[0].address)
            client = await stack.enter_async_context(rookery.open(f"brokers://{at}", BrokerOptions(attempts=600.0)))
            seen = await stack.enter_async_context(client.subscribe("quotes", "", overflow="wait"))
            got: list[int] = []

            async def take() -> None:
                async for event in seen:
                    got.append(event["number"])

            taking = asyncio.create_task(take())
            stack.callback(taking.cancel)
            told: list[str] = []

            async def moved() -> int:
                """Wait until the brokers have moved by themselves, and do no more."""
                moves, since = 0, time.monotonic()
                while not moves or time.monotonic() - since < 8:
                    now = sum(broker.machine.counters["balancing steps"] for broker in brokers)
                    if now != moves:
                        moves, since = now, time.monotonic()
                    await asyncio.sleep(0.1)
                return moves

            keeping = asyncio.create_task(
                moved() if by_themselves else balance(at, every=1.0, looks=12, told=told.append)
            )
            count = 0
            while not keeping.done():
                for _ in range(100):
                    symbol = "ABCDEFGH"[count % 8] + "ABCDEFGH"[count // 8 % 8]
                    client.publish(
                        "quotes", {"symbol": symbol, "price": 60.0 * (count * 7919 % 1000) / 1000, "number": count}
                    )
                    count += 1
                await client.room("quotes")
                await asyncio.sleep(0.05)
            assert keeping.result() > 0, told
            await client.flush("quotes", seconds=600)
            while len(got) < count:
                await asyncio.sleep(0.05)
            assert sorted(got) == list(range(count))
            zones = [zone for one in await ask_all(at) for zone in one["zones"]]
            assert len(zones) == 4
            assert all(zone["box"]["price"][0] < 0.07 for zone in zones), "no zone is where no event lies"

    async def stop(brokers: list[Any]) -> None:
        for broker in brokers:
            await broker.stop(leave=False)

    asyncio.run(asyncio.wait_for(scenario(), 1_800))
