"""Where commands open the client of a live network: each kind in one place, with all that a command says to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rookery.live.client import Client
    from rookery.live.credentials import Credentials
    from rookery.live.opening import ClientOpening
    from rookery.live.subscription import Subscription
    from rookery.live.tcp import Address
    from rookery.model import Schema
    from rookery.overlay.configuration import OverlayConfiguration
    from rookery.rtps.limits import Limits
    from rookery.space.grid import Grid

__all__ = ["open_brokers", "open_domain", "open_overlay", "open_site", "read_topic"]


def open_domain(
    *,
    domain_id: int,
    interface: str,
    name: str,
    key: bytes | None,
    discovery: str,
    engine: str,
    initial_peers: tuple[str, ...],
    multicast: bool,
    limits: Limits | None,
    observer: bool,
    multicast_data: bool = False,
) -> ClientOpening:
    """Open the client of a DDS domain."""
    from rookery.live.dds import DdsOptions
    from rookery.live.opening import open as open_client

    options = DdsOptions(
        interface=interface,
        name=name,
        pre_shared_key=key,
        discovery=discovery,
        engine=engine,
        initial_peers=initial_peers,
        multicast=multicast,
        multicast_data=multicast_data,
        limits=limits,
        observer=observer,
    )
    return open_client(f"dds://{domain_id}", options)


def open_site(
    site: str,
    *,
    listen: Address | None,
    join: Sequence[Address],
    credentials: Credentials,
    insecure: bool,
    domain_id: int,
    interface: str,
    name: str,
    initial_peers: tuple[str, ...],
    multicast: bool,
    limits: Limits | None,
    multicast_data: bool = False,
) -> ClientOpening:
    """Open the gateway of a site, which is a client of its domain too."""
    from rookery.live.dds import DdsOptions
    from rookery.live.island import IslandOptions
    from rookery.live.opening import open as open_client

    within = DdsOptions(
        interface=interface,
        name=name,
        initial_peers=initial_peers,
        multicast=multicast,
        multicast_data=multicast_data,
        limits=limits,
    )
    options = IslandOptions(listen=listen, credentials=credentials, insecure=insecure, domain_id=domain_id, dds=within)
    return open_client(f"island://{site}@{_written(join)}", options)


def open_overlay(
    topic: str,
    *,
    schema: Schema,
    grid: Grid,
    listen: Address,
    join: Sequence[Address],
    credentials: Credentials,
    insecure: bool,
    configuration: OverlayConfiguration,
) -> ClientOpening:
    """Open a peer of the overlay of a topic."""
    from rookery.live.opening import open as open_client
    from rookery.live.overlay import OverlayOptions

    options = OverlayOptions(
        topic=topic,
        schema=schema,
        grid=grid,
        listen=listen,
        credentials=credentials,
        insecure=insecure,
        configuration=configuration,
    )
    return open_client(f"overlay://{_written(join)}", options)


def open_brokers(brokers: Sequence[str], *, credentials: Credentials, session: Path | None = None) -> ClientOpening:
    """Open a client of a broker network, through any of the brokers; with a session file the one that it was before."""
    from rookery.live.brokers.client import BrokerOptions
    from rookery.live.opening import open as open_client

    return open_client(f"brokers://{','.join(brokers)}", BrokerOptions(credentials, session=session))


def read_topic(client: Client, topic: str, where: str | None, options: dict[str, Any]) -> Subscription[dict[str, Any]]:
    """Subscribe to a DDS topic to print it; `options` are the schema and those of a `DdsReaderOptions`."""
    from rookery.live.transport import DdsReaderOptions

    described = dict(options)
    schema, key = described.pop("schema"), tuple(described.pop("key"))
    reader = DdsReaderOptions(key=key, **described)
    return client.subscribe(topic, where, overflow="drop-oldest", schema=schema, dds=reader)


def _written(addresses: Sequence[Address]) -> str:
    return ",".join(f"{host}:{port}" for host, port in addresses)
