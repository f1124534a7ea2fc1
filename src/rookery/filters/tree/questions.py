"""A batch of keys as the kernels of the tree take it: positions in a row, and where in the tree each key may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rookery.filters.hashing import KeyHasher, Keys, string_buffers
from rookery.filters.hashing.kernels import hash_strings
from rookery.filters.tree import kernels
from rookery.filters.tree.geometry import ANYWHERE, NOWHERE, Place, TreeGeometry
from rookery.filters.tree.layers import NAMED_LAYERS, layered_place, names_basis

__all__ = ["Questions", "place_of"]


def place_of(
    key: str, value: int, *, geometry: TreeGeometry, hasher: KeyHasher, namespace: Mapping[str, int] | None
) -> Place:
    """Return where a key with hash `value` may be; a closed namespace that is not known leaves every node."""
    if geometry.layered:
        return layered_place(key, value, basis=names_basis(hasher), levels=geometry.levels)
    if not geometry.node_size:
        node = geometry.open_node(value)
        return Place(node, node)
    if namespace is None:
        return ANYWHERE
    node = namespace.get(key, -1) // geometry.node_size
    return Place(node, node) if 0 <= node < geometry.node_count else NOWHERE


@dataclass(frozen=True, slots=True)
class Questions:
    """Keys of which each has k positions and a path from `top` to `deep` (−1: anywhere, −2: nowhere)."""

    positions: NDArray[np.int32]
    top: NDArray[np.int64]
    deep: NDArray[np.int64]

    @classmethod
    def of(
        cls, keys: Keys, *, geometry: TreeGeometry, hasher: KeyHasher, namespace: Mapping[str, int] | None
    ) -> Questions:
        """Hash and place an Arrow string array, or any strings."""
        basis, parts = np.uint64(names_basis(hasher) if geometry.layered else 0), []
        for offsets, data in string_buffers(keys):
            hashes = np.empty(offsets.size - 1, dtype=np.uint64)
            hash_strings(offsets, data, hasher.secret, hasher.salt, hashes)
            top, deep = np.zeros(hashes.size, dtype=np.int64), np.full(hashes.size, ANYWHERE.deep, dtype=np.int64)
            if geometry.layered:
                kernels.fill_places(offsets, data, hashes, basis, geometry.levels, NAMED_LAYERS, top, deep)
            elif not geometry.node_size:
                kernels.fill_nodes(hashes, geometry.node_count, top, deep)
            parts.append((hashes, top, deep))
        if not parts:
            parts.append((np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.int64)))
        hashes, top, deep = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        if geometry.node_size and namespace is not None:
            listed = keys.to_pylist() if hasattr(keys, "to_pylist") else keys
            placed = [place_of(key, 0, geometry=geometry, hasher=hasher, namespace=namespace) for key in listed]
            top, deep = np.array(placed, dtype=np.int64).reshape(-1, 2).T.copy()
        positions = np.empty((hashes.size, geometry.hash_count), dtype=np.int32)
        kernels.fill_positions(hashes, geometry.bit_count, geometry.layered, positions)
        return cls(positions, top, deep)
