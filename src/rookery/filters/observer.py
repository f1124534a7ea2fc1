"""The observer: a participant that wants to hear of everything (a graph tool, a recorder).

Rule: it says so with a flag and nothing else. Never with a filter of all ones: such a filter is rejected by its fill
cap.

Container: a ribbon header (magic 0xD1) with the observer flag, all parameters 0, no payload; decoders accept the same
with magic 0xD2 and 0xD3.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from rookery.errors import FilterError
from rookery.filters.container import BLOOM, GOLOMB, OBSERVER, RIBBON, read_prefix, write_prefix
from rookery.filters.hashing import DomainKey, KeyHasher, Keys

__all__ = ["ObserverFilter"]

_SIZES = {RIBBON: 20, GOLOMB: 20, BLOOM: 16}


class ObserverFilter:
    """Matches everything."""

    __slots__ = ("epoch", "hasher")

    def __init__(self, *, seed: int = 0, domain_key: DomainKey | None = None, epoch: int = 0) -> None:
        self.hasher = KeyHasher(seed=seed, domain_key=domain_key)
        self.epoch = epoch

    def add(self, key: str) -> None:
        """An observer already has every key."""

    def add_many(self, keys: Keys) -> None:
        """An observer already has every key."""

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str)

    def contains_hash(self, value: int) -> bool:
        """Always true."""
        return True

    def contains_many(self, keys: Keys) -> NDArray[np.bool_]:
        """Return true for each key."""
        return np.ones(self.hasher.many(keys).size, dtype=np.bool_)

    def to_bytes(self) -> bytes:
        """Encode the flag."""
        prefix = write_prefix(magic=RIBBON, flags=OBSERVER, parameter=0, epoch=self.epoch, hasher=self.hasher)
        return prefix + bytes(_SIZES[RIBBON] - len(prefix))

    @classmethod
    def from_bytes(cls, data: bytes, *, domain_key: DomainKey | None = None) -> Self:
        """Decode a header with the observer flag."""
        magic = data[0] if data else 0
        size = _SIZES.get(magic)
        if size is None or len(data) != size:
            raise FilterError("an observer is a bare header of magic 0xd1, 0xd2 or 0xd3")
        prefix = read_prefix(data, magic=magic, size=size, allowed=OBSERVER, domain_key=domain_key)
        if not prefix.flags & OBSERVER or prefix.parameter or any(data[12:]):
            raise FilterError("bad header: an observer has its flag and no parameters")
        decoded = cls.__new__(cls)
        decoded.hasher, decoded.epoch = prefix.hasher, prefix.epoch
        return decoded

    @property
    def size_in_bits(self) -> int:
        """No payload."""
        return 0

    @property
    def expected_false_positive_rate(self) -> float:
        """Everything matches."""
        return 1.0
