"""The split-block Bloom filter in plain NumPy: one array expression."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rookery.filters.blocked.plain import block_of, mask_of

__all__ = ["contains_hashes"]


def contains_hashes(hashes: NDArray[np.uint64], words: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Return for each hash whether its eight bits are set."""
    mask = mask_of(hashes)
    blocks = words.reshape(-1, 8)[block_of(hashes, words.size // 8)]
    return np.asarray(((blocks & mask) == mask).all(axis=1), dtype=np.bool_)
