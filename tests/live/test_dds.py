"""A client on DDS: content filters on live data, from our own writers and from unmodified Cyclone DDS ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

import rookery
from matching.probes import probes
from rookery import Client, DdsOptions, DdsReaderOptions, DdsWriterOptions, Subscription
from rookery.errors import EventError, JoinError, SubscriptionError, TopicError, UnsupportedPolicyError
from rookery.live.interfaces import find_interface
from rookery.rtps import Address

from .conftest import QUOTE, CyclonePeer

SCHEMA = {"symbol": "string", "price": "float64", "size": "int64"}
QUOTES = [{"symbol": f"S{number % 3}", "price": float(number), "size": number * 10} for number in range(40)]


async def first(subscription: Subscription[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    async with asyncio.timeout(600):
        return [await anext(subscription) for _ in range(count)]


def test_two_nodes_with_filters(domain_id: int) -> None:
    async def test() -> None:
        async with (
            rookery.open(f"dds://{domain_id}", DdsOptions(name="one")) as one,
            rookery.open(f"dds://{domain_id}") as other,
            one.subscribe("quotes", "price < 10", overflow="drop-oldest", schema=SCHEMA) as cheap,
            one.subscribe("quotes", "symbol = 'S1' AND size >= 100", overflow="drop-oldest", schema=SCHEMA) as large,
            one.subscribe("quotes", overflow="drop-oldest", schema=SCHEMA) as everything,
        ):
            other.advertise("quotes", schema=rookery.Schema(symbol=str, price=float, size=int))
            await other.dds.wait_for_readers("quotes", seconds=600)
            for quote in QUOTES:
                other.publish("quotes", quote)
            await other.flush("quotes", seconds=600)
            assert await first(everything, 40) == QUOTES
            assert await first(cheap, 10) == [quote for quote in QUOTES if quote["price"] < 10]
            wanted = [quote for quote in QUOTES if quote["symbol"] == "S1" and quote["size"] >= 100]
            assert await first(large, len(wanted)) == wanted
            # All three share one reader.
            assert len(other.dds.udp.participant.remote_endpoints) == 1

    asyncio.run(test())


def test_the_engine_that_is_asked_for_matches_what_a_node_reads(domain_id: int) -> None:
    async def test() -> None:
        async with (
            rookery.open(f"dds://{domain_id}", DdsOptions(engine="matrix")) as node,
            node.subscribe("quotes", "price >= 3 AND price < 6", overflow="drop-oldest", schema=SCHEMA) as some,
            node.subscribe("quotes", "symbol <> 'S0'", overflow="drop-oldest", schema=SCHEMA) as others,
        ):
            for quote in QUOTES:
                node.publish("quotes", quote)
            assert await first(some, 3) == QUOTES[3:6]
            wanted = [quote for quote in QUOTES if quote["symbol"] != "S0"]
            assert await first(others, len(wanted)) == wanted

    with probes() as asked:
        asyncio.run(test())
    assert asked.events["matrix"] >= len(QUOTES)
    with pytest.raises(ValueError, match="no engine 'btree'"):
        asyncio.run(leave(rookery.open(f"dds://{domain_id}", DdsOptions(engine="btree"))))


async def leave(joined: Any) -> None:
    async with joined:
        pass


def test_a_subscription_ends_and_the_reader_with_the_last_one(domain_id: int) -> None:
    async def test() -> None:
        async with rookery.open(f"dds://{domain_id}") as one, rookery.open(f"dds://{domain_id}") as other:
            async with one.subscribe("quotes", "price < 10", overflow="drop-oldest", schema=SCHEMA):
                async with one.subscribe("quotes", "price > 10", overflow="drop-oldest", schema=SCHEMA):
                    other.advertise("quotes", schema=SCHEMA)
                    await other.dds.wait_for_readers("quotes", seconds=600)
                assert len(one.dds.udp.participant.local_endpoints) == 1
            assert one.dds.udp.participant.local_endpoints == ()
            async with asyncio.timeout(600):
                while other.dds.udp.participant.remote_endpoints:
                    await asyncio.sleep(0.01)

    asyncio.run(test())


def test_a_node_hears_itself_and_types_are_shown_by_the_first_event(domain_id: int) -> None:
    async def test() -> None:
        async with rookery.open(f"dds://{domain_id}") as node:
            schema = rookery.Schema(name=str, at=datetime, ok=bool)
            async with node.subscribe(
                "news", "ok = TRUE AND at > TIMESTAMP '2026-01-01'", overflow="drop-oldest", schema=schema
            ) as news:
                for year in (2025, 2026, 2027):
                    node.publish("news", {"name": str(year), "at": datetime(year, 5, 1, tzinfo=UTC), "ok": True})
                assert [event["name"] for event in await first(news, 2)] == ["2026", "2027"]
            node.publish("other", {"word": "new", "count": 1})
            assert {each.topic for each in node.dds.udp.participant.local_endpoints} == {"news", "other"}

    asyncio.run(test())


def test_a_slow_consumer_loses_the_oldest_and_is_told(domain_id: int) -> None:
    async def test() -> None:
        async with (
            rookery.open(f"dds://{domain_id}") as node,
            node.subscribe("quotes", overflow="drop-oldest", schema=SCHEMA, queue=5) as quotes,
        ):
            for quote in QUOTES:
                node.publish("quotes", quote)
            assert quotes.dropped == 35
            assert await first(quotes, 5) == QUOTES[-5:]

    asyncio.run(test())


def test_leaving_the_node_ends_its_iterators(domain_id: int) -> None:
    async def test() -> None:
        async with rookery.open(f"dds://{domain_id}") as node:
            subscription = node.subscribe("quotes", overflow="drop-oldest", schema=SCHEMA)
            node.publish("quotes", QUOTES[0])
        assert [event async for event in subscription] == [QUOTES[0]]

    asyncio.run(test())


def test_what_is_wrong_says_so(domain_id: int) -> None:
    async def test() -> None:
        async with rookery.open(f"dds://{domain_id}") as node:
            await check(node)

    async def check(node: Client) -> None:
        with pytest.raises(SubscriptionError, match="prize"):
            node.subscribe("quotes", "prize < 10", overflow="drop-oldest", schema=SCHEMA)
        assert node.dds.udp.participant.local_endpoints == ()
        with pytest.raises(TopicError, match="at least 1"):
            node.subscribe("quotes", overflow="drop-oldest", schema=SCHEMA, queue=0)
        with pytest.raises(UnsupportedPolicyError, match="ask for both"):
            node.subscribe(
                "quotes",
                overflow="drop-oldest",
                schema=SCHEMA,
                dds=DdsReaderOptions(reliable=False, transient_local=True),
            )
        with pytest.raises(TopicError, match="are no attributes"):
            node.subscribe("quotes", overflow="drop-oldest", schema=SCHEMA, dds=DdsReaderOptions(key=("name",)))
        node.subscribe("quotes", overflow="drop-oldest", schema=SCHEMA)
        with pytest.raises(TopicError, match="another type or quality"):
            node.subscribe("quotes", overflow="drop-oldest", schema=SCHEMA, dds=DdsReaderOptions(type_name="Quote"))
        node.advertise("quotes", schema=SCHEMA)
        with pytest.raises(EventError, match="'size' is missing"):
            node.publish("quotes", {"symbol": "A", "price": 1.0})
        with pytest.raises(TopicError, match="does not publish"):
            await node.flush("nothing")
        with pytest.raises(TopicError, match="cannot be guessed"):
            node.publish("lists", {"values": [1, 2]})
        with pytest.raises(TopicError, match="DDS has no decimal"):
            node.advertise("exact", schema={"price": "decimal(18,6)"})

    asyncio.run(test())


def test_a_domain_that_cannot_be_joined_says_why() -> None:
    with pytest.raises(JoinError, match=r"no interface 'nowhere0' .* there are .*lo \(127.0.0.1\)"):
        asyncio.run(leave(rookery.open("dds://0", DdsOptions(interface="nowhere0"))))
    with pytest.raises(TopicError, match="choose one of 0 to 232"):
        asyncio.run(leave(rookery.open("dds://233")))
    with pytest.raises(JoinError, match="write a host"):
        asyncio.run(leave(rookery.open("dds://0", DdsOptions(initial_peers=("127.0.0.1:x",)))))


def test_an_interface_is_found_by_name_or_address() -> None:
    assert find_interface("lo") == find_interface("127.0.0.1")
    assert str(find_interface("lo").network) == "127.0.0.0/8"


def test_without_multicast_the_peers_are_told(domain_id: int) -> None:
    async def test() -> None:
        async with rookery.open(f"dds://{domain_id}") as one:
            address = one.dds.udp.participant.configuration.unicast
            one.advertise("quotes", schema=SCHEMA)
            told = DdsOptions(multicast=False, initial_peers=(Address(*address),))
            async with (
                rookery.open(f"dds://{domain_id}", told) as other,
                other.subscribe("quotes", "price > 38", overflow="drop-oldest", schema=SCHEMA) as quotes,
            ):
                await one.dds.wait_for_readers("quotes", seconds=600)
                for quote in QUOTES:
                    one.publish("quotes", quote)
                assert await first(quotes, 1) == QUOTES[-1:]

    asyncio.run(test())


@pytest.mark.wire
def test_filters_work_on_data_of_an_unmodified_cyclone_writer(
    cyclone: Callable[..., CyclonePeer], domain_id: int
) -> None:
    async def test() -> None:
        peer = cyclone()
        writer = await peer.ask("writer", topic="quotes", type="Quote")
        reader = await peer.ask("reader", topic="cheap", type="Quote")
        async with rookery.open(f"dds://{domain_id}") as node:
            writing = DdsWriterOptions(type_name="test::Quote", key=("symbol",))
            node.advertise("cheap", schema=SCHEMA, dds=writing)
            async with node.subscribe(
                "quotes", "price < 10 AND symbol <> 'S2'", overflow="drop-oldest", schema=QUOTE
            ) as cheap:
                assert await peer.ask("wait_matched", entity=writer)
                await peer.ask("write", entity=writer, samples=QUOTES)
                wanted = [quote for quote in QUOTES if quote["price"] < 10 and quote["symbol"] != "S2"]
                got = await first(cheap, len(wanted))
                assert got == wanted
                await node.dds.wait_for_readers("cheap", seconds=600)
                for event in got:
                    node.publish("cheap", event)
                taken = await peer.ask("take", entity=reader, count=len(wanted))
                assert sorted(value["price"] for value, _ in taken) == [quote["price"] for quote in wanted]

    asyncio.run(test())
