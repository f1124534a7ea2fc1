"""The Bloom filter in plain NumPy: bits as an array of booleans."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rookery.filters.bloom.plain import bit_positions

__all__ = ["contains_hashes", "set_hashes"]


def set_hashes(hashes: NDArray[np.uint64], bits: NDArray[np.uint8], *, bit_count: int, hash_count: int) -> None:
    """Set the bits of every hash in the MSB-first bytes `bits`."""
    unpacked = np.unpackbits(bits)
    unpacked[bit_positions(hashes, bit_count=bit_count, hash_count=hash_count).ravel()] = 1
    bits[:] = np.packbits(unpacked)


def contains_hashes(
    hashes: NDArray[np.uint64], bits: NDArray[np.uint8], *, bit_count: int, hash_count: int
) -> NDArray[np.bool_]:
    """Return for each hash whether all its bits are set."""
    positions = bit_positions(hashes, bit_count=bit_count, hash_count=hash_count)
    return np.asarray(np.unpackbits(bits)[positions].all(axis=1), dtype=np.bool_)
