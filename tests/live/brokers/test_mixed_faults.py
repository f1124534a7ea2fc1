"""Broker processes in network namespaces under mixed faults, and journals that an offline checker compares.

A round: several faults strike close upon each other while events are published, each a `kill -9` with a restart, a
pause (SIGSTOP, SIGCONT) shorter or longer than a takeover, a cut between two brokers, one way or both, packets that are
lost by the handful, both ways, a wall clock that steps by up to an hour, or a disk that is full. Amid them somebody
subscribes. Publisher and subscribers write down what was published, accepted, refused and
received; when the faults are over the checker reads the journals: what was accepted was received exactly once by each
subscription that wants it and was in force when it was published.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import pytest
from tests.live.broker_fleet import BEAT, enter
from tests.live.sites import Sites, why_not
from tests.live.stepped_clock import SteppedClocks

from rookery import Client
from rookery.brokers.client_events import BatchAccepted, BatchRefused, ClientEvent

from .fleets import Crowd, Fleet, Load, clients_of, conditions, settled, wanted

#: Sites of brokers, and the one of the clients.
BROKERS, CLIENTS = "abcdef", "z"
#: A cut ends before both sides have taken over from each other ("What it does not do" in docs/brokers.md).
LONGEST_CUT = 2.0 * BEAT
LONGEST_PAUSE = 12.0 * BEAT
#: A broker loses a fifth of what it sends and of what is sent to it, in gaps of so many seconds, for so long.
GAP, LONGEST_LOSS = 0.03, 4.0 * BEAT
HOUR = 3600 * 1_000_000
FAULTS = ("kill", "pause", "cut", "one-way cut", "loss", "clock step", "full disk")


class Journals:
    """What publisher and subscribers have seen, line by line, in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self._files: dict[str, TextIO] = {}

    def write(self, journal: str, entry: Any) -> None:
        file = self._files.get(journal)
        if file is None:
            file = self._files[journal] = (self.folder / f"{journal}.jsonl").open("w")
        file.write(json.dumps(entry) + "\n")

    def flush(self) -> None:
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def check_now(journals: Journals) -> dict[str, int]:
    """Compare the journals as far as they are written."""
    journals.flush()
    return check(journals.folder)


def check(folder: Path) -> dict[str, int]:
    """Compare the journals of a round; return how many deliveries were due, missed, doubled and uncalled-for."""

    def read(journal: str) -> list[Any]:
        path = folder / f"{journal}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    subscribed = read("subscribed")
    since = {name: first for name, _, first in subscribed}
    published = read("published")
    accepted = {published[place]["number"] for place in read("accepted")}
    possible = wanted({name: where for name, where, _ in subscribed}, published, engine="bitmap")
    due = {(name, number) for name, number in possible if number in accepted and number >= since[name]}
    received = Counter((name, number) for name, number in read("received"))
    return {
        "published": len(published),
        "accepted": len(accepted),
        "refused": len(read("refused")),
        "due": len(due),
        "missed": len(due - received.keys()),
        "doubled": sum(times > 1 for times in received.values()),
        "uncalled-for": len(received.keys() - possible),
    }


def journaled(publisher: Client, journals: Journals) -> None:
    """Let a publisher write down what becomes of its batches."""
    driver = publisher.brokers._driver
    inner: Callable[[ClientEvent], None] = driver._on_event

    def on_event(event: ClientEvent) -> None:
        match event:
            case BatchAccepted(first, count):
                for place in range(first, first + count):
                    journals.write("accepted", place)
            case BatchRefused(first, count, _, True):
                for place in range(first, first + count):
                    journals.write("refused", place)
        inner(event)

    driver._on_event = on_event


class Turmoil:
    """The faults of a round, each undone after a while."""

    def __init__(self, fleet: Fleet, sites: Sites, clocks: SteppedClocks, seed: int) -> None:
        self._fleet = fleet
        self._sites = sites
        self._clocks = clocks
        self._kinds = [kind for kind in FAULTS if kind != "clock step" or clocks.variables]
        self._dice = random.Random(seed)
        self._tasks: list[asyncio.Task[None]] = []
        self._busy: set[int] = set()
        self.struck: Counter[str] = Counter()

    async def strike(self) -> None:
        """Begin a fault at some broker that has none."""
        free = [port for port in self._fleet.alive if port not in self._busy]
        if len(free) < len(BROKERS) - 2:
            return
        kind, victim, other = self._dice.choice(self._kinds), *self._dice.sample(free, 2)
        self.struck[kind] += 1
        self._busy.add(victim)
        self._tasks.append(asyncio.get_running_loop().create_task(self._suffer(kind, victim, other)))

    async def _suffer(self, kind: str, victim: int, other: int) -> None:
        try:
            await getattr(self, f"_{kind.replace('-', '_').replace(' ', '_')}")(victim, other)
        finally:
            self._busy.discard(victim)

    async def _kill(self, victim: int, other: int) -> None:
        self._fleet.kill(victim)
        await asyncio.sleep(self._dice.uniform(0.1, 8))
        await asyncio.to_thread(self._fleet.start, victim)

    async def _pause(self, victim: int, other: int) -> None:
        process = self._fleet.alive[victim]
        os.kill(process, signal.SIGSTOP)
        await asyncio.sleep(self._dice.uniform(0.2, LONGEST_PAUSE))
        os.kill(process, signal.SIGCONT)

    async def _one_way_cut(self, victim: int, other: int) -> None:
        await self._cut_for((self._site(victim), self._site(other)))

    async def _cut(self, victim: int, other: int) -> None:
        await self._cut_for((self._site(victim), self._site(other)), (self._site(other), self._site(victim)))

    async def _cut_for(self, *ways: tuple[str, str]) -> None:
        for way in ways:
            self._sites.cut(*way)
        await asyncio.sleep(self._dice.uniform(0.1, LONGEST_CUT))
        for way in ways:
            self._sites.mend(*way)

    async def _loss(self, victim: int, other: int) -> None:
        """Pull the plug of a site and put it in again, over and over: nobody's connection is long without an answer."""
        site, until = self._site(victim), asyncio.get_running_loop().time() + self._dice.uniform(0.5, LONGEST_LOSS)
        while asyncio.get_running_loop().time() < until:
            await asyncio.to_thread(self._sites.link, site, "down")
            await asyncio.sleep(self._dice.uniform(0, 2 * GAP))
            await asyncio.to_thread(self._sites.link, site, "up")
            await asyncio.sleep(self._dice.uniform(0, 8 * GAP))

    async def _clock_step(self, victim: int, other: int) -> None:
        self._clocks.step(self._fleet.alive[victim], self._dice.randrange(-HOUR, HOUR))

    async def _full_disk(self, victim: int, other: int) -> None:
        filler = self._fleet.data(victim) / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
        await asyncio.sleep(self._dice.uniform(0.2, 4))
        filler.unlink()

    def _site(self, port: int) -> str:
        return self._fleet.site_of[port]

    async def end(self) -> None:
        await asyncio.gather(*self._tasks)


class JournalingCrowd(Crowd):
    """Subscribers that write down what they get."""

    journals: Journals

    async def _take(self, feed: Any) -> None:
        async for name, event in feed:
            if event["number"] >= self.first:
                self.got[name, event["number"]] += 1
                self.journals.write("received", [name, event["number"]])


async def suffer(fleet: Fleet, turmoil: Turmoil, folder: Path, seed: int, *, faults: int) -> dict[str, int]:
    """Live through one round; return what the checker says."""
    journals = Journals(folder)
    chosen, dice = conditions(300, random.Random(seed)), random.Random(seed)
    async with AsyncExitStack() as stack:
        crowd = JournalingCrowd(fleet, chosen, 3)
        crowd.journals = journals
        await stack.enter_async_context(crowd)
        for name, where in chosen.items():
            journals.write("subscribed", [name, where, crowd.first])
        publisher = await stack.enter_async_context(clients_of(fleet.addresses()[::-1]))
        journaled(publisher, journals)
        load = Load(publisher, first=crowd.first)
        late = JournalingCrowd(fleet, {"late": "price >= 0"}, 1)
        late.journals, late.first = journals, crowd.first
        joining = None
        for number in range(faults):
            await asyncio.sleep(dice.uniform(0.2, 2))
            await turmoil.strike()
            if number == 1:  # while faults are under way: due is what is published when it is in force
                joining = asyncio.get_running_loop().create_task(stack.enter_async_context(late))
        assert joining is not None
        await joining
        journals.write("subscribed", ["late", "price >= 0", crowd.first + len(load.published)])
        await asyncio.sleep(dice.uniform(0.2, 2))
        await turmoil.end()
        try:
            await load.end()
        except Exception as refusal:  # a disk was full: the journal says for which events
            journals.write("flush", str(refusal))
        while publisher.brokers.machine.in_flight:
            await asyncio.sleep(0.1)
        for event in load.published:
            journals.write("published", event)
        for _ in range(600):
            if not check_now(journals)["missed"]:
                break
            await asyncio.sleep(0.5)
        await asyncio.sleep(0.5)
    journals.close()
    return {**check(folder), **{f"faults: {kind}": times for kind, times in turmoil.struck.items()}}


class Scene(NamedTuple):
    """Brokers in namespaces, each with a small disk and a wall clock of its own."""

    fleet: Fleet
    sites: Sites
    clocks: SteppedClocks
    folder: Path


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    if why := why_not():
        pytest.skip(why)
    mounted: list[Path] = []
    with Sites(BROKERS + CLIENTS) as sites:
        clocks = SteppedClocks(tmp_path)
        fleet = Fleet(tmp_path, sites=sites, clocks=clocks)
        try:
            for site, port in zip(BROKERS, itertools.count(7401), strict=False):
                disk = fleet.data(port)
                disk.mkdir()
                if subprocess.run(
                    ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)], check=False
                ).returncode:
                    pytest.skip("this machine does not let us mount a tmpfs")
                mounted.append(disk)
                fleet.start(port, site=site)
            yield Scene(fleet, sites, clocks, tmp_path)
        finally:
            for process in fleet.alive.values():
                os.kill(process, signal.SIGCONT)
            fleet.close()
            for disk in mounted:
                subprocess.run(["umount", "-l", str(disk)], check=False)


def at_site(namespace: str, scenario: Callable[[], Any]) -> Any:
    """Run a coroutine in a thread that lives in a network namespace."""
    results: list[Any] = []
    failures: list[BaseException] = []

    def live() -> None:
        try:
            enter(namespace)
            results.append(asyncio.run(scenario()))
        except BaseException as failure:
            failures.append(failure)

    thread = threading.Thread(target=live, daemon=True)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return results[0]


def rounds(scene: Scene, count: int, say: Callable[[str], None]) -> Counter[str]:
    fleet, sites, clocks, folder = scene
    total: Counter[str] = Counter()

    async def all_rounds() -> None:
        for number in range(count):
            await settled(fleet)
            turmoil = Turmoil(fleet, sites, clocks, number)
            found = await suffer(fleet, turmoil, folder / f"round{number}", number, faults=4)
            total.update(found)
            say(f"round {number}: {json.dumps(found)}")

    at_site(sites.namespace(CLIENTS), all_rounds)
    say(f"{count} rounds: {json.dumps(total)}")
    return total


def assert_exact(total: Counter[str]) -> None:
    assert total["missed"] == total["doubled"] == total["uncalled-for"] == 0, total
    assert total["due"] > 100
    assert total["accepted"] + total["refused"] >= total["published"]


def test_five_rounds_of_mixed_faults(scene: Scene, say: Callable[[str], None]) -> None:
    assert_exact(rounds(scene, 5, say))


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_a_hundred_rounds_of_mixed_faults(scene: Scene, say: Callable[[str], None]) -> None:
    assert_exact(rounds(scene, 100, say))


def test_a_wall_clock_steps_and_no_other_clock(tmp_path: Path) -> None:
    clocks = SteppedClocks(tmp_path)
    if not clocks.variables:
        pytest.skip("no C compiler")
    told = "import sys, time\nfor _ in sys.stdin: print(time.time_ns(), time.time(), time.monotonic_ns(), flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", told],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **clocks.variables},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for step in (0, HOUR, -HOUR - 1, 999_999, -1):
            clocks.step(process.pid, step)
            before = time.time_ns(), time.monotonic_ns()
            process.stdin.write("\n")
            process.stdin.flush()
            wall, seconds, monotonic = process.stdout.readline().split()
            after = time.time_ns(), time.monotonic_ns()
            assert before[0] <= int(wall) - 1_000 * step <= after[0]
            assert abs(float(seconds) * 1e9 - int(wall)) < after[0] - before[0] + 1_000
            assert before[1] <= int(monotonic) <= after[1]
        process.stdin.close()


def test_the_checker_sees_what_is_missing_and_what_came_twice(tmp_path: Path) -> None:
    journals = Journals(tmp_path / "round")
    journals.write("subscribed", ["all", "price >= 0", 0])
    journals.write("subscribed", ["late", "price >= 0", 2])
    for number in range(4):
        journals.write("published", {"symbol": "S001", "price": 1.0 + number, "number": number})
    for place in (0, 1, 2):
        journals.write("accepted", place)
    for number in (0, 0, 3, 9):  # 1 and 2 are missing, 3 was not accepted, 9 was never published
        journals.write("received", ["all", number])
    journals.write("received", ["late", 1])  # published before its subscription was in force: may come
    journals.close()
    found = check(tmp_path / "round")
    assert (found["due"], found["missed"], found["doubled"], found["uncalled-for"]) == (4, 3, 1, 1)
