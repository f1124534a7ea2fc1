"""Set summaries that never say no wrongly: what a participant tells the others about its endpoints.

    from rookery.filters import RibbonFilter, endpoint_key, from_bytes

    mine = RibbonFilter(layers=7)
    mine.add(endpoint_key(kind="W", topic="rt/chatter", type_name="std_msgs/String"))
    theirs = from_bytes(mine.announce())
    endpoint_key(kind="W", topic="rt/chatter", type_name="std_msgs/String") in theirs      # True

Which one to choose is told in `docs/filters.md`. Names are loaded when first used: importing this package compiles
nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rookery.filters.bank import FilterBank
    from rookery.filters.blocked import BlockedBloomFilter
    from rookery.filters.bloom import BloomFilter, CountingBloomFilter
    from rookery.filters.container import is_newer
    from rookery.filters.cuckoo import CuckooFilter
    from rookery.filters.golomb import GolombSet
    from rookery.filters.hashing import DomainKey, KeyHasher, endpoint_key
    from rookery.filters.observer import ObserverFilter
    from rookery.filters.protocol import DeletableFilter, Filter
    from rookery.filters.ribbon import RibbonFilter
    from rookery.filters.summaries import STRUCTURES, AnyFilter, from_bytes, summarize
    from rookery.filters.tree import BloomTree, QueryResult, SubNode

__all__ = [
    "STRUCTURES",
    "AnyFilter",
    "BlockedBloomFilter",
    "BloomFilter",
    "BloomTree",
    "CountingBloomFilter",
    "CuckooFilter",
    "DeletableFilter",
    "DomainKey",
    "Filter",
    "FilterBank",
    "GolombSet",
    "KeyHasher",
    "ObserverFilter",
    "QueryResult",
    "RibbonFilter",
    "SubNode",
    "endpoint_key",
    "from_bytes",
    "is_newer",
    "summarize",
]

_MODULE_OF = {
    "FilterBank": "bank",
    "BlockedBloomFilter": "blocked",
    "BloomFilter": "bloom",
    "CountingBloomFilter": "bloom",
    "CuckooFilter": "cuckoo",
    "GolombSet": "golomb",
    "DomainKey": "hashing",
    "KeyHasher": "hashing",
    "endpoint_key": "hashing",
    "ObserverFilter": "observer",
    "DeletableFilter": "protocol",
    "Filter": "protocol",
    "is_newer": "container",
    "RibbonFilter": "ribbon",
    "AnyFilter": "summaries",
    "STRUCTURES": "summaries",
    "from_bytes": "summaries",
    "summarize": "summaries",
    "BloomTree": "tree",
    "QueryResult": "tree",
    "SubNode": "tree",
}


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
