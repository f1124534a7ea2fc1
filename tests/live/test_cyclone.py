"""The participant against real Cyclone DDS: one process each, on loopback.

A message is counted only when its content has been compared; what Cyclone sees is read from its own builtin topics.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rookery.rtps import (
    CdrArray,
    CdrEnum,
    CdrMember,
    CdrSequence,
    CdrString,
    CdrStruct,
    Durability,
    Primitive,
    QualityOfService,
    SampleKind,
)
from rookery.rtps.events import (
    EndpointDiscovered,
    EndpointLost,
    EndpointUnmatched,
    MessageRejected,
    ParticipantDiscovered,
    ParticipantLost,
    QualityIncompatible,
)

from .conftest import BEST_EFFORT, MESSAGE, QUOTE, RELIABLE, CyclonePeer, OurPeer

pytestmark = pytest.mark.wire

Cyclone = Callable[..., CyclonePeer]
TRANSIENT_LOCAL = replace(RELIABLE, durability=Durability.TRANSIENT_LOCAL)
COLOR = CdrEnum("test::Color", (("RED", 0), ("GREEN", 1), ("BLUE", 2)))
POINT = CdrStruct("test::Point", (CdrMember("x", Primitive.INT16), CdrMember("y", Primitive.FLOAT64)))
MIXED = CdrStruct(
    "test::Mixed",
    (
        CdrMember("flag", Primitive.BOOLEAN),
        CdrMember("small", Primitive.UINT8),
        CdrMember("count", Primitive.UINT32),
        CdrMember("ratio", Primitive.FLOAT32),
        CdrMember("color", COLOR),
        CdrMember("points", CdrSequence(POINT)),
        CdrMember("words", CdrSequence(CdrString())),
        CdrMember("matrix", CdrArray(Primitive.INT64, 3)),
        CdrMember("octets", CdrSequence(Primitive.UINT8)),
        CdrMember("last", POINT),
    ),
)


def numbered(count: int) -> list[dict[str, Any]]:
    return [{"number": number, "text": "wörd " * (number % 7)} for number in range(count)]


def run(test: Any) -> None:
    asyncio.run(test)


def test_participants_and_endpoints_find_each_other_both_ways(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer = cyclone()
        our = OurPeer(domain_id, name="rookery under test")
        try:
            await peer.ask("writer", topic="from_cyclone", type="Message")
            our.reader("from_rookery", MESSAGE, RELIABLE)
            await our.until(lambda: any(e.announcement.topic == "from_cyclone" for e in our.of(EndpointDiscovered)))
            found = our.of(ParticipantDiscovered)[0].announcement
            assert found.vendor == b"\x01\x10"
            assert found.prefix == our.udp.participant.peers[0].prefix

            seen: dict[str, Any] = {}

            async def seen_by_cyclone() -> bool:
                nonlocal seen
                seen = await peer.ask("builtin")
                return any(entry["topic"] == "from_rookery" for entry in seen["subscriptions"])

            async with asyncio.timeout(600):
                while not await seen_by_cyclone():
                    await asyncio.sleep(0.02)
            own = our.udp.participant.prefix.hex()
            assert any(entry["key"].replace("-", "").startswith(own) for entry in seen["participants"])
            assert not our.of(MessageRejected)
        finally:
            await our.udp.close()

    run(test())


@pytest.mark.parametrize("quality", [RELIABLE, BEST_EFFORT], ids=["reliable", "best effort"])
def test_two_hundred_samples_each_way(cyclone: Cyclone, domain_id: int, quality: QualityOfService) -> None:
    async def test() -> None:
        peer = cyclone()
        our = OurPeer(domain_id)
        try:
            options = {"type": "Message", "reliable": quality.reliable}
            there = await peer.ask("writer", topic="there", **options)
            back = await peer.ask("reader", topic="back", **options)
            reader, writer = our.reader("there", MESSAGE, quality), our.writer("back", MESSAGE, quality)
            await our.matched(reader)
            await our.matched(writer)
            assert await peer.ask("wait_matched", entity=there)
            assert await peer.ask("wait_matched", entity=back)

            sent = numbered(200)
            # Best effort has no repair, so the writers pause: what is tested is the protocol, not the socket buffers.
            await peer.ask("write", entity=there, samples=sent, pause=0 if quality.reliable else 0.001)
            await our.until(lambda: len(our.samples(reader, MESSAGE)) >= 200)
            assert our.samples(reader, MESSAGE) == sent

            for sample in sent:
                our.write(writer, MESSAGE, sample)
                if not quality.reliable:
                    await asyncio.sleep(0.001)
            taken = await peer.ask("take", entity=back, count=200)
            assert [value for value, _ in taken] == sent
            if quality.reliable:
                await our.until(lambda: our.udp.participant.is_acknowledged(writer))
            assert not our.of(MessageRejected)
        finally:
            await our.udp.close()

    run(test())


def test_samples_larger_than_a_datagram_go_in_fragments_both_ways(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer = cyclone()
        our = OurPeer(domain_id)
        try:
            there = await peer.ask("writer", topic="there", type="Message")
            back = await peer.ask("reader", topic="back", type="Message")
            reader, writer = our.reader("there", MESSAGE, RELIABLE), our.writer("back", MESSAGE, RELIABLE)
            await our.matched(reader)
            await our.matched(writer)
            await peer.ask("wait_matched", entity=there)
            await peer.ask("wait_matched", entity=back)
            sent = [{"number": size, "text": "abcdefg" * size} for size in (1, 200, 2_000, 20_000, 100_000)]
            await peer.ask("write", entity=there, samples=sent)
            await our.until(lambda: len(our.samples(reader, MESSAGE)) >= len(sent))
            assert our.samples(reader, MESSAGE) == sent
            for sample in sent:
                our.write(writer, MESSAGE, sample)
            taken = await peer.ask("take", entity=back, count=len(sent))
            assert [value for value, _ in taken] == sent
        finally:
            await our.udp.close()

    run(test())


def test_instances_of_a_keyed_topic_end_both_ways(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer = cyclone()
        our = OurPeer(domain_id)
        try:
            there = await peer.ask("writer", topic="there", type="Quote")
            back = await peer.ask("reader", topic="back", type="Quote")
            reader, writer = our.reader("there", QUOTE, RELIABLE), our.writer("back", QUOTE, RELIABLE)
            await our.matched(reader)
            await our.matched(writer)
            await peer.ask("wait_matched", entity=there)
            await peer.ask("wait_matched", entity=back)
            sent = [{"symbol": f"S{n % 5}", "price": n / 4, "size": n * 10**10} for n in range(20)]
            await peer.ask("write", entity=there, samples=sent)
            await peer.ask("dispose", entity=there, sample=sent[0])
            await peer.ask("unregister", entity=there, sample=sent[1])
            await our.until(lambda: len(our.samples(reader, QUOTE)) >= 22)
            assert our.samples(reader, QUOTE) == [
                *sent,
                (SampleKind.DISPOSED, {"symbol": "S0"}),
                (SampleKind.UNREGISTERED, {"symbol": "S1"}),
            ]

            for sample in sent:
                our.write(writer, QUOTE, sample)
            taken = await peer.ask("take", entity=back, count=20)
            assert [value for value, _ in taken] != []
            assert sorted(map(str, (value for value, _ in taken))) == sorted(map(str, sent))
            our.write(writer, QUOTE, sent[2], SampleKind.DISPOSED)
            our.write(writer, QUOTE, sent[3], SampleKind.UNREGISTERED)
            taken = await peer.ask("take", entity=back, count=2)
            assert sorted(state for _, state in taken) == ["disposed", "no_writers"]
        finally:
            await our.udp.close()

    run(test())


def test_a_late_reader_of_a_transient_local_writer_gets_the_past_both_ways(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer = cyclone()
        our = OurPeer(domain_id)
        try:
            sent = numbered(50)
            there = await peer.ask("writer", topic="there", type="Message", transient_local=True)
            await peer.ask("write", entity=there, samples=sent)
            writer = our.writer("back", MESSAGE, TRANSIENT_LOCAL)
            for sample in sent:
                our.write(writer, MESSAGE, sample)

            late, volatile = our.reader("there", MESSAGE, TRANSIENT_LOCAL), our.reader("there", MESSAGE, RELIABLE)
            await our.until(lambda: len(our.samples(late, MESSAGE)) >= 50)
            assert our.samples(late, MESSAGE) == sent
            await our.matched(volatile)
            await peer.ask("wait_matched", entity=there, count=2)
            await peer.ask("write", entity=there, samples=[{"number": 50, "text": "new"}])
            await our.until(lambda: our.samples(volatile, MESSAGE))
            assert our.samples(volatile, MESSAGE) == [{"number": 50, "text": "new"}]

            back = await peer.ask("reader", topic="back", type="Message", transient_local=True)
            taken = await peer.ask("take", entity=back, count=50)
            assert [value for value, _ in taken] == sent
        finally:
            await our.udp.close()

    run(test())


def test_nested_types_arrive_as_they_were_both_ways(cyclone: Cyclone, domain_id: int) -> None:
    value = {
        "flag": True,
        "small": 200,
        "count": 4_000_000_000,
        "ratio": 0.25,
        "color": "BLUE",
        "points": [{"x": -3, "y": 1.5}, {"x": 30_000, "y": -2.5e300}],
        "words": ["", "ein", "zwölf"],
        "matrix": [-(2**62), 0, 2**62],
        "octets": [0, 1, 255],
        "last": {"x": 7, "y": 0.0},
    }

    async def test() -> None:
        peer = cyclone()
        our = OurPeer(domain_id)
        try:
            there = await peer.ask("writer", topic="there", type="Mixed")
            back = await peer.ask("reader", topic="back", type="Mixed")
            reader, writer = our.reader("there", MIXED, RELIABLE), our.writer("back", MIXED, RELIABLE)
            await our.matched(reader)
            await our.matched(writer)
            await peer.ask("wait_matched", entity=there)
            await peer.ask("wait_matched", entity=back)
            await peer.ask("write", entity=there, samples=[value])
            await our.until(lambda: our.samples(reader, MIXED))
            assert our.samples(reader, MIXED) == [value]
            our.write(writer, MIXED, value)
            assert await peer.ask("take", entity=back, count=1) == [[value, "alive"]]
        finally:
            await our.udp.close()

    run(test())


def test_leaving_and_falling_silent_are_noticed(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        leaving, dying = cyclone(), cyclone(lease="1 s")
        our = OurPeer(domain_id)
        try:
            reader = our.reader("there", MESSAGE, RELIABLE)
            for peer in (leaving, dying):
                await peer.ask("writer", topic="there", type="Message")
            await our.matched(reader, 2)
            # On a busy machine the one with the short lease may seem dead for a while before it is.
            lost = lambda: {event.prefix: event.reason for event in our.of(ParticipantLost)}  # noqa: E731
            await asyncio.to_thread(leaving.leave)
            await our.until(lambda: "disposed" in lost().values())
            dying.process.kill()
            await our.until(lambda: our.udp.participant.peers == ())
            assert sorted(lost().values()) == ["disposed", "expired"]
            assert len({event.remote for event in our.of(EndpointUnmatched)}) == 2
            assert our.udp.participant.remote_endpoints == ()
        finally:
            await our.udp.close()

    run(test())


def test_cyclone_notices_that_we_leave_and_that_we_fall_silent(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer = cyclone()
        writer = await peer.ask("writer", topic="there", type="Message")
        ours = [OurPeer(domain_id, lease=1_000_000) for _ in range(2)]
        for our in ours:
            await our.matched(our.reader("there", MESSAGE, RELIABLE))
        assert await peer.ask("wait_matched", entity=writer, count=2)
        await ours[0].udp.close()
        assert await peer.ask("wait_matched", entity=writer, count=1)
        ours[1].udp.participant.stop = lambda now: None  # type: ignore[method-assign] # silence instead of a goodbye
        await ours[1].udp.close()
        assert await peer.ask("wait_matched", entity=writer, count=0)

    run(test())


def test_an_endpoint_that_is_deleted_is_unmatched_both_ways(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer = cyclone()
        our = OurPeer(domain_id)
        try:
            there = await peer.ask("writer", topic="there", type="Message")
            back = await peer.ask("reader", topic="back", type="Message")
            reader, writer = our.reader("there", MESSAGE, RELIABLE), our.writer("back", MESSAGE, RELIABLE)
            await our.matched(reader)
            await our.matched(writer)
            assert await peer.ask("wait_matched", entity=back)
            our.udp.participant.delete_endpoint(writer, our.udp.now())
            our.udp.flush()
            assert await peer.ask("wait_matched", entity=back, count=0)
            await peer.ask("delete", entity=there)
            await our.matched(reader, 0)
            assert our.of(EndpointLost)
        finally:
            await our.udp.close()

    run(test())


def test_a_pair_that_cyclone_refuses_is_refused_here_too(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer = cyclone()
        our = OurPeer(domain_id)
        try:
            weak = await peer.ask("writer", topic="weak", type="Message", reliable=False)
            slow = await peer.ask("writer", topic="slow", type="Message", deadline=10)
            forgetful = await peer.ask("writer", topic="forgetful", type="Message")
            good = await peer.ask("writer", topic="good", type="Message", deadline=1)
            our.reader("weak", MESSAGE, RELIABLE)
            our.reader("slow", MESSAGE, replace(RELIABLE, deadline=5_000_000))
            our.reader("forgetful", MESSAGE, TRANSIENT_LOCAL)
            matched = our.reader("good", MESSAGE, replace(RELIABLE, deadline=5_000_000))
            await our.matched(matched)
            assert await peer.ask("wait_matched", entity=good)
            await our.until(lambda: len(our.of(QualityIncompatible)) == 3)
            reasons = sorted(event.policies for event in our.of(QualityIncompatible))
            assert reasons == [("deadline",), ("durability",), ("reliability",)]
            for entity in (weak, slow, forgetful):
                assert await peer.ask("wait_matched", entity=entity, count=0)
        finally:
            await our.udp.close()

    run(test())
