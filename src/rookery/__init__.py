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
    from rookery.matching import CompiledSet, matcher
    from rookery.model import Schema, covers, merge, parse

__all__ = [
    "CompiledSet",
    "RookeryError",
    "Schema",
    "__version__",
    "connect",
    "covers",
    "join",
    "matcher",
    "merge",
    "parse",
]

_HOMES = {
    "CompiledSet": "rookery.matching",
    "RookeryError": "rookery.errors",
    "Schema": "rookery.model",
    "connect": "rookery.live.brokers.client",
    "covers": "rookery.model",
    "join": "rookery.live.client",
    "matcher": "rookery.matching",
    "merge": "rookery.model",
    "parse": "rookery.model",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'rookery' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
