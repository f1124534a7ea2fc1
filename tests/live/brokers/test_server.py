"""Eight broker processes on loopback: every pair equals scan's answer, and kill -9 loses and doubles nothing."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.live.broker_fleet import BEAT, REFRESH, SCHEMA

import rookery
from rookery import BrokerOptions, Client, Subscription
from rookery.live.opening import ClientOpening

#: Events of different tests have different numbers: a broker that comes back sends on what its log still has, and a
#: subscription made since then may want it.
NUMBERS = itertools.count(0, 1_000_000)
SYMBOLS = [f"S{number:03d}" for number in range(200)]
BROKERS = 8


class Fleet:
    """Broker processes, and who is alive."""

    def __init__(self, folder: Path, *, beat: float = BEAT, refresh: float = REFRESH) -> None:
        self._folder = folder
        self._times = {"beat": beat, "refresh": refresh}
        self._parent = subprocess.Popen(
            [sys.executable, "-m", "tests.live.broker_fleet"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        self.alive: dict[int, int] = {}

    def start(self, port: int | None = None) -> int:
        if port is None:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = int(probe.getsockname()[1])
        order = {"port": port, "join": list(self.alive)[:3], "data": str(self._folder / str(port)), **self._times}
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write(json.dumps(order) + "\n")
        self._parent.stdin.flush()
        child = int(self._parent.stdout.readline())
        assert child, f"the broker on {port} did not start"
        self.alive[port] = child
        return port

    def kill(self, port: int) -> None:
        os.kill(self.alive.pop(port), signal.SIGKILL)

    def close(self) -> None:
        for process in self.alive.values():
            os.kill(process, signal.SIGKILL)
        assert self._parent.stdin is not None
        self._parent.stdin.close()
        self._parent.wait()
        assert self._parent.stdout is not None
        self._parent.stdout.close()

    def addresses(self) -> list[str]:
        return [f"127.0.0.1:{port}" for port in self.alive]


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


async def status_of(port: int) -> dict[str, Any]:
    async with rookery.open(f"brokers://127.0.0.1:{port}") as client:
        return await client.brokers.status()


def clients_of(addresses: list[str], **options: Any) -> ClientOpening:
    """A client of these brokers that does not give up soon."""
    return rookery.open(f"brokers://{','.join(addresses)}", BrokerOptions(attempts=60.0, **options))


async def settled(fleet: Fleet) -> None:
    """Wait until every living broker has one zone, and the zones tile the space."""
    while True:
        found = [await status_of(port) for port in list(fleet.alive)]
        zones = [zone for one in found for zone in one["zones"]]
        if all(len(one["zones"]) == 1 for one in found) and sum(2.0 ** -len(zone["path"]) for zone in zones) == 1.0:
            return
        await asyncio.sleep(0.2)


def conditions(count: int, generator: random.Random) -> dict[str, str]:
    made = {}
    for number in range(count):
        low = generator.randrange(990)
        made[f"c{number}"] = generator.choice(
            [
                f"symbol = '{generator.choice(SYMBOLS)}' AND price < {low}",
                f"price >= {low} AND price < {low + 5}",
                f"symbol = '{generator.choice(SYMBOLS)}' AND number >= {generator.randrange(3000)}",
                f"symbol > 'S1{generator.randrange(10)}' AND price BETWEEN {low} AND {low + 3} OR price > 999.5",
            ]
        )
    return made


def an_event(number: int, generator: random.Random) -> dict[str, Any]:
    return {
        "symbol": generator.choice(SYMBOLS),
        "price": generator.choice([None, generator.uniform(0, 1000)]),
        "number": number,
    }


def wanted(chosen: dict[str, str], events: list[dict[str, Any]], *, engine: str) -> set[tuple[str, int]]:
    matcher = rookery.matcher(SCHEMA, engine=engine)
    for name, where in chosen.items():
        matcher.add(name, where)
    table = pa.Table.from_pylist(events, schema=SCHEMA.to_arrow())
    found = matcher.match_many(table, event_id="number")
    return set(zip(found["subscription_id"].to_pylist(), found["event_id"].to_pylist(), strict=True))


class Crowd:
    """Clients at several brokers who share many subscriptions, and write down what they get."""

    def __init__(self, fleet: Fleet, chosen: dict[str, str], clients: int) -> None:
        self._fleet = fleet
        self._chosen = chosen
        self._clients = clients
        self._stack = AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []
        self.first = next(NUMBERS)
        self.got: Counter[tuple[str, int]] = Counter()
        self.feeds: list[Subscription[Any]] = []
        self.clients: list[Client] = []

    async def __aenter__(self) -> Crowd:
        addresses = self._fleet.addresses()
        for number in range(self._clients):
            mine = dict(list(self._chosen.items())[number :: self._clients])
            own = [addresses[number % len(addresses)], *addresses]
            client = await self._stack.enter_async_context(clients_of(own))
            feed = client.subscribe_many("quotes", mine, overflow="wait")
            await self._stack.enter_async_context(feed)
            self.feeds.append(feed)
            self.clients.append(client)
            self._tasks.append(asyncio.get_running_loop().create_task(self._take(feed)))
        return self

    async def _take(self, feed: Subscription[Any]) -> None:
        async for name, event in feed:
            if event["number"] >= self.first:
                self.got[name, event["number"]] += 1

    async def until(self, due: set[tuple[str, int]]) -> None:
        while not due <= self.got.keys():
            await asyncio.sleep(0.05)

    async def __aexit__(self, *failure: Any) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._stack.aclose()


async def compare(fleet: Fleet, *, subscriptions: int, events: int, scanned: int) -> None:
    generator = random.Random(1)
    chosen = conditions(subscriptions, generator)
    async with Crowd(fleet, chosen, BROKERS) as crowd, clients_of(fleet.addresses()[3:]) as publisher:
        published = [an_event(crowd.first + number, generator) for number in range(events)]
        await publisher.publish_many("quotes", published)
        await publisher.flush("quotes", seconds=120)
        due = wanted(chosen, published, engine="bitmap")
        assert {pair for pair in due if pair[1] < crowd.first + scanned} == wanted(
            chosen, published[:scanned], engine="scan"
        )
        await crowd.until(due)
        await asyncio.sleep(0.5)  # what should not come has had the time to
        assert crowd.got == dict.fromkeys(due, 1)
        assert len(due) > events


class Load:
    """A publisher that goes on and on; an event is numbered as it is published."""

    def __init__(self, publisher: Client, first: int) -> None:
        self.published: list[dict[str, Any]] = []
        self._first = first
        self._publisher = publisher
        self._dice = random.Random(first)
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        while True:
            for _ in range(10):
                event = an_event(self._first + len(self.published), self._dice)
                self._publisher.publish("quotes", event)
                self.published.append(event)
            await asyncio.sleep(0.05)

    async def end(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await self._publisher.flush("quotes", seconds=120)


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


def run(scenario: Any, seconds: float) -> None:
    async def limited() -> None:
        async with asyncio.timeout(seconds):
            await scenario

    asyncio.run(limited())


def begin(fleet: Fleet) -> None:
    while len(fleet.alive) < BROKERS:
        fleet.start()
    run(settled(fleet), 60)


def test_every_pair_equals_the_answer_of_scan(fleet: Fleet) -> None:
    begin(fleet)
    run(compare(fleet, subscriptions=1000, events=2000, scanned=100), 200)


@pytest.mark.parametrize("victims", [one, two_unrelated, owner_with_heir])
def test_kill_9_loses_and_doubles_nothing(fleet: Fleet, victims: Any) -> None:
    begin(fleet)
    run(survive(fleet, victims, subscriptions=200, restart=victims is owner_with_heir), 200)


async def get_all(fleet: Fleet, feed: Subscription[Any], count: int = 200) -> None:
    """Publish through another broker: what is acknowledged comes out of the feed, each once."""
    first = next(NUMBERS)
    generator = random.Random(first)
    async with clients_of(fleet.addresses()[::-1]) as publisher:
        for number in range(count):
            publisher.publish("quotes", an_event(first + number, generator))
        await publisher.flush("quotes", seconds=120)
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
    run(step_back(fleet, monkeypatch), 200)


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
    run(resume(fleet, b"remembered"), 200)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_ten_thousand_subscriptions(patient_fleet: Fleet) -> None:
    begin(patient_fleet)
    run(compare(patient_fleet, subscriptions=10_000, events=5000, scanned=300), 1500)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("victims", [one, two_unrelated, owner_with_heir])
def test_kill_9_again_and_again(fleet: Fleet, victims: Any) -> None:
    begin(fleet)
    for _ in range(5):
        run(survive(fleet, victims, subscriptions=1000, restart=True, pause=3.0), 600)
