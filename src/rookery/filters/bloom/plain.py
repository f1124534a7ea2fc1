"""The positions of a hash in a Bloom filter, in plain NumPy and Python."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["bit_positions", "distinct_positions"]


def bit_positions(hashes: NDArray[np.uint64], *, bit_count: int, hash_count: int) -> NDArray[np.int64]:
    """Return one row of `hash_count` positions for each hash."""
    low = hashes & np.uint64(0xFFFFFFFF)
    step = (hashes >> np.uint64(32)) | np.uint64(1)
    index = np.arange(hash_count, dtype=np.uint64)
    mixed = (low[:, None] + index * step[:, None]) & np.uint64(0xFFFFFFFF)
    return (mixed * np.uint64(bit_count) >> np.uint64(32)).astype(np.int64)


def distinct_positions(value: int, *, bit_count: int, hash_count: int) -> list[int]:
    """Return the distinct positions of one hash, in order of first use."""
    low, step = value & 0xFFFFFFFF, value >> 32 | 1
    return list(dict.fromkeys((low + index * step & 0xFFFFFFFF) * bit_count >> 32 for index in range(hash_count)))
