"""Algorithm 2 of seed 000, as printed (`paper`) and as it must be (`sound`) (spec 1.5).

Rule: the sound search carries the query set down the tree and keeps at each node the elements that the node's filter
has; it stops where none is left. The bits of a member are set in every ancestor, so no member is ever dropped.

The paper's search compares the Bloom filter of the query with each child by equation 6 and goes down where the estimate
is not 0. The estimate is exactly 0 only when t∧·m = t1·t2, which happens for true members too; and the shipped code of
its ancestor prunes at ≤ 0, which drops up to 43 % of the nodes that hold one. It is here to be measured, not used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rookery.filters.bloom.plain import distinct_positions
from rookery.filters.equations import intersection_estimate
from rookery.filters.tree.geometry import TreeGeometry

__all__ = ["QueryResult", "Rows", "row_contains", "search_paper", "search_sound"]

#: The bits of each row that cover a node's subtree, MSB first; empty where no node was created.
Rows = Callable[[int], list[NDArray[np.uint8]]]


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The keys found and the nodes whose filter was looked at, in order."""

    found: tuple[str, ...]
    visited: tuple[int, ...]


def row_contains(bits: NDArray[np.uint8], positions: list[int]) -> bool:
    """Return whether all positions are set."""
    return all(bits[position >> 3] & 0x80 >> (position & 7) for position in positions)


def search_sound(
    geometry: TreeGeometry, rows: Rows, *, hashes: Mapping[str, int], nodes: Mapping[str, int]
) -> QueryResult:
    """Search depth first, keeping at each node the elements that one of its rows has."""
    positions = {
        key: distinct_positions(value, bit_count=geometry.bit_count, hash_count=geometry.hash_count)
        for key, value in hashes.items()
    }
    found: list[str] = []
    visited: list[int] = []
    pending: list[tuple[int, list[str]]] = [(0, list(hashes))]
    while pending:
        node, wanted = pending.pop()
        bits = rows(node)
        if not bits:
            continue
        visited.append(node)
        kept = [key for key in wanted if any(row_contains(row, positions[key]) for row in bits)]
        found += [key for key in kept if nodes[key] == node]
        if kept:
            pending += [(child, kept) for child in reversed(geometry.children(node))]
    return QueryResult(tuple(found), tuple(visited))


def search_paper(
    geometry: TreeGeometry,
    rows: Rows,
    *,
    hashes: Mapping[str, int],
    nodes: Mapping[str, int],
    threshold: float | None = None,
) -> QueryResult:
    """Search as printed: go down where equation 6 is not 0; with `threshold`, where it is above the threshold."""
    positions = {
        key: distinct_positions(value, bit_count=geometry.bit_count, hash_count=geometry.hash_count)
        for key, value in hashes.items()
    }
    query = np.zeros((geometry.bit_count + 7) // 8, dtype=np.uint8)
    for places in positions.values():
        for position in places:
            query[position >> 3] |= 0x80 >> (position & 7)
    query_ones = int(np.bitwise_count(query).sum())

    def meets(row: NDArray[np.uint8]) -> bool:
        estimate = intersection_estimate(
            t1=int(np.bitwise_count(row).sum()),
            t2=query_ones,
            t_and=int(np.bitwise_count(row & query).sum()),
            m=geometry.bit_count,
            k=geometry.hash_count,
        )
        return estimate != 0 if threshold is None else estimate > threshold

    found: list[str] = []
    visited: list[int] = []
    pending = [0]
    while pending:
        node = pending.pop()
        bits = rows(node)
        if not bits:
            continue
        visited.append(node)
        found += [
            key
            for key, places in positions.items()
            if nodes[key] == node and any(row_contains(row, places) for row in bits)
        ]
        below = reversed(geometry.children(node))
        pending += [child for child in below if any(meets(row) for row in rows(child))]
    return QueryResult(tuple(found), tuple(visited))
