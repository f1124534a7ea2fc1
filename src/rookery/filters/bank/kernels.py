"""Kernels of the bank: one topic against many participants.

Bloom filters of one size lie bit-sliced: row p holds bit p of every participant, 64 of them in a word, so k word-ANDs
answer for 64 participants (Flat-Bloofi). Ribbons lie one after the other in one array. The plain twin is to ask each
filter by itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rookery.filters.ribbon.kernels import contains_hash
from rookery.kernels import kernel

__all__ = ["match_ribbons", "match_slices"]

_LOW = np.uint64(0xFFFFFFFF)
_0, _1, _32 = (np.uint64(n) for n in (0, 1, 32))


@kernel
def match_slices(
    value: np.uint64, slices: NDArray[np.uint64], bit_count: int, hash_count: int, matched: NDArray[np.uint64]
) -> None:
    """AND the k rows of a hash into `matched`, one bit per participant."""
    width, size = np.uint64(matched.size), np.uint64(bit_count)
    mixed, step = value & _LOW, (value >> _32) | _1
    matched[:] = ~_0
    for _ in range(hash_count):
        start = ((mixed & _LOW) * size >> _32) * width
        for word in range(width):
            matched[word] &= slices[start + word]
        mixed += step


@kernel
def match_ribbons(
    value: np.uint64,
    salts: NDArray[np.uint64],
    columns: NDArray[np.uint64],
    layers: NDArray[np.int64],
    offsets: NDArray[np.int64],
    words: NDArray[np.uint64],
    found: NDArray[np.bool_],
) -> None:
    """Ask every ribbon for one hash."""
    for index in range(salts.size):
        found[index] = columns[index] > _0 and contains_hash(
            value, salts[index], columns[index], words, offsets[index], layers[index]
        )
