"""The counting Bloom filter: four-bit counters that make removal possible (seed 000, section 1.2.2; spec 1.4).

Rule 1: a key counts once on each of its *distinct* positions, on insert and on removal alike.
Rule 2: a counter that reaches 15 is stuck: it is never counted down, because nobody knows how many keys it stands for.
`CounterRow` keeps to that; `CountingBloomFilter`, which holds its keys, counts all rows anew when a removal finds
stuck counters.
Rule 3: only the owner removes, and only what it added; so no counter under a present key ever reaches zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rookery.errors import FilterError, UnknownKeyError
from rookery.filters.bloom.exact import exact_rate
from rookery.filters.bloom.filter import COUNTERS, HEADER_BYTES, BloomFilter, check_geometry, unpack_geometry
from rookery.filters.bloom.plain import bit_positions, distinct_positions
from rookery.filters.container import BLOOM, FILL_CAP, check_fill, read_prefix, write_prefix
from rookery.filters.hashing import DomainKey, KeyHasher, Keys
from rookery.filters.protocol import require_owner

__all__ = ["LIMIT", "CounterRow", "CountingBloomFilter"]

#: The largest four-bit count; a counter that is here stays here.
LIMIT = 15


class CounterRow:
    """m four-bit counters with sticky saturation; knows positions, not keys."""

    __slots__ = ("_positions", "counters", "hash_count")

    def __init__(self, *, bit_count: int, hash_count: int, positions: Callable[[int], list[int]] | None = None) -> None:
        """Make a row of zeros; `positions` gives the distinct positions of a hash, by double hashing unless given."""
        self.counters: NDArray[np.uint8] = np.zeros(bit_count, dtype=np.uint8)
        self.hash_count = hash_count
        self._positions = positions

    def positions(self, value: int) -> list[int]:
        """Return the distinct positions of a hash."""
        if self._positions is not None:
            return self._positions(value)
        return distinct_positions(value, bit_count=self.counters.size, hash_count=self.hash_count)

    def add_hash(self, value: int) -> None:
        """Count one key in."""
        counters = self.counters
        for position in self.positions(value):
            if counters[position] < LIMIT:
                counters[position] += 1

    def remove_hash(self, value: int) -> None:
        """Count one key out; stuck counters stay. The caller knows that the key was counted in."""
        counters = self.counters
        for position in self.positions(value):
            if 0 < counters[position] < LIMIT:
                counters[position] -= 1

    def contains_hash(self, value: int) -> bool:
        """Return whether every counter of the hash is above zero."""
        counters = self.counters
        return all(counters[position] for position in self.positions(value))

    @property
    def stuck(self) -> int:
        """How many counters have saturated."""
        return int((self.counters == LIMIT).sum())

    @property
    def bits(self) -> NDArray[np.uint8]:
        """The bits that go on the wire, MSB first."""
        return np.packbits(self.counters != 0)


class CountingBloomFilter:
    """A Bloom filter whose owner can remove keys."""

    __slots__ = ("_counts", "_owned", "_row", "epoch", "hasher")

    def __init__(
        self, *, bit_count: int, hash_count: int, seed: int = 0, domain_key: DomainKey | None = None, epoch: int = 0
    ) -> None:
        check_geometry(bit_count, hash_count)
        self._row = CounterRow(bit_count=bit_count, hash_count=hash_count)
        self.hasher = KeyHasher(seed=seed, domain_key=domain_key)
        self.epoch = epoch
        self._counts: dict[int, int] = {}
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
        plain = BloomFilter.sized_for(capacity, false_positive_rate)
        return cls(
            bit_count=plain.bit_count, hash_count=plain.hash_count, seed=seed, domain_key=domain_key, epoch=epoch
        )

    @property
    def bit_count(self) -> int:
        """m, the number of counters."""
        return int(self._row.counters.size)

    @property
    def hash_count(self) -> int:
        """k."""
        return self._row.hash_count

    @property
    def counters(self) -> NDArray[np.uint8]:
        """The counters; a view that must not be written."""
        view = self._row.counters.view()
        view.flags.writeable = False
        return view

    def add(self, key: str) -> None:
        """Add one key; adding it again counts it again."""
        require_owner(self._owned)
        value = self.hasher(key)
        self._counts[value] = self._counts.get(value, 0) + 1
        self._row.add_hash(value)

    def add_many(self, keys: Keys) -> None:
        """Add an Arrow string array (or any strings)."""
        require_owner(self._owned)
        hashes = self.hasher.many(keys)
        for value in hashes.tolist():
            self._counts[value] = self._counts.get(value, 0) + 1
        self._count_in(hashes)

    def _count_in(self, hashes: NDArray[np.uint64]) -> None:
        """Count a batch in at once: one position of one key counts once, and sums beyond 15 stick at 15."""
        positions = np.sort(bit_positions(hashes, bit_count=self.bit_count, hash_count=self.hash_count), axis=1)
        repeated = np.zeros(positions.shape, dtype=np.bool_)
        repeated[:, 1:] = positions[:, 1:] == positions[:, :-1]
        added = np.bincount(positions[~repeated], minlength=self.bit_count)
        self._row.counters[:] = np.minimum(self._row.counters + added, LIMIT)

    def remove(self, key: str) -> None:
        """Remove one earlier `add` of `key`."""
        require_owner(self._owned)
        value = self.hasher(key)
        count = self._counts.get(value)
        if count is None:
            raise UnknownKeyError(f"{key!r} is not in this filter; only keys that were added can be removed")
        if count == 1:
            del self._counts[value]
        else:
            self._counts[value] = count - 1
        if self._row.stuck:
            self.rebuild()
        else:
            self._row.remove_hash(value)

    def rebuild(self) -> None:
        """Count everything anew from the keys held: frees stuck counters."""
        require_owner(self._owned)
        self._row.counters[:] = 0
        hashes = np.fromiter(self._counts, dtype=np.uint64, count=len(self._counts))
        counts = np.fromiter(self._counts.values(), dtype=np.int64, count=len(self._counts))
        self._count_in(np.repeat(hashes, np.minimum(counts, LIMIT)))

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._row.contains_hash(self.hasher(key))

    def contains_hash(self, value: int) -> bool:
        """Ask with a hash that `hasher` made."""
        return self._row.contains_hash(value)

    def contains_many(self, keys: Keys) -> NDArray[np.bool_]:
        """Ask for a batch; one boolean per key, in order."""
        return self._plain().contains_many(keys)

    def _plain(self) -> BloomFilter:
        plain = BloomFilter(
            bit_count=self.bit_count,
            hash_count=self.hash_count,
            seed=self.hasher.seed,
            domain_key=self.hasher.domain_key,
            epoch=self.epoch,
        )
        plain._bits[:] = self._row.bits
        return plain

    def to_bytes(self, *, counters: bool = False) -> bytes:
        """Encode the bits, as a plain Bloom filter; with `counters`, the counters, to hand over to another owner."""
        if not counters:
            return self._plain().to_bytes()
        check_fill(self._row.bits, self.bit_count)
        prefix = write_prefix(
            magic=BLOOM, flags=COUNTERS, parameter=self.hash_count, epoch=self.epoch, hasher=self.hasher
        )
        nibbles = np.zeros(self.bit_count + (self.bit_count & 1), dtype=np.uint8)
        nibbles[: self.bit_count] = self._row.counters
        return prefix + self.bit_count.to_bytes(4, "little") + (nibbles[::2] << 4 | nibbles[1::2]).tobytes()

    @classmethod
    def from_bytes(cls, data: bytes, *, domain_key: DomainKey | None = None) -> Self:
        """Decode a container of magic 0xD3 with counters."""
        prefix = read_prefix(data, magic=BLOOM, size=HEADER_BYTES, allowed=COUNTERS, domain_key=domain_key)
        if not prefix.flags & COUNTERS:
            raise FilterError("no counters in this container; decode it as a BloomFilter")
        bit_count, payload = unpack_geometry(data, hash_count=prefix.parameter, bits_each=4)
        packed = np.frombuffer(payload, dtype=np.uint8)
        nibbles = np.empty(2 * packed.size, dtype=np.uint8)
        nibbles[::2], nibbles[1::2] = packed >> 4, packed & 15
        if nibbles[bit_count:].any():
            raise FilterError("non-zero padding")
        decoded = cls.__new__(cls)
        decoded._row = CounterRow(bit_count=1, hash_count=prefix.parameter)
        decoded._row.counters = nibbles[:bit_count]
        if np.count_nonzero(decoded._row.counters) > FILL_CAP * bit_count:
            raise FilterError("over the fill cap")
        decoded.hasher, decoded.epoch, decoded._counts, decoded._owned = prefix.hasher, prefix.epoch, {}, False
        return decoded

    @property
    def size_in_bits(self) -> int:
        """m: the announcement carries bits; the counters (four bits each) stay with the owner."""
        return self.bit_count

    @property
    def expected_false_positive_rate(self) -> float:
        """The rate of the bits, counters above zero; see `rookery.filters.bloom.exact`."""
        return exact_rate((self._row.counters != 0)[None, :], hash_count=self.hash_count)
