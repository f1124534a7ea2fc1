"""Relayed messages per CPU second beside zenoh, NATS and mosquitto: one publisher, one relay, one subscriber.

Every role is a process of its own on loopback, and all systems run one after the other in one run. What is compared is
CPU time, which noise on a shared machine changes less than wall time: of the relay alone, and of all three roles.
Rookery relays events (dicts of symbol, price, number and a text), the peers 60 octets that nobody looks into. `plain`
is one subscription without a condition; `content` is 10,000 selective conditions, of which each event satisfies one.
Latency is taken at 1,000 messages a second. The peers need their libraries (`--peers PYTHON`, see
benchmarks/requirements.txt); a peer that is not there is left out and said so.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["live", "main"]

CONDITIONS = 10_000
SYMBOLS = 2_000
FILLER = "." * 20
SCHEMA = "symbol:string,price:float64,number:int64,stamp:int64,text:string"
PEERS = Path(__file__).with_name("brokers_peers.py")


# ---- Rookery's roles -------------------------------------------------------------------------------------------------


def an_event(number: int) -> dict[str, Any]:
    symbol = number * 7919 % SYMBOLS
    return {
        "symbol": f"S{symbol:04d}",
        "price": float(number * 104_729 % 1000),
        "number": number,
        "stamp": time.time_ns(),
        "text": FILLER,
    }


def selective() -> dict[str, str]:
    """Conditions that part the space of symbols and prices: each event satisfies exactly one."""
    bands = CONDITIONS // SYMBOLS
    width = 1000 // bands
    return {
        f"{symbol}/{band}": f"symbol = 'S{symbol:04d}' AND price >= {band * width} AND price < {(band + 1) * width}"
        for symbol in range(SYMBOLS)
        for band in range(bands)
    }


async def publish(port: int, count: int, rate: float) -> None:
    import rookery

    async with rookery.open(f"brokers://127.0.0.1:{port}") as client:
        cpu, wall = time.process_time(), time.perf_counter()
        for number in range(count):
            if rate:
                while time.perf_counter() < wall + number / rate:
                    await asyncio.sleep(0.0002)
                client.publish("quotes", an_event(number))
            else:
                if number % 1024 == 0:
                    await client.room("quotes")
                    await asyncio.sleep(0)
                client.publish("quotes", an_event(number))
        await client.flush("quotes", seconds=120)
        print(json.dumps({"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}), flush=True)


async def subscribe(port: int, count: int, content: bool) -> None:
    import rookery

    latencies: list[int] = []
    async with rookery.open(f"brokers://127.0.0.1:{port}") as client:
        feed = client.subscribe_many("quotes", selective() if content else {"all": ""}, overflow="wait")
        async with feed:
            client.publish("quotes", an_event(0))  # the relay compiles its conditions at the first event
            await client.flush("quotes")
            await anext(aiter(feed))
            print("ready", flush=True)
            cpu = wall = 0.0
            async for batch in feed.batches():
                if not latencies:
                    cpu, wall = time.process_time(), time.perf_counter()
                now = time.time_ns()
                latencies += [now - event["stamp"] for _, event in batch]
                if len(latencies) >= count:
                    break
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            ordered = sorted(latencies)
            p50, p99 = ordered[len(ordered) // 2] / 1e3, ordered[len(ordered) * 99 // 100] / 1e3
            # Said before 10,000 subscriptions are ended: that is not relaying.
            print(json.dumps({"seen": len(latencies), "cpu": cpu, "wall": wall, "p50": p50, "p99": p99}), flush=True)


# ---- the run ---------------------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def cpu_of(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Roles:
    """How the three processes of one system are started."""

    def __init__(self, name: str, relays: list[list[str]], role: Callable[[str, int, float], list[str]]) -> None:
        self.name = name
        self.relays = relays
        self.role = role

    @contextmanager
    def relaying(self, port: int) -> Iterator[list[int]]:
        processes = []
        try:
            for command in self.relays:
                process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
                processes.append(process)
                wait_for(port)
                time.sleep(2.0)
            yield [process.pid for process in processes]
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()


def wait_for(port: int) -> None:
    for _ in range(600):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError(f"nobody listens on {port}")


def measure(roles: Roles, port: int, count: int, rate: float) -> dict[str, float] | None:
    """Relay so many messages; return CPU microseconds a message, by role, and what the subscriber saw."""
    with roles.relaying(port) as relays:
        subscriber = subprocess.Popen(roles.role("subscribe", count, rate), stdout=subprocess.PIPE, text=True)
        assert subscriber.stdout is not None
        if subscriber.stdout.readline().strip() != "ready":
            subscriber.wait()
            return None
        before = [cpu_of(process) for process in relays]
        publisher = subprocess.Popen(roles.role("publish", count, rate), stdout=subprocess.PIPE, text=True)
        assert publisher.stdout is not None
        answers = publisher.stdout.readline(), subscriber.stdout.readline()
        if not all(answers):
            return None
        sent, seen = map(json.loads, answers)
        relay = sum(cpu_of(process) for process in relays) - sum(before)
        publisher.wait()
        subscriber.wait()
    each = 1e6 / count
    return {
        "relay": relay * each,
        "publisher": sent["cpu"] * each,
        "subscriber": seen["cpu"] * each,
        "rate": seen["seen"] / max(seen["wall"], 1e-9),
        "lost": count - seen["seen"],
        "p50": seen["p50"],
        "p99": seen["p99"],
    }


def rookery_roles(port: int, folder: Path, *, content: bool, durability: str) -> Roles:
    def relay(own: int, join: int | None) -> list[str]:
        command = [sys.executable, "-m", "rookery", "broker", "--listen", f"127.0.0.1:{own}", "--topic", "quotes"]
        command += ["--schema", SCHEMA, "--space", "price:0:1000,symbol", "--durability", durability]
        # The publisher does not wait for the subscriber: what is between them is kept, as the peers keep it.
        command += ["--backlog", "10000000"]
        if durability != "memory":
            command += ["--data", str(folder / f"{durability}-{own}")]
        return command + ([] if join is None else ["--join", f"127.0.0.1:{join}"])

    def role(kind: str, count: int, rate: float) -> list[str]:
        flags = [kind, str(port), str(count), str(rate), str(int(content))]
        return [sys.executable, "-m", "benchmarks.brokers_live", *flags]

    relays = [relay(port, None)]
    if durability == "two-disks":
        relays.append(relay(free_port(), port))
    return Roles("rookery", relays, role)


def peer_roles(python: str, port: int, folder: Path) -> dict[str, Roles | str]:
    """Return how each peer is run, or why it is not."""

    def role(system: str) -> Callable[[str, int, float], list[str]]:
        return lambda kind, count, rate: [python, str(PEERS), system, kind, str(port), str(count), str(rate)]

    def has(module: str) -> bool:
        return subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0

    beside = Path(python).parent / "nats-server"
    nats = str(beside) if beside.exists() else shutil.which("nats-server")
    mosquitto = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
    found: dict[str, Roles | str] = {}
    zenoh = [python, str(PEERS), "zenoh", "router", str(port), "0", "0"]
    found["zenoh"] = Roles("zenoh", [zenoh], role("zenoh")) if has("zenoh") else "no module zenoh"
    if nats is None or not has("nats"):
        found["nats"] = "no nats-server, or no module nats"
    else:
        found["nats"] = Roles("nats", [[nats, "-a", "127.0.0.1", "-p", str(port)]], role("nats"))
    if mosquitto is None or not has("paho.mqtt"):
        found["mosquitto"] = "no mosquitto, or no module paho"
    else:
        settings = folder / f"mosquitto-{port}.conf"
        # Unlimited queues: by default mosquitto drops what a slow subscriber has not taken.
        limits = "max_queued_messages 0\nmax_inflight_messages 0\n"
        settings.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\n{limits}")
        found["mosquitto"] = Roles("mosquitto", [[mosquitto, "-c", str(settings)]], role("mosquitto"))
    return found


def live(*, peers: str, count: int) -> None:
    """Measure everything in one run and print the table and the ratios."""
    print(f"live: one publisher, one relay, one subscriber on loopback; {count:,} messages; CPU µs a message")
    print(
        f"{'system':<28} {'relay':>7} {'pub':>7} {'sub':>7} {'all':>7} {'msg/s':>9} {'lost':>6} "
        f"{'p50 µs':>8} {'p99 µs':>8}"
    )
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:

        def own(*, content: bool, durability: str = "memory") -> Callable[[int], Roles]:
            return lambda port: rookery_roles(port, Path(folder), content=content, durability=durability)

        systems: list[tuple[str, Callable[[int], Roles | str], int]] = [
            ("rookery plain", own(content=False), count),
            ("zenoh", lambda port: peer_roles(peers, port, Path(folder))["zenoh"], count),
            ("rookery content", own(content=True), count),
            ("nats", lambda port: peer_roles(peers, port, Path(folder))["nats"], count),
            ("mosquitto", lambda port: peer_roles(peers, port, Path(folder))["mosquitto"], count // 20),
            ("rookery plain, two disks", own(content=False, durability="two-disks"), count // 4),
        ]
        for name, make, messages in systems:
            port = free_port()
            roles = make(port)
            if isinstance(roles, str):
                print(f"{name:<28} left out: {roles}")
                continue
            full = measure(roles, port, messages, 0.0)
            port = free_port()
            paced_roles = make(port)
            assert not isinstance(paced_roles, str)
            paced = measure(paced_roles, port, 3000, 1000.0)
            if full is None or paced is None:
                print(f"{name:<28} did not start")
                continue
            found[name] = full
            everyone = full["relay"] + full["publisher"] + full["subscriber"]
            print(
                f"{name:<28} {full['relay']:>7.2f} {full['publisher']:>7.2f} {full['subscriber']:>7.2f} "
                f"{everyone:>7.2f} {full['rate']:>9,.0f} {full['lost']:>6.0f} {paced['p50']:>8.0f} {paced['p99']:>8.0f}"
            )
            sys.stdout.flush()
    if "zenoh" in found:
        zenoh = found["zenoh"]
        for name in ("rookery plain", "rookery content"):
            ours = found[name]
            roles_of = ("relay", "publisher", "subscriber")
            ratio = zenoh["relay"] / ours["relay"]
            all_ratio = sum(zenoh[one] for one in roles_of) / sum(ours[one] for one in roles_of)
            print(f"{name}: {ratio:.2f} x zenoh's messages per CPU second of the relay, {all_ratio:.2f} x of all roles")


def main(arguments: list[str]) -> int:
    """Play one role of Rookery's."""
    role, port, count, rate, content = arguments
    if role == "publish":
        asyncio.run(publish(int(port), int(count), float(rate)))
    else:
        asyncio.run(subscribe(int(port), int(count), bool(int(content))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
