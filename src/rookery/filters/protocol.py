"""What every filter offers, and the one rule they share.

Rule: a filter never says no wrongly. If a key was added and not removed, `key in filter` is true, here and at everyone
who decodes `to_bytes()`, through growth, migration and rebuilding. It may say yes wrongly, at a rate it can compute
from its own contents: `expected_false_positive_rate` is the chance for a random absent key, not a design figure.

A filter made here is owned: it takes `add`, `add_many` and, where the structure allows, `remove`. A filter made by
`from_bytes` belongs to a peer and is read only; changing it raises `FilterError`.
"""

from __future__ import annotations

from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rookery.errors import FilterError
from rookery.filters.hashing import DomainKey, KeyHasher, Keys

__all__ = ["DeletableFilter", "Filter", "require_owner"]


@runtime_checkable
class Filter(Protocol):
    """A set summary that never says no wrongly."""

    hasher: KeyHasher
    epoch: int

    def add(self, key: str) -> None:
        """Add one key."""
        ...

    def add_many(self, keys: Keys) -> None:
        """Add an Arrow string array (or any strings)."""
        ...

    def __contains__(self, key: object) -> bool: ...

    def contains_hash(self, value: int) -> bool:
        """Ask with a hash that `hasher` made; the caller hashes a topic once and asks many filters."""
        ...

    def contains_many(self, keys: Keys) -> NDArray[np.bool_]:
        """Ask for a batch; one boolean per key, in order."""
        ...

    def to_bytes(self) -> bytes:
        """Encode as one container (spec 2.8)."""
        ...

    @classmethod
    def from_bytes(cls, data: bytes, *, domain_key: DomainKey | None = None) -> Self:
        """Decode one container; `FilterError` says what is wrong with bytes that are none."""
        ...

    @property
    def size_in_bits(self) -> int:
        """The payload of `to_bytes()` in bits, without header and padding."""
        ...

    @property
    def expected_false_positive_rate(self) -> float:
        """The chance that a random absent key matches, given the contents."""
        ...


@runtime_checkable
class DeletableFilter(Filter, Protocol):
    """A filter whose owner may remove keys."""

    def remove(self, key: str) -> None:
        """Remove one earlier `add` of `key`; `UnknownKeyError` if there was none."""
        ...


def require_owner(owned: bool) -> None:
    """Refuse to change a filter that was received."""
    if not owned:
        raise FilterError("this filter was received and is read only; build one of your own and add to that")
