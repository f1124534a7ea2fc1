"""Rookery: content-based publish/subscribe. One compiled set of subscriptions, the same answer everywhere.

A subscription is a WHERE clause and an event is a row; everything else is finding the clauses that a row satisfies,
fast.
`import rookery` is light: what a name needs is imported when the name is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rookery.version import __version__

if TYPE_CHECKING:
    from rookery.errors import RookeryError
    from rookery.live.brokers.client import BrokerOptions
    from rookery.live.client import Client
    from rookery.live.credentials import Credentials
    from rookery.live.dds import DdsOptions
    from rookery.live.island import IslandOptions
    from rookery.live.opening import open
    from rookery.live.overlay import OverlayOptions
    from rookery.live.plain import PlainClient
    from rookery.live.subscription import Subscription
    from rookery.live.transport import DdsReaderOptions, DdsWriterOptions
    from rookery.matching import CompiledSet, matcher
    from rookery.model import Schema, covers, merge, parse

__all__ = [
    "BrokerOptions",
    "Client",
    "CompiledSet",
    "Credentials",
    "DdsOptions",
    "DdsReaderOptions",
    "DdsWriterOptions",
    "IslandOptions",
    "OverlayOptions",
    "PlainClient",
    "RookeryError",
    "Schema",
    "Subscription",
    "__version__",
    "covers",
    "matcher",
    "merge",
    "open",
    "parse",
]

_HOMES = {
    "BrokerOptions": "rookery.live.brokers.client",
    "Client": "rookery.live.client",
    "CompiledSet": "rookery.matching",
    "Credentials": "rookery.live.credentials",
    "DdsOptions": "rookery.live.dds",
    "DdsReaderOptions": "rookery.live.transport",
    "DdsWriterOptions": "rookery.live.transport",
    "IslandOptions": "rookery.live.island",
    "OverlayOptions": "rookery.live.overlay",
    "PlainClient": "rookery.live.plain",
    "RookeryError": "rookery.errors",
    "Schema": "rookery.model",
    "Subscription": "rookery.live.subscription",
    "covers": "rookery.model",
    "matcher": "rookery.matching",
    "merge": "rookery.model",
    "open": "rookery.live.opening",
    "parse": "rookery.model",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'rookery' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
