"""The split-block Bloom filter in plain NumPy: the same blocks and bits, one array expression each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rookery.filters.blocked.kernels import MULTIPLIERS

__all__ = ["block_of", "mask_of", "set_hashes"]


def block_of(hashes: NDArray[np.uint64], block_count: int) -> NDArray[np.int64]:
    """Return the block of each hash."""
    return ((hashes >> np.uint64(32)) * np.uint64(block_count) >> np.uint64(32)).astype(np.int64)


def mask_of(hashes: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the eight words, one bit each, of each hash."""
    low = (hashes & np.uint64(0xFFFFFFFF))[:, None]
    places = (low * np.array(MULTIPLIERS, dtype=np.uint64) & np.uint64(0xFFFFFFFF)) >> np.uint64(27)
    return (np.uint64(1) << places).astype(np.uint32)


def set_hashes(hashes: NDArray[np.uint64], words: NDArray[np.uint32]) -> None:
    """Set the bits of every hash."""
    np.bitwise_or.at(words.reshape(-1, 8), block_of(hashes, words.size // 8), mask_of(hashes))
