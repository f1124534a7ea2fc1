"""From keys to a summary, and from any container back to a filter.

summarize(keys)            a filter of the structure you name; the ribbon if you name none
from_bytes(data)           whatever structure the container holds
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from rookery.errors import FilterError
from rookery.filters.blocked import BLOCKED, BlockedBloomFilter
from rookery.filters.bloom import BloomFilter, CountingBloomFilter
from rookery.filters.bloom.filter import COUNTERS
from rookery.filters.container import BLOOM, CUCKOO, GOLOMB, OBSERVER, RIBBON, TREE
from rookery.filters.cuckoo import CuckooFilter
from rookery.filters.golomb import GolombSet
from rookery.filters.hashing import DomainKey, Keys
from rookery.filters.observer import ObserverFilter
from rookery.filters.ribbon import RibbonFilter
from rookery.filters.tree import BloomTree

__all__ = ["STRUCTURES", "AnyFilter", "from_bytes", "summarize"]

AnyFilter: TypeAlias = (
    BloomFilter
    | CountingBloomFilter
    | BlockedBloomFilter
    | BloomTree
    | CuckooFilter
    | RibbonFilter
    | GolombSet
    | ObserverFilter
)

#: The structures by name, each made by its `sized_for(capacity, rate, …)`.
STRUCTURES: dict[str, Callable[..., Any]] = {
    "ribbon": RibbonFilter.sized_for,
    "golomb": GolombSet.sized_for,
    "cuckoo": CuckooFilter.sized_for,
    "bloom": BloomFilter.sized_for,
    "counting": CountingBloomFilter.sized_for,
    "blocked": BlockedBloomFilter.sized_for,
    "tree": BloomTree.sized_for,
}


def summarize(
    keys: Keys,
    structure: str = "ribbon",
    false_positive_rate: float = 1 / 128,
    *,
    seed: int = 0,
    domain_key: DomainKey | None = None,
    epoch: int = 0,
) -> AnyFilter:
    """Return a filter of all `keys`, sized for them."""
    make = STRUCTURES.get(structure)
    if make is None:
        raise FilterError(f"no structure is called {structure!r}; choose from {', '.join(STRUCTURES)}")
    sized = keys if hasattr(keys, "__len__") else list(keys)
    summary: AnyFilter = make(len(sized), false_positive_rate, seed=seed, domain_key=domain_key, epoch=epoch)
    summary.add_many(sized)
    if isinstance(summary, RibbonFilter):
        summary.rebuild()
    return summary


def from_bytes(data: bytes, *, domain_key: DomainKey | None = None) -> AnyFilter:
    """Decode any container; `FilterError` says what is wrong with bytes that are none."""
    if len(data) < 3:
        raise FilterError(f"truncated: {len(data)} bytes are no container")
    magic, flags = data[0], data[2]
    if magic == CUCKOO:
        return CuckooFilter.from_bytes(data, domain_key=domain_key)
    if magic == TREE:
        return BloomTree.from_bytes(data, domain_key=domain_key)
    if magic not in (RIBBON, GOLOMB, BLOOM):
        raise FilterError(f"bad header: no container has magic {magic:#04x}")
    if flags & OBSERVER:
        return ObserverFilter.from_bytes(data, domain_key=domain_key)
    if magic == RIBBON:
        return RibbonFilter.from_bytes(data, domain_key=domain_key)
    if magic == GOLOMB:
        return GolombSet.from_bytes(data, domain_key=domain_key)
    if flags & COUNTERS:
        return CountingBloomFilter.from_bytes(data, domain_key=domain_key)
    if flags & BLOCKED:
        return BlockedBloomFilter.from_bytes(data, domain_key=domain_key)
    return BloomFilter.from_bytes(data, domain_key=domain_key)
