"""The cuckoo table by single entries and by array expressions: where they go, their order, and the rate of a table."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rookery.arrays import distinct
from rookery.filters.hashing.plain import fmix64

__all__ = ["boustrophedon", "bucket_offset", "exact_rate", "tag_of"]


def tag_of(value: int, width: int) -> int:
    """Return flag bit and fingerprint: the upper `width` − 1 bits of the hash."""
    return 1 << (width - 1) | value >> (65 - width)


def bucket_offset(tag: int, width: int, bucket_count: int) -> int:
    """Return what is XORed to a bucket to reach the other: never 0, the same from both sides."""
    return max(1, fmix64((tag & (1 << (width - 1)) - 1) + 1) & (bucket_count - 1))


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
