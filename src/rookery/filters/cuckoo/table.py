"""One cuckoo table: b = 2 slots per bucket, fingerprints with a flag bit, and the owner's shadow hashes.

Rule 1 (seed 001; spec 2.1): bucket p1 = hash, p2 = p1 xor hash(fingerprint); the offset is never 0.
Rule 2 (spec 0.6): the owner keeps the 64-bit hash behind each slot. Seven bits of fingerprint cannot say where a key
goes in a table of twice the size, and "any equal fingerprint" is the wrong one to delete after doubling.
Rule 3: a failed insertion leaves table and generator as they were.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rookery.filters.cuckoo import kernels
from rookery.filters.cuckoo.plain import bucket_offset, exact_rate, tag_of

__all__ = ["GENERATOR_SEED", "MAXIMAL_LOG2_BUCKETS", "CuckooTable"]

#: Where xorshift64 begins, so that two owners with the same history send the same bytes.
GENERATOR_SEED = 88172645463325252
MAXIMAL_LOG2_BUCKETS = 24


class CuckooTable:
    """2^`log2_buckets` buckets of two slots of `width` bits."""

    __slots__ = ("_generator", "count", "log2_buckets", "shadow", "slots", "width")

    def __init__(self, *, log2_buckets: int, width: int) -> None:
        self.width = width
        self._generator: NDArray[np.uint64] = np.array([GENERATOR_SEED], dtype=np.uint64)
        self.reset(log2_buckets)

    def reset(self, log2_buckets: int) -> None:
        """Empty the table and give it another length: a spare table begins its next life."""
        self.log2_buckets = log2_buckets
        self.slots: NDArray[np.uint16] = np.zeros(2 << log2_buckets, dtype=np.uint16)
        self.shadow: NDArray[np.uint64] = np.zeros(2 << log2_buckets, dtype=np.uint64)
        self.count = 0

    @classmethod
    def received(cls, slots: NDArray[np.uint16], *, log2_buckets: int, width: int) -> CuckooTable:
        """Wrap decoded slots: nothing behind them, so nothing but questions can be asked."""
        table = cls.__new__(cls)
        table.width, table.log2_buckets, table.slots = width, log2_buckets, slots
        table._generator = table.shadow = np.empty(0, dtype=np.uint64)
        table.count = int(np.count_nonzero(slots))
        return table

    @property
    def bucket_count(self) -> int:
        """m."""
        return 1 << self.log2_buckets

    @property
    def generator_state(self) -> int:
        """The state of the xorshift64 that picks victims."""
        return int(self._generator[0])

    @property
    def is_saturated(self) -> bool:
        """Whether 80 % of the slots are taken: 5n ≥ 8m (spec 2.4)."""
        return 5 * self.count >= 8 * self.bucket_count

    def insert(self, value: int) -> bool:
        """Insert one hash; False if 500 kicks found no room, and then nothing has changed."""
        return self.insert_many(np.array([value], dtype=np.uint64)) == 1

    def insert_many(self, hashes: NDArray[np.uint64]) -> int:
        """Insert hashes in order; return how many went in before the first failure."""
        done = int(kernels.insert_hashes(self.slots, self.shadow, self._generator, hashes, self.width))
        self.count += done
        return done

    def delete(self, value: int) -> bool:
        """Empty the slot whose shadow hash is `value`; False if there is none."""
        slot = int(kernels.find_slot(self.slots, self.shadow, np.uint64(value), self.width))
        if slot < 0:
            return False
        self.clear_slot(slot)
        return True

    def clear_slot(self, slot: int) -> None:
        """Empty one occupied slot."""
        self.slots[slot] = 0
        self.shadow[slot] = 0
        self.count -= 1

    def next_occupied(self, start: int) -> int:
        """Return the first occupied slot at or after `start`, or the number of slots."""
        occupied = np.flatnonzero(self.slots[start:])
        return start + int(occupied[0]) if occupied.size else int(self.slots.size)

    def hashes(self) -> NDArray[np.uint64]:
        """Return the shadow hashes of all occupied slots."""
        return np.asarray(self.shadow[self.slots != 0], dtype=np.uint64)

    def contains_hash(self, value: int) -> bool:
        """Return whether the fingerprint is in one of its two buckets."""
        tag = tag_of(value, self.width)
        bucket = value & (self.bucket_count - 1)
        slots = self.slots
        for candidate in (bucket, bucket ^ bucket_offset(tag, self.width, self.bucket_count)):
            if slots[2 * candidate] == tag or slots[2 * candidate + 1] == tag:
                return True
        return False

    @property
    def expected_false_positive_rate(self) -> float:
        """The share of (fingerprint, bucket) pairs that match."""
        return exact_rate(self.slots, self.width)
