"""Where commands open the clients of a live network: each kind in one place, with all that a command says to it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rookery.live.brokers.client import BrokerClient
    from rookery.live.client import Node
    from rookery.live.island import Island
    from rookery.live.overlay import OverlayNode
    from rookery.live.tcp import Address
    from rookery.model import Schema
    from rookery.overlay.configuration import OverlayConfiguration
    from rookery.space.grid import Grid

__all__ = ["open_brokers", "open_domain", "open_overlay", "open_site"]


def open_domain(
    *, domain_id: int, interface: str, name: str, key: bytes | None, discovery: str, engine: str
) -> AbstractAsyncContextManager[Node]:
    """Open the client of a DDS domain."""
    from rookery.live.client import join

    return join(
        domain_id=domain_id,
        interface=interface,
        name=name,
        pre_shared_key=key,
        discovery=discovery,
        engine=engine,
    )


def open_site(
    site: str,
    *,
    listen: Address | None,
    join: Sequence[Address],
    key: bytes | None,
    domain_id: int,
    interface: str,
    name: str,
) -> AbstractAsyncContextManager[Island]:
    """Open the gateway of a site, which is a client of its domain too."""
    from rookery.live.island import open_island

    return open_island(site, listen=listen, join=join, key=key, domain_id=domain_id, interface=interface, name=name)


def open_overlay(
    topic: str,
    *,
    schema: Schema,
    grid: Grid,
    listen: Address,
    join: Sequence[Address],
    key: bytes | None,
    configuration: OverlayConfiguration,
) -> AbstractAsyncContextManager[OverlayNode]:
    """Open a peer of the overlay of a topic."""
    from rookery.live.overlay import join_overlay

    return join_overlay(
        topic=topic, schema=schema, grid=grid, listen=listen, join=join, key=key, configuration=configuration
    )


def open_brokers(brokers: Sequence[str], *, key: bytes | None) -> AbstractAsyncContextManager[BrokerClient]:
    """Open a client of a broker network, through any of the brokers."""
    from rookery.live.brokers.client import connect

    return connect(*brokers, key=key)
