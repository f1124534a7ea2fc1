"""Raw clients that mean harm: each attack is what one process can say to a broker's port, with no key or with a
client's certificate.

An attack is given a `Stranger`, which dials as often as the attack likes, and keeps what it holds open until the test
is done with it. None of them waits for an answer that a broker need not give.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import struct
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from rookery.brokers.batches import EventBatch
from rookery.brokers.client_messages import Attach, PublishBatch, Subscribe, TransferZone
from rookery.brokers.messages import BrokerHeartbeat, ZoneReport
from rookery.brokers.ownership import ZoneOwnership
from rookery.live.admission import new_secret, session_number
from rookery.live.tcp import Address
from rookery.live.tcp_hello import MAGIC, Hello

_CONTROL = 1 << 31


class Stranger:
    """Who attacks one broker."""

    def __init__(self, address: Address, tls: ssl.SSLContext | None, *, must_prove: bool) -> None:
        self.address = address
        #: Whether roles have to be proven there.
        self.must_prove = must_prove
        self._tls = tls
        self._writers: list[asyncio.StreamWriter] = []
        self._readers: list[asyncio.Task[None]] = []
        self._answered = asyncio.Event()

    async def dial(self) -> asyncio.StreamWriter | None:
        """Connect, with the certificate that it has; None where it is not even let to speak."""
        name = None if self._tls is None else self.address[0]
        try:
            reader, writer = await asyncio.open_connection(*self.address, ssl=self._tls, server_hostname=name)
        except OSError:
            return None
        self._writers.append(writer)
        self._answered.clear()
        self._readers.append(asyncio.create_task(_swallow(reader, self._answered)))
        return writer

    async def greet(
        self, role: str, *, network: str = "", secret: bytes | None = None, identity: int | None = None
    ) -> Any:
        """Connect and say hello."""
        writer = await self.dial()
        secret = new_secret() if secret is None else secret
        number = session_number(secret) if identity is None else identity
        say(writer, Hello(MAGIC, number, role, network, os.urandom(16), (), secret), control=True)
        return writer

    async def answered(self) -> None:
        """Wait until the broker has said something to the latest link, or closed it."""
        await self._answered.wait()

    async def over(self) -> None:
        """Wait until the broker has closed everything."""
        await asyncio.gather(*self._readers)

    def leave(self) -> None:
        """Let go of what is still open."""
        for task in self._readers:
            task.cancel()
        for writer in self._writers:
            writer.transport.abort()


async def _swallow(reader: asyncio.StreamReader, answered: asyncio.Event) -> None:
    try:
        while await reader.read(65_536):
            answered.set()
    except OSError:
        pass
    answered.set()


def say(writer: asyncio.StreamWriter | None, message: Any, *, control: bool = False) -> None:
    """Send a message as a frame; nothing happens where nobody listens."""
    octets = msgspec.msgpack.encode(message)
    send(writer, struct.pack("!I", len(octets) | (_CONTROL if control else 0)) + octets)


def send(writer: asyncio.StreamWriter | None, octets: bytes) -> None:
    if writer is not None and not writer.transport.is_closing():
        writer.write(octets)


# ---- the attacks -----------------------------------------------------------------------------------------------------


async def claim_the_root(stranger: Stranger) -> None:
    """Say as a broker of no network that one owns everything, with an epoch that beats all others."""
    for number in range(3):
        identity = 127 << 55 | number + 1
        writer = await stranger.greet("broker", identity=identity)
        root = ZoneOwnership((), 1 << 40, identity)
        say(writer, BrokerHeartbeat((ZoneReport(root, (), (), 0),)))
    await stranger.over()


async def order_a_release(stranger: Stranger) -> None:
    """Tell the broker to give its zone away for ten minutes, as a client and, where that has to be proven, operator."""
    for role in ("client", "operator") if stranger.must_prove else ("client",):
        writer = await stranger.greet(role)
        say(writer, Attach())
        say(writer, TransferZone(600.0))
    await stranger.over()


async def publish_hollow_batches(stranger: Stranger) -> None:
    """Publish 64 batches that say 65,536 events and have no columns, or columns of nothing."""
    for columns in ({}, {"price": []}, {"price": [1.0]}):
        secret = new_secret()
        writer = await stranger.greet("client", secret=secret)
        say(writer, Attach())
        raw = msgspec.Raw(msgspec.msgpack.encode(columns))
        for first in range(64):
            say(writer, PublishBatch(EventBatch(session_number(secret), first << 16, 1 << 16, raw)))
    await stranger.over()


async def open_by_halves(stranger: Stranger) -> None:
    """Connect many times and say nothing."""
    for _ in range(300):
        reader, writer = await asyncio.open_connection(*stranger.address)
        stranger._writers.append(writer)
        stranger._readers.append(asyncio.create_task(_swallow(reader, stranger._answered)))


async def begin_frames(stranger: Stranger) -> None:
    """Begin frames of 32 MiB on 40 links, and end none."""
    for _ in range(40):
        writer = await stranger.greet("client")
        await stranger.answered()
        send(writer, struct.pack("!I", 32 << 20) + bytes(4 << 20))
    await asyncio.sleep(0)


async def send_nonsense(stranger: Stranger) -> None:
    """Say what is no message, and what no client may say."""
    for octets in (b"\xc1" * 40, b"GET / HTTP/1.1\r\n\r\n", struct.pack("!I", 3) + b"abc", bytes(4096)):
        send(await stranger.dial(), octets)
        writer = await stranger.greet("client")
        send(writer, octets)
        say(writer, Subscribe("1/somebody else's", 1, ""))
    await asyncio.sleep(0)


Attack = Callable[[Stranger], Awaitable[None]]
ATTACKS: dict[str, Attack] = {
    attack.__name__: attack
    for attack in (
        claim_the_root,
        order_a_release,
        publish_hollow_batches,
        open_by_halves,
        begin_frames,
        send_nonsense,
    )
}
