"""Algorithm 2 of seed 000, as printed (`paper`) and as it must be (`sound`) (spec 1.5).

Rule: the sound search carries the query set down the tree and keeps at each node the elements that the node's filter
has and whose place lies below; it stops where none is left. The bits of a member are set in every ancestor, so no
member is ever dropped.

The paper's search compares the Bloom filter of the query with each child by equation 6 and goes down where the estimate
is not 0. The estimate is exactly 0 only when t∧·m = t1·t2, which happens for true members too; and the shipped code of
its ancestor prunes at ≤ 0, which drops up to 43 % of the nodes that hold one. It is here to be measured, not used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rookery.filters.equations import intersection_estimate
from rookery.filters.tree.geometry import MAXIMAL_LEVELS, Place, TreeGeometry

__all__ = ["MOST_NODES", "QueryResult", "deepest", "row_contains", "search_paper"]

#: Nodes that are noted for one key: a path has no more, and a hostile tree shall not make a long answer.
MOST_NODES = MAXIMAL_LEVELS

Pairs = list[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What a search found and looked at.

    `found` has a key once for each node that may have it, `nodes` the node beside it; `visited` are the nodes whose
    filter was looked at, in order.
    """

    found: tuple[str, ...]
    nodes: tuple[int, ...]
    visited: tuple[int, ...]


def row_contains(bits: NDArray[np.uint8], positions: list[int]) -> bool:
    """Return whether all positions are set."""
    return all(bits[position >> 3] & 0x80 >> (position & 7) for position in positions)


def deepest(pairs: Pairs) -> Pairs:
    """Return for each key the nodes below which it was not found again: what a tree of covering rows alone can tell."""
    above: set[tuple[str, int]] = set()
    for key, node in pairs:
        while node:
            node = (node - 1) >> 1
            above.add((key, node))
    return [pair for pair in pairs if pair not in above]


def search_paper(
    geometry: TreeGeometry,
    rows: Callable[[int], list[NDArray[np.uint8]]],
    *,
    hashes: Mapping[str, int],
    places: Mapping[str, Place],
    threshold: float | None = None,
) -> tuple[Pairs, list[int]]:
    """Search as printed: go down where equation 6 is not 0; with `threshold`, where it is above the threshold.

    `rows` gives those that cover a node.
    """
    positions = {key: geometry.positions(value) for key, value in hashes.items()}
    query = np.zeros((geometry.bit_count + 7) // 8, dtype=np.uint8)
    for spots in positions.values():
        for position in spots:
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

    pairs: Pairs = []
    visited: list[int] = []
    pending = [0]
    while pending:
        node = pending.pop()
        bits = rows(node)
        if not bits:
            continue
        visited.append(node)
        pairs += [
            (key, node)
            for key, spots in positions.items()
            if geometry.may_own(node, places[key]) and any(row_contains(row, spots) for row in bits)
        ]
        below = reversed(geometry.children(node))
        pending += [child for child in below if any(meets(row) for row in rows(child))]
    return pairs, visited
