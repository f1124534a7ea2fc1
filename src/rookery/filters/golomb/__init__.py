"""The layered Golomb set: sorted hash prefixes, the summary to choose under high churn (spec 3.3).

Rule: a key is the first q + r bits of its hash, q = ⌈log2 n⌉; it matches when that value is in the set. The set is a
multiset, so a receiver may drop one copy of a value when it learns that a key is gone (`forget`). Two keys that share
a value are two copies. Size: r + 1.44 … 1.5 bits per key at a rate of 2^−r or less.

Container (magic 0xD2): the shared twelve bytes with r as the small parameter, then `<I count, B r0, B q, H 0>`, then
the base layer and r − r0 layers, MSB first, one after the other, zero padding.
"""

from __future__ import annotations

import math
import struct
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rookery.arrays import distinct
from rookery.errors import FilterError, UnknownKeyError
from rookery.filters.container import FILL_CAP, GOLOMB, read_prefix, write_prefix
from rookery.filters.golomb import kernels
from rookery.filters.golomb.codec import decode_values, encode_values
from rookery.filters.hashing import DomainKey, KeyHasher, Keys, string_buffers
from rookery.filters.protocol import require_owner

__all__ = ["BASE_BITS", "HEADER_BYTES", "GolombSet"]

#: Remainder bits in the base layer: below three the unary part outweighs what a layer would cost.
BASE_BITS = 3
HEADER_BYTES = 20
_PARAMETERS = struct.Struct("<IBBH")


class GolombSet:
    """A set of hash prefixes of ⌈log2 n⌉ + `remainder_bits` bits."""

    __slots__ = ("_counts", "_index", "_owned", "_quotient_bits", "_values", "epoch", "hasher", "remainder_bits")

    def __init__(
        self, *, remainder_bits: int = 7, seed: int = 0, domain_key: DomainKey | None = None, epoch: int = 0
    ) -> None:
        if not 1 <= remainder_bits <= 32:
            raise FilterError(f"remainder_bits is {remainder_bits}; it lies between 1 and 32")
        self.remainder_bits = remainder_bits
        self.hasher = KeyHasher(seed=seed, domain_key=domain_key)
        self.epoch = epoch
        self._counts: dict[int, int] = {}
        self._quotient_bits = 0
        self._values: NDArray[np.uint64] | None = None
        self._index: tuple[NDArray[np.int64], int] | None = None
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
        """Make a set with enough bits for `false_positive_rate`; the capacity is whatever is added."""
        if capacity < 0 or not 0 < false_positive_rate < 1:
            raise FilterError("capacity is at least 0 and the false-positive rate lies between 0 and 1")
        bits = min(32, max(1, math.ceil(-math.log2(false_positive_rate))))
        return cls(remainder_bits=bits, seed=seed, domain_key=domain_key, epoch=epoch)

    def __len__(self) -> int:
        return int(self.values.size)

    @property
    def values(self) -> NDArray[np.uint64]:
        """The sorted values, copies included."""
        if self._values is None:
            hashes = np.fromiter(self._counts, dtype=np.uint64, count=len(self._counts))
            self._quotient_bits = max(0, len(self._counts) - 1).bit_length()
            self._values = np.sort(hashes >> np.uint64(64 - self.value_bits))
        return self._values

    @property
    def value_bits(self) -> int:
        """q + r."""
        return self._quotient_bits + self.remainder_bits

    def _forget_values(self) -> None:
        self._values = self._index = None

    def add(self, key: str) -> None:
        """Add one key, or one more reference to it."""
        require_owner(self._owned)
        value = self.hasher(key)
        self._counts[value] = self._counts.get(value, 0) + 1
        self._forget_values()

    def add_many(self, keys: Keys) -> None:
        """Add an Arrow string array (or any strings)."""
        require_owner(self._owned)
        counts = self._counts
        for value in self.hasher.many(keys).tolist():
            counts[value] = counts.get(value, 0) + 1
        self._forget_values()

    def remove(self, key: str) -> None:
        """Drop one reference to a key."""
        require_owner(self._owned)
        value = self.hasher(key)
        count = self._counts.get(value, 0)
        if not count:
            raise UnknownKeyError(f"{key!r} is not in this set; only keys that were added can be removed")
        if count > 1:
            self._counts[value] = count - 1
        else:
            del self._counts[value]
            self._forget_values()

    def forget(self, key: str) -> None:
        """As a receiver: drop one copy of the key's value, because the owner said that the key is gone."""
        if self._owned:
            raise FilterError("the owner removes keys with remove()")
        wanted = self.hasher(key) >> (64 - self.value_bits)
        place = int(np.searchsorted(self.values, np.uint64(wanted)))
        if place == self.values.size or int(self.values[place]) != wanted:
            raise UnknownKeyError(f"{key!r} matches no value of this set")
        self._values, self._index = np.delete(self.values, place), None

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.contains_hash(self.hasher(key))

    def contains_hash(self, value: int) -> bool:
        """Ask with a hash that `hasher` made."""
        values = self.values
        wanted = value >> (64 - self.value_bits)
        place = int(values.searchsorted(np.uint64(wanted)))
        return place < values.size and int(values[place]) == wanted

    def contains_many(self, keys: Keys) -> NDArray[np.bool_]:
        """Ask for a batch; one boolean per key, in order."""
        values = self.values
        if self._index is None:
            bits = min(self.value_bits, max(1, int(values.size).bit_length()))
            buckets = (values >> np.uint64(self.value_bits - bits)).astype(np.int64)
            starts = np.searchsorted(buckets, np.arange((1 << bits) + 1))
            self._index = starts.astype(np.int64), bits
        starts, bits = self._index
        hasher, parts = self.hasher, []
        for offsets, data in string_buffers(keys):
            found = np.empty(offsets.size - 1, dtype=np.bool_)
            kernels.contains_strings(
                offsets, data, hasher.secret, hasher.salt, values, self.value_bits, starts, bits, found
            )
            parts.append(found)
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.bool_)

    def _encoded(self, remainder_bits: int | None) -> tuple[int, int, bytes]:
        kept = self.remainder_bits if remainder_bits is None else remainder_bits
        if not 1 <= kept <= self.remainder_bits:
            raise FilterError(f"this set has {self.remainder_bits} remainder bits; ask for 1 to that many")
        values = self.values >> np.uint64(self.remainder_bits - kept)
        rice = min(BASE_BITS, kept)
        bits, payload = encode_values(values, drop=kept - rice, rice=rice)
        return kept, bits, payload

    def to_bytes(self, *, remainder_bits: int | None = None) -> bytes:
        """Encode; with fewer `remainder_bits`, the same set told less exactly."""
        kept, _, payload = self._encoded(remainder_bits)
        prefix = write_prefix(magic=GOLOMB, flags=0, parameter=kept, epoch=self.epoch, hasher=self.hasher)
        return prefix + _PARAMETERS.pack(len(self), min(BASE_BITS, kept), self._quotient_bits, 0) + payload

    @classmethod
    def from_bytes(cls, data: bytes, *, domain_key: DomainKey | None = None) -> Self:
        """Decode a container of magic 0xD2."""
        prefix = read_prefix(data, magic=GOLOMB, size=HEADER_BYTES, allowed=0, domain_key=domain_key)
        count, rice, quotient_bits, reserved = _PARAMETERS.unpack_from(data, HEADER_BYTES - _PARAMETERS.size)
        kept = prefix.parameter
        if not 1 <= kept <= 32 or rice > kept or quotient_bits > 32 or reserved:
            raise FilterError(f"bad header: r {kept}, r0 {rice}, q {quotient_bits}")
        value_bits = quotient_bits + kept
        values, _ = decode_values(data[HEADER_BYTES:], count=count, value_bits=value_bits, drop=kept - rice, rice=rice)
        if count and 1 + int(np.count_nonzero(values[1:] != values[:-1])) > FILL_CAP * (1 << value_bits):
            raise FilterError("over the fill cap: the values leave too few gaps")
        decoded = cls.__new__(cls)
        decoded.remainder_bits, decoded._quotient_bits, decoded._values = kept, quotient_bits, values
        decoded.hasher, decoded.epoch, decoded._owned = prefix.hasher, prefix.epoch, False
        decoded._counts, decoded._index = {}, None
        return decoded

    @property
    def size_in_bits(self) -> int:
        """The bits of base layer and further layers."""
        return self._encoded(None)[1]

    @property
    def expected_false_positive_rate(self) -> float:
        """Distinct values / 2^(q + r)."""
        return float(distinct(self.values).size / (1 << self.value_bits))
