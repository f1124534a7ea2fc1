"""Types on the wire, against real Cyclone DDS: what fits is matched, what does not is refused with the member."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import rookery
from rookery.participant.event_types import event_type
from rookery.rtps import CdrMember, CdrString, CdrStruct, Primitive
from rookery.rtps.events import EndpointMatched, TypeIncompatible
from rookery.rtps.xtypes.objects import describe

from .conftest import MESSAGE, QUOTE, RELIABLE, CyclonePeer, OurPeer
from .test_cyclone import MIXED

pytestmark = pytest.mark.wire

Cyclone = Callable[..., CyclonePeer]
#: The type that Cyclone writes, as a careless reader would write it down.
OTHER_QUOTE = CdrStruct(
    "test::Quote",
    (
        CdrMember("symbol", CdrString(), key=True),
        CdrMember("price", Primitive.INT64),
        CdrMember("size", Primitive.INT64),
    ),
)


def run(test: Any) -> None:
    asyncio.run(test)


def test_a_writer_of_another_type_is_refused_with_the_member(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer, our = cyclone(), OurPeer(domain_id)
        try:
            await peer.ask("writer", topic="quotes", type="Quote")
            reader = our.reader("quotes", OTHER_QUOTE, RELIABLE)
            await our.until(lambda: our.of(TypeIncompatible))
            refused = our.of(TypeIncompatible)[0]
            assert refused.local == reader
            assert refused.reason == "price is float64 there, int64 here"
            assert our.udp.participant.matched(reader) == ()
        finally:
            await our.udp.close()

    run(test())


def test_a_reader_of_another_type_is_refused_by_both(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer, our = cyclone(), OurPeer(domain_id)
        try:
            there = await peer.ask("reader", topic="quotes", type="Quote")
            writer = our.writer("quotes", OTHER_QUOTE, RELIABLE)
            ours = our.writer("quotes", QUOTE, RELIABLE)
            await our.until(lambda: our.of(TypeIncompatible))
            assert our.of(TypeIncompatible)[0].reason == "price is float64 there, int64 here"
            # The writer of the right type is matched by both sides, the other by neither.
            await our.matched(ours)
            assert await peer.ask("wait_matched", entity=there, count=1)
            assert our.udp.participant.matched(writer) == ()
        finally:
            await our.udp.close()

    run(test())


def test_a_type_that_differs_in_what_does_not_count_is_asked_for_and_matched(cyclone: Cyclone, domain_id: int) -> None:
    """A bound makes another hash, so both sides have to ask for the type of the other, and find that it fits."""
    bounded = CdrStruct("test::Message", (CdrMember("number", Primitive.INT32), CdrMember("text", CdrString(40))))

    async def test() -> None:
        peer, our = cyclone(), OurPeer(domain_id)
        try:
            there = await peer.ask("writer", topic="there", type="Message")
            back = await peer.ask("reader", topic="back", type="Message")
            reader, writer = our.reader("there", bounded, RELIABLE), our.writer("back", bounded, RELIABLE)
            await our.matched(reader)
            await our.matched(writer)
            assert await peer.ask("wait_matched", entity=there)
            assert await peer.ask("wait_matched", entity=back)
            await peer.ask("write", entity=there, samples=[{"number": 1, "text": "one"}])
            our.write(writer, bounded, {"number": 2, "text": "two"})
            await our.until(lambda: our.samples(reader, MESSAGE))
            assert our.samples(reader, MESSAGE) == [{"number": 1, "text": "one"}]
            assert await peer.ask("take", entity=back, count=1) == [[{"number": 2, "text": "two"}, "alive"]]
        finally:
            await our.udp.close()

    run(test())


def test_two_of_ours_compare_their_types(domain_id: int) -> None:
    async def test() -> None:
        one, two = OurPeer(domain_id), OurPeer(domain_id)
        try:
            writer = one.writer("quotes", OTHER_QUOTE, RELIABLE)
            reader, right = two.reader("quotes", QUOTE, RELIABLE), two.reader("quotes", OTHER_QUOTE, RELIABLE)
            await one.until(lambda: one.of(TypeIncompatible))
            await two.until(lambda: two.of(TypeIncompatible))
            await one.matched(writer)
            assert two.of(TypeIncompatible)[0].reason == "price is int64 there, float64 here"
            assert {event.local for event in two.of(EndpointMatched)} == {right}
            assert two.udp.participant.matched(reader) == ()
        finally:
            await one.udp.close()
            await two.udp.close()

    run(test())


def test_the_type_is_learned_from_a_writer_that_announces_it(cyclone: Cyclone, domain_id: int) -> None:
    """Nothing is said of the events but a WHERE: the type, its name and its key come from Cyclone DDS."""

    async def test() -> None:
        peer = cyclone()
        there = await peer.ask("writer", topic="quotes", type="Quote")
        async with rookery.open(f"dds://{domain_id}") as client:
            learned = await client.dds.learn("quotes")
            assert event_type(learned, type_name="").schema == rookery.Schema(symbol=str, price=float, size=int)
            async with client.subscribe("quotes", "price < 10", overflow="wait", schema=learned) as cheap:
                assert await peer.ask("wait_matched", entity=there)
                quotes = [{"symbol": "a", "price": 12.0, "size": 1}, {"symbol": "b", "price": 9.5, "size": 2}]
                await peer.ask("write", entity=there, samples=quotes)
                async for event in cheap:
                    assert event == quotes[1]
                    break

    run(test())


def test_a_nested_type_is_learned_whole(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer = cyclone()
        await peer.ask("writer", topic="mixed", type="Mixed")
        async with rookery.open(f"dds://{domain_id}") as client:
            learned = await client.dds.learn("mixed")
            assert describe(learned).minimal == describe(MIXED).minimal
            assert [field.name for field in learned.fields] == [field.name for field in MIXED.fields]

    run(test())


def test_the_command_learns_the_type(cyclone: Cyclone, domain_id: int) -> None:
    peer = cyclone()
    there = peer.do("writer", topic="quotes", type="Quote")
    node = subprocess.Popen(
        [sys.executable, "-m", "rookery", "node", f"--domain-id={domain_id}", "--topic=quotes", "--where=price < 10"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert peer.do("wait_matched", entity=there, timeout=600)
        peer.do("write", entity=there, samples=[{"symbol": "b", "price": price, "size": 2} for price in (12.0, 9.5)])
        assert node.stdout is not None
        assert json.loads(node.stdout.readline()) == {"symbol": "b", "price": 9.5, "size": 2}
    finally:
        node.kill()
        node.wait()
        assert node.stdout is not None
        node.stdout.close()
