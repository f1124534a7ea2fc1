"""Gateways on real sockets of this machine: two domains on loopback, joined over TCP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.domains import new_domain

import rookery
from rookery import Client, IslandOptions, Subscription
from rookery.errors import JoinError
from rookery.live.credentials import Credentials
from rookery.live.opening import ClientOpening
from rookery.model import Schema

QUOTES = Schema(symbol=str, price=float)
HERE = ("127.0.0.1", 0)


@pytest.fixture
def domains() -> Callable[[], int]:
    """Domains that no other test uses at the same time."""
    return new_domain


def gateway(site: str, *join: tuple[str, int] | None, **options: Any) -> ClientOpening:
    """A client that is the gateway of a site, joined to others."""
    others = ",".join(f"{one[0]}:{one[1]}" for one in join if one is not None)
    return rookery.open(f"island://{site}@{others}", IslandOptions(**options))


@asynccontextmanager
async def two_islands(new_domain: Callable[[], int], **options: Any) -> AsyncIterator[tuple[Client, Client]]:
    async with gateway("a", listen=HERE, domain_id=new_domain(), **options) as first:
        assert first.island.address is not None
        async with gateway("b", first.island.address, domain_id=new_domain(), **options) as second:
            yield first, second


async def until(condition: Any) -> None:
    async with asyncio.timeout(600):
        while not condition():
            await asyncio.sleep(0.01)


async def prices(events: Subscription[dict[str, Any]], count: int) -> list[float]:
    async with asyncio.timeout(600):
        return [(await anext(events))["price"] for _ in range(count)]


def reaches(client: Client, site: str) -> bool:
    way = client.island.status()["sites"].get(site)
    return way is not None and way["reached by"] is not None


def test_events_cross_and_a_condition_acts_at_their_source(domains: Callable[[], int]) -> None:
    async def test() -> None:
        async with (
            two_islands(domains) as (first, second),
            second.subscribe("quotes", "price < 3", overflow="drop-oldest", schema=QUOTES) as cheap,
        ):
            first.advertise("quotes", schema=QUOTES)
            await first.dds.wait_for_readers("quotes", seconds=600)
            for number in range(6):
                first.publish("quotes", {"symbol": "ACME", "price": float(number)})
            assert await prices(cheap, 3) == [0.0, 1.0, 2.0]
            await until(lambda: first.island.gateway.counters["samples spared"] == 3)
            assert first.island.gateway.counters["samples out"] == 3

    asyncio.run(test())


def test_a_link_that_breaks_is_dialed_again_and_nothing_is_missed(domains: Callable[[], int]) -> None:
    async def test() -> None:
        async with (
            two_islands(domains) as (first, second),
            second.subscribe("quotes", overflow="drop-oldest", schema=QUOTES) as events,
        ):
            first.advertise("quotes", schema=QUOTES)
            await first.dds.wait_for_readers("quotes", seconds=600)
            await until(lambda: len(second.dds.udp.participant.local_endpoints) == 2)  # its reader, and the proxy
            for number in range(40):
                first.publish("quotes", {"symbol": "ACME", "price": float(number)})
                if number % 20 == 10:
                    (link,) = first.island._links._links.values()
                    link.abort("a test")
                    await until(lambda: not first.island._links._links)
                    assert not reaches(first, "b")
                    await until(lambda: reaches(first, "b"))
            assert await prices(events, 40) == [float(number) for number in range(40)]

    asyncio.run(test())


def test_an_older_gateway_of_a_site_is_told_that_it_is_taken_over(domains: Callable[[], int]) -> None:
    async def test() -> None:
        async with two_islands(domains) as (first, second):
            await until(lambda: reaches(second, "a"))
            assert first.island.address is not None
            async with gateway("b", first.island.address, domain_id=domains()) as newer:
                await asyncio.wait_for(second.island.taken_over.wait(), 600)
                assert not newer.island.taken_over.is_set()

    asyncio.run(test())


def test_two_gateways_in_one_domain_say_so(domains: Callable[[], int], caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        here = domains()
        async with two_islands(lambda: here) as (first, _):
            await until(lambda: first.island.gateway.other_gateways == ("b",))

    asyncio.run(test())
    assert "island b is in this DDS domain" in caplog.text


def test_a_stranger_without_the_key_is_refused(domains: Callable[[], int]) -> None:
    async def test() -> None:
        async with gateway("a", listen=HERE, domain_id=domains(), credentials=Credentials(bytes(32))) as first:
            assert first.island.address is not None
            async with gateway("b", first.island.address, domain_id=domains()) as second:
                await until(
                    lambda: any(first.island.status()["counters"].get(name) for name in first.island._settings.faults)
                )
                assert not reaches(second, "a")

    asyncio.run(test())


def test_a_site_needs_a_name() -> None:
    async def test() -> None:
        async with gateway(""):
            pass

    with pytest.raises(JoinError, match="name"):
        asyncio.run(test())
