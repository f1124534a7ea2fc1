"""The peers of the live broker benchmark, each role a process of its own that needs its own library and nothing else.

    python benchmarks/brokers_peers.py SYSTEM ROLE PORT COUNT RATE

SYSTEM is zenoh, nats or mosquitto; ROLE is router (zenoh only: a session in router mode), publish or subscribe. A
publisher sends COUNT messages of 60 octets, as fast as it may or RATE a second; the first eight octets are the time of
sending. Each role prints one JSON object when it is done: its CPU seconds, its wall seconds, what the subscriber saw.
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
import threading
import time
from typing import Any

__all__ = ["main"]

SIZE = 60
STAMP = struct.Struct("!q")


def payload() -> bytes:
    return STAMP.pack(time.time_ns()).ljust(SIZE, b".")


class Count:
    """What a subscriber saw."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.seen = 0
        self.latencies: list[int] = []
        self.done = threading.Event()
        self.cpu = self.wall = 0.0

    def take(self, data: Any) -> None:
        if not self.seen:
            self.cpu, self.wall = time.process_time(), time.perf_counter()
        self.seen += 1
        self.latencies.append(time.time_ns() - STAMP.unpack_from(data)[0])
        if self.seen >= self.count:
            self.done.set()

    def report(self) -> None:
        ordered = sorted(self.latencies) or [0]
        document = {
            "seen": self.seen,
            "cpu": time.process_time() - self.cpu,
            "wall": time.perf_counter() - self.wall,
            "p50": ordered[len(ordered) // 2] / 1e3,
            "p99": ordered[len(ordered) * 99 // 100] / 1e3,
        }
        print(json.dumps(document), flush=True)


def ready() -> None:
    print("ready", flush=True)


def paced(count: int, rate: float, send: Any) -> None:
    """Send so many, as fast as may be or at a rate, and say what it took."""
    cpu, wall = time.process_time(), time.perf_counter()
    for number in range(count):
        if rate:
            while time.perf_counter() < wall + number / rate:
                time.sleep(0.0002)
        send()
    print(json.dumps({"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}), flush=True)


def zenoh_role(role: str, port: int, count: int, rate: float) -> None:
    import zenoh

    config = zenoh.Config()
    config.insert_json5("mode", '"router"' if role == "router" else '"client"')
    config.insert_json5("scouting/multicast/enabled", "false")
    config.insert_json5("listen/endpoints" if role == "router" else "connect/endpoints", f'["tcp/127.0.0.1:{port}"]')
    if role != "router":
        config.insert_json5("listen/endpoints", "[]")
    session = zenoh.open(config)
    if role == "router":
        ready()
        sys.stdin.read()
    elif role == "subscribe":
        seen = Count(count)
        subscriber = session.declare_subscriber("quotes", lambda sample: seen.take(sample.payload.to_bytes()))
        ready()
        seen.done.wait(120)
        seen.report()
        del subscriber
    else:
        publisher = session.declare_publisher("quotes", congestion_control=zenoh.CongestionControl.BLOCK)
        time.sleep(1)
        paced(count, rate, lambda: publisher.put(payload()))
        time.sleep(2)  # what is batched has to leave before the session does
    session.close()


async def nats_role(role: str, port: int, count: int, rate: float) -> None:
    import nats

    connection = await nats.connect(f"nats://127.0.0.1:{port}", pending_size=64 << 20)
    if role == "subscribe":
        seen = Count(count)

        async def take(message: Any) -> None:
            seen.take(message.data)

        await connection.subscribe("quotes", cb=take, pending_msgs_limit=1 << 30, pending_bytes_limit=1 << 40)
        await connection.flush()
        ready()
        end = time.perf_counter() + 120
        while not seen.done.is_set() and time.perf_counter() < end:
            await asyncio.sleep(0.01)
        seen.report()
    else:
        cpu, wall = time.process_time(), time.perf_counter()
        for number in range(count):
            if rate:
                while time.perf_counter() < wall + number / rate:
                    await asyncio.sleep(0.0002)
            await connection.publish("quotes", payload())
            if not rate and number % 2000 == 1999:
                await connection.flush(timeout=60)
        await connection.flush(timeout=60)
        print(json.dumps({"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}), flush=True)
    await connection.close()


def mosquitto_role(role: str, port: int, count: int, rate: float) -> None:
    from paho.mqtt import client as mqtt

    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    client.max_queued_messages_set(20_000)
    client.max_inflight_messages_set(1000)
    client.connect("127.0.0.1", port)
    if role == "subscribe":
        seen = Count(count)
        client.on_message = lambda *arguments: seen.take(arguments[2].payload)
        client.on_subscribe = lambda *arguments: ready()
        client.subscribe("quotes", qos=1)
        client.loop_start()
        seen.done.wait(120)
        seen.report()
    else:
        client.loop_start()
        last: list[Any] = []

        def send() -> None:
            while (sent := client.publish("quotes", payload(), qos=1)).rc == mqtt.MQTT_ERR_QUEUE_SIZE:
                time.sleep(0.001)
            last[:] = [sent]

        paced(count, rate, send)
        last[0].wait_for_publish(60)
    client.loop_stop()


def main(arguments: list[str]) -> int:
    """Play one role."""
    system, role, port, count, rate = arguments
    if system == "nats":
        asyncio.run(nats_role(role, int(port), int(count), float(rate)))
    else:
        {"zenoh": zenoh_role, "mosquitto": mosquitto_role}[system](role, int(port), int(count), float(rate))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
