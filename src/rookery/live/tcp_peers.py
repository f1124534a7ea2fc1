"""Messages to nodes by id, over links that come and go (`tcp.py`).

    peers = Peers(settings, address_of=node_address, on_frames=…, on_undeliverable=…)
    await peers.listen(("127.0.0.1", 7401))
    peers.send(receiver, payload)              # dials if need be; never blocks, never raises

`on_frames(sender, frames)` gets all that came in one buffer. What could not be delivered comes back through
`on_undeliverable(receiver, payloads)`: the receiver refused the connection for longer than `patience`, or another
process answers at its address. A payload that was on the way when a link broke is sent again on the next one, or comes
back: the receiver may get it twice, it is never lost in silence while both live.

What `is_urgent` says of a payload lets it pass those that wait, at the sender; urgent ones stay in order, and so do the
others.

A link is given no more than it takes: the rest waits here, as it was sent and uncopied. `unsent` says how many bytes
there are that no receiver has confirmed, over all nodes, so that who makes much to send can wait for them.

An id says where its node is: IPv4 address, port, and an incarnation that is another one after each start, so that a
node that comes back is not taken for the one that died (`node_id`, `node_address`).
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from rookery.errors import JoinError
from rookery.live.dialing import dial_until
from rookery.live.tcp import Address, Link, LinkHandler, LinkSettings
from rookery.live.tcp_ports import Listener, dial, listen

__all__ = ["Peers", "node_address", "node_id"]

_INCARNATIONS = 1 << 15
#: Frames after which a receiver says how many it has, beside the heartbeat.
_CONFIRM_EVERY = 64
#: Bytes that come at once after which it does so too: the sender keeps them all until then.
_CONFIRM_BYTES = 64 << 10
#: Bytes given to a link at one time.
_ONE_WRITE = 256 << 10
#: Seconds until a node that refused is dialed again.
_FIRST_PAUSE = 0.02


def node_id(address: Address, incarnation: int) -> int:
    """Return the id of a node at an IPv4 address and port."""
    try:
        host = int(ipaddress.IPv4Address(address[0]))
    except ValueError as error:
        raise JoinError(f"{address[0]!r} is no IPv4 address: say the one that others reach this node at") from error
    return host << 31 | address[1] << 15 | incarnation % _INCARNATIONS


def node_address(identity: int) -> Address:
    """Return where a node is."""
    return str(ipaddress.IPv4Address(identity >> 31 & 0xFFFFFFFF)), identity >> 15 & 0xFFFF


class Peers:
    """The other nodes, as one process reaches them and is reached by them."""

    def __init__(
        self,
        settings: LinkSettings,
        *,
        on_frames: Callable[[int, list[bytes]], None],
        on_undeliverable: Callable[[int, list[bytes]], None],
        address_of: Callable[[int], Address] = node_address,
        on_guest: Callable[[Link], LinkHandler] | None = None,
        is_urgent: Callable[[bytes], bool] = lambda payload: False,
        patience: float = 1.0,
    ) -> None:
        """`on_guest` gives the handler of links whose role is not this node's own, clients for example."""
        self.settings = settings
        self.on_frames = on_frames
        self.on_undeliverable = on_undeliverable
        self.patience = patience
        self.is_urgent = is_urgent
        self._address_of = address_of
        self._on_guest = on_guest
        self._listener: Listener | None = None
        self._outgoing: dict[int, Outgoing] = {}
        self._incoming = _Incoming(self)
        self.is_closed = False
        #: Bytes that were sent and are not confirmed.
        self.unsent = 0
        #: Called when there are fewer of them, or a link that was congested is no more.
        self.on_relief: Callable[[], None] | None = None

    async def listen(self, address: Address) -> Address:
        """Open the port; return where it is."""
        self._listener = await listen(address, self.settings, self._handler_of)
        return self._listener.address

    def send(self, receiver: int, payload: bytes) -> None:
        """Send a payload to a node."""
        self.send_many(receiver, (payload,))

    def send_many(self, receiver: int, payloads: Sequence[bytes]) -> None:
        """Send payloads to a node, in this order and in one write."""
        outgoing = self._outgoing.get(receiver)
        if outgoing is None:
            if self.is_closed:
                return
            outgoing = self._outgoing[receiver] = Outgoing(self, receiver, self._address_of(receiver))
        outgoing.send(payloads)

    @property
    def congested(self) -> bool:
        """Whether some node does not keep up: who can should stop reading from those who cause the traffic."""
        return any(outgoing.congested for outgoing in self._outgoing.values())

    @property
    def links(self) -> list[Link]:
        """The links that are open, both ways."""
        dialed = [one.link for one in self._outgoing.values() if one.link is not None and one.link.is_open]
        accepted = [] if self._listener is None else [link for link in self._listener.links if link.is_open]
        return dialed + accepted

    async def close(self) -> None:
        """Close every link, after what waits to be written."""
        self.is_closed = True
        for outgoing in list(self._outgoing.values()):
            await outgoing.close()
        if self._listener is not None:
            await self._listener.close()

    def forget(self, receiver: int) -> None:
        """A node is given up."""
        self._outgoing.pop(receiver, None)

    def _handler_of(self, link: Link) -> LinkHandler:
        if link.role != self.settings.role and self._on_guest is not None:
            return self._on_guest(link)
        return self._incoming


class _Incoming:
    """Links that others dialed: frames come in, nothing goes out."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers

    def opened(self, link: Link) -> None:
        """Nothing to do: the other end speaks first."""

    def received(self, link: Link, frames: list[bytes]) -> None:
        """Pass frames on, and say now and then how many there were."""
        if link.received % _CONFIRM_EVERY < len(frames) or sum(map(len, frames)) >= _CONFIRM_BYTES:
            link.confirm()
        self._peers.on_frames(link.identity, frames)

    def writable(self, link: Link) -> None:
        """Nothing waits here."""

    def closed(self, link: Link, reason: str) -> None:
        """The other end dials again if it wants to."""


class Outgoing:
    """One node as it is reached: a link, or the wait for one, and what is not known to have arrived."""

    def __init__(self, peers: Peers, receiver: int, address: Address) -> None:
        self.link: Link | None = None
        self._peers = peers
        self._receiver = receiver
        self._address = address
        #: Sent on the present link and not confirmed; the first of them has the number `_first`.
        self._sent: deque[bytes] = deque()
        self._first = 0
        #: Not given to a link yet, and how many bytes that is.
        self._waiting: deque[bytes] = deque()
        self._size = 0
        #: Those of them that pass the others: they are given to the link at once, even if it does not keep up.
        self._urgent: deque[bytes] = deque()
        self._failed = False
        #: The link that was dialed has opened, or closed without that.
        self._settled = asyncio.Event()
        self._task: asyncio.Task[None] | None = asyncio.get_running_loop().create_task(self._reach())

    @property
    def congested(self) -> bool:
        """Whether more waits than should."""
        return self._size > self._peers.settings.limits.congested or (self.link is not None and self.link.congested)

    def send(self, payloads: Sequence[bytes]) -> None:
        """Send on the link, or keep until there is one that takes it."""
        size = sum(map(len, payloads))
        self._wait(payloads)
        self._size += size
        self._peers.unsent += size
        self._write()
        if self._size > self._peers.settings.limits.hopeless:
            if self.link is None:
                self._give_up()
            else:
                self.link.let_go("too slow")

    async def close(self) -> None:
        """Stop, when what waits is written."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self.link is not None:
            self.link.send_many((*self._urgent, *self._waiting))
            self.link.close()

    def _wait(self, payloads: Iterable[bytes]) -> None:
        """Let payloads wait behind others of their kind."""
        for payload in payloads:
            (self._urgent if self._peers.is_urgent(payload) else self._waiting).append(payload)

    def _write(self) -> None:
        """Give the link what waits: what is urgent, and of the rest as much as it takes."""
        link, waiting = self.link, self._waiting
        if self._urgent and link is not None and link.is_open:
            urgent, self._urgent = self._urgent, deque()
            self._size -= sum(map(len, urgent))
            self._sent += urgent
            link.send_many(urgent)
        while waiting and link is not None and link.is_open and not link.congested:
            size, group = 0, []
            while waiting and size < _ONE_WRITE:
                group.append(waiting.popleft())
                size += len(group[-1])
            self._size -= size
            self._sent += group
            link.send_many(group)

    # ---- as the handler of its link ------------------------------------------------------------------------------

    def opened(self, link: Link) -> None:
        """Send what waited, unless another process has taken the address."""
        if link.identity != self._receiver:
            self._failed = True
            link.close("you are not the one I look for")
            return
        self.link = link
        self._settled.set()
        self._first = 0
        link.on_confirmed = self._confirmed
        self._size += sum(map(len, self._sent))
        behind = [*self._urgent, *self._waiting]
        again, self._sent, self._urgent, self._waiting = self._sent, deque(), deque(), deque()
        self._wait(again)
        self._wait(behind)
        self._write()

    def received(self, link: Link, frames: list[bytes]) -> None:
        """Frames from the one that was dialed are as good as any."""
        self._peers.on_frames(self._receiver, frames)

    def writable(self, link: Link) -> None:
        """Go on, and tell who waits."""
        self._write()
        if self._peers.on_relief is not None:
            self._peers.on_relief()

    def closed(self, link: Link, reason: str) -> None:
        """Dial again."""
        self._settled.set()
        if self.link is link:
            self.link = None
            if self._task is None and not self._peers.is_closed:
                self._task = asyncio.get_running_loop().create_task(self._reach())

    def _confirmed(self, count: int) -> None:
        while self._first < count and self._sent:
            self._peers.unsent -= len(self._sent.popleft())
            self._first += 1
        if self._peers.on_relief is not None:
            self._peers.on_relief()

    async def _reach(self) -> None:
        """Dial with growing pauses until the link is open or patience ends."""
        peers = self._peers
        try:
            if await dial_until(self._attempt, first_pause=_FIRST_PAUSE, patience=peers.patience) and not self._failed:
                return
        finally:
            self._task = None
        self._give_up()

    async def _attempt(self) -> bool:
        """Dial once; True where there is a link, and where another process has the address, for good."""
        self._settled.clear()
        await dial(self._address, self._peers.settings, self)
        await self._settled.wait()
        return self.link is not None or self._failed

    def _give_up(self) -> None:
        self._peers.forget(self._receiver)
        if self.link is not None:
            self.link.abort("given up")
            self.link = None
        back = [*self._sent, *self._urgent, *self._waiting]
        self._peers.unsent -= sum(map(len, back))
        for gone in (self._sent, self._urgent, self._waiting):
            gone.clear()
        self._size = 0
        if not self._peers.is_closed:
            self._peers.on_undeliverable(self._receiver, back)
