"""Eight broker processes on loopback: every pair equals scan's answer, and kill -9 loses and doubles nothing."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rookery import Client, Subscription

from .fleets import NUMBERS, Crowd, Fleet, Load, an_event, clients_of, conditions, settled, status_of, wanted

BROKERS = 8


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    made = Fleet(tmp_path_factory.mktemp("brokers"))
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def patient_fleet(tmp_path: Path) -> Iterator[Fleet]:
    """Brokers with the times of every day: ten thousand subscriptions every five seconds are all that two cores do."""
    made = Fleet(tmp_path, beat=2.0, refresh=60.0)
    try:
        yield made
    finally:
        made.close()


async def compare(fleet: Fleet, *, subscriptions: int, events: int, scanned: int) -> None:
    generator = random.Random(1)
    chosen = conditions(subscriptions, generator)
    async with Crowd(fleet, chosen, BROKERS) as crowd, clients_of(fleet.addresses()[3:]) as publisher:
        published = [an_event(crowd.first + number, generator) for number in range(events)]
        await publisher.publish_many("quotes", published)
        await publisher.flush("quotes", seconds=600)
        due = wanted(chosen, published, engine="bitmap")
        assert {pair for pair in due if pair[1] < crowd.first + scanned} == wanted(
            chosen, published[:scanned], engine="scan"
        )
        await crowd.until(due)
        await asyncio.sleep(0.5)  # what should not come has had the time to
        assert crowd.got == dict.fromkeys(due, 1)
        assert len(due) > events


async def survive(fleet: Fleet, victims: Any, *, subscriptions: int, restart: bool, pause: float = 1.0) -> None:
    """Publish all the time, kill the victims in the middle, and compare everything that was acknowledged."""
    generator = random.Random(2)
    chosen = conditions(subscriptions, generator)
    addresses = fleet.addresses()
    async with Crowd(fleet, chosen, BROKERS) as crowd, clients_of(addresses[::-1]) as publisher:
        load = Load(publisher, first=crowd.first)
        await asyncio.sleep(pause)
        dead = await victims(fleet)
        for port in dead:
            fleet.kill(port)
        await asyncio.sleep(pause)
        if restart:
            for port in dead:
                await asyncio.to_thread(fleet.start, port)
        await asyncio.sleep(pause)
        await load.end()  # everything is acknowledged from here on
        due = wanted(chosen, load.published, engine="bitmap")
        await crowd.until(due)
        await asyncio.sleep(0.5)
        assert crowd.got == dict.fromkeys(due, 1)
        assert len(due) > 50
    for port in dead:
        if port not in fleet.alive:
            await asyncio.to_thread(fleet.start, port)
    await settled(fleet)


async def one(fleet: Fleet) -> list[int]:
    return [list(fleet.alive)[2]]


async def two_unrelated(fleet: Fleet) -> list[int]:
    """Two brokers of which neither is the other's backup."""
    backups = {port: (await status_of(port))["backup"] for port in fleet.alive}
    for first in fleet.alive:
        for second in fleet.alive:
            if first < second and backups[first] != f"127.0.0.1:{second}" and backups[second] != f"127.0.0.1:{first}":
                return [first, second]
    raise AssertionError("everyone is everyone's backup")


async def owner_with_heir(fleet: Fleet) -> list[int]:
    for port in fleet.alive:
        backup = (await status_of(port))["backup"]
        if backup is not None:
            return [port, int(backup.rpartition(":")[2])]
    raise AssertionError("nobody has a backup")


def run(scenario: Any) -> None:
    async def limited() -> None:
        async with asyncio.timeout(1_800):  # it ends a hang and decides nothing
            await scenario

    asyncio.run(limited())


def begin(fleet: Fleet) -> None:
    while len(fleet.alive) < BROKERS:
        fleet.start()
    run(settled(fleet))


def test_every_pair_equals_the_answer_of_scan(fleet: Fleet) -> None:
    begin(fleet)
    run(compare(fleet, subscriptions=1000, events=2000, scanned=100))


@pytest.mark.parametrize("victims", [one, two_unrelated, owner_with_heir])
def test_kill_9_loses_and_doubles_nothing(fleet: Fleet, victims: Any) -> None:
    begin(fleet)
    run(survive(fleet, victims, subscriptions=200, restart=victims is owner_with_heir))


async def get_all(fleet: Fleet, feed: Subscription[Any], count: int = 200) -> None:
    """Publish through another broker: what is acknowledged comes out of the feed, each once."""
    first = next(NUMBERS)
    generator = random.Random(first)
    async with clients_of(fleet.addresses()[::-1]) as publisher:
        for number in range(count):
            publisher.publish("quotes", an_event(first + number, generator))
        await publisher.flush("quotes", seconds=600)
    got: Counter[int] = Counter()
    while len(got) < count:
        number = (await anext(feed))["number"]
        if number >= first:  # a process that just ended had not confirmed all that it took
            got[number] += 1
    assert got == dict.fromkeys(range(first, first + count), 1)


async def step_back(fleet: Fleet, patch: pytest.MonkeyPatch) -> None:
    async with clients_of(fleet.addresses()) as client, client.subscribe("quotes", overflow="wait") as feed:
        await get_all(fleet, feed)
        now = time.time_ns
        patch.setattr(time, "time_ns", lambda: now() - 3_600_000_000_000)
        patch.setattr(time, "time", lambda: now() / 1e9 - 3_600)
        fleet.kill(client.brokers.addresses[0][1])
        while client.brokers.attachments < 2 or not client.brokers.is_in_force(feed):
            await asyncio.sleep(0.05)
        await get_all(fleet, feed)  # every zone has said that it has the subscription


def test_a_client_whose_clock_steps_back_loses_nothing(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    begin(fleet)
    run(step_back(fleet, monkeypatch))


@asynccontextmanager
async def a_process(addresses: list[str], secret: bytes) -> AsyncIterator[Client]:
    """A client with a secret that it remembers, and nothing else."""
    client = await clients_of(addresses, secret=secret)
    try:
        yield client
    finally:
        await client.brokers.detach()


async def resume(fleet: Fleet, secret: bytes) -> None:
    by_the_clock = time.time_ns()
    async with a_process(fleet.addresses(), secret) as before:
        before.brokers.machine.versions.learn(by_the_clock)
        await before.subscribe("quotes", overflow="wait").__aenter__()  # and not out again: the process just ends
        broker = before.brokers.addresses[0][1]
    fleet.kill(broker)
    async with a_process(fleet.addresses(), secret) as after:
        await get_all(fleet, await after.subscribe("quotes", overflow="wait").__aenter__())
        again = after.brokers.machine.versions.next("")
        assert again is not None
        assert again > by_the_clock
    async with a_process([f"127.0.0.1:{after.brokers.addresses[0][1]}"], secret) as last:
        assert last.brokers.machine.versions.next("") == again  # its broker tells it at once
        await get_all(fleet, await last.subscribe("quotes", overflow="wait").__aenter__())


def test_a_client_that_has_forgotten_its_count_goes_on_above_what_is_stored(fleet: Fleet) -> None:
    """The zones hold what a process of the same number made by its clock; the broker that knew of it is dead."""
    begin(fleet)
    run(resume(fleet, b"remembered"))


@pytest.mark.slow
def test_ten_thousand_subscriptions(patient_fleet: Fleet) -> None:
    begin(patient_fleet)
    run(compare(patient_fleet, subscriptions=10_000, events=5000, scanned=300))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("victims", [one, two_unrelated, owner_with_heir])
def test_kill_9_again_and_again(fleet: Fleet, victims: Any) -> None:
    begin(fleet)
    for _ in range(5):
        run(survive(fleet, victims, subscriptions=1000, restart=True, pause=3.0))
