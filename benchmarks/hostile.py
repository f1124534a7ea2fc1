"""Strangers at a broker's port: what TLS costs an event, and how long honest events take beside each attack.

`python -m benchmarks hostile [--events 40000] [--rounds 3] [--seconds 4]`. Two brokers, a publisher and a subscriber in
this process, over loopback; whoever attacks (`tests/hostile/attacks.py`) is a process of its own and does so again and
again. The cost of TLS is CPU time of all four together, with and without it by turns; the delay of an event is from
`publish` to the subscriber's iterator, the 99th of a hundred.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from tests.hostile.attacks import ATTACKS, Stranger
from tests.hostile.grounds import HOST, Grounds, grounds

from rookery.live.credentials import Credentials


async def cost(place: Grounds, events: int) -> float:
    """Return the CPU microseconds that an event takes from a publisher to a subscriber at the other broker."""
    async with (
        place.client(0) as publisher,
        place.client(1) as subscriber,
        subscriber.subscribe("quotes", "price >= 0", overflow="wait") as feed,
    ):
        rows = [{"symbol": "S", "price": float(number % 1000), "number": number} for number in range(events)]
        begin = time.process_time()
        sending = asyncio.create_task(publisher.publish_many("quotes", rows))
        left = events
        async for _ in feed:
            left -= 1
            if not left:
                break
        await sending
        await publisher.flush("quotes", seconds=600)
        return (time.process_time() - begin) / events * 1e6


async def delays(place: Grounds, seconds: float) -> np.ndarray[Any, Any]:
    """Return how long events took, one every few milliseconds for so long."""
    found: list[float] = []
    async with (
        place.client(0) as publisher,
        place.client(1) as subscriber,
        subscriber.subscribe("quotes", "price >= 0", overflow="wait") as feed,
    ):
        sent: dict[int, float] = {}

        async def send() -> int:
            number = 0
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                sent[number] = time.perf_counter()
                publisher.publish("quotes", {"symbol": "S", "price": float(number * 997 % 1000), "number": number})
                number += 1
                await asyncio.sleep(0.005)
            return number

        async def take() -> None:
            async for event in feed:
                found.append(time.perf_counter() - sent[event["number"]])

        taking = asyncio.create_task(take())
        count = await send()
        while len(found) < count:
            await asyncio.sleep(0.01)
        taking.cancel()
    return np.array(found)


def attack(name: str, port: int, files: list[str]) -> None:
    """Attack again and again, until killed."""
    tls = None
    if files:
        certificate, key, authority = map(Path, files)
        tls = Credentials.read(certificate=certificate, private_key=key, authority=authority).dialing

    async def again() -> None:
        while True:
            stranger = Stranger((HOST, port), tls, must_prove=True)
            with contextlib.suppress(TimeoutError, OSError):
                await asyncio.wait_for(ATTACKS[name](stranger), 2.0)
            stranger.leave()
            await asyncio.sleep(0.05)

    asyncio.run(again())


async def beside_attacks(folder: Path, seconds: float) -> None:
    """Print the delays beside each attack, with no key and with a client's certificate."""
    print("attack                     stranger       events   median ms   p99 ms")
    for kind in ("no key", "certificate"):
        async with grounds(kind, folder / kind) as place:
            for name in ("", *ATTACKS):
                attacker = None
                if name:
                    keys = folder / kind / "keys"
                    files = [str(keys / file) for file in ("stranger.pem", "stranger.key", "authority.pem")]
                    port = str(place.brokers[0].address[1])
                    line = [sys.executable, "-m", "benchmarks.hostile", "--attack", name, port]
                    attacker = subprocess.Popen([*line, *(files if kind == "certificate" else [])])
                    await asyncio.sleep(1.0)
                try:
                    found = await delays(place, seconds) * 1000
                finally:
                    if attacker is not None:
                        attacker.kill()
                        attacker.wait()
                median, most = np.percentile(found, [50, 99])
                print(f"{name or 'none':26} {kind:12} {len(found):8}   {median:9.1f}   {most:6.1f}", flush=True)


async def costs(folder: Path, events: int, rounds: int) -> None:
    """Print what an event costs with and without TLS, by turns in one run."""
    found: dict[str, list[float]] = {"open": [], "certificate": []}
    async with grounds("open", folder / "open") as plain, grounds("certificate", folder / "tls") as secured:
        for _ in range(rounds + 1):
            for kind, place in (("open", plain), ("certificate", secured)):
                found[kind].append(await cost(place, events))
    plain_cost, tls_cost = (
        float(np.median(found[kind][1:])) for kind in ("open", "certificate")
    )  # the first is warmth
    print(f"CPU per event, both brokers and both clients: {plain_cost:.1f} µs without TLS, {tls_cost:.1f} µs with")
    print(f"TLS costs {tls_cost / plain_cost:.2f} times the CPU ({events} events, {rounds} rounds)")


def main(arguments: list[str]) -> int:
    """Run both parts."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks hostile")
    parser.add_argument("--events", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--attack", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.attack:
        name, port, *files = given.attack
        attack(name, int(port), files)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(costs(Path(folder), given.events, given.rounds))
        asyncio.run(beside_attacks(Path(folder), given.seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
