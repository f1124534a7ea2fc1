"""Types that may grow, against Cyclone DDS: appendable and mutable structs, optional members, XCDR2; no unions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import rookery
from rookery.errors import TopicError
from rookery.live.transport import DdsWriterOptions
from rookery.rtps.events import TypeIncompatible
from rookery.rtps.qos import XCDR1, XCDR2, TypeConsistency
from rookery.rtps.types import CdrEnum, CdrMember, CdrString, CdrStruct, Extensibility, Primitive

from .conftest import RELIABLE, CyclonePeer, OurPeer

pytestmark = pytest.mark.wire

Cyclone = Callable[..., CyclonePeer]
COLOR = CdrEnum("test::Color", (("RED", 0), ("GREEN", 1), ("BLUE", 2)))
READING = CdrStruct(
    "test::Reading",
    (
        CdrMember("sensor", CdrString(), key=True),
        CdrMember("value", Primitive.FLOAT64),
        CdrMember("note", CdrString(), optional=True),
        CdrMember("color", COLOR),
    ),
    Extensibility.APPENDABLE,
)
SETTING = CdrStruct(
    "test::Setting",
    (
        CdrMember("name", CdrString(), key=True),
        CdrMember("level", Primitive.INT64),
        CdrMember("limit", Primitive.FLOAT64, optional=True),
    ),
    Extensibility.MUTABLE,
)
READINGS = [
    {"sensor": "a", "value": 1.5, "note": None, "color": "GREEN"},
    {"sensor": "b", "value": -2.5, "note": "loud", "color": "RED"},
]
SETTINGS = [{"name": "x", "level": -5, "limit": 0.5}, {"name": "y", "level": 7, "limit": None}]
BOTH = replace(RELIABLE, representations=(XCDR1, XCDR2))


def run(test: Any) -> None:
    asyncio.run(test)


@pytest.mark.parametrize(
    ("name", "of", "samples"),
    [("Reading", READING, READINGS), ("Setting", SETTING, SETTINGS)],
    ids=["append", "mutable"],
)
def test_samples_go_both_ways(
    cyclone: Cyclone, domain_id: int, name: str, of: CdrStruct, samples: list[dict[str, Any]]
) -> None:
    async def test() -> None:
        peer = cyclone()
        there = await peer.ask("writer", topic="there", type=name)
        back = await peer.ask("reader", topic="back", type=name)
        async with rookery.open(f"dds://{domain_id}") as client:
            learned = await client.dds.learn("there")
            assert learned.extensibility is of.extensibility
            async with client.subscribe("there", "", overflow="wait", schema=learned) as read:
                assert await peer.ask("wait_matched", entity=there)
                await peer.ask("write", entity=there, samples=samples)
                got = []
                async for event in read:
                    got.append(event)
                    if len(got) == len(samples):
                        break
                assert got == samples
            client.advertise("back", schema=of)
            await client.dds.wait_for_readers("back", seconds=600)
            for sample in samples:
                client.publish("back", sample)
            assert await peer.ask("take", entity=back, count=2) == [[sample, "alive"] for sample in samples]

    run(test())


def test_null_is_what_an_absent_member_is_in_a_condition(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer = cyclone()
        there = await peer.ask("writer", topic="there", type="Reading")
        async with (
            rookery.open(f"dds://{domain_id}") as client,
            client.subscribe("there", "note IS NULL", overflow="wait", schema=READING) as quiet,
            client.subscribe("there", "note = 'loud'", overflow="wait", schema=READING) as loud,
        ):
            assert await peer.ask("wait_matched", entity=there)
            await peer.ask("write", entity=there, samples=READINGS)
            assert [await anext(aiter(quiet)), await anext(aiter(loud))] == READINGS

    run(test())


def test_an_older_and_a_newer_type_meet(cyclone: Cyclone, domain_id: int) -> None:
    """A member that is not written has its default, one that is not known is passed over."""
    older = replace(READING, fields=READING.fields[:2])
    newer = replace(READING, fields=(*READING.fields, CdrMember("unit", CdrString())))

    async def test() -> None:
        peer, our = cyclone(), OurPeer(domain_id)
        try:
            there = await peer.ask("writer", topic="there", type="Reading")
            back = await peer.ask("reader", topic="back", type="Reading")
            old, new = our.reader("there", older, BOTH), our.reader("there", newer, BOTH)
            writers = [our.writer("back", of, replace(RELIABLE, representations=(XCDR2,))) for of in (older, newer)]
            for endpoint in (old, new, *writers):
                await our.matched(endpoint)
            assert await peer.ask("wait_matched", entity=there, count=2)
            assert await peer.ask("wait_matched", entity=back, count=2)
            await peer.ask("write", entity=there, samples=READINGS)
            await our.until(lambda: len(our.samples(old, older)) == len(our.samples(new, newer)) == 2)
            assert our.samples(old, older) == [{"sensor": "a", "value": 1.5}, {"sensor": "b", "value": -2.5}]
            assert our.samples(new, newer) == [{**reading, "unit": ""} for reading in READINGS]
            our.write(writers[0], older, {"sensor": "c", "value": 3.0})
            default = {"sensor": "c", "value": 3.0, "note": None, "color": "RED"}
            got = await peer.ask("take", entity=back, count=1)
            assert got == [[{**default, "color": got[0][0]["color"]}, "alive"]]  # Cyclone's default is the number 0
            our.write(writers[1], newer, {**READINGS[1], "unit": "m"})
            assert await peer.ask("take", entity=back, count=1) == [[READINGS[1], "alive"]]
        finally:
            await our.udp.close()

    run(test())


def test_a_reader_that_allows_no_coercion_takes_its_own_type_alone(cyclone: Cyclone, domain_id: int) -> None:
    older = replace(READING, fields=READING.fields[:2])
    strict = replace(BOTH, type_consistency=TypeConsistency(coercion=False))

    async def test() -> None:
        peer, our = cyclone(), OurPeer(domain_id)
        try:
            there = await peer.ask("writer", topic="there", type="Reading")
            back = await peer.ask("reader", topic="back", type="Reading", coercion=False)
            same, old = our.reader("there", READING, strict), our.reader("there", older, strict)
            qos = replace(RELIABLE, representations=(XCDR2,))
            writer, wrong = our.writer("back", READING, qos), our.writer("back", older, qos)
            for endpoint in (same, writer):
                await our.matched(endpoint)
            for entity in (there, back):
                assert await peer.ask("wait_matched", entity=entity)
            await our.until(
                lambda: {old, wrong} <= {each.local for each in our.events if isinstance(each, TypeIncompatible)}
            )
            reasons = {each.reason for each in our.events if isinstance(each, TypeIncompatible)}
            assert reasons == {"note is string there, missing here", "color is enum test::Color there, missing here"}
            assert [our.udp.participant.matched(endpoint) for endpoint in (old, wrong)] == [(), ()]
            await peer.ask("write", entity=there, samples=READINGS)
            await our.until(lambda: len(our.samples(same, READING)) == 2)
        finally:
            await our.udp.close()

    run(test())


def test_xcdr2_of_a_final_type_is_written_where_it_is_asked_for(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer = cyclone()
        back = await peer.ask("reader", topic="back", type="Message")
        of = CdrStruct("test::Message", (CdrMember("number", Primitive.INT32), CdrMember("text", CdrString())))
        async with rookery.open(f"dds://{domain_id}") as client:
            client.advertise("back", schema=of, dds=DdsWriterOptions(type_name="test::Message", xcdr=2))
            await client.dds.wait_for_readers("back", seconds=600)
            client.publish("back", {"number": 1, "text": "one"})
            assert await peer.ask("take", entity=back, count=1) == [[{"number": 1, "text": "one"}, "alive"]]

    run(test())


def test_a_union_is_refused_with_the_reason(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer = cyclone()
        await peer.ask("writer", topic="choices", type="Choice")
        async with rookery.open(f"dds://{domain_id}") as client:
            learned = await client.dds.learn("choices")
            with pytest.raises(TopicError, match=r"test::Choice\.what is a union, which is not read here"):
                client.subscribe("choices", "", overflow="wait", schema=learned)

    run(test())


def test_in_xcdr1_a_struct_inside_that_differs_is_refused(domain_id: int) -> None:
    inner = CdrStruct("Inner", (CdrMember("x", Primitive.INT32),), Extensibility.APPENDABLE)
    longer = replace(inner, fields=(*inner.fields, CdrMember("y", Primitive.INT32)))
    one, other = (
        CdrStruct("Outer", (CdrMember("in", of), CdrMember("z", Primitive.INT32)), Extensibility.APPENDABLE)
        for of in (inner, longer)
    )

    async def test() -> None:
        ours, theirs = OurPeer(domain_id), OurPeer(domain_id)
        try:
            reader = ours.reader("outer", one, BOTH)
            theirs.writer("outer", other, replace(RELIABLE, representations=(XCDR1,)))
            await ours.until(lambda: ours.of(TypeIncompatible))
            assert ours.of(TypeIncompatible)[0].reason == "in is of 2 members in XCDR1 there, of 1 members here"
            theirs.writer("outer", other, replace(RELIABLE, representations=(XCDR2,)))
            await ours.matched(reader)
        finally:
            await ours.udp.close()
            await theirs.udp.close()

    run(test())
