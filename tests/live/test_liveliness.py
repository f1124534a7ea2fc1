"""Signs of life against Cyclone DDS, of each kind and in both directions."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

import rookery
from rookery import DdsReaderOptions, DdsWriterOptions
from rookery.errors import TopicError
from rookery.participant.instances import InstanceState

from .conftest import QUOTE, CyclonePeer

pytestmark = pytest.mark.wire

Cyclone = Callable[..., CyclonePeer]
QUOTES = {"symbol": "A", "price": 1.0, "size": 1}
#: Long enough for a machine that does much else, and shorter than what Cyclone repeats its announcement after.
LEASE = 2.0


def run(test: Any) -> None:
    asyncio.run(test)


async def until(condition: Callable[[], object]) -> None:
    """Wait until something holds; the limit only turns a hang into a failure."""
    async with asyncio.timeout(600):
        while not condition():
            await asyncio.sleep(0.01)


async def until_alive(peer: CyclonePeer, entity: int, expected: list[int]) -> None:
    """Wait until Cyclone's reader knows so many writers that are alive, and that are not."""
    async with asyncio.timeout(600):
        while await peer.ask("alive", entity=entity) != expected:
            await asyncio.sleep(0.05)


def test_an_automatic_writer_of_cyclone_that_is_held_up_is_dead_and_back(
    cyclone: Cyclone, domain_id: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        peer = cyclone()
        there = await peer.ask("writer", topic="quotes", type="Quote", liveliness="automatic", lease=round(LEASE * 1e3))
        options = DdsReaderOptions(seconds_of_liveliness=LEASE, instances=True)
        async with rookery.open(f"dds://{domain_id}") as client:
            changes: list[bool] = []
            client.dds.on_liveliness = lambda changed: changes.append(changed.alive)
            async with client.subscribe("quotes", "", overflow="wait", schema=QUOTE, dds=options) as quotes:
                assert await peer.ask("wait_matched", entity=there)
                await peer.ask("write", entity=there, samples=[QUOTES])
                assert await anext(aiter(quotes)) == QUOTES
                os.kill(peer.process.pid, signal.SIGSTOP)
                try:
                    await until(lambda: changes and not changes[-1])
                finally:
                    os.kill(peer.process.pid, signal.SIGCONT)
                assert client.dds.instances("quotes") == [({"symbol": "A"}, InstanceState.NO_WRITERS)]
                await until(lambda: changes[-1])
                assert client.dds.lost_liveliness["quotes"] == changes.count(False)

    run(test())
    assert "gives no sign of life" in caplog.text
    assert "is alive again" in caplog.text


@pytest.mark.parametrize("kind", ["participant", "topic"])
def test_a_program_on_cyclone_that_says_nothing_is_dead(cyclone: Cyclone, domain_id: int, kind: str) -> None:
    async def test() -> None:
        peer = cyclone()
        there = await peer.ask("writer", topic="quotes", type="Quote", liveliness=kind, lease=round(LEASE * 1e3))
        async with rookery.open(f"dds://{domain_id}") as client:
            changes: list[bool] = []
            client.dds.on_liveliness = lambda changed: changes.append(changed.alive)
            options = DdsReaderOptions(seconds_of_liveliness=LEASE)
            async with client.subscribe("quotes", "", overflow="wait", schema=QUOTE, dds=options):
                assert await peer.ask("wait_matched", entity=there)
                await until(lambda: changes and not changes[-1])
                await peer.ask("write", entity=there, samples=[QUOTES])
                await until(lambda: changes[-1])
                await until(lambda: not changes[-1])

    run(test())


@pytest.mark.parametrize("kind", ["automatic", "manual by participant", "manual by topic"])
def test_cyclone_takes_our_signs_of_life(cyclone: Cyclone, domain_id: int, kind: Any) -> None:
    async def test() -> None:
        peer = cyclone()
        there = await peer.ask("reader", topic="quotes", type="Quote", liveliness="automatic", lease=round(LEASE * 1e3))
        # Announcements alone would not do: they come once in half a minute.
        async with rookery.open(f"dds://{domain_id}", rookery.DdsOptions(seconds_of_lease=100.0)) as client:
            options = DdsWriterOptions(type_name="test::Quote", seconds_of_liveliness=LEASE, liveliness=kind)
            client.advertise("quotes", schema=QUOTE, dds=options)
            await client.dds.wait_for_readers("quotes", seconds=600)
            if kind == "automatic":
                await until_alive(peer, there, [1, 0])
                await asyncio.sleep(2 * LEASE)  # a writer that says nothing is dead by now
                await until_alive(peer, there, [1, 0])
                return
            await until_alive(peer, there, [0, 1])
            await until(lambda: client.dds.lost_liveliness["quotes"] == 1)
            client.publish("quotes", QUOTES)  # who is dead at Cyclone is alive again with a sample, and in no other way
            await until_alive(peer, there, [1, 0])
            # Every other way that a program has of saying that it is alive keeps it so.
            ways = [lambda: client.dds.assert_liveliness("quotes")]
            if kind == "manual by participant":
                ways.append(client.dds.assert_liveliness)
            for way in ways:
                before = -1
                while before != client.dds.lost_liveliness["quotes"]:  # else this process was held up itself
                    before = client.dds.lost_liveliness["quotes"]
                    client.publish("quotes", QUOTES)
                    await until_alive(peer, there, [1, 0])
                    for _ in range(20):
                        way()
                        await asyncio.sleep(LEASE / 10)
                    alive = await peer.ask("alive", entity=there)
                assert alive == [1, 0]

    run(test())


def test_a_kind_that_there_is_not_raises(domain_id: int) -> None:
    async def test() -> None:
        async with rookery.open(f"dds://{domain_id}") as client:
            with pytest.raises(TopicError, match="manual by topic"):
                client.advertise("quotes", schema=QUOTE, dds=DdsWriterOptions(liveliness="manual"))  # type: ignore[arg-type]
            with pytest.raises(TopicError):
                client.dds.assert_liveliness("quotes")

    run(test())
