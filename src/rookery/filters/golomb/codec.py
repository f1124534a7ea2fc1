"""Sorted hash prefixes as bits: a base layer of Rice-coded gaps, then one bit per value and layer (spec 3.3).

A value has q + r bits, q = ⌈log2 n⌉. The base layer codes the gaps of the upper q + r0 bits with Rice parameter r0;
each further layer appends the next bit of every value in sorted order. Any prefix of layers is the same set, told less
exactly: r0 + the layers read = the remainder bits kept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rookery.errors import FilterError
from rookery.filters.golomb import kernels

__all__ = ["decode_values", "encode_values"]

_FAULTS = {-1: "truncated: the codes run out", -2: "a value beyond its range"}


def encode_values(values: NDArray[np.uint64], *, drop: int, rice: int) -> tuple[int, bytes]:
    """Return (bits, bytes) of sorted values; their lowest `drop` bits are left to layers after the base."""
    longest = int(values[-1]) >> drop >> rice if values.size else 0  # all quotients together
    worst = int(values.size) * (rice + 1) + longest + 8
    out = np.zeros((worst + 7) // 8, dtype=np.uint8)
    bits = int(kernels.encode_gaps(values, drop, rice, out))
    if not drop:
        return bits, out[: (bits + 7) // 8].tobytes()
    places = np.arange(drop - 1, -1, -1, dtype=np.uint64)[:, None]
    layers = (values >> places & np.uint64(1)).astype(np.uint8).ravel()
    joined = np.concatenate([np.unpackbits(out)[:bits], layers])
    return int(joined.size), np.packbits(joined).tobytes()


def decode_values(
    payload: bytes, *, count: int, value_bits: int, drop: int, rice: int
) -> tuple[NDArray[np.uint64], int]:
    """Return the values and the bits read; the caller has bounded `count` by the length of the payload."""
    data = np.frombuffer(payload, dtype=np.uint8)
    if count * (rice + 1 + drop) > 8 * data.size:
        raise FilterError(f"truncated: {count} values need more than {data.size} bytes")
    values = np.empty(count, dtype=np.uint64)
    limit = np.uint64((1 << (value_bits - drop)) - 1)
    at = int(kernels.decode_gaps(data, 0, rice, limit, values))
    if at < 0:
        raise FilterError(_FAULTS[at])
    end = at + count * drop
    if end > 8 * data.size:
        raise FilterError("truncated: a layer is not whole")
    if drop:
        bits = np.unpackbits(data)[at:end].reshape(drop, count)
        for layer in bits:
            values = values << np.uint64(1) | layer.astype(np.uint64)
        if np.any(values[1:] < values[:-1]):
            raise FilterError("values out of order")
    if (end + 7) // 8 != data.size:
        raise FilterError(f"trailing bytes: {data.size - (end + 7) // 8}")
    if end & 7 and data[-1] & 0xFF >> (end & 7):
        raise FilterError("non-zero padding")
    return values, end
