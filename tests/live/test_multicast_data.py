"""Samples for many by multicast, on real sockets: among our own, and with Cyclone DDS each way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest

import rookery
from rookery import DdsOptions, DdsReaderOptions, DdsWriterOptions
from rookery.errors import JoinError
from rookery.machine import Multicast
from rookery.participant.configuration import data_group

from .conftest import MESSAGE, CyclonePeer

Cyclone = Callable[..., CyclonePeer]
TOGETHER = DdsOptions(multicast_data=True)
COUNT = 500


def message(number: int) -> dict[str, Any]:
    return {"number": number, "text": "x" * 100}


def spy(client: Any) -> list[tuple[str, int]]:
    """Return where a client's datagrams go from now on, one entry for each."""
    sent: list[tuple[str, int]] = []

    def noting(send: Callable[..., None]) -> Callable[..., None]:
        def noted(receiver: Any, datagrams: Any) -> None:
            sent.extend((receiver.host, receiver.port) for _ in datagrams)
            send(receiver, datagrams)

        return noted

    for _, own in client.dds.udp._transport._own:  # one socket for each interface
        own.send = noting(own.send)
    return sent


def hear(client: Any) -> list[bytes]:
    """Return the samples' datagrams that come to a client through a group from now on."""
    participant = client.dds.udp.participant
    receive_many, heard = participant.receive_many, []

    def noted(messages: Any, sender: Any, now: int) -> None:
        taken = tuple(messages)
        heard.extend(one.message for one in taken if isinstance(one, Multicast) and b"x" * 100 in one.message)
        receive_many(taken, sender, now)

    participant.receive_many = noted
    return heard


async def publish(writer: Any, count: int) -> None:
    for number in range(count):
        await writer.publish_many("numbers", [message(number)])
    await writer.flush("numbers", seconds=600)


async def take(subscription: Any, count: int) -> list[int]:
    async with asyncio.timeout(600):
        events = aiter(subscription)
        return [(await anext(events))["number"] for _ in range(count)]


def test_our_own_hear_what_is_sent_once(domain_id: int) -> None:
    async def test() -> None:
        async with AsyncExitStack() as stack:
            writer = await stack.enter_async_context(rookery.open(f"dds://{domain_id}", TOGETHER))
            readings = []
            for _ in range(5):
                client = await stack.enter_async_context(rookery.open(f"dds://{domain_id}", TOGETHER))
                reading = client.subscribe("numbers", "", overflow="wait", schema=MESSAGE)
                readings.append(await stack.enter_async_context(reading))
            writer.advertise("numbers", schema=MESSAGE)
            await writer.dds.wait_for_readers("numbers", count=5, seconds=600)
            sent = spy(writer)
            _, *got = await asyncio.gather(publish(writer, COUNT), *(take(one, COUNT) for one in readings))
            assert all(numbers == list(range(COUNT)) for numbers in got)
            group = data_group(domain_id)
            together = sum(to == (group.host, group.port) for to in sent)
            # Eleven such samples fit a datagram; to each by itself is HEARTBEATs alone, or what got lost.
            assert together >= COUNT / 11

    asyncio.run(test())


@pytest.mark.wire
def test_cyclone_hears_our_group_and_we_hear_its(cyclone: Cyclone, domain_id: int) -> None:
    async def test() -> None:
        peers = [cyclone() for _ in range(3)]
        there = [await peer.ask("reader", topic="numbers", type="Message") for peer in peers]
        async with rookery.open(f"dds://{domain_id}", TOGETHER) as client:
            client.advertise("numbers", schema=MESSAGE, dds=DdsWriterOptions(type_name="test::Message"))
            await client.dds.wait_for_readers("numbers", count=3, seconds=600)
            sent = spy(client)
            await publish(client, COUNT)
            group = data_group(domain_id)
            assert (group.host, group.port) in sent
            for peer, entity in zip(peers, there, strict=True):
                taken = await peer.ask("take", entity=entity, count=COUNT)
                assert [sample["number"] for sample, _ in taken] == list(range(COUNT))

            # And back: Cyclone sends to the group when several of its readers hear it.
            back = await peers[0].ask("writer", topic="back", type="Message")
            async with AsyncExitStack() as stack:
                readings, heard = [], []
                for _ in range(3):
                    other = await stack.enter_async_context(rookery.open(f"dds://{domain_id}", TOGETHER))
                    heard.append(hear(other))
                    reading = other.subscribe(
                        "back", "", overflow="wait", schema=MESSAGE, dds=DdsReaderOptions(type_name="test::Message")
                    )
                    readings.append(await stack.enter_async_context(reading))
                assert await peers[0].ask("wait_matched", entity=back, count=3)
                await peers[0].ask("write", entity=back, samples=[message(number) for number in range(COUNT)])
                for one in readings:
                    assert await take(one, COUNT) == list(range(COUNT))
                assert all(heard)

    asyncio.run(test())


def test_without_multicast_there_is_none_for_data(domain_id: int) -> None:
    async def test() -> None:
        with pytest.raises(JoinError, match="leave one"):
            await rookery.open(f"dds://{domain_id}", DdsOptions(multicast=False, multicast_data=True))

    asyncio.run(test())
