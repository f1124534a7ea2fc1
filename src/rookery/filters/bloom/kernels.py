"""Bloom filter kernels: hash a block of keys, prefetch their first bytes, then set or test k bits each.

Positions follow the vectors: a = low half of h, b = high half | 1, position i = ((a + i·b) mod 2³²)·m >> 32. Bits are
MSB first inside a byte, which is also the wire form. Indices are unsigned, so that no check for negative ones is
compiled in. The plain twin is `tests.twins.bloom`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rookery.filters.hashing.kernels import BLOCK, hash_block, prefetch
from rookery.kernels import kernel

__all__ = ["add_hashes", "add_strings", "contains_hashes", "contains_strings", "matching_area"]

_LOW = np.uint64(0xFFFFFFFF)
_0, _1, _2, _3, _7, _32 = (np.uint64(n) for n in (0, 1, 2, 3, 7, 32))
_TOP = np.uint8(0x80)


@kernel
def _is_set(bits: NDArray[np.uint8], mixed: np.uint64, size: np.uint64) -> np.uint64:
    position = (mixed & _LOW) * size >> _32
    return np.uint64(bits[position >> _3]) >> (_7 - (position & _7)) & _1


@kernel
def add_hashes(
    hashes: NDArray[np.uint64], count: int, bits: NDArray[np.uint8], bit_count: int, hash_count: int
) -> None:
    """Set the bits of the first `count` hashes."""
    size = np.uint64(bit_count)
    for key in range(np.uint64(count)):
        prefetch(bits, int(((hashes[key] & _LOW) * size >> _32) >> _3))
    for key in range(np.uint64(count)):
        value = hashes[key]
        mixed, step = value & _LOW, (value >> _32) | _1
        for _ in range(hash_count):
            position = (mixed & _LOW) * size >> _32
            bits[position >> _3] |= _TOP >> np.uint8(position & _7)
            mixed += step


@kernel
def contains_hashes(
    hashes: NDArray[np.uint64],
    count: int,
    bits: NDArray[np.uint8],
    bit_count: int,
    hash_count: int,
    found: NDArray[np.bool_],
    start: int,
    living: NDArray[np.uint64],
) -> None:
    """Write into `found[start:]` whether all bits of each of the first `count` hashes are set.

    Each round tests one position of the keys still alive and closes the gaps without a branch: an early exit per key
    would be mispredicted every other time. `living` is scratch space for `count` numbers.
    """
    size, base = np.uint64(bit_count), np.uint64(start)
    for key in range(np.uint64(count)):
        prefetch(bits, int(((hashes[key] & _LOW) * size >> _32) >> _3))
    alive = _0
    for key in range(np.uint64(count)):
        value = hashes[key]
        living[alive] = key
        found[base + key] = False
        mixed, step = value & _LOW, (value >> _32) | _1
        # Two positions at once: three quarters of the absent keys end here. With k = 1 the first is tested twice.
        second = mixed + step if hash_count > 1 else mixed
        alive += _is_set(bits, mixed, size) & _is_set(bits, second, size)
    for index in range(2, hash_count):
        kept = _0
        for place in range(alive):
            key = living[place]
            value = hashes[key]
            living[kept] = key
            kept += _is_set(bits, (value & _LOW) + np.uint64(index) * ((value >> _32) | _1), size)
        alive = kept
        if alive == _0:
            break
    for place in range(alive):
        found[base + living[place]] = True


@kernel
def add_strings(
    offsets: NDArray[np.int32],
    data: NDArray[np.uint8],
    secret: NDArray[np.uint8],
    salt: np.uint64,
    bits: NDArray[np.uint8],
    bit_count: int,
    hash_count: int,
) -> None:
    """Add every key of an Arrow string array."""
    hashes = np.empty(BLOCK, dtype=np.uint64)
    count = offsets.size - 1
    for first in range(0, count, BLOCK):
        last = min(first + BLOCK, count)
        hash_block(offsets, data, first, last, secret, salt, hashes)
        add_hashes(hashes, last - first, bits, bit_count, hash_count)


@kernel
def contains_strings(
    offsets: NDArray[np.int32],
    data: NDArray[np.uint8],
    secret: NDArray[np.uint8],
    salt: np.uint64,
    bits: NDArray[np.uint8],
    bit_count: int,
    hash_count: int,
    found: NDArray[np.bool_],
) -> None:
    """Ask for every key of an Arrow string array."""
    hashes = np.empty(BLOCK, dtype=np.uint64)
    living = np.empty(BLOCK, dtype=np.uint64)
    count = offsets.size - 1
    for first in range(0, count, BLOCK):
        last = min(first + BLOCK, count)
        hash_block(offsets, data, first, last, secret, salt, hashes)
        contains_hashes(hashes, last - first, bits, bit_count, hash_count, found, first, living)


@kernel
def matching_area(
    rows: NDArray[np.bool_], shifts: NDArray[np.int64], areas: NDArray[np.float64], hash_count: int
) -> float:
    """Return the share of hashes whose positions all lie in one of `rows`: the sum behind `exact_rate`."""
    row_count, size = rows.shape
    total = 0.0
    for start in range(size):
        present = False
        for row in range(row_count):
            present |= rows[row, start]
        if not present:
            continue
        for step in range(size):
            for pattern in range(areas.size):
                hit = False
                for row in range(row_count):
                    inside = rows[row, start]
                    index = 1
                    while inside and index < hash_count:
                        inside = rows[row, (start + index * step + shifts[pattern, index]) % size]
                        index += 1
                    hit |= inside
                if hit:
                    total += areas[pattern]
    return float(total / (size * size))
