"""One TCP connection as a link of frames: what the live brokers, the live overlay and their clients speak over.

    link = await dial((host, port), settings, handler)     # or: await listen((host, port), settings, make_handler)
    link.send(frame)                                       # bytes; never blocks, never raises
    handler.received(link, [frame, frame, …])              # all whole frames of one buffer of the kernel, at once

A handler has four methods (`LinkHandler`): `opened`, `received`, `writable`, `closed`. Who wants messages to nodes by
id, dialed and dialed again, takes `Peers` from `tcp_peers.py`, which is built on this.

Rules. A frame is four octets of length and that many octets; the top bit marks what the links say to each other. Both
ends say hello first: who they are, what network they belong to (`admission.py`: who may come in as what); with a
pre-shared key each proves that it has the key, the dialing end first, so a stranger sees no proof. A peer's mistake
never raises: the link closes, `closed` gets the reason, and `faults` counts it. Everything is bounded: a frame, frames
that have begun over all links, what comes before the hello is complete and how long that may take (TLS included), the
number of links in all and of one address, the time a silent link is kept. `congested` says that the other end does not
keep up; `pause` and `resume` hold reading, and TCP holds the sender.

The key keeps strangers out and nothing more: what is sent can be read and altered on the way unless TLS is on.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import struct
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec

from rookery.live.admission import Certificate, certificate_of
from rookery.live.tcp_handshake import Handshake
from rookery.live.tcp_hello import Beat, Control, Goodbye, Hello, KeyProof, LinkLimits, LinkSettings

if TYPE_CHECKING:
    from rookery.live.tcp_ports import Listener

__all__ = ["Address", "Link", "LinkHandler", "LinkLimits", "LinkSettings", "frame_of"]

Address: TypeAlias = tuple[str, int]

_HEADER = struct.Struct("!I")
_CONTROL = 1 << 31
#: Bytes from which on a frame is written by itself: what is joined to others is copied.
_LARGE = 64 << 10


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
    """One end of a connection; made by `dial` and `listen` (`tcp_ports.py`)."""

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
        #: A frame that has begun, and how many octets it will have with its header.
        self._rest = bytearray()
        self._wanted = 4
        #: What the other end's certificate says; None where it showed none.
        self.certificate: Certificate | None = None
        self._was_admitted = False
        self._securing: asyncio.Task[None] | None = None
        self._handshake = Handshake(settings, os.urandom(16), dialing=dialing)
        self._early = 0
        self._told = 0
        self._heard = 0.0
        self._beat_due = 0.0
        self._reason = ""
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    @property
    def host(self) -> str:
        """The address of the other end."""
        return self.address[0]

    @property
    def holder(self) -> str:
        """Who the other end is, for bounds: the name in its certificate, or its address."""
        return self.address[0] if self.certificate is None else self.certificate.name

    @property
    def is_trusted(self) -> bool:
        """Whether the other end is an equal of this one, and has proven it."""
        return self.is_open and self.role == self.settings.role

    # ---- for its user --------------------------------------------------------------------------------------------

    def send(self, payload: bytes) -> None:
        """Send a frame; nothing happens on a link that is closed."""
        self.send_framed(_HEADER.pack(len(payload)) + payload)

    def send_many(self, payloads: Iterable[bytes]) -> None:
        """Send frames in this order: small ones in one write, large ones without a copy."""
        chunks: list[bytes] = []
        for payload in payloads:
            chunks.append(_HEADER.pack(len(payload)))
            if len(payload) < _LARGE:
                chunks.append(payload)
                continue
            self.send_framed(b"".join(chunks))
            self.send_framed(payload)
            chunks.clear()
        if chunks:
            self.send_framed(b"".join(chunks))

    def send_framed(self, frames: bytes) -> None:
        """Send frames that have their headers (`frame_of`), in one write."""
        if self._transport is not None and not self._reason:
            self._transport.write(frames)
            if self.congested and self._transport.get_write_buffer_size() > self.settings.limits.hopeless:
                self.let_go("too slow")

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
        peer = transport.get_extra_info("peername")
        self.address = (str(peer[0]), int(peer[1])) if peer else ("", 0)
        if self._listener is not None and not self._listener.doorway.admit(self):
            self.let_go("too many links")
            return
        self._heard = self._loop.time()
        self._timer = self._loop.call_later(self.settings.limits.handshake, self._late)
        if self._listener is not None and self.settings.tls_listen is not None:
            # Not by the server itself: it would keep who never ends the TLS handshake out of our sight and bounds.
            transport.pause_reading()
            self._securing = self._loop.create_task(self._secure(transport, self.settings.tls_listen))
        else:
            self._begin(transport)

    async def _secure(self, transport: asyncio.Transport, context: ssl.SSLContext) -> None:
        try:
            secured = await self._loop.start_tls(
                transport, self, context, server_side=True, ssl_handshake_timeout=self.settings.limits.handshake
            )
        except (OSError, ssl.SSLError):
            self._reason = self._reason or "no TLS"
            self.settings.faults[self._reason] += 1
            transport.abort()
        else:
            self._securing = None
            if secured is not None and not self._reason:
                assert isinstance(secured, asyncio.Transport)
                self._begin(secured)
                said = bytes(self._rest)
                self._rest.clear()
                self._early -= len(said)
                self.data_received(said)
        finally:
            self._securing = None

    def _begin(self, transport: asyncio.Transport) -> None:
        """Say hello, the line being as private as it will be."""
        self._transport = transport
        transport.set_write_buffer_limits(high=self.settings.limits.congested)
        self.certificate = certificate_of(transport.get_extra_info("peercert"))
        self._control(self._handshake.mine)

    def connection_lost(self, error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._rest.clear()
        self.settings.unfinished.release(self)
        was_open, self.is_open = self.is_open, False
        self._reason = self._reason or (f"lost: {error}" if error else "closed by the other end")
        if self._listener is not None:
            self._listener.doorway.forget(self, was_in=self._was_admitted)
            self._was_admitted = False
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
        if self._securing is not None:  # the other end is known when its certificate is: what it says waits for that
            self._rest += data
            if self._early > self.settings.limits.unauthenticated:
                self.let_go("too much before hello")
            return
        if self._rest:
            self._rest += data
            if len(self._rest) < self._wanted and self.is_open:  # the rest of a long frame is joined once, at its end
                self._heard = self._loop.time()
                self.settings.unfinished.hold(self, len(self._rest), most=self.settings.limits.unfinished)
                return
            data = bytes(self._rest)
            self._rest.clear()
        frames: list[bytes] = []
        at, end, most = 0, len(data), self.settings.limits.frame
        self._wanted = 4
        while end - at >= 4:
            (length,) = _HEADER.unpack_from(data, at)
            control = length & _CONTROL
            length &= ~_CONTROL
            if length > most:
                self.let_go("frame too large")
                return
            if end - at - 4 < length:
                self._wanted = 4 + length
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
                self.let_go("frame before hello")
                return
        if not self.is_open and self._early > self.settings.limits.unauthenticated:
            self.let_go("too much before hello")
            return
        self._rest += data[at:]
        self.settings.unfinished.hold(self, len(self._rest), most=self.settings.limits.unfinished)
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

    def let_go(self, reason: str) -> None:
        """Close because of what the other end did."""
        self.settings.faults[reason] += 1
        if self._transport is not None and self._securing is not None:
            self.abort(reason)
        elif self._transport is not None:
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
            self.let_go("malformed")
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
        reason = self._handshake.take(hello, certificate=self.certificate, host=self.address[0])
        if reason is not None:
            self.let_go(reason)
            return
        self.identity, self.role, self.network = hello.identity, hello.role, hello.network
        if self._handshake.key is None:
            self._open()
        elif self._dialing:
            self._control(KeyProof(self._handshake.proof()))

    def _check(self, digest: bytes) -> None:
        if self.is_open or self._handshake.key is None:
            self.let_go("malformed")
        elif not self._handshake.is_proven_by(digest):
            self.let_go("wrong key")
        else:
            if not self._dialing:
                self._control(KeyProof(self._handshake.proof()))
            self._open()

    def _open(self) -> None:
        if self._listener is not None:
            self._was_admitted = self._listener.doorway.enter(self)
            if not self._was_admitted:
                self.let_go("too many links")
                return
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
