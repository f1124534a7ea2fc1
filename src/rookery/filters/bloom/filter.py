"""The plain Bloom filter: the baseline, and the form that `FilterBank` slices across participants.

Rule: `key in filter` is true when all k bits of the key are set; bits are only ever set. Sizes come from equation 1.
The false-positive rate given the contents is (ones / m)^k for independent probes, and a little more for double hashing.
"""

from __future__ import annotations

import struct
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rookery.errors import FilterError
from rookery.filters import equations
from rookery.filters.bloom import kernels
from rookery.filters.bloom.exact import exact_rate
from rookery.filters.bloom.plain import distinct_positions
from rookery.filters.container import BLOOM, check_fill, read_prefix, write_prefix
from rookery.filters.hashing import DomainKey, KeyHasher, Keys, string_buffers
from rookery.filters.protocol import require_owner

__all__ = ["COUNTERS", "HEADER_BYTES", "MAXIMAL_HASH_COUNT", "BloomFilter", "check_geometry", "unpack_geometry"]

COUNTERS = 0x04
HEADER_BYTES = 16
MAXIMAL_HASH_COUNT = 64
_GEOMETRY = struct.Struct("<I")


class BloomFilter:
    """A Bloom filter of `bit_count` bits and `hash_count` hash functions."""

    __slots__ = ("_bits", "_owned", "bit_count", "epoch", "hash_count", "hasher")

    def __init__(
        self, *, bit_count: int, hash_count: int, seed: int = 0, domain_key: DomainKey | None = None, epoch: int = 0
    ) -> None:
        check_geometry(bit_count, hash_count)
        self.bit_count = bit_count
        self.hash_count = hash_count
        self.hasher = KeyHasher(seed=seed, domain_key=domain_key)
        self.epoch = epoch
        self._bits: NDArray[np.uint8] = np.zeros((bit_count + 7) // 8, dtype=np.uint8)
        self._owned = True

    @classmethod
    def sized_for(
        cls,
        capacity: int,
        false_positive_rate: float = 0.01,
        *,
        seed: int = 0,
        domain_key: DomainKey | None = None,
        epoch: int = 0,
    ) -> Self:
        """Make the smallest filter that holds `capacity` keys at `false_positive_rate`."""
        if capacity < 0 or not 0 < false_positive_rate < 1:
            raise FilterError("capacity is at least 0 and the false-positive rate lies between 0 and 1")
        keys = max(1, capacity)
        bit_count = equations.optimal_bit_count(n=keys, rate=false_positive_rate)
        hash_count = max(1, round(equations.optimal_hash_count(n=keys, m=bit_count)))
        return cls(bit_count=bit_count, hash_count=hash_count, seed=seed, domain_key=domain_key, epoch=epoch)

    @property
    def bits(self) -> NDArray[np.uint8]:
        """The bits, MSB first; a view that must not be written."""
        view = self._bits.view()
        view.flags.writeable = False
        return view

    def add(self, key: str) -> None:
        """Add one key."""
        require_owner(self._owned)
        for position in distinct_positions(self.hasher(key), bit_count=self.bit_count, hash_count=self.hash_count):
            self._bits[position >> 3] |= 0x80 >> (position & 7)

    def add_many(self, keys: Keys) -> None:
        """Add an Arrow string array (or any strings)."""
        require_owner(self._owned)
        hasher = self.hasher
        for offsets, data in string_buffers(keys):
            kernels.add_strings(offsets, data, hasher.secret, hasher.salt, self._bits, self.bit_count, self.hash_count)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.contains_hash(self.hasher(key))

    def contains_hash(self, value: int) -> bool:
        """Ask with a hash that `hasher` made."""
        low, step, bits, size = value & 0xFFFFFFFF, value >> 32 | 1, self._bits, self.bit_count
        for index in range(self.hash_count):
            position = (low + index * step & 0xFFFFFFFF) * size >> 32
            if not bits[position >> 3] & 0x80 >> (position & 7):
                return False
        return True

    def contains_many(self, keys: Keys) -> NDArray[np.bool_]:
        """Ask for a batch; one boolean per key, in order."""
        hasher, parts = self.hasher, []
        for offsets, data in string_buffers(keys):
            found = np.empty(offsets.size - 1, dtype=np.bool_)
            kernels.contains_strings(
                offsets, data, hasher.secret, hasher.salt, self._bits, self.bit_count, self.hash_count, found
            )
            parts.append(found)
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.bool_)

    def __or__(self, other: BloomFilter) -> BloomFilter:
        """Return the filter of the union (the true half of Theorem 1)."""
        if (self.bit_count, self.hash_count, self.hasher) != (other.bit_count, other.hash_count, other.hasher):
            raise FilterError("only filters of the same size, hash count, seed and domain key can be united")
        union = BloomFilter(
            bit_count=self.bit_count,
            hash_count=self.hash_count,
            seed=self.hasher.seed,
            domain_key=self.hasher.domain_key,
            epoch=max(self.epoch, other.epoch),
        )
        union._bits |= self._bits | other._bits
        return union

    def to_bytes(self) -> bytes:
        """Encode; a filter over its fill cap is refused here, because every receiver would refuse it."""
        check_fill(self._bits, self.bit_count)
        prefix = write_prefix(magic=BLOOM, flags=0, parameter=self.hash_count, epoch=self.epoch, hasher=self.hasher)
        return prefix + _GEOMETRY.pack(self.bit_count) + self._bits.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes, *, domain_key: DomainKey | None = None) -> Self:
        """Decode a container of magic 0xD3 without counters."""
        prefix = read_prefix(data, magic=BLOOM, size=HEADER_BYTES, allowed=0, domain_key=domain_key)
        bit_count, payload = unpack_geometry(data, hash_count=prefix.parameter, bits_each=1)
        bits = np.frombuffer(payload, dtype=np.uint8).copy()
        if bit_count & 7 and bits[-1] & 0xFF >> (bit_count & 7):
            raise FilterError("non-zero padding")
        check_fill(bits, bit_count)
        decoded = cls.__new__(cls)
        decoded.bit_count, decoded.hash_count, decoded.hasher = bit_count, prefix.parameter, prefix.hasher
        decoded.epoch, decoded._bits, decoded._owned = prefix.epoch, bits, False
        return decoded

    @property
    def size_in_bits(self) -> int:
        """m."""
        return self.bit_count

    @property
    def expected_false_positive_rate(self) -> float:
        """Exact for double hashing in small filters, (ones / m)^k in large ones; see `rookery.filters.bloom.exact`."""
        row = np.unpackbits(self._bits, count=self.bit_count).astype(np.bool_)
        return exact_rate(row[None, :], hash_count=self.hash_count)


def check_geometry(bit_count: int, hash_count: int) -> None:
    """Refuse a size that the container cannot name."""
    if not 1 <= bit_count < 1 << 32 or not 1 <= hash_count <= MAXIMAL_HASH_COUNT:
        raise FilterError(f"bit_count {bit_count} (1 … 2³² − 1) or hash_count {hash_count} (1 … 64) is out of range")


def unpack_geometry(data: bytes, *, hash_count: int, bits_each: int) -> tuple[int, bytes]:
    """Return m and the payload, whose length must be exactly that of m items."""
    (bit_count,) = _GEOMETRY.unpack_from(data, HEADER_BYTES - _GEOMETRY.size)
    check_geometry(bit_count, hash_count)
    payload = data[HEADER_BYTES:]
    expected = (bit_count * bits_each + 7) // 8
    if len(payload) != expected:
        fault = "truncated" if len(payload) < expected else "trailing bytes"
        raise FilterError(f"{fault}: {len(payload)} bytes of payload, {expected} expected")
    return bit_count, payload
