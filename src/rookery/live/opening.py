"""`rookery.open`: from an address to a client.

| address | network | options |
|---|---|---|
| `dds://0` | the DDS domain of that number | `DdsOptions` |
| `brokers://host:port,host:port` | K-D brokers, through any of these | `BrokerOptions` |
| `overlay://host:port` | the overlay, joined through this peer; `overlay://` is its first | `OverlayOptions` |
| `island://site` or `island://site@host:port` | a site's gateway, joined to others | `IslandOptions` |

What is opened is entered: `async with` gives a `Client`, `with` a `PlainClient`. `await` and `plain()` give the same
without a block; whoever uses them calls `close`.
"""

from __future__ import annotations

from collections.abc import Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from rookery.errors import ClientError, SettingsError
from rookery.live.brokers.settings import parse_address
from rookery.live.client import Client
from rookery.live.loop_thread import LoopThread
from rookery.live.plain import PlainClient
from rookery.live.transport import ClientTransport

if TYPE_CHECKING:
    from rookery.live.brokers.client import BrokerOptions
    from rookery.live.dds import DdsOptions
    from rookery.live.island import IslandOptions
    from rookery.live.overlay import OverlayOptions
    from rookery.live.tcp import Address

    Options: TypeAlias = "DdsOptions" | "BrokerOptions" | "OverlayOptions" | "IslandOptions"

__all__ = ["ClientOpening", "open"]

SCHEMES = ("dds", "brokers", "overlay", "island")


class ClientOpening:
    """A client that is not there yet; made by `rookery.open`."""

    def __init__(self, address: str, options: Options | None) -> None:
        scheme, found, _ = address.partition("://")
        if not found or scheme not in SCHEMES:
            raise SettingsError(
                f"{address!r} is no address of a network: write dds://0, brokers://host:port, overlay://host:port or "
                "island://site"
            )
        self.address = address
        self._options = options
        self._client: Client | None = None
        self._plain: PlainClient | None = None

    def __await__(self) -> Generator[Any, None, Client]:
        return self._connect(None).__await__()

    async def __aenter__(self) -> Client:
        self._check_unused()
        self._client = await self._connect(None)
        return self._client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            await self._client.close()

    def plain(self) -> PlainClient:
        """Open the client for plain code."""
        return PlainClient(self._connect, name=self.address)

    def __enter__(self) -> PlainClient:
        self._check_unused()
        self._plain = self.plain()
        return self._plain

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._plain is not None:
            self._plain.close()

    def _check_unused(self) -> None:
        if self._client is not None or self._plain is not None:
            raise ClientError(f"this client of {self.address} was opened before: call rookery.open again")

    async def _connect(self, thread: LoopThread | None) -> Client:
        return Client(self.address, await _transport(self.address, self._options), thread=thread)


def open(address: str, options: Options | None = None) -> ClientOpening:
    """Open a client of the network at an address: `async with rookery.open("dds://0") as client`.

    `options` are those of the network: `DdsOptions`, `BrokerOptions`, `OverlayOptions` or `IslandOptions`.
    """
    return ClientOpening(address, options)


async def _transport(address: str, options: Options | None) -> ClientTransport:
    scheme, _, rest = address.partition("://")
    if scheme == "dds":
        from rookery.live.dds import DdsOptions, open_dds

        return await open_dds(_domain(rest, address), _of(DdsOptions, options, address))
    if scheme == "brokers":
        from rookery.live.brokers.client import BrokerOptions, open_brokers

        return await open_brokers(_addresses(rest), _of(BrokerOptions, options, address))
    if scheme == "overlay":
        from rookery.live.overlay import OverlayOptions, open_overlay

        if options is None:
            raise SettingsError(
                f"{address} needs OverlayOptions(topic=…, schema=…, grid=…): what all peers of an overlay agree on"
            )
        return await open_overlay(_addresses(rest), _of(OverlayOptions, options, address))
    from rookery.live.island import IslandOptions, open_island

    site, _, others = rest.partition("@")
    return await open_island(site, _addresses(others), _of(IslandOptions, options, address))


def _of(kind: Any, options: Options | None, address: str) -> Any:
    if options is None:
        return kind()
    if not isinstance(options, kind):
        raise SettingsError(f"{address} takes {kind.__name__}, not {type(options).__name__}")
    return options


def _addresses(text: str) -> tuple[Address, ...]:
    return tuple(parse_address(one) for one in text.split(",") if one)


def _domain(text: str, address: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise SettingsError(f"{address!r} names no DDS domain: write its number, for example dds://0")
    return int(text)
