"""The search of the Bloom tree, node by node: the twin of `filters.tree.kernels.search`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rookery.filters.tree.geometry import Place, TreeGeometry
from rookery.filters.tree.index import TreeIndex
from rookery.filters.tree.query import MOST_NODES, Pairs, row_contains

__all__ = ["search_sound"]


def search_sound(
    geometry: TreeGeometry, index: TreeIndex, *, hashes: Mapping[str, int], places: Mapping[str, Place]
) -> tuple[Pairs, list[int]]:
    """Search depth first; return the pairs of key and node, and the nodes that were visited."""
    positions = {key: geometry.positions(value) for key, value in hashes.items()}

    def has(rows: list[NDArray[np.uint8]], key: str) -> bool:
        return any(row_contains(row, positions[key]) for row in rows)

    pairs: Pairs = []
    visited: list[int] = []
    noted: Counter[str] = Counter()
    pending: list[tuple[int, list[str]]] = [(0, list(hashes))]
    while pending:
        node, wanted = pending.pop()
        bits = index.covering_rows(node)
        if not bits:
            continue
        visited.append(node)
        kept = [
            key for key in wanted if noted[key] < MOST_NODES and geometry.leads_to(node, places[key]) and has(bits, key)
        ]
        for key in kept:
            if geometry.may_own(node, places[key]) and has(index.rows_of(node), key):
                pairs.append((key, node))
                noted[key] += 1
        if kept:
            pending += [(child, kept) for child in reversed(geometry.children(node))]
    return pairs, visited
