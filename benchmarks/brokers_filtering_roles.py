"""The roles of `brokers_filtering`: publishers and subscribers of brokers, zenoh and NATS, each a process.

All subscribers of a system are one process, each with a connection of its own. A publisher has its events as dicts
before it begins. Peers get one message for an event, as MessagePack; a subscriber of theirs decodes the value alone
(msgspec steps over the rest) and the whole event if the value lies in its range.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from typing import Any

import msgspec

__all__ = ["answer", "expected", "main", "role"]

HOST = "127.0.0.1"
SECONDS = 300
#: Values that an event may have: thousandths of the range from 0 to 1000, each as often as the others.
STEPS = 1_000_000
_encode = msgspec.msgpack.Encoder().encode
_EVENTS: msgspec.msgpack.Decoder[dict[str, Any]] = msgspec.msgpack.Decoder(dict[str, Any])


class Value(msgspec.Struct):
    """Of an event, what a condition names."""

    value: float


_VALUES = msgspec.msgpack.Decoder(Value)


def value_of(number: int) -> float:
    return number * 618_033 % STEPS / 1000


def an_event(number: int, run: int) -> dict[str, Any]:
    return {
        "device": f"pump-{number * 7919 % 2000:04d}",
        "site": f"site-{number % 23:02d}",
        "metric": ("temperature", "pressure", "vibration", "flow")[number % 4],
        "unit": ("C", "bar", "mm/s", "l/min")[number % 4],
        "value": value_of(number),
        "battery": 3.0 + number % 97 / 100,
        "quality": number % 3,
        "sequence": number,
        "stamp": run,
    }


def range_of(number: int, count: int, selectivity: float) -> tuple[float, float]:
    """Return the range that a subscriber wants; those of all are spread over the values."""
    low = round((1 - selectivity) * 1000 * number / max(1, count - 1), 3)
    return low, round(low + 1000 * selectivity, 3)


def expected(events: int, number: int, count: int, selectivity: float) -> int:
    """Return how many events a subscriber wants."""
    low, high = range_of(number, count, selectivity)
    return sum(low <= value_of(one) < high for one in range(events))


def role(python: str, system: str, kind: str, ports: list[int], *words: float) -> subprocess.Popen[str]:
    """Start a role."""
    command = [python, "-m", "benchmarks.brokers_filtering_roles", system, kind, ",".join(map(str, ports))]
    pipe = subprocess.PIPE
    return subprocess.Popen([*command, *map(str, words)], stdin=pipe, stdout=pipe, text=True)


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Return what a role says, nothing where it has ended."""
    assert process.stdout is not None
    line = process.stdout.readline()
    found: dict[str, Any] = json.loads(line) if line else {}
    return found


def say(**document: Any) -> None:
    print(json.dumps(document), flush=True)


class Counts:
    """What the subscribers of a process have: of each how many events came, and how many it wanted."""

    def __init__(self, events: int, run: int, count: int, selectivity: float) -> None:
        self.ranges = [range_of(number, count, selectivity) for number in range(count)]
        self.events = events
        self.run = run
        self.came = [0] * count
        self.wanted = [0] * count
        self.had = [bytearray(events) for _ in range(count)]
        self.twice = self.earlier = 0
        self.begun = 0.0
        self.done = threading.Event()
        self.left = count
        self.changing = threading.Lock()

    def ready(self) -> None:
        say(ready=True)
        self.begun = time.process_time()

    def take(self, number: int, data: bytes) -> None:
        """Filter a message, as the program of a peer's subscriber does."""
        low, high = self.ranges[number]
        if low <= _VALUES.decode(data).value < high:
            self.use(number, _EVENTS.decode(data))
        self.came[number] += 1
        if self.came[number] == self.events:
            with self.changing:
                self.left -= 1
            if not self.left:
                self.done.set()

    def use(self, number: int, event: dict[str, Any]) -> None:
        """Be the program that gets an event that it wants."""
        if event["stamp"] != self.run:
            self.earlier += 1
        elif self.had[number][event["sequence"]]:
            self.twice += 1
        else:
            self.had[number][event["sequence"]] = 1
            self.wanted[number] += 1

    def report(self) -> None:
        cpu = time.process_time() - self.begun
        say(cpu=cpu, wanted=self.wanted, twice=self.twice, earlier=self.earlier)


def prepared(events: int, run: int, *, waits: bool) -> list[dict[str, Any]]:
    """Return the events, when the run says that it is time."""
    found = [an_event(number, run) for number in range(events)]
    if waits:
        say(prepared=True)
        sys.stdin.readline()
    return found


# ---- brokers ---------------------------------------------------------------------------------------------------------


async def rookery_role(kind: str, ports: list[int], events: int, run: int, count: int, selectivity: float) -> None:
    import rookery

    if kind != "subscribe":
        async with rookery.open(f"brokers://{HOST}:{ports[0]}") as client:
            ready = prepared(events, run, waits=kind == "prepare")
            cpu = time.process_time()
            for number, event in enumerate(ready):
                if number % 1024 == 0:
                    await client.room("telemetry")
                    await asyncio.sleep(0)
                client.publish("telemetry", event)
            await client.flush("telemetry", seconds=SECONDS)
            say(cpu=time.process_time() - cpu)
        return
    counts = Counts(events, run, count, selectivity)
    opening = [rookery.open(f"brokers://{HOST}:{ports[number % len(ports)]}") for number in range(count)]
    clients = [await one.__aenter__() for one in opening]
    feeds = [
        client.subscribe("telemetry", f"value >= {low} AND value < {high}" if selectivity < 1 else "", overflow="wait")
        for client, (low, high) in zip(clients, counts.ranges, strict=True)
    ]
    await asyncio.gather(*(feed.__aenter__() for feed in feeds))

    async def take(number: int) -> None:
        most = expected(events, number, count, selectivity)
        async for batch in feeds[number].batches():
            for event in batch:
                counts.use(number, event)
            if counts.wanted[number] >= most:
                break

    counts.ready()
    await asyncio.wait([asyncio.ensure_future(take(number)) for number in range(count)], timeout=SECONDS)
    counts.report()
    for one in opening:
        await one.__aexit__(None, None, None)


# ---- peers -----------------------------------------------------------------------------------------------------------


def zenoh_session(kind: str, port: int) -> Any:
    import zenoh

    config = zenoh.Config()
    config.insert_json5("mode", '"router"' if kind == "router" else '"client"')
    config.insert_json5("scouting/multicast/enabled", "false")
    config.insert_json5("listen/endpoints" if kind == "router" else "connect/endpoints", f'["tcp/{HOST}:{port}"]')
    if kind != "router":
        config.insert_json5("listen/endpoints", "[]")
    # A subscriber that is behind is waited for: nothing may be missing.
    config.insert_json5("transport/link/tx/queue/congestion_control/block/wait_before_close", "300000000")
    return zenoh.open(config)


def zenoh_role(kind: str, port: int, events: int, run: int, count: int, selectivity: float) -> None:
    import zenoh

    if kind == "router":
        session = zenoh_session(kind, port)
        sys.stdin.read()
    elif kind == "subscribe":
        counts = Counts(events, run, count, selectivity)
        sessions = [zenoh_session(kind, port) for _ in range(count)]

        def taking(number: int) -> Any:
            return lambda sample: counts.take(number, sample.payload.to_bytes())

        held = [one.declare_subscriber("telemetry", taking(number)) for number, one in enumerate(sessions)]
        time.sleep(1)  # the router knows of them
        counts.ready()
        counts.done.wait(SECONDS)
        counts.report()
        del held
        for one in sessions:
            one.close()
    else:
        session = zenoh_session(kind, port)
        publisher = session.declare_publisher("telemetry", congestion_control=zenoh.CongestionControl.BLOCK)
        time.sleep(1)
        ready = prepared(events, run, waits=True)
        cpu = time.process_time()
        for event in ready:
            publisher.put(_encode(event))
        time.sleep(2)  # what is batched has to leave before the session does
        say(cpu=time.process_time() - cpu)
        session.close()


async def nats_role(kind: str, port: int, events: int, run: int, count: int, selectivity: float) -> None:
    import nats

    if kind != "subscribe":
        connection = await nats.connect(f"nats://{HOST}:{port}", pending_size=64 << 20)
        ready = prepared(events, run, waits=True)
        cpu = time.process_time()
        for number, event in enumerate(ready):
            await connection.publish("telemetry", _encode(event))
            if number % 2000 == 1999:
                await connection.flush(timeout=SECONDS)
        await connection.flush(timeout=SECONDS)
        say(cpu=time.process_time() - cpu)
        await connection.close()
        return
    counts = Counts(events, run, count, selectivity)
    connections = [await nats.connect(f"nats://{HOST}:{port}") for _ in range(count)]

    def taking(number: int) -> Any:
        async def take(message: Any) -> None:
            counts.take(number, message.data)

        return take

    for number, one in enumerate(connections):
        await one.subscribe("telemetry", cb=taking(number), pending_msgs_limit=1 << 30, pending_bytes_limit=1 << 40)
        await one.flush(timeout=SECONDS)
    counts.ready()
    end = time.perf_counter() + SECONDS
    while not counts.done.is_set() and time.perf_counter() < end:
        await asyncio.sleep(0.01)
    counts.report()
    for one in connections:
        await one.close()


def main(arguments: list[str]) -> int:
    """Play one role."""
    system, kind, ports = arguments[:3]
    events, run, count = [*map(int, arguments[3:6]), 0, 0, 0][:3]
    selectivity = float(arguments[6]) if arguments[6:] else 0.0
    numbers = [int(port) for port in ports.split(",")]
    if system == "rookery":
        asyncio.run(rookery_role(kind, numbers, events, run, count, selectivity))
    elif system == "nats":
        asyncio.run(nats_role(kind, numbers[0], events, run, count, selectivity))
    else:
        zenoh_role(kind, numbers[0], events, run, count, selectivity)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
