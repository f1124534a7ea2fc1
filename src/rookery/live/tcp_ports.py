"""How links come to be: `dial` connects to an address, `listen` opens a port. What a link does then is in `tcp.py`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from rookery.errors import JoinError
from rookery.live.doorway import Doorway
from rookery.live.tcp import Address, Link, LinkHandler
from rookery.live.tcp_hello import LinkSettings

__all__ = ["Listener", "dial", "listen"]


class Listener:
    """An open port and the links that came in through it."""

    def __init__(self, settings: LinkSettings, make_handler: Callable[[Link], LinkHandler]) -> None:
        self.settings = settings
        self.doorway: Doorway[Link] = Doorway(settings.limits)
        self._make_handler = make_handler
        self._server: asyncio.Server | None = None

    @property
    def links(self) -> set[Link]:
        """The links that are there."""
        return self.doorway.links

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
                backlog=512,
            )
        except OSError as error:
            raise JoinError(f"cannot listen on {address[0]}:{address[1]}: {error.strerror or error}") from error

    def welcome(self, link: Link) -> LinkHandler:
        """Say who handles a link that has opened."""
        return self._make_handler(link)

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
