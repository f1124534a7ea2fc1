"""Durable subscriptions live: a program that runs again finds what came while it did not, at whatever broker."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import rookery
from rookery.errors import ClientError

from .fleets import LOOPBACK, Fleet, clients_of, settled, status_of

CHEAP = "price < 10"


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(tmp_path)
    try:
        for _ in range(3):
            made.start()
        asyncio.run(asyncio.wait_for(settled(made), 600))
        yield made
    finally:
        made.close()


async def publish(fleet: Fleet, *numbers: int) -> None:
    async with clients_of(fleet.addresses()) as publisher:
        events = [{"symbol": "S000", "price": 1.0, "number": number} for number in numbers]
        await publisher.publish_many("quotes", events)
        await publisher.flush("quotes", seconds=600)


async def take(fleet: Fleet, session: Path, count: int) -> tuple[list[int], str]:
    """Be a program that takes so many events and ends; return them, and the broker that it had."""
    taken: list[int] = []
    async with clients_of(fleet.addresses(), session=session) as client:
        async with client.subscribe("quotes", CHEAP, overflow="wait", durable="cheap") as feed:
            while len(taken) < count:
                taken.append((await anext(aiter(feed)))["number"])
        return taken, client.brokers.addresses[0][1]


def test_what_comes_while_a_program_does_not_run(fleet: Fleet, tmp_path: Path) -> None:
    """It goes on where it has stopped, without the broker that it had, and longer than that one sends it again."""

    async def scenario() -> None:
        session = tmp_path / "state" / "session"
        await take(fleet, session, 0)
        await publish(fleet, 1)
        await publish(fleet, 2, 3)
        first, broker = await take(fleet, session, 1)
        assert first == [1]
        while sum([(await status_of(port))["in_flight"]["events"] for port in fleet.alive]) > 2:
            await asyncio.sleep(0.1)  # until its owner knows that it was taken
        fleet.kill(broker)
        await asyncio.sleep(3.5 * 5)
        await publish(fleet, 4, 5)
        second, _ = await take(fleet, session, 4)
        assert sorted(second) == [2, 3, 4, 5]

    asyncio.run(asyncio.wait_for(scenario(), 600))


def test_one_that_has_ended_for_good_keeps_nothing(fleet: Fleet, tmp_path: Path) -> None:
    async def scenario() -> None:
        session = tmp_path / "session"
        async with (
            clients_of(fleet.addresses(), session=session) as client,
            client.subscribe("quotes", CHEAP, overflow="wait", durable="cheap") as feed,
        ):
            client.brokers.end(feed)
        kept = 1
        while kept:
            zones = [zone for port in fleet.alive for zone in (await status_of(port))["zones"]]
            kept = sum(zone["subscriptions"] for zone in zones)

    asyncio.run(asyncio.wait_for(scenario(), 600))


def test_who_cannot_come_back_has_no_durable_subscription(fleet: Fleet, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with clients_of(fleet.addresses()) as client:
            with pytest.raises(ClientError, match="session=FILE"):
                client.subscribe("quotes", overflow="wait", durable="cheap")
        session = tmp_path / "session"
        async with clients_of(fleet.addresses(), session=session) as client:
            async with client.subscribe("quotes", overflow="wait", durable="cheap"):
                with pytest.raises(ClientError, match="open already"):
                    client.subscribe("quotes", overflow="wait", durable="cheap")
            with pytest.raises(ClientError, match="another process has the session"):
                await clients_of(fleet.addresses(), session=session)
        with pytest.raises(ClientError, match="give secret= or session="):
            await clients_of(fleet.addresses(), session=session, secret=b"its own")

    asyncio.run(asyncio.wait_for(scenario(), 600))


def test_a_command_that_is_killed_prints_the_rest_when_it_runs_again(fleet: Fleet, tmp_path: Path) -> None:
    port = next(iter(fleet.alive))
    words = [sys.executable, "-m", "rookery", "subscribe", "quotes", CHEAP, "--durable", "cheap", "--count", "2"]
    words += [word for other in fleet.alive for word in ("--at", f"{LOOPBACK}:{other}")]
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path / "state")}

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
        )

    first = start()
    assert first.stderr is not None
    assert "subscribed" in first.stderr.readline()
    first.send_signal(signal.SIGKILL)
    first.communicate()
    asyncio.run(asyncio.wait_for(publish(fleet, 1, 2), 600))
    printed, _ = start().communicate(timeout=600)
    assert sorted(printed.count(f'"number": {number}') for number in (1, 2)) == [1, 1]
    assert port in fleet.alive


def test_networks_without_them_refuse_them() -> None:
    async def scenario() -> None:
        async with rookery.open("dds://91") as client:
            with pytest.raises(ClientError, match="leave durable= away"):
                client.subscribe("quotes", overflow="drop-oldest", durable="cheap", schema=rookery.Schema(x=int))

    asyncio.run(scenario())
