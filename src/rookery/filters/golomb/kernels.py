"""Kernels of the Golomb set: the Rice code of sorted values both ways, and the probe through a small index.

Bits are MSB first. The plain twin is `tests.twins.golomb`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rookery.filters.hashing.kernels import BLOCK, hash_block, prefetch
from rookery.kernels import kernel

__all__ = ["contains_strings", "decode_gaps", "encode_gaps"]

_0, _1 = np.uint64(0), np.uint64(1)


@kernel
def encode_gaps(values: NDArray[np.uint64], drop: int, rice: int, out: NDArray[np.uint8]) -> int:
    """Write the gaps of `values` >> `drop` in Rice code into the zeroed `out`; return the bits."""
    bits, before = 0, _0
    for index in range(values.size):
        value = values[index] >> np.uint64(drop)
        gap = value - before
        before = value
        for _ in range(gap >> np.uint64(rice)):
            out[bits >> 3] |= np.uint8(0x80 >> (bits & 7))
            bits += 1
        bits += 1  # the zero that ends the quotient
        for place in range(rice - 1, -1, -1):
            if gap >> np.uint64(place) & _1:
                out[bits >> 3] |= np.uint8(0x80 >> (bits & 7))
            bits += 1
    return bits


@kernel
def decode_gaps(data: NDArray[np.uint8], start: int, rice: int, limit: np.uint64, values: NDArray[np.uint64]) -> int:
    """Fill `values` from bit `start` on; return the bit after the last code, −1 truncated, −2 beyond `limit`."""
    end = 8 * data.size
    at, value = start, _0
    for index in range(values.size):
        quotient = _0
        while True:
            if at >= end:
                return -1
            one = data[at >> 3] >> np.uint8(7 - (at & 7)) & np.uint8(1)
            at += 1
            if one == 0:
                break
            quotient += _1
        if at + rice > end:
            return -1
        rest = _0
        for _ in range(rice):
            rest = rest << _1 | np.uint64(data[at >> 3] >> np.uint8(7 - (at & 7)) & np.uint8(1))
            at += 1
        gap = quotient << np.uint64(rice) | rest
        if gap > limit - value:
            return -2
        value += gap
        values[index] = value
    return at


@kernel
def contains_strings(
    offsets: NDArray[np.int32],
    data: NDArray[np.uint8],
    secret: NDArray[np.uint8],
    salt: np.uint64,
    values: NDArray[np.uint64],
    value_bits: int,
    starts: NDArray[np.int64],
    index_bits: int,
    found: NDArray[np.bool_],
) -> None:
    """Ask for every key of an Arrow string array; `starts` maps the first `index_bits` of a hash to its values."""
    hashes = np.empty(BLOCK, dtype=np.uint64)
    count = offsets.size - 1
    drop, shift = np.uint64(64 - value_bits), np.uint64(64 - index_bits)
    for first in range(0, count, BLOCK):
        last = min(first + BLOCK, count)
        hash_block(offsets, data, first, last, secret, salt, hashes)
        for key in range(np.uint64(last - first)):
            prefetch(starts, int(hashes[key] >> shift))
        for key in range(np.uint64(last - first)):
            wanted = hashes[key] >> drop
            bucket = hashes[key] >> shift
            hit = False
            for place in range(starts[bucket], starts[bucket + _1]):
                hit |= values[place] == wanted
            found[np.uint64(first) + key] = hit
