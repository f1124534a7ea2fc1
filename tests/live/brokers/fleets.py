"""Broker processes for live tests, and clients beside them: a crowd of subscribers and a publisher that goes on."""

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
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.live.broker_fleet import BEAT, REFRESH, SCHEMA
from tests.live.sites import Sites
from tests.live.stepped_clock import SteppedClocks

import rookery
from rookery import BrokerOptions, Client, Subscription
from rookery.live.opening import ClientOpening

#: Events of different tests have different numbers: a broker that comes back sends on what its log still has, and a
#: subscription made since then may want it.
NUMBERS = itertools.count(0, 1_000_000)
SYMBOLS = [f"S{number:03d}" for number in range(200)]
LOOPBACK = "127.0.0.1"


class Fleet:
    """Broker processes, and who is alive; on loopback, or each at a site of its own; their wall clocks may step."""

    def __init__(
        self,
        folder: Path,
        *,
        beat: float = BEAT,
        refresh: float = REFRESH,
        sites: Sites | None = None,
        clocks: SteppedClocks | None = None,
    ) -> None:
        self._folder = folder
        self._sites = sites
        #: By port: the site, where there are any.
        self.site_of: dict[int, str] = {}
        self._times = {"beat": beat, "refresh": refresh}
        self._parent = subprocess.Popen(
            [sys.executable, "-m", "tests.live.broker_fleet"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
            env={**os.environ, **(clocks.variables if clocks is not None else {})},
        )
        self.alive: dict[int, int] = {}

    def start(self, port: int | None = None, *, site: str = "") -> int:
        if port is None:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = int(probe.getsockname()[1])
        if site:
            self.site_of[port] = site
        order = {
            "host": self.host(port),
            "port": port,
            "join": [[self.host(other), other] for other in list(self.alive)[:3]],
            "data": str(self.data(port)),
            **self._times,
        }
        if port in self.site_of and self._sites is not None:
            order["namespace"] = self._sites.namespace(self.site_of[port])
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write(json.dumps(order) + "\n")
        self._parent.stdin.flush()
        child = int(self._parent.stdout.readline())
        assert child, f"the broker on {port} did not start"
        self.alive[port] = child
        return port

    def host(self, port: int) -> str:
        return LOOPBACK if self._sites is None else self._sites.addresses[self.site_of[port]]

    def data(self, port: int) -> Path:
        return self._folder / str(port)

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
        return [f"{self.host(port)}:{port}" for port in self.alive]


async def status_of(port: int, host: str = LOOPBACK) -> dict[str, Any]:
    async with rookery.open(f"brokers://{host}:{port}", BrokerOptions(attempts=600.0)) as client:
        return await client.brokers.status()


def clients_of(addresses: list[str], **options: Any) -> ClientOpening:
    """A client of these brokers that does not give up soon."""
    return rookery.open(f"brokers://{','.join(addresses)}", BrokerOptions(attempts=600.0, **options))


async def settled(fleet: Fleet) -> None:
    """Wait until every living broker has one zone, and the zones tile the space."""
    while True:
        found = [await status_of(port, fleet.host(port)) for port in list(fleet.alive)]
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
        await self._publisher.flush("quotes", seconds=600)
