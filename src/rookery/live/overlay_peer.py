"""One peer of the overlay on TCP: the machine of `rookery.overlay` in a driver, on links (`tcp_peers.py`).

The machine is the one that worlds run, message for message; here its messages become frames, frames are its messages
again, and what the network cannot deliver goes back to it: it takes the receiver for gone and finds other ways.

A peer is found through an address; its id is learned from the hello of a link there (`who_is`). The peers of one
overlay must agree on the event space, so the name of the network is a digest of it: others are turned away at once.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from rookery.errors import JoinError
from rookery.live.credentials import Credentials
from rookery.live.driver import Driver
from rookery.live.tcp import Address, Link, LinkHandler, LinkSettings
from rookery.live.tcp_peers import Peers, node_id
from rookery.live.tcp_ports import Listener, dial, listen
from rookery.overlay.configuration import OverlayConfiguration
from rookery.overlay.dissemination import Deliver
from rookery.overlay.identity import SemanticSpace
from rookery.overlay.messages import EventId, Message, encode
from rookery.overlay.peer import Peer
from rookery.overlay.state import Interests

__all__ = ["BootstrapListener", "LivePeer", "peer_settings", "reserve_port", "who_is"]

ROLE = "overlay"
_FREE_PORTS_TRIED = 20
#: Seconds between two looks at whether the peer has got what it waits for.
_LOOK = 0.02


class LivePeer:
    """A machine, its driver and its links; `start`, then `publish` and `subscribe`, then `leave`."""

    def __init__(
        self,
        *,
        interests: Interests,
        space: SemanticSpace,
        network: str,
        on_delivery: Callable[[Deliver], None],
        configuration: OverlayConfiguration | None = None,
        credentials: Credentials,
        patience: float = 0.25,
    ) -> None:
        self._interests = interests
        self._space = space
        self._network = network
        self._configuration = configuration or OverlayConfiguration()
        self._credentials = credentials
        self._patience = patience
        self._on_delivery = on_delivery
        self._loop = asyncio.get_running_loop()
        self.machine: Peer
        self._frames: _Frames
        self._driver: Driver | None = None
        self._peers: Peers | None = None

    @property
    def node(self) -> int:
        """Who this peer is to the others."""
        return self.machine.node

    @property
    def counters(self) -> Counter[str]:
        """What the machine counted, and the messages that it sent, by their kind."""
        return self.machine.counters + self._frames.sent

    @property
    def unsent(self) -> int:
        """Events of ours that nobody has taken in yet."""
        return len(self.machine.state.outgoing)

    async def start(self, address: Address, *, host: str, bootstraps: Iterable[int] = ()) -> None:
        """Open the port, any free one for 0, and begin to join; others reach us at `host`."""
        for _ in range(_FREE_PORTS_TRIED):
            port = reserve_port(address)
            node = node_id((host, port), int.from_bytes(os.urandom(2), "big"))
            peers = Peers(
                peer_settings(node, self._network, self._credentials),
                on_frames=self._receive,
                on_undeliverable=self._undeliverable,
                patience=self._patience,
            )
            try:
                await peers.listen((address[0], port))
                break
            except JoinError:
                if address[1]:
                    raise
        else:
            raise JoinError(f"no free port on {address[0]}")
        self._peers = peers
        self.machine = Peer(
            node=node,
            interests=self._interests,
            space=self._space,
            random=random.Random(os.urandom(16)),
            configuration=self._configuration,
            address=f"{host}:{port}",
        )
        self._frames = _Frames(node, peers, self._receive)
        self._driver = Driver(self.machine, transport=self._frames, on_event=self._on_delivery)
        self.machine.start(bootstraps, self.now())
        self._driver.flush()

    def now(self) -> int:
        """The time of the machine, in microseconds; it means nothing to others."""
        return self._running.now()

    @property
    def _running(self) -> Driver:
        if self._driver is None:
            raise JoinError("this peer has not been started")
        return self._driver

    def publish(self, payload: Any) -> EventId:
        """Send an event out; return its id."""
        event_id = self.machine.publish(payload, self.now())
        self._running.flush()
        return event_id

    def subscribe(self, interests: Interests) -> None:
        """Want something else."""
        self.machine.subscribe(interests, self.now())
        self._running.flush()

    def introduce(self, nodes: Iterable[int]) -> None:
        """Name others that are there."""
        self.machine.introduce(nodes, self.now())
        self._running.flush()

    async def ready(self, *, seconds: float = 5.0) -> None:
        """Wait until we have our place; raise `TimeoutError` where that takes longer."""
        async with asyncio.timeout(seconds):
            while not self.machine.is_ready:
                await asyncio.sleep(_LOOK)

    async def confirm(self, *, seconds: float = 5.0) -> bool:
        """Wait until all ends of our links know of us, so that no event passes us by; say whether they do."""
        await self.ready(seconds=seconds)
        deadline = self._loop.time() + seconds
        while not self.machine.is_confirmed and self._loop.time() < deadline:
            self.machine.confirm(self.now())
            self._running.flush()
            await asyncio.sleep(_LOOK)
        return self.machine.is_confirmed

    async def leave(self) -> None:
        """Go in good order."""
        if not self._running.is_closed:
            self.machine.leave(self.now())
            self._running.flush()
        await self.close()

    async def close(self) -> None:
        """Close everything."""
        if self._driver is not None:
            self._driver.close()
        if self._peers is not None:
            await self._peers.close()

    def _receive(self, sender: int, frames: list[bytes]) -> None:
        if self._driver is not None:  # else somebody was faster than our own start
            self._driver.receive(frames, sender)

    def _undeliverable(self, receiver: int, frames: list[bytes]) -> None:
        self._running.undeliverable(frames, receiver)


class _Frames:
    """The transport of the driver: messages as frames on links."""

    def __init__(self, node: int, peers: Peers, receive: Callable[[int, list[bytes]], None]) -> None:
        self.sent: Counter[str] = Counter()
        self._node = node
        self._peers = peers
        self._receive = receive

    def send(self, receiver: int, messages: list[Message]) -> None:
        """Send messages; what a machine says to itself comes back in the next turn of the loop."""
        self.sent.update(type(message).__name__ for message in messages)
        frames = [encode(message) for message in messages]
        if receiver == self._node:
            asyncio.get_running_loop().call_soon(self._receive, receiver, frames)
        else:
            self._peers.send_many(receiver, frames)

    def disconnect(self, node: int, reason: str) -> None:
        """Close nothing: links to peers that were spoken to once stay open."""


def reserve_port(address: Address) -> int:
    """Return the port, or one that is free now for 0: ids hold it, so it must be known before it is opened."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            raise JoinError(f"cannot listen on {address[0]}:{address[1]}: {error.strerror or error}") from error
        return int(probe.getsockname()[1])


class _Caller:
    """Asks for the id at an address."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def opened(self, link: Link) -> None:
        if not self.answer.done():
            self.answer.set_result(link.identity)
        link.close("thank you")

    def received(self, link: Link, frames: list[bytes]) -> None:
        """Nothing was asked for."""

    def writable(self, link: Link) -> None:
        """Nothing waits."""

    def closed(self, link: Link, reason: str) -> None:
        if not self.answer.done():
            self.answer.set_exception(JoinError(f"{link.address[0]}:{link.address[1]} turned us away: {reason}"))


class BootstrapListener:
    """The address that others join through, kept open for a peer that listens elsewhere: its hello names the peer."""

    def __init__(self, settings: LinkSettings) -> None:
        self._settings = settings
        self._listener: Listener | None = None

    async def open(self, address: Address) -> None:
        """Open the port."""
        self._listener = await listen(address, self._settings, self._handler)

    def _handler(self, link: Link) -> LinkHandler:
        return _Caller()

    async def close(self) -> None:
        """Close the port."""
        if self._listener is not None:
            await self._listener.close()


def peer_settings(node: int, network: str, credentials: Credentials) -> LinkSettings:
    """Return what a peer of an overlay says of itself on its links."""
    return LinkSettings(
        identity=node,
        role=ROLE,
        network=network,
        key=credentials.key,
        tls_dial=credentials.dialing,
        tls_listen=credentials.listening,
    )


async def who_is(address: Address, *, network: str, credentials: Credentials) -> int:
    """Return the id of the peer at an address; raise `JoinError` where none answers, or one of another overlay."""
    caller = _Caller()
    try:
        await dial(address, peer_settings(0, network, credentials), caller)
        return await caller.answer
    finally:
        caller.answer.cancel()
