"""Brokers that are offered more than they can take: do they slow their publishers down, and do they stay one network?

`python -m benchmarks brokers_overload [--brokers 2] [--seconds 60] [--times 3] [--window 65536] [--kill]`. First the
capacity: publishers that wait for room, for some seconds. Then as many publishers offer `--times` as much by the clock,
whatever becomes of it: an event for which `publish` has no room is offered and not taken. Every subscriber wants each
event once. Two disks a broker; with `--kill` one broker is killed half way, and `--again` seconds later another one
joins: of two brokers one alone accepts nothing. Printed are takeovers, what was lost or came twice, accepted events
against the capacity, how long events were on their way from `publish` on, and the CPU of the brokers for each event.
On a machine that has other work too the capacity of a moment before says little: so accepted events are also compared
by the CPU that all processes of the network had.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from typing import Any

import numpy as np
from benchmarks.brokers_live import an_event, cpu_of
from benchmarks.brokers_scaling import HOST, Fleet, answer, conditions, fleet, status_of

__all__ = ["main"]

PUBLISHERS = SUBSCRIBERS = 3
#: Seconds between two looks at the clock of who offers.
TICK = 0.005
#: The numbers of one publisher's events begin here times its own number.
RANGE = 1_000_000_000
#: Seconds after which what has not come is missing, where nothing comes any more.
QUIET = 90.0
#: Counters of brokers that tell what overload did.
TOLD = ("taken over", "ownerless taken", "yielded", "held", "refused", "repeated", "stalled", "over budget", "orphans")


def addresses(ports: list[int], number: int) -> str:
    """Return all brokers, another one first for each number."""
    first = number % len(ports)
    return ",".join(f"{HOST}:{port}" for port in ports[first:] + ports[:first])


# ---- clients ---------------------------------------------------------------------------------------------------------


async def offer(ports: list[int], number: int, rate: float, seconds: float, window: int) -> None:
    """Offer events for so long: so many a second, or with rate 0 as many as there is room for."""
    import rookery
    from rookery import BrokerOptions
    from rookery.errors import HistoryFullError

    options = BrokerOptions(attempts=120.0, window=window)
    async with rookery.open(f"brokers://{addresses(ports, number)}", options) as client:
        begun = time.perf_counter()
        published = offered = 0
        while (elapsed := time.perf_counter() - begun) < seconds:
            if not rate:
                await client.room("quotes")
            due = round(rate * elapsed) if rate else offered + 512
            try:
                for _ in range(due - offered):
                    client.publish("quotes", an_event(number * RANGE + published))
                    published += 1
            except HistoryFullError:
                pass  # what there is no room for is not offered again
            offered = due
            await asyncio.sleep(TICK if rate else 0)
        accepted, wall = published - client.brokers.machine.in_flight, time.perf_counter() - begun
        await client.flush("quotes", seconds=900)
        found = {"published": published, "accepted": accepted, "offered": offered, "wall": wall}
        found["cpu"] = time.process_time()
        print(json.dumps(found | {"flushed": time.perf_counter() - begun - wall}), flush=True)


async def watch(ports: list[int], number: int) -> None:
    """Be a subscriber that wants each event once; told how many each publisher has published, say what came."""
    import rookery
    from rookery import BrokerOptions

    numbers: list[np.ndarray[Any, np.dtype[np.int64]]] = []
    delays: list[np.ndarray[Any, np.dtype[np.int64]]] = []
    last = 0.0

    async def take(feed: Any) -> None:
        nonlocal last
        async for batch in feed.batches():
            last = time.time()
            pairs = np.array([(event["number"], event["stamp"]) for _, event in batch])
            numbers.append(pairs[:, 0])
            delays.append(time.time_ns() - pairs[:, 1])

    async with rookery.open(f"brokers://{addresses(ports, number)}", BrokerOptions(attempts=120.0)) as client:
        feed = client.subscribe_many("quotes", conditions(), overflow="wait")
        async with feed:
            taking = asyncio.ensure_future(take(feed))
            print(json.dumps({"in force": True}), flush=True)
            wanted = json.loads(await asyncio.to_thread(sys.stdin.readline))
            due = np.concatenate([np.arange(count) + int(one) * RANGE for one, count in wanted])
            waited = last = time.time()
            while sum(map(len, numbers)) < len(due) and time.time() - last < QUIET:
                await asyncio.sleep(0.2)
            waited = time.time() - waited
            taking.cancel()
            got, counts = np.unique(np.concatenate(numbers), return_counts=True)
            spread = np.sort(np.concatenate(delays)) / 1e9
            found = {
                "missed": len(np.setdiff1d(due, got)),
                "doubled": int((counts - 1).sum()),
                "p50": float(spread[len(spread) // 2]),
                "p99": float(spread[len(spread) * 99 // 100]),
                "waited": waited,
                "repeated": client.brokers.repeated,
            }
            print(json.dumps(found), flush=True)
            os._exit(0)  # thousands of subscriptions need not be ended one by one


def role(*words: Any) -> subprocess.Popen[str]:
    """Start a client as a process of its own."""
    command = [sys.executable, "-m", "benchmarks.brokers_overload", *map(str, words)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


# ---- the run ---------------------------------------------------------------------------------------------------------


class Run:
    """One network with its subscribers, and what each publisher has published until now."""

    def __init__(self, network: Fleet, window: int) -> None:
        self.network = network
        self._window = window
        self.words = ",".join(map(str, network.ports))
        self.published: list[tuple[int, int]] = []
        self.subscribers = [role("watch", self.words, number) for number in range(SUBSCRIBERS)]
        for one in self.subscribers:
            answer(one)

    def offer(self, rate: float, seconds: float, *, kill: bool = False, again: float = 0.0) -> dict[str, Any]:
        """Let all publishers offer events, perhaps with a broker's death half way; return sums of what they say."""
        first, cpu, others = len(self.published), self.network.cpu(), self._cpu_of_subscribers()
        words = rate / PUBLISHERS, seconds, self._window
        roles = [role("offer", self.words, first + one, *words) for one in range(PUBLISHERS)]
        if kill:
            time.sleep(seconds / 2)
            self.network.kill()
            time.sleep(again)
            self.network.add()
        found = list(map(answer, roles))
        self.published += [(first + number, one["published"]) for number, one in enumerate(found)]
        wall = sum(one["wall"] for one in found) / len(found)
        done: dict[str, Any] = {
            key: sum(one[key] for one in found) for key in ("published", "accepted", "offered", "cpu")
        }
        others = self._cpu_of_subscribers() - others + done["cpu"]
        done |= {"rate": done["accepted"] / wall, "flushed": max(one["flushed"] for one in found)}
        each = 1e6 / max(1, done["published"])
        cpu = self.network.cpu() - cpu
        return done | {"cpu": cpu * each, "all": (cpu + others) * each}

    def _cpu_of_subscribers(self) -> float:
        return sum(cpu_of(one.pid) for one in self.subscribers)

    def watched(self) -> list[dict[str, Any]]:
        """Return what the subscribers have seen, when all has come or nothing comes any more."""
        for one in self.subscribers:
            assert one.stdin is not None
            print(json.dumps(self.published), file=one.stdin, flush=True)
        return list(map(answer, self.subscribers))

    def counters(self) -> Counter[str]:
        """Return the counters of the brokers that live."""
        total: Counter[str] = Counter()
        for port in self.network.ports:
            counters = asyncio.run(status_of(port))["counters"]
            total.update({name: counters.get(name, 0) for name in TOLD})
        return total


def main(arguments: list[str]) -> int:
    """Measure the capacity, offer more, say what became of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks brokers_overload")
    parser.add_argument("--brokers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--times", type=float, default=3.0)
    parser.add_argument("--window", type=int, default=65_536, help="events that a publisher may have on their way")
    parser.add_argument("--kill", action="store_true", help="kill a broker half way")
    parser.add_argument("--again", type=float, default=20.0, help="seconds until another one joins")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, fleet(disks=folder) as network:
        for _ in range(options.brokers):
            network.add()
        run = Run(network, options.window)
        run.offer(0, 5.0)  # conditions are compiled at the first events
        quiet = run.offer(0, min(20.0, options.seconds))
        print(f"capacity {quiet['rate']:,.0f} events/s, {quiet['cpu']:.1f} µs of CPU of brokers an event", flush=True)
        before = run.counters()
        done = run.offer(options.times * quiet["rate"], options.seconds, kill=options.kill, again=options.again)
        watched = run.watched()
        told = run.counters() - before
        most = {key: max(one[key] for one in watched) for key in ("p50", "p99", "waited")}
        total = {key: sum(one[key] for one in watched) for key in ("missed", "doubled", "repeated")}
        print(
            f"offered {done['offered']:,}, published {done['published']:,}, accepted {done['rate']:,.0f}/s = "
            f"{done['rate'] / quiet['rate']:.2f} of the capacity, {quiet['all'] / done['all']:.2f} by the CPU of all "
            f"processes, {quiet['cpu'] / done['cpu']:.2f} by that of brokers; the last {done['flushed']:.1f} s after "
            f"the end; {done['cpu']:.1f} µs of CPU of brokers an event\n"
            f"{', '.join(f'{name} {count}' for name, count in total.items())}; on the way p50 {most['p50']:.2f} s, "
            f"p99 {most['p99']:.2f} s; the last came {most['waited']:.1f} s later\n"
            f"{', '.join(f'{name} {told[name]}' for name in TOLD)}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    words = sys.argv[1:]
    ports = [int(port) for port in words[1].split(",")]
    match words[0]:
        case "offer":
            asyncio.run(offer(ports, int(words[2]), float(words[3]), float(words[4]), int(words[5])))
        case "watch":
            asyncio.run(watch(ports, int(words[2])))
