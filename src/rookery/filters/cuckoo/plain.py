"""The cuckoo table and its run-length code in plain Python: lists, strings of 0 and 1, and array expressions.

Rule: this is how seed 001 says it: a non-empty entry is its slot bits and one bit for the number of copies; a run of
empty entries is a zero and three bits. The kernels must agree with it bit for bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rookery.arrays import distinct
from rookery.errors import FilterError
from rookery.filters.cuckoo.kernels import MAXIMAL_KICKS
from rookery.filters.hashing.plain import fmix64

__all__ = ["PlainTable", "boustrophedon", "bucket_offset", "decode_runs", "encode_runs", "exact_rate", "tag_of"]

_ALL = (1 << 64) - 1


def tag_of(value: int, width: int) -> int:
    """Return flag bit and fingerprint: the upper `width` − 1 bits of the hash."""
    return 1 << (width - 1) | value >> (65 - width)


def bucket_offset(tag: int, width: int, bucket_count: int) -> int:
    """Return what is XORed to a bucket to reach the other: never 0, the same from both sides."""
    return max(1, fmix64((tag & (1 << (width - 1)) - 1) + 1) & (bucket_count - 1))


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


def encode_runs(slots: list[int], width: int) -> str:
    """Return the run-length code as a string of 0 and 1."""
    parts, slot = [], 0
    while slot < len(slots):
        run = 1
        longest = 2 if slots[slot] else 8
        while run < longest and slot + run < len(slots) and slots[slot + run] == slots[slot]:
            run += 1
        parts.append(f"{slots[slot]:0{width}b}{run - 1}" if slots[slot] else f"0{run - 1:03b}")
        slot += run
    return "".join(parts)


def decode_runs(code: str, width: int, slot_count: int) -> list[int]:
    """Return the slots behind a string of 0 and 1."""
    slots: list[int] = []
    while len(slots) < slot_count:
        length = width + 1 if code[:1] == "1" else 4
        if len(code) < length:
            raise FilterError("truncated")
        if code[0] == "1":
            slots += [int(code[:width], 2)] * (1 + int(code[width]))
        else:
            slots += [0] * (1 + int(code[1:4], 2))
        if len(slots) > slot_count:
            raise FilterError("run passes end of table")
        code = code[length:]
    if code:
        raise FilterError("trailing bits")
    return slots


def boustrophedon(slots: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Return the slots with empties first in even buckets and last in odd ones: longer runs, the same set."""
    pairs = slots.reshape(-1, 2).copy()
    even, odd = pairs[::2], pairs[1::2]
    even.sort(axis=1)
    odd.sort(axis=1)
    odd[:] = odd[:, ::-1].copy()
    return pairs.reshape(-1)


def exact_rate(slots: NDArray[np.uint16], width: int) -> float:
    """Return the share of (fingerprint, bucket) pairs that match: the rate given the table (spec 2.6)."""
    bucket_count = slots.size // 2
    occupied = np.flatnonzero(slots)
    if not occupied.size:
        return 0.0
    fingerprints = slots[occupied].astype(np.int64) & (1 << (width - 1)) - 1
    known, places = np.unique(fingerprints, return_inverse=True)
    offsets = np.array([bucket_offset(int(tag), width, bucket_count) for tag in known], dtype=np.int64)[places]
    buckets = occupied >> 1
    pairs = np.concatenate([buckets, buckets ^ offsets]) + bucket_count * np.concatenate([fingerprints, fingerprints])
    return float(distinct(pairs).size / (bucket_count << (width - 1)))
