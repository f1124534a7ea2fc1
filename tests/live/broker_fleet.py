"""Many broker processes from one: loads and compiles once, then forks a broker for each line on standard input.

A line is a JSON object: `host`, `port`, `join` (addresses), `data`, perhaps `namespace`, the network namespace that it
is to live in; the answer is the process's id, once the broker listens. The parent reaps its children, so that `kill -9`
from outside is all that a test has to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import gc
import json
import logging
import os
import signal
import sys
from pathlib import Path

from rookery import Schema
from rookery.brokers.configuration import BrokerDurability
from rookery.live.brokers.server import LiveBroker, warm
from rookery.live.brokers.settings import BrokerSettings
from rookery.space.notation import read_space

SCHEMA = Schema(symbol=str, price=float, number=int)
SPACE = "price:0:1000,symbol"
BEAT, REFRESH = 1.0, 5.0


def settings_of(order: dict[str, object]) -> BrokerSettings:
    return BrokerSettings(
        topic="quotes",
        space=read_space(SPACE, SCHEMA),
        listen=(str(order["host"]), int(str(order["port"]))),
        insecure=True,  # the brokers of some tests live in namespaces of their own, on addresses that are not loopback
        join=tuple((str(host), int(port)) for host, port in order["join"]),  # type: ignore[attr-defined]
        data=Path(str(order["data"])),
        durability=BrokerDurability(str(order.get("durability", "two-disks"))),
        beat=float(str(order.get("beat", BEAT))),
        refresh=float(str(order.get("refresh", REFRESH))),
        memory=int(str(order.get("memory", 512 << 20))),
    )


async def serve(settings: BrokerSettings, ready: int) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    broker = LiveBroker(settings)
    await broker.start()
    os.write(ready, b"+")
    os.close(ready)
    await stop.wait()
    await broker.stop()


def main() -> None:
    warm()
    gc.freeze()
    signal.signal(signal.SIGCHLD, lambda *_: reap())
    for line in sys.stdin:
        order = json.loads(line)
        settings = settings_of(order)
        listening, ready = os.pipe()
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(listening)
            if "namespace" in order:
                enter(order["namespace"])
            logging.basicConfig(level=logging.ERROR)
            asyncio.run(serve(settings, ready))
            os._exit(0)
        os.close(ready)
        started = os.read(listening, 1)
        os.close(listening)
        sys.stdout.write(f"{child if started else 0}\n")
        sys.stdout.flush()


def enter(namespace: str) -> None:
    """Let the sockets that this thread makes from now on be of a network namespace."""
    with Path("/var/run/netns", namespace).open("rb") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0):
            raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")


def reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


if __name__ == "__main__":
    main()
