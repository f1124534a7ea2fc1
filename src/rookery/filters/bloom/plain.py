"""The Bloom filter in plain NumPy and Python: positions as in the vectors, bits as an array of booleans."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["bit_positions", "contains_hashes", "distinct_positions", "set_hashes"]


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
