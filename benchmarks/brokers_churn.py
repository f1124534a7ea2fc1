"""Subscriptions that come and go, so many a second, while events flow: when is each in force, is every event matched?

`python -m benchmarks brokers_churn [--brokers 3] [--rate 1000] [--seconds 30] [--stays 5] [--events 1000] [--standing
10000]`. One client opens and ends subscriptions by the clock, each for some seconds; another has so many standing ones;
a publisher publishes events by the clock, and each satisfies one condition of a subscriber. Every broker is a process
with a disk. Printed are the rate that was reached, how long after `subscribe` each was in force, the events that were
missed or came twice, and the CPU of all brokers a second, with events alone and with subscriptions that come and go.
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
from typing import Any

import numpy as np
from benchmarks.brokers_live import SYMBOLS, an_event
from benchmarks.brokers_overload import RANGE, watch
from benchmarks.brokers_scaling import HOST, answer, bulk_conditions, fleet

__all__ = ["main"]

#: Seconds between two looks at the clock of who opens or publishes.
TICK = 0.005


async def churn(port: int, rate: float, seconds: float, stays: float) -> None:
    """Open and end subscriptions by the clock; say how long it took until they were in force, and what came."""
    import rookery

    delays: list[float] = []
    got = 0
    tasks: set[asyncio.Task[None]] = set()

    async def one(client: Any, number: int) -> None:
        nonlocal got
        symbol = number % SYMBOLS
        begun = time.perf_counter()
        feed = client.subscribe("quotes", f"symbol = 'S{symbol:04d}' AND price >= {number % 7}", overflow="wait")
        async with feed:
            delays.append(time.perf_counter() - begun)
            until = asyncio.get_running_loop().time() + stays
            try:
                async with asyncio.timeout_at(until):
                    async for _ in feed:
                        got += 1
            except TimeoutError:
                pass

    async with rookery.open(f"brokers://{HOST}:{port}") as client:
        begun, opened, cpu = time.perf_counter(), 0, time.process_time()
        while (elapsed := time.perf_counter() - begun) < seconds:
            for number in range(opened, round(rate * elapsed)):
                task = asyncio.ensure_future(one(client, number))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
                opened += 1
            await asyncio.sleep(TICK)
        wall = time.perf_counter() - begun
        await asyncio.gather(*tasks)
        found = {"opened": opened, "wall": wall, "cpu": time.process_time() - cpu, "got": got}
        spread = {f"p{share}": float(np.percentile(delays, share)) for share in (50, 90, 99, 100)}
        print(json.dumps(found | spread), flush=True)


async def stand(port: int, count: int) -> None:
    """Have so many subscriptions until the end."""
    import rookery

    async with (
        rookery.open(f"brokers://{HOST}:{port}") as client,
        client.subscribe_many("quotes", bulk_conditions(count), overflow="wait") as feed,
    ):
        print(json.dumps({"in force": True}), flush=True)
        async for _ in feed.batches():
            pass


async def offer(port: int, rate: float, seconds: float, publisher: int) -> None:
    """Publish events by the clock, with numbers of this publisher's."""
    import rookery

    async with rookery.open(f"brokers://{HOST}:{port}") as client:
        begun, published = time.perf_counter(), 0
        while (elapsed := time.perf_counter() - begun) < seconds:
            for number in range(published, round(rate * elapsed)):
                client.publish("quotes", an_event(publisher * RANGE + number))
                published += 1
            await asyncio.sleep(TICK)
        await client.flush("quotes", seconds=600)
        print(json.dumps({"published": published}), flush=True)


def role(*words: Any) -> subprocess.Popen[str]:
    """Start a client as a process of its own."""
    command = [sys.executable, "-m", "benchmarks.brokers_churn", *map(str, words)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def main(arguments: list[str]) -> int:
    """Measure events alone, then with subscriptions that come and go."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks brokers_churn")
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--rate", type=float, default=1000.0, help="subscriptions a second")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--stays", type=float, default=5.0, help="seconds that each of them stays")
    parser.add_argument("--events", type=float, default=1000.0, help="events a second")
    parser.add_argument("--standing", type=int, default=10_000)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, fleet(disks=folder) as network:
        for _ in range(options.brokers):
            network.add()
        ports = network.ports
        standing, watching = role("stand", ports[-1], options.standing), role("watch", ",".join(map(str, ports)), 0)
        answer(standing)
        answer(watching)
        warm = answer(role("offer", ports[0], options.events, 5.0, 0))["published"]  # conditions are compiled
        spent, begun = network.cpu(), time.perf_counter()
        alone = answer(role("offer", ports[0], options.events, 10.0, 1))["published"]
        quiet = (network.cpu() - spent) / (time.perf_counter() - begun)
        spent, begun = network.cpu(), time.perf_counter()
        publishing = role("offer", ports[0], options.events, options.seconds + options.stays, 2)
        churning = role("churn", ports[1 % len(ports)], options.rate, options.seconds, options.stays)
        found, published = answer(churning), answer(publishing)["published"]
        wall, cpu = time.perf_counter() - begun, network.cpu() - spent
        load = os.getloadavg()[0]
        print(json.dumps([(0, warm), (1, alone), (2, published)]), file=watching.stdin, flush=True)
        seen = answer(watching)
        standing.kill()
        print(
            f"{found['opened']:,} opened and ended, {found['opened'] / found['wall']:,.0f} a second, beside "
            f"{options.standing:,} standing and {published / wall:,.0f} events a second; in force after p50 "
            f"{1e3 * found['p50']:.0f} ms, p90 {1e3 * found['p90']:.0f}, p99 {1e3 * found['p99']:.0f}, at most "
            f"{1e3 * found['p100']:.0f}; load {load:.0f}\n"
            f"CPU of all brokers a second: {quiet:.2f} s with events alone, {cpu / wall:.2f} s then; the client, which "
            f"was given {found['got']:,} events, used {found['cpu'] * 1e6 / found['opened']:.0f} µs a subscription\n"
            f"of {warm + alone + published:,} events missed {seen['missed']}, doubled {seen['doubled']}; on the way "
            f"p50 {seen['p50']:.2f} s, p99 {seen['p99']:.2f} s",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    words = sys.argv[1:]
    match words[0]:
        case "churn":
            asyncio.run(churn(int(words[1]), *map(float, words[2:])))
        case "stand":
            asyncio.run(stand(int(words[1]), int(words[2])))
        case "offer":
            asyncio.run(offer(int(words[1]), float(words[2]), float(words[3]), int(words[4])))
        case "watch":
            asyncio.run(watch([int(port) for port in words[1].split(",")], int(words[2])))
