"""Types on the wire, against real Cyclone DDS: what fits is matched, what does not is refused with the member."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from rookery.rtps import CdrMember, CdrString, CdrStruct, Primitive
from rookery.rtps.events import EndpointMatched, TypeIncompatible

from .conftest import MESSAGE, QUOTE, RELIABLE, CyclonePeer, OurPeer

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
