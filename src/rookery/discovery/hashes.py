"""The honest simple competitor of every filter: the keys' 32-bit hashes, sorted.

Rule: a key is the first 32 bits of its hash; it matches when that value is in the list. Four octets a key, whatever the
rate, which is n / 2³²: at ten endpoints no filter saves anything worth having over this, at a thousand a ribbon of
eleven layers takes a third of it.

Container (magic 0xD4): the shared twelve bytes with 32 as the small parameter, then the count as a 32-bit number, then
the values, little-endian, strictly increasing.
"""

from __future__ import annotations

import struct
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rookery.arrays import distinct
from rookery.errors import FilterError
from rookery.filters.container import read_prefix, write_prefix
from rookery.filters.hashing import DomainKey, KeyHasher, Keys

__all__ = ["HASHES", "HashList"]

HASHES = 0xD4
_BITS = 32
_COUNT = struct.Struct("<I")
_HEADER_BYTES = 16


class HashList:
    """Sorted 32-bit prefixes of the hashes of some keys."""

    __slots__ = ("_values", "epoch", "hasher")

    def __init__(self, values: NDArray[np.uint32], *, hasher: KeyHasher, epoch: int) -> None:
        self._values = values
        self.hasher = hasher
        self.epoch = epoch

    @classmethod
    def of(cls, keys: Keys, *, epoch: int = 0, domain_key: DomainKey | None = None) -> Self:
        """Hash the keys."""
        hasher = KeyHasher(domain_key=domain_key)
        values = distinct((hasher.many(keys) >> np.uint64(64 - _BITS)).astype(np.uint32))
        return cls(values, hasher=hasher, epoch=epoch)

    @classmethod
    def from_bytes(cls, data: bytes, *, domain_key: DomainKey | None = None) -> Self:
        """Decode a container of magic 0xD4."""
        prefix = read_prefix(data, magic=HASHES, size=_HEADER_BYTES, allowed=0, domain_key=domain_key)
        (count,) = _COUNT.unpack_from(data, _HEADER_BYTES - _COUNT.size)
        if prefix.parameter != _BITS or len(data) != _HEADER_BYTES + 4 * count:
            raise FilterError(f"bad header: {count} hashes of {prefix.parameter} bits in {len(data)} bytes")
        values = np.frombuffer(data, dtype="<u4", offset=_HEADER_BYTES).astype(np.uint32)
        if np.any(values[1:] <= values[:-1]):
            raise FilterError("the hashes are not sorted, or one is there twice")
        return cls(values, hasher=prefix.hasher, epoch=prefix.epoch)

    def to_bytes(self) -> bytes:
        """Encode."""
        prefix = write_prefix(magic=HASHES, flags=0, parameter=_BITS, epoch=self.epoch, hasher=self.hasher)
        return prefix + _COUNT.pack(self._values.size) + self._values.astype("<u4").tobytes()

    def __len__(self) -> int:
        return int(self._values.size)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and bool(self.contains_many([key])[0])

    def contains_many(self, keys: Keys) -> NDArray[np.bool_]:
        """Ask for a batch; one boolean per key, in order."""
        asked = (self.hasher.many(keys) >> np.uint64(64 - _BITS)).astype(np.uint32)
        if not self._values.size:
            return np.zeros(asked.size, dtype=np.bool_)
        places = np.minimum(self._values.searchsorted(asked), self._values.size - 1)
        return np.asarray(self._values[places] == asked, dtype=np.bool_)

    @property
    def expected_false_positive_rate(self) -> float:
        """n / 2³²."""
        return float(self._values.size / 2.0**_BITS)
