"""One TCP connection as a link of frames: what the live brokers, the live overlay and their clients speak over.

    link = await dial((host, port), settings, handler)     # or: await listen((host, port), settings, make_handler)
    link.send(frame)                                       # bytes; never blocks, never raises
    handler.received(link, [frame, frame, …])              # all whole frames of one buffer of the kernel, at once

A handler has four methods (`LinkHandler`): `opened`, `received`, `writable`, `closed`. Who wants messages to nodes by
id, dialed and dialed again, takes `Peers` from `tcp_peers.py`, which is built on this.

Rules. A frame is four octets of length and that many octets; the top bit marks what the links say to each other. Both
ends say hello first: who they are, what network they belong to; with a pre-shared key each proves that it has the key,
the dialing end first, so a stranger sees no proof. A peer's mistake never raises: the link closes, `closed` gets the
reason, and `faults` counts it. Everything is bounded: a frame, what comes before the hello is complete, the number of
links, the time a silent link is kept. `congested` says that the other end does not keep up; `pause` and `resume` hold
reading, and TCP holds the sender.

The key keeps strangers out and nothing more: what is sent can be read and altered on the way unless TLS is on.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import struct
from collections.abc import Callable
from typing import Protocol, TypeAlias

import msgspec

from rookery.errors import JoinError
from rookery.live.tcp_hello import MAGIC, Beat, Control, Goodbye, Hello, KeyProof, LinkLimits, LinkSettings, proof

__all__ = ["Address", "Link", "LinkHandler", "LinkLimits", "LinkSettings", "dial", "frame_of", "listen"]

Address: TypeAlias = tuple[str, int]

_HEADER = struct.Struct("!I")
_CONTROL = 1 << 31


class LinkHandler(Protocol):
    """Who uses a link."""

    def opened(self, link: Link) -> None:
        """Both ends have said who they are: frames may be sent."""

    def received(self, link: Link, frames: list[bytes]) -> None:
        """Whole frames have come, all those of one buffer."""

    def writable(self, link: Link) -> None:
        """The link was congested and is no more."""

    def closed(self, link: Link, reason: str) -> None:
        """The link is gone; called once, also for one that never opened."""


_CONTROLS: msgspec.msgpack.Decoder[Control] = msgspec.msgpack.Decoder(Control)
_encode = msgspec.msgpack.Encoder().encode


def frame_of(payload: bytes) -> bytes:
    """Return a payload with its header, for `Link.send_framed`."""
    return _HEADER.pack(len(payload)) + payload


class Link(asyncio.Protocol):
    """One end of a connection; made by `dial` and `listen`."""

    def __init__(
        self, settings: LinkSettings, handler: LinkHandler | None, *, dialing: bool, listener: Listener | None = None
    ) -> None:
        self.settings = settings
        self.handler = handler
        #: Of the other end, once `opened`.
        self.identity = 0
        self.role = ""
        self.network = ""
        self.address: Address = ("", 0)
        self.is_open = False
        self.congested = False
        #: Frames received here, and those of ours that the other end has said to have received.
        self.received = 0
        self.confirmed = 0
        #: Called with `confirmed` whenever it grows.
        self.on_confirmed: Callable[[int], None] | None = None
        self._dialing = dialing
        self._listener = listener
        self._transport: asyncio.Transport | None = None
        self._rest = b""
        keyed = settings.key is not None
        self._mine = Hello(MAGIC, settings.identity, settings.role, settings.network, os.urandom(16), keyed)
        self._theirs: Hello | None = None
        self._early = 0
        self._told = 0
        self._heard = 0.0
        self._beat_due = 0.0
        self._reason = ""
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    # ---- for its user --------------------------------------------------------------------------------------------

    def send(self, payload: bytes) -> None:
        """Send a frame; nothing happens on a link that is closed."""
        self.send_framed(_HEADER.pack(len(payload)) + payload)

    def send_framed(self, frames: bytes) -> None:
        """Send frames that have their headers (`frame_of`), in one write."""
        if self._transport is not None and not self._reason:
            self._transport.write(frames)
            if self.congested and self._transport.get_write_buffer_size() > self.settings.limits.hopeless:
                self._fail("too slow")

    def pause(self) -> None:
        """Read no more until `resume`."""
        if self._transport is not None and self._transport.is_reading():
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read again."""
        if self._transport is not None and not self._reason and not self._transport.is_reading():
            self._heard = self._loop.time()
            self._transport.resume_reading()

    def close(self, reason: str = "closed") -> None:
        """Say goodbye, send what waits, close."""
        if self._transport is not None and not self._reason:
            self._control(Goodbye(reason))
            self._reason = reason
            self._transport.close()

    def abort(self, reason: str = "closed") -> None:
        """Close at once."""
        if self._transport is not None:
            self._reason = self._reason or reason
            self._transport.abort()

    # ---- asyncio's side ------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        limits = self.settings.limits
        transport.set_write_buffer_limits(high=limits.congested)
        peer = transport.get_extra_info("peername")
        self.address = (str(peer[0]), int(peer[1])) if peer else ("", 0)
        if self._listener is not None and not self._listener.admit(self):
            self._fail("too many links")
            return
        self._heard = self._loop.time()
        self._timer = self._loop.call_later(limits.handshake, self._late)
        self._control(self._mine)

    def connection_lost(self, error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._rest = b""
        was_open, self.is_open = self.is_open, False
        self._reason = self._reason or (f"lost: {error}" if error else "closed by the other end")
        if self._listener is not None:
            self._listener.forget(self)
        if self.handler is not None and (was_open or self._listener is None):
            self.handler.closed(self, self._reason)

    def pause_writing(self) -> None:
        self.congested = True

    def resume_writing(self) -> None:
        self.congested = False
        if self.is_open and self.handler is not None:
            self.handler.writable(self)

    def data_received(self, data: bytes) -> None:
        if self._reason:
            return
        if not self.is_open:
            self._early += len(data)
        if self._rest:
            data = self._rest + data
        frames: list[bytes] = []
        at, end, most = 0, len(data), self.settings.limits.frame
        while end - at >= 4:
            (length,) = _HEADER.unpack_from(data, at)
            control = length & _CONTROL
            length &= ~_CONTROL
            if length > most:
                self._fail("frame too large")
                return
            if end - at - 4 < length:
                break
            payload = data[at + 4 : at + 4 + length]
            at += 4 + length
            if not control and self.is_open:
                frames.append(payload)
            elif control:
                if frames:  # what was said before a goodbye counts
                    self._hand_over(frames)
                    frames = []
                self._take_control(payload)
                if self._reason:
                    return
            else:
                self._fail("frame before hello")
                return
        if not self.is_open and self._early > self.settings.limits.unauthenticated:
            self._fail("too much before hello")
            return
        self._rest = data[at:]
        self._heard = self._loop.time()
        if frames:
            self._hand_over(frames)

    def _hand_over(self, frames: list[bytes]) -> None:
        self.received += len(frames)
        if self.handler is not None:
            self.handler.received(self, frames)

    # ---- the two links between themselves ------------------------------------------------------------------------

    def _control(self, message: Control) -> None:
        payload = _encode(message)
        if self._transport is not None:
            self._transport.write(_HEADER.pack(len(payload) | _CONTROL) + payload)

    def _fail(self, reason: str) -> None:
        """Close because of what the other end did."""
        self.settings.faults[reason] += 1
        if self._transport is not None:
            self._control(Goodbye(reason))
            self._reason = reason
            self._transport.close()

    def _late(self) -> None:
        if not self.is_open:
            self.settings.faults["no hello"] += 1
            self.abort("no hello")

    def _take_control(self, payload: bytes) -> None:
        try:
            message = _CONTROLS.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._fail("malformed")
            return
        match message:
            case Hello():
                self._greet(message)
            case KeyProof(digest):
                self._check(digest)
            case Beat(received):
                if received > self.confirmed:
                    self.confirmed = received
                    if self.on_confirmed is not None:
                        self.on_confirmed(received)
            case Goodbye(reason):
                self._reason = f"the other end: {reason[:200]}"
                assert self._transport is not None
                self._transport.close()

    def _greet(self, hello: Hello) -> None:
        settings = self.settings
        if self._theirs is not None or hello.magic != MAGIC or not 0 <= hello.identity < 1 << 63:
            self._fail("malformed")
        elif hello.network and settings.network and hello.network != settings.network:
            self._fail("another network")
        elif hello.keyed != (settings.key is not None):
            self._fail("key expected" if settings.key is not None else "no key here")
        else:
            self._theirs = hello
            self.identity, self.role, self.network = hello.identity, hello.role, hello.network
            if settings.key is None:
                self._open()
            elif self._dialing:
                self._control(KeyProof(self._proof(mine=True)))

    def _proof(self, *, mine: bool) -> bytes:
        assert self._theirs is not None
        assert self.settings.key is not None
        ends = (self._mine, self._theirs) if self._dialing else (self._theirs, self._mine)
        side = "dialing" if mine == self._dialing else "listening"
        return proof(self.settings.key, side=side, dialing=ends[0], listening=ends[1])

    def _check(self, digest: bytes) -> None:
        if self._theirs is None or self.settings.key is None or self.is_open:
            self._fail("malformed")
        elif not hmac.compare_digest(digest, self._proof(mine=False)):
            self._fail("wrong key")
        else:
            if not self._dialing:
                self._control(KeyProof(self._proof(mine=True)))
            self._open()

    def _open(self) -> None:
        self.is_open = True
        if self._timer is not None:
            self._timer.cancel()
        self._set_beat()
        if self._listener is not None:
            self.handler = self._listener.welcome(self)
        if self.handler is not None:
            self.handler.opened(self)

    def confirm(self) -> None:
        """Tell the other end how many of its frames have come; done by itself at every heartbeat."""
        if self.received != self._told:
            self._told = self.received
            self._control(Beat(self.received))

    def _beat(self) -> None:
        transport = self._transport
        if transport is None or self._reason:
            return
        now = self._loop.time()
        # A process that was held up itself has not listened meanwhile: that is no silence of the other end.
        self._heard += max(0.0, now - self._beat_due)
        if transport.is_reading() and now - self._heard > self.settings.silence:
            self.settings.faults["silent"] += 1
            self.abort("silent")
            return
        self._told = self.received
        self._control(Beat(self.received))
        self._set_beat()

    def _set_beat(self) -> None:
        self._beat_due = self._loop.time() + self.settings.heartbeat
        self._timer = self._loop.call_at(self._beat_due, self._beat)


class Listener:
    """An open port and the links that came in through it."""

    def __init__(self, settings: LinkSettings, make_handler: Callable[[Link], LinkHandler]) -> None:
        self.settings = settings
        self.links: set[Link] = set()
        self._make_handler = make_handler
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> Address:
        """Where it listens; the port is the kernel's choice if 0 was asked for."""
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()[:2]
        return str(host), int(port)

    async def start(self, address: Address) -> None:
        """Open the port."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: Link(self.settings, None, dialing=False, listener=self),
                address[0],
                address[1],
                ssl=self.settings.tls_listen,
                backlog=512,
            )
        except OSError as error:
            raise JoinError(f"cannot listen on {address[0]}:{address[1]}: {error.strerror or error}") from error

    def admit(self, link: Link) -> bool:
        """Take a link in, if there is room."""
        limits = self.settings.limits
        if len(self.links) >= limits.links or sum(not one.is_open for one in self.links) >= limits.strangers:
            return False
        self.links.add(link)
        return True

    def welcome(self, link: Link) -> LinkHandler:
        """Say who handles a link that has opened."""
        return self._make_handler(link)

    def forget(self, link: Link) -> None:
        """A link is gone."""
        self.links.discard(link)

    async def close(self) -> None:
        """Close the port and every link."""
        if self._server is not None:
            self._server.close()
        for link in list(self.links):
            link.close()
        await asyncio.sleep(0)


async def listen(address: Address, settings: LinkSettings, make_handler: Callable[[Link], LinkHandler]) -> Listener:
    """Open a port; `make_handler` is asked for the handler of every link that has opened."""
    listener = Listener(settings, make_handler)
    await listener.start(address)
    return listener


async def dial(address: Address, settings: LinkSettings, handler: LinkHandler) -> Link:
    """Connect; raise `JoinError` where nobody listens. The link may be used when the handler's `opened` is called."""
    loop = asyncio.get_running_loop()
    context = settings.tls_dial
    try:
        async with asyncio.timeout(settings.limits.handshake):
            _, link = await loop.create_connection(
                lambda: Link(settings, handler, dialing=True),
                address[0],
                address[1],
                ssl=context,
                server_hostname=address[0] if context is not None else None,
            )
    except (OSError, TimeoutError) as error:
        raise JoinError(f"nobody answers at {address[0]}:{address[1]}: {error or 'no answer'}") from error
    return link
