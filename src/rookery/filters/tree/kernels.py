"""Kernels of the Bloom tree: find the node of each key, then test the rows of that node.

The plain twin is `BloomTree.contains_hash`, key by key.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rookery.filters.hashing.kernels import BLOCK, fmix64, hash_block, mulhi64, prefetch
from rookery.kernels import kernel

__all__ = ["contains_nodes", "contains_strings"]

_LOW = np.uint64(0xFFFFFFFF)
_1, _3, _7, _32 = (np.uint64(n) for n in (1, 3, 7, 32))


@kernel
def _in_node(
    value: np.uint64,
    node: np.uint64,
    row_start: NDArray[np.int64],
    rows: NDArray[np.uint8],
    bit_count: int,
    hash_count: int,
) -> bool:
    size, stride = np.uint64(bit_count), np.uint64((bit_count + 7) // 8)
    for row in range(np.uint64(row_start[node]), np.uint64(row_start[node + _1])):
        mixed, step, hit = value & _LOW, (value >> _32) | _1, True
        for _ in range(hash_count):
            position = (mixed & _LOW) * size >> _32
            if rows[row * stride + (position >> _3)] >> np.uint8(_7 - (position & _7)) & np.uint8(1) == 0:
                hit = False
                break
            mixed += step
        if hit:
            return True
    return False


@kernel
def contains_nodes(
    hashes: NDArray[np.uint64],
    nodes: NDArray[np.int64],
    row_start: NDArray[np.int64],
    rows: NDArray[np.uint8],
    bit_count: int,
    hash_count: int,
    found: NDArray[np.bool_],
) -> None:
    """Ask for hashes whose nodes are known; a node below 0 is outside the namespace."""
    for key in range(hashes.size):
        found[key] = nodes[key] >= 0 and _in_node(
            hashes[key], np.uint64(nodes[key]), row_start, rows, bit_count, hash_count
        )


@kernel
def contains_strings(
    offsets: NDArray[np.int32],
    data: NDArray[np.uint8],
    secret: NDArray[np.uint8],
    salt: np.uint64,
    row_start: NDArray[np.int64],
    rows: NDArray[np.uint8],
    bit_count: int,
    hash_count: int,
    found: NDArray[np.bool_],
) -> None:
    """Ask for every key of an Arrow string array in the open namespace."""
    hashes = np.empty(BLOCK, dtype=np.uint64)
    nodes = np.empty(BLOCK, dtype=np.uint64)
    count, node_count = offsets.size - 1, np.uint64(row_start.size - 1)
    for first in range(0, count, BLOCK):
        last = min(first + BLOCK, count)
        hash_block(offsets, data, first, last, secret, salt, hashes)
        for key in range(np.uint64(last - first)):
            nodes[key] = mulhi64(fmix64(hashes[key]), node_count)
            prefetch(row_start, int(nodes[key]))
        for key in range(np.uint64(last - first)):
            hit = _in_node(hashes[key], nodes[key], row_start, rows, bit_count, hash_count)
            found[np.uint64(first) + key] = hit
