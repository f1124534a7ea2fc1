"""The cuckoo table in plain Python: two lists."""

from __future__ import annotations

from rookery.filters.cuckoo.kernels import MAXIMAL_KICKS
from rookery.filters.cuckoo.plain import bucket_offset, tag_of

__all__ = ["PlainTable", "mean_rate"]

_ALL = (1 << 64) - 1


class PlainTable:
    """A cuckoo table as two lists."""

    def __init__(self, *, bucket_count: int, width: int, state: int) -> None:
        self.slots = [0] * (2 * bucket_count)
        self.shadow = [0] * (2 * bucket_count)
        self.bucket_count = bucket_count
        self.width = width
        self.state = state

    def _place(self, bucket: int, tag: int, value: int) -> bool:
        for slot in (2 * bucket, 2 * bucket + 1):
            if not self.slots[slot]:
                self.slots[slot], self.shadow[slot] = tag, value
                return True
        return False

    def insert(self, value: int) -> bool:
        """Insert a hash; on failure nothing has changed."""
        before = self.slots[:], self.shadow[:]
        state, tag = self.state, tag_of(value, self.width)
        bucket = value & (self.bucket_count - 1)
        if self._place(bucket, tag, value):
            return True
        bucket ^= bucket_offset(tag, self.width, self.bucket_count)
        if self._place(bucket, tag, value):
            return True
        for _ in range(MAXIMAL_KICKS):
            state ^= state << 13 & _ALL
            state ^= state >> 7
            state ^= state << 17 & _ALL
            slot = 2 * bucket + (state & 1)
            tag, self.slots[slot] = self.slots[slot], tag
            value, self.shadow[slot] = self.shadow[slot], value
            bucket ^= bucket_offset(tag, self.width, self.bucket_count)
            if self._place(bucket, tag, value):
                self.state = state
                return True
        self.slots, self.shadow = before
        return False


def mean_rate(*, load: float, fingerprint_bits: int = 7, slots: int = 4) -> float:
    """Return 1 − (1 − 2^{−f})^{slots·load}: the mean over tables, with f bits of fingerprint beside the flag."""
    return float(1 - (1 - 2.0**-fingerprint_bits) ** (slots * load))
