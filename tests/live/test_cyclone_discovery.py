"""The discovery protocols beside real Cyclone DDS: what it is not told of it never sees, and data flow as ever.

What Cyclone sees is read from its own builtin topics; a sample is counted only when its content has been compared.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from rookery.rtps import Guid
from rookery.rtps.events import MessageRejected

from .conftest import MESSAGE, RELIABLE, CyclonePeer, OurPeer

pytestmark = pytest.mark.wire
Cyclone = Callable[..., CyclonePeer]
SAMPLES = [{"number": number, "text": "word" * (number % 7)} for number in range(200)]
SECRET = b"a key of 16 octets or more"


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 1_800))


def noise(our: OurPeer, count: int) -> None:
    """Make endpoints that nobody wants."""
    for number in range(count // 2):
        our.writer(f"noise/written{number}", MESSAGE, RELIABLE)
        our.reader(f"noise/read{number}", MESSAGE, RELIABLE)


async def seen(peer: CyclonePeer, *ours: OurPeer) -> set[str]:
    """Return the topics of our endpoints that Cyclone knows."""
    found = await peer.ask("builtin")
    prefixes = tuple(our.udp.participant.prefix.hex() for our in ours)
    listed = [each for kind in ("publications", "subscriptions") for each in found[kind] if each["alive"]]
    return {each["topic"] for each in listed if each["key"].replace("-", "").startswith(prefixes)}


async def exchange(peer: CyclonePeer, our: OurPeer, *, writer: Guid, reader: Guid, back: int, there: int) -> None:
    """Send two hundred samples each way and compare them."""
    assert await peer.ask("wait_matched", entity=there)
    assert await peer.ask("wait_matched", entity=back)
    await our.matched(writer)
    await our.matched(reader)
    for sample in SAMPLES:
        our.write(writer, MESSAGE, sample)
    assert [value for value, _ in await peer.ask("take", entity=back, count=200)] == SAMPLES
    await peer.ask("write", entity=there, samples=SAMPLES)
    await our.until(lambda: len(our.samples(reader, MESSAGE)) >= 200)
    assert our.samples(reader, MESSAGE) == SAMPLES


@pytest.mark.parametrize("protocol", ["ribbon", "cuckoo", "tree", "bloom", "hashes"])
def test_a_hundred_endpoints_that_cyclone_does_not_want_are_not_told(
    cyclone: Cyclone, domain_id: int, protocol: str
) -> None:
    async def test() -> None:
        peer = cyclone()
        back = await peer.ask("reader", topic="there", type="Message")
        there = await peer.ask("writer", topic="back", type="Message")
        our = OurPeer(domain_id, discovery=protocol)
        try:
            noise(our, 50)
            writer, reader = our.writer("there", MESSAGE, RELIABLE), our.reader("back", MESSAGE, RELIABLE)
            noise(our, 50)
            await exchange(peer, our, writer=writer, reader=reader, back=back, there=there)
            assert await seen(peer, our) == {"there", "back"}
            assert not our.of(MessageRejected)
        finally:
            await our.udp.close()

    run(test())


def test_simple_tells_cyclone_everything(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peer = cyclone()
        back = await peer.ask("reader", topic="there", type="Message")
        our = OurPeer(domain_id)
        try:
            our.writer("there", MESSAGE, RELIABLE)
            noise(our, 10)
            assert await peer.ask("wait_matched", entity=back)
            async with asyncio.timeout(600):
                while len(await seen(peer, our)) < 11:
                    await asyncio.sleep(0.05)
        finally:
            await our.udp.close()

    run(test())


def test_interest_that_appears_later_is_answered(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        our = OurPeer(domain_id, discovery="ribbon")
        try:
            noise(our, 100)
            peer = cyclone()
            await our.until(lambda: our.udp.participant.peers)
            late = await peer.ask("reader", topic="noise/written30", type="Message")
            later = await peer.ask("writer", topic="noise/read7", type="Message")
            for entity in (late, later):
                assert await peer.ask("wait_matched", entity=entity)
            assert await seen(peer, our) == {"noise/written30", "noise/read7"}
            (writer,) = (e.guid for e in our.udp.participant.local_endpoints if e.topic == "noise/written30")
            await our.matched(writer)
            our.write(writer, MESSAGE, SAMPLES[5])
            assert [value for value, _ in await peer.ask("take", entity=late, count=1)] == [SAMPLES[5]]
            # Its end is told too, and what was never told has no end.
            our.udp.participant.delete_endpoint(writer, our.udp.now())
            our.udp.flush()
            assert await peer.ask("wait_matched", entity=late, count=0)
            async with asyncio.timeout(600):
                while await seen(peer, our) != {"noise/read7"}:
                    await asyncio.sleep(0.05)
        finally:
            await our.udp.close()

    run(test())


@pytest.mark.parametrize("secret", [None, SECRET], ids=["open", "sealed"])
def test_ribbon_nodes_and_cyclone_in_one_domain(cyclone: Cyclone, domain_id: int, secret: bytes | None) -> None:
    async def test() -> None:
        peer = cyclone()
        ours = [OurPeer(domain_id, discovery="ribbon", pre_shared_key=secret) for _ in range(2)]
        one, other = ours
        try:
            for our in ours:
                noise(our, 20)
            theirs = await peer.ask("reader", topic="shared", type="Message")
            writer = one.writer("shared", MESSAGE, RELIABLE)
            reader = other.reader("shared", MESSAGE, RELIABLE)
            answers = await peer.ask("writer", topic="answers", type="Message")
            answered = [our.reader("answers", MESSAGE, RELIABLE) for our in ours]
            await one.matched(writer, 2)
            await other.matched(reader)
            assert await peer.ask("wait_matched", entity=theirs)
            assert await peer.ask("wait_matched", entity=answers, count=2)
            for our, guid in zip(ours, answered, strict=True):
                await our.matched(guid)
            for sample in SAMPLES:
                one.write(writer, MESSAGE, sample)
            assert [value for value, _ in await peer.ask("take", entity=theirs, count=200)] == SAMPLES
            await other.until(lambda: len(other.samples(reader, MESSAGE)) >= 200)
            assert other.samples(reader, MESSAGE) == SAMPLES
            await peer.ask("write", entity=answers, samples=SAMPLES)
            for our, guid in zip(ours, answered, strict=True):
                await our.until(lambda our=our, guid=guid: len(our.samples(guid, MESSAGE)) >= 200)
                assert our.samples(guid, MESSAGE) == SAMPLES
            # Nobody has heard of the noise, neither Cyclone nor the other node.
            assert await seen(peer, *ours) == {"shared", "answers"}
            assert sorted(e.announcement.topic for e in one.udp.participant.remote_endpoints) == [
                "answers",
                "shared",
                "shared",
            ]
            await other.udp.close()
            assert await peer.ask("wait_matched", entity=answers, count=1)
            await one.matched(writer, 1)
            assert not one.of(MessageRejected)
        finally:
            for our in ours:
                await our.udp.close()

    run(test())
