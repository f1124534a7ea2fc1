"""The transport of a gateway: datagrams inside its site, and links of TCP to the gateways of other sites.

A link has a number, and no two have the same. Frames gather for a few milliseconds before they go: sites are
milliseconds apart, and a packet for each sample costs more than it says.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable
from typing import Any

from rookery.errors import JoinError
from rookery.gateway import Gateway
from rookery.live.dialing import dial_until
from rookery.live.driver import Driver
from rookery.live.tcp import Address, Link, LinkSettings, frame_of
from rookery.live.tcp_ports import Listener, dial, listen
from rookery.live.udp_transport import UdpTransport
from rookery.rtps.locators import Address as UdpAddress

__all__ = ["SiteLinks"]

#: Seconds for which frames gather.
_LINGER = 0.005
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 10.0


class SiteLinks:
    """The sockets of one gateway; `on_lost` is told the address and the reason when a link or a dialing ends."""

    def __init__(
        self, gateway: Gateway, udp: UdpTransport, settings: LinkSettings, *, on_lost: Callable[[Address, str], None]
    ) -> None:
        self.settings = settings
        self._gateway = gateway
        self._udp = udp
        self._on_lost = on_lost
        self._driver: Driver | None = None
        self._listener: Listener | None = None
        self._links: dict[int, Link] = {}
        self._numbers: dict[Link, int] = {}
        self._count = itertools.count(1)
        self._dialing: list[asyncio.Task[None]] = []
        #: Frames that gather, by link.
        self._waiting: dict[int, list[bytes]] = {}
        self._lingering: asyncio.TimerHandle | None = None

    # ---- the transport -------------------------------------------------------------------------------------------

    def start(self, driver: Driver) -> None:
        """Begin to read datagrams, for a driver."""
        self._driver = driver
        self._udp.start(driver)

    def stop(self) -> None:
        """Read no more datagrams."""
        self._udp.stop()

    def send(self, receiver: Any, messages: list[bytes]) -> None:
        """Send datagrams to an address, or frames over a link."""
        if isinstance(receiver, UdpAddress):
            self._udp.send(receiver, messages)
            return
        self._waiting.setdefault(receiver, []).extend(map(frame_of, messages))
        if self._lingering is None:
            self._lingering = asyncio.get_running_loop().call_later(_LINGER, self._send_waiting)

    def disconnect(self, node: int, reason: str) -> None:
        """Close a link, after what was sent over it."""
        self._send_waiting()
        link = self._links.pop(node, None)
        if link is not None:
            del self._numbers[link]
            link.close(reason)

    def _send_waiting(self) -> None:
        """Send what has gathered for each link in one write."""
        if self._lingering is not None:
            self._lingering.cancel()
            self._lingering = None
        waiting, self._waiting = self._waiting, {}
        for number, frames in waiting.items():
            if number in self._links:
                self._links[number].send_framed(b"".join(frames))

    # ---- links ---------------------------------------------------------------------------------------------------

    @property
    def address(self) -> Address | None:
        """Where other gateways reach this one, if it listens."""
        return None if self._listener is None else self._listener.address

    async def listen(self, address: Address) -> None:
        """Open the port."""
        self._listener = await listen(address, self.settings, lambda link: self)

    def join(self, address: Address) -> None:
        """Dial an address until there is a link, and again when it is gone."""
        self._dialing.append(asyncio.get_running_loop().create_task(self._keep(address)))

    async def close(self) -> None:
        """Close the links, after what waits."""
        self._send_waiting()
        for task in self._dialing:
            task.cancel()
        await asyncio.gather(*self._dialing, return_exceptions=True)
        for link in list(self._links.values()):
            link.close("leaving")
        self._links.clear()
        self._numbers.clear()
        if self._listener is not None:
            await self._listener.close()

    async def _keep(self, address: Address) -> None:
        async def attempt() -> bool:
            end = _DialedEnd(self)
            await dial(address, self.settings, end)
            await end.gone.wait()
            return end.stood

        def failed(error: JoinError) -> None:
            self._on_lost(address, str(error))

        def spread() -> float:
            return random.uniform(0.5, 1.0)

        while True:
            await dial_until(
                attempt,
                first_pause=_FIRST_PAUSE,
                longest_pause=_LONGEST_PAUSE,
                spread=spread,
                on_failure=failed,
            )
            await asyncio.sleep(_FIRST_PAUSE * spread())

    # ---- as the handler of the links -----------------------------------------------------------------------------

    def opened(self, link: Link) -> None:
        """A link stands."""
        number = next(self._count)
        self._links[number], self._numbers[link] = link, number
        self._gateway.open(number)
        if self._driver is not None:
            self._driver.flush()

    def received(self, link: Link, frames: list[bytes]) -> None:
        """Frames of another gateway."""
        number = self._numbers.get(link)
        if number is not None and self._driver is not None:
            self._driver.receive(frames, number)

    def writable(self, link: Link) -> None:
        """A link is no more congested; streams are bounded by what is acknowledged, so nothing waits for this."""

    def closed(self, link: Link, reason: str) -> None:
        """A link is gone."""
        number = self._numbers.pop(link, None)
        if number is not None and self._driver is not None:
            del self._links[number]
            self._on_lost(link.address, reason)
            self._driver.lose(number)


class _DialedEnd:
    """The handler of a link that was dialed: that of all links, and who dialed hears when it is gone."""

    def __init__(self, links: SiteLinks) -> None:
        self.gone = asyncio.Event()
        self.stood = False
        self._links = links

    def opened(self, link: Link) -> None:
        self.stood = True
        self._links.opened(link)

    def received(self, link: Link, frames: list[bytes]) -> None:
        self._links.received(link, frames)

    def writable(self, link: Link) -> None:
        self._links.writable(link)

    def closed(self, link: Link, reason: str) -> None:
        self.gone.set()
        self._links.closed(link, reason)
