"""One peer of the overlay on TCP: the machine of `rookery.overlay`, a clock, and links (`tcp_peers.py`).

The machine is the one that the simulator runs, message for message; here its effects are carried out: messages become
frames, timers become calls of the loop, and what the network cannot deliver goes back to the machine, which takes the
receiver for gone and finds other ways.

A peer is found through an address; its id is learned from the hello of a link there (`who_is`). The peers of one
overlay must agree on the event space, so the name of the network is a digest of it: others are turned away at once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from rookery.errors import JoinError
from rookery.live.tcp import Address, Link, LinkHandler, LinkSettings, Listener, dial, listen
from rookery.live.tcp_peers import Peers, node_id
from rookery.overlay.configuration import OverlayConfiguration
from rookery.overlay.effects import Deliver, Effect, Introduce, Note, Publish, Send, SetTimer, Subscribe
from rookery.overlay.identity import SemanticSpace
from rookery.overlay.messages import EventId, decode, encode
from rookery.overlay.peer import Peer
from rookery.overlay.state import Interests

__all__ = ["ROLE", "Door", "LivePeer", "reserve_port", "who_is"]

ROLE = "overlay"
_LOG = logging.getLogger("rookery.live")
_FREE_PORTS_TRIED = 20


class LivePeer:
    """A machine and its links; `start`, then `publish` and `subscribe`, then `leave`."""

    def __init__(
        self,
        *,
        interests: Interests,
        space: SemanticSpace,
        network: str,
        on_delivery: Callable[[EventId, Any], None],
        configuration: OverlayConfiguration | None = None,
        key: bytes | None = None,
        patience: float = 0.25,
    ) -> None:
        self.counters: Counter[str] = Counter()
        self.ready = asyncio.Event()
        self._interests = interests
        self._space = space
        self._network = network
        self._configuration = configuration or OverlayConfiguration()
        self._key = key
        self._patience = patience
        self._on_delivery = on_delivery
        self._loop = asyncio.get_running_loop()
        self._timers: dict[str, tuple[int, asyncio.TimerHandle]] = {}
        self._gone = self._is_open = False
        self.machine: Peer
        self.peers: Peers
        self.settings: LinkSettings

    @property
    def node(self) -> int:
        """Who this peer is to the others."""
        return self.machine.node

    async def start(self, address: Address, *, host: str, bootstraps: Iterable[int] = ()) -> None:
        """Open the port, any free one for 0, and begin to join; others reach us at `host`."""
        for _ in range(_FREE_PORTS_TRIED):
            port = reserve_port(address)
            node = node_id((host, port), int.from_bytes(os.urandom(2), "big"))
            self.settings = LinkSettings(identity=node, role=ROLE, network=self._network, key=self._key)
            self.peers = Peers(
                self.settings,
                on_frames=self._receive,
                on_undeliverable=self._undeliverable,
                patience=self._patience,
            )
            try:
                await self.peers.listen((address[0], port))
                self._is_open = True
                break
            except JoinError:
                if address[1]:
                    raise
        else:
            raise JoinError(f"no free port on {address[0]}")
        self.machine = Peer(
            node=node,
            interests=self._interests,
            space=self._space,
            dice=random.Random(os.urandom(16)),
            configuration=self._configuration,
            address=f"{host}:{port}",
        )
        self._act(self.machine.on_start(self.now(), bootstraps))

    def now(self) -> int:
        """The time of the machine, in microseconds; it means nothing to others."""
        return time.monotonic_ns() // 1000

    def publish(self, payload: Any) -> EventId:
        """Send an event out; return its id."""
        event_id = (self.node, self.machine.state.sequence + 1)
        self._act(self.machine.on_command(self.now(), Publish(payload)))
        return event_id

    def subscribe(self, interests: Interests) -> None:
        """Want something else."""
        self._interests = interests
        self._act(self.machine.on_command(self.now(), Subscribe(interests)))

    def introduce(self, nodes: Iterable[int]) -> None:
        """Name others that are there."""
        self._act(self.machine.on_command(self.now(), Introduce(tuple(nodes))))

    async def confirm(self, *, seconds: float = 5.0) -> bool:
        """Wait until all ends of our links know of us, so that no event passes us by; say whether they do."""
        deadline = self._loop.time() + seconds
        await asyncio.wait_for(self.ready.wait(), seconds)
        while not self.machine.is_confirmed and self._loop.time() < deadline:
            self._act(self.machine.on_command(self.now(), "confirm"))
            await asyncio.sleep(0.02)
        return self.machine.is_confirmed

    @property
    def unsent(self) -> int:
        """Events of ours that nobody has taken in yet."""
        return len(self.machine.state.outgoing)

    async def leave(self) -> None:
        """Go in good order."""
        if not self._gone:
            self._act(self.machine.on_command(self.now(), "leave"))
        await self.close()

    async def close(self) -> None:
        """Close everything."""
        self._gone = True
        for _, handle in self._timers.values():
            handle.cancel()
        self._timers.clear()
        if self._is_open:
            await self.peers.close()

    # ---- what the machine wants ----------------------------------------------------------------------------------

    def _act(self, effects: list[Effect]) -> None:
        for effect in effects:
            if type(effect) is Send:
                self.counters[type(effect.message).__name__] += 1
                if effect.to == self.node:
                    self._loop.call_soon(self._receive, self.node, [encode(effect.message)])
                else:
                    self.peers.send(effect.to, encode(effect.message))
            elif type(effect) is SetTimer:
                self._set_timer(effect)
            elif type(effect) is Deliver:
                self.counters["delivered"] += 1
                self._on_delivery(effect.event_id, effect.payload)
            elif type(effect) is Note:
                self.counters[effect.counter] += effect.amount
        if self.machine.is_ready:
            self.ready.set()
        else:
            self.ready.clear()

    def _set_timer(self, effect: SetTimer) -> None:
        held = self._timers.get(effect.timer)
        if held is not None:
            if held[0] == effect.at:
                return
            held[1].cancel()
        delay = max(0, effect.at - self.now()) / 1_000_000
        self._timers[effect.timer] = (effect.at, self._loop.call_later(delay, self._wake, effect.timer))

    def _wake(self, timer: str) -> None:
        self._timers.pop(timer, None)
        if not self._gone:
            self._act(self.machine.on_timer(self.now(), timer))

    def _receive(self, sender: int, frames: list[bytes]) -> None:
        for frame in frames:
            if self._gone:
                return
            self._act(self.machine.receive_octets(self.now(), sender, frame))

    def _undeliverable(self, receiver: int, payloads: list[bytes]) -> None:
        self.counters["undeliverable"] += len(payloads)
        messages = [message for message in map(decode, payloads) if message is not None]
        if not self._gone:
            self._act(self.machine.on_undeliverable(self.now(), receiver, messages))


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


class Door:
    """An open port that says who is to be asked, and nothing else."""

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


async def who_is(address: Address, *, network: str, key: bytes | None = None) -> int:
    """Return the id of the peer at an address; raise `JoinError` where none answers, or one of another overlay."""
    caller = _Caller()
    try:
        await dial(address, LinkSettings(identity=0, role=ROLE, network=network, key=key), caller)
        return await caller.answer
    finally:
        caller.answer.cancel()
