"""CPU of a broker network per event, with 1, 2, 4, 8 and 16 brokers in one run, and where it goes (`--profile`).

`python -m benchmarks brokers_scaling [--sizes 1 2 4 8 16] [--events 60000] [--bulk 100000] [--profile]`. One publisher
at the first broker, six subscribers at brokers in turn, each with 2,000 conditions of which an event satisfies one: six
matches an event, whatever the number of brokers is. The first broker has seen events when the others join, so cuts
are medians. Every broker is a process; CPU time is that of all of them, of the publisher and of the subscribers (one
process). `--bulk N` opens N subscriptions of one client instead, and says how long it took until all were in force.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import io
import json
import os
import pstats
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.brokers_live import SCHEMA, SYMBOLS, an_event, cpu_of, free_port

__all__ = ["main"]

SUBSCRIBERS = 6
WARM = 4096
HOST = "127.0.0.1"
CONDITIONS = 2_000
#: Seconds until access brokers send subscriptions again.
QUIET = 600


def conditions() -> dict[str, str]:
    """Return conditions that part the space of symbols and prices: each event satisfies exactly one."""
    bands = 5
    wide, high = SYMBOLS * bands // CONDITIONS, 1000 // bands
    return {
        f"{first}/{low}": f"symbol >= 'S{first:04d}' AND symbol <= 'S{first + wide - 1:04d}' "
        f"AND price >= {low} AND price < {low + high}"
        for first in range(0, SYMBOLS, wide)
        for low in range(0, 1000, high)
    }


def bulk_conditions(count: int) -> dict[str, str]:
    """Return so many conditions, each of one symbol and a narrow range of prices."""
    return {
        str(number): f"symbol = 'S{number % SYMBOLS:04d}' AND price >= {number % 997} AND price < {number % 997 + 3}"
        for number in range(count)
    }


# ---- brokers ---------------------------------------------------------------------------------------------------------


async def serve_one(port: int, join: int | None, disks: str, *, is_quiet: bool) -> None:
    """Be one broker until SIGTERM: two disks where there is a folder for them, else memory."""
    from rookery.brokers.configuration import BrokerDurability
    from rookery.cli.notations import read_schema, read_space
    from rookery.live.brokers.server import LiveBroker
    from rookery.live.brokers.settings import BrokerSettings

    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    broker = LiveBroker(
        BrokerSettings(
            topic="quotes",
            space=read_space("price:0:1000,symbol", read_schema(SCHEMA)),
            listen=(HOST, port),
            join=() if join is None else ((HOST, join),),
            durability=BrokerDurability.TWO_DISKS if disks else BrokerDurability.MEMORY,
            data=Path(disks) / str(port) if disks else None,
            backlog=10_000_000,
            subscriptions=10_000_000,
            # What it costs to send subscriptions again, or to move a zone, is not what an event costs.
            refresh=QUIET if is_quiet else 60.0,
            balance=0.0 if is_quiet else 5.0,
            # Nor what it costs to deliver twice what a subscriber was too slow for.
            window=1 << 20 if is_quiet else 16_384,
        )
    )
    await broker.start()
    await stop.wait()
    broker.driver.close()


def serve(profiles: str, disks: str, quiet: str) -> int:
    """Load and compile once, then fork a broker for each line `port join` of standard input; answer with its id."""
    from rookery.live.brokers.server import warm

    warm()
    gc.freeze()
    for line in sys.stdin:
        port, join = (int(word) for word in line.split())
        child = os.fork()
        if child:
            print(child, flush=True)
            continue
        profile = cProfile.Profile(time.process_time) if profiles and join else None
        if profile is not None:
            profile.enable()
        asyncio.run(serve_one(port, join or None, disks, is_quiet=bool(quiet)))
        if profile is not None:
            profile.disable()
            profile.dump_stats(f"{profiles}/{port}")
        os._exit(0)
    return 0


class Fleet:
    """The processes of one network."""

    def __init__(self, starter: subprocess.Popen[str]) -> None:
        self._starter = starter
        self.ports: list[int] = []
        self.processes: list[int] = []
        #: CPU seconds of those that were killed.
        self._spent = 0.0

    def add(self) -> None:
        """Start one more broker, and wait until the network has as many zones as brokers."""
        assert self._starter.stdin is not None
        assert self._starter.stdout is not None
        port = free_port()
        print(port, self.ports[0] if self.ports else 0, file=self._starter.stdin, flush=True)
        self.processes.append(int(self._starter.stdout.readline()))
        self.ports.append(port)
        asyncio.run(zone_of(port))

    def kill(self) -> None:
        """Kill the broker that came last."""
        process = self.processes.pop()
        self.ports.pop()
        self._spent += cpu_of(process)
        os.kill(process, signal.SIGKILL)

    def cpu(self) -> float:
        """Return the CPU seconds of all brokers so far."""
        return self._spent + sum(cpu_of(process) for process in self.processes)

    def memory(self) -> int:
        """Return the bytes that all brokers have in memory now, theirs alone."""
        fields = [Path(f"/proc/{process}/smaps_rollup").read_text() for process in self.processes]
        lines = [line for text in fields for line in text.splitlines() if line.startswith("Private")]
        return 1024 * sum(int(line.split()[1]) for line in lines)


async def status_of(port: int) -> dict[str, Any]:
    """Ask a broker how it is."""
    from rookery.live.brokers.client import BrokerOptions, open_brokers

    client = await open_brokers(((HOST, port),), BrokerOptions())
    try:
        return await client.status()
    finally:
        await client.close()


async def zone_of(port: int) -> dict[str, Any]:
    """Wait until a broker owns one zone, and return what it says."""
    while True:
        try:
            status = await status_of(port)
            if len(status["zones"]) == 1:
                return status
        except Exception:
            pass
        await asyncio.sleep(0.2)


@contextmanager
def fleet(profiles: str = "", disks: str = "", *, is_quiet: bool = False) -> Iterator[Fleet]:
    """Start a process that forks brokers; end all of them. Quiet ones keep their zones, and seldom refresh."""
    command = [sys.executable, "-m", "benchmarks.brokers_scaling", "serve", profiles, disks, "quiet" * is_quiet]
    starter = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    network = Fleet(starter)
    try:
        yield network
    finally:
        for process in network.processes:
            os.kill(process, signal.SIGTERM)
        assert starter.stdin is not None
        time.sleep(1.0 + 0.2 * len(network.processes) * bool(profiles))
        starter.stdin.close()
        starter.wait()


# ---- clients ---------------------------------------------------------------------------------------------------------


async def publish(port: int, count: int) -> None:
    """Publish so many events, and say what it took."""
    import rookery

    async with rookery.open(f"brokers://{HOST}:{port}") as client:
        cpu, wall = time.process_time(), time.perf_counter()
        for number in range(count):
            if number % 1024 == 0:
                await client.room("quotes")
                await asyncio.sleep(0)
            client.publish("quotes", an_event(number))
        await client.flush("quotes", seconds=600)
        print(json.dumps({"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}), flush=True)


async def subscribe(ports: list[int], count: int) -> None:
    """Be all subscribers; say when they are in force, and what they saw of so many events."""
    import rookery

    async def take(feed: Any) -> int:
        seen = 0
        async for batch in feed.batches():
            seen += len(batch)
            if seen >= count:
                break
        return seen

    opening = [rookery.open(f"brokers://{HOST}:{ports[number % len(ports)]}") for number in range(SUBSCRIBERS)]
    clients = [await one.__aenter__() for one in opening]
    feeds = [client.subscribe_many("quotes", conditions(), overflow="wait") for client in clients]
    begun = time.perf_counter()
    await asyncio.gather(*(feed.__aenter__() for feed in feeds))
    print(json.dumps({"placed": time.perf_counter() - begun}), flush=True)
    cpu = time.process_time()
    seen = await asyncio.gather(*map(take, feeds))
    print(json.dumps({"seen": sum(seen), "cpu": time.process_time() - cpu}), flush=True)
    os._exit(0)  # 12,000 subscriptions need not be ended one by one


async def bulk(port: int, count: int) -> None:
    """Open so many subscriptions of one client, and say how long it took until all were in force."""
    import rookery

    async with rookery.open(f"brokers://{HOST}:{port}") as client:
        cpu, wall = time.process_time(), time.perf_counter()
        async with client.subscribe_many("quotes", bulk_conditions(count), overflow="wait"):
            print(json.dumps({"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}), flush=True)
            os._exit(0)


def role(*words: Any) -> subprocess.Popen[str]:
    """Start a client as a process of its own."""
    command = [sys.executable, "-m", "benchmarks.brokers_scaling", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


# ---- the run ---------------------------------------------------------------------------------------------------------


def grown(network: Fleet, size: int) -> None:
    """Let the first broker see events, then let the others join."""
    network.add()
    answer(role("publish", network.ports[0], WARM))
    for _ in range(size - 1):
        network.add()


def measure(size: int, events: int, profiles: str) -> float:
    """Measure a network of so many brokers; return the brokers' CPU microseconds an event."""
    with fleet(profiles, is_quiet=True) as network:
        grown(network, size)
        subscribers = role("subscribe", ",".join(map(str, network.ports)), events)
        placed = answer(subscribers)["placed"]
        answer(role("publish", network.ports[0], WARM))  # conditions are compiled at the first event
        before, begun = network.cpu(), time.perf_counter()
        sent = answer(role("publish", network.ports[0], events - WARM))
        seen = answer(subscribers)
        wall, cpu = time.perf_counter() - begun, network.cpu() - before
        zones = [asyncio.run(status_of(port))["zones"] for port in network.ports]
        loads = [sum(zone["events"] for zone in own) for own in zones]  # one that is moved has none for a moment
    each = 1e6 / (events - WARM)
    idle = sum(not load for load in loads)
    print(
        f"{size:>7} {cpu * each:>9.1f} {sent['cpu'] * each:>9.1f} {seen['cpu'] * 1e6 / events:>11.1f} {wall:>7.1f} "
        f"{placed:>9.1f} {SUBSCRIBERS * events - seen['seen']:>7} {max(loads) / (sum(loads) / size):>14.2f} {idle:>5}",
        flush=True,
    )
    return cpu * each


def main(arguments: list[str]) -> int:
    """Run every size, or open subscriptions in bulk."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks brokers_scaling")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--events", type=int, default=60_000)
    parser.add_argument("--bulk", type=int, default=0, help="open so many subscriptions instead")
    parser.add_argument("--profile", action="store_true", help="print where the time of all but the first broker goes")
    options = parser.parse_args(arguments)
    found: dict[int, float] = {}
    if not options.bulk:
        print(
            f"CPU µs an event; {SUBSCRIBERS} subscribers with {CONDITIONS:,} conditions each; {options.events:,} events"
        )
        print("brokers   brokers publisher subscribers wall s  placed s missing  busiest ÷ mean  idle")
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            profiles = folder if options.profile else ""
            if options.bulk:
                with fleet(profiles) as network:
                    grown(network, size)
                    before = network.cpu()
                    done = answer(role("bulk", network.ports[-1], options.bulk))
                    print(
                        f"{options.bulk:,} subscriptions over {size} brokers: {done['wall']:.1f} s, CPU of brokers "
                        f"{network.cpu() - before:.1f} s, of the client {done['cpu']:.1f} s; "
                        f"{network.memory() / 2**20:,.0f} MiB of brokers",
                        flush=True,
                    )
            else:
                found[size] = measure(size, options.events, profiles)
            files = [str(one) for one in Path(folder).iterdir()]
            if files:
                text = io.StringIO()
                pstats.Stats(*files, stream=text).sort_stats("tottime").print_stats(45)
                print(text.getvalue())
    if len(found) > 1:
        first = min(found)
        print(", ".join(f"{size} brokers {cpu / found[first]:.2f} x {first}" for size, cpu in found.items()))
    return 0


if __name__ == "__main__":
    words = sys.argv[1:]
    match words[0]:
        case "serve":
            sys.exit(serve(*words[1:]))
        case "publish":
            asyncio.run(publish(int(words[1]), int(words[2])))
        case "subscribe":
            asyncio.run(subscribe([int(port) for port in words[1].split(",")], int(words[2])))
        case "bulk":
            asyncio.run(bulk(int(words[1]), int(words[2])))
