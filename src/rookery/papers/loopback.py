"""A few brokers in one process, over loopback: for experiments and tests that want the real thing and nothing else.

Each is a server of its own on a port that the system gives; the next one is started when the last has its zone, so
that the network is whole when it is handed out. All of them stop, the last one first, when the block is left.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from rookery.live.brokers.server import LiveBroker
from rookery.live.brokers.settings import BrokerSettings

__all__ = ["free_port", "loopback_brokers"]

HOST = "127.0.0.1"


@asynccontextmanager
async def loopback_brokers(count: int, *, data: Path | None = None, **settings: Any) -> AsyncIterator[list[str]]:
    """Start `count` brokers with the same settings; give their addresses. `data` is a folder for a folder of each."""
    async with AsyncExitStack() as stack:
        ports: list[int] = []
        for number in range(count):
            port = free_port()
            broker = LiveBroker(
                BrokerSettings(
                    listen=(HOST, port),
                    join=tuple((HOST, known) for known in ports),
                    data=None if data is None else data / str(number),
                    **settings,
                )
            )
            await broker.start()
            stack.push_async_callback(broker.stop, leave=False)
            ports.append(port)
            while not broker.machine.owned:
                await asyncio.sleep(0.02)
        yield [f"{HOST}:{port}" for port in ports]


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])
