"""A tree laid out for its kernels: the nodes that exist, depth first, and all rows in one array.

Rule 1: a node exists if it or one below it has rows. Depth first, the rows of a subtree lie side by side: so the rows
that *cover* a node are a range, which begins with the rows that the node *owns*, and joining the rows of a subtree
copies nothing. Where a node has one row without bound (row capacity 0) a parent is the OR of what is below it instead,
a row of its own; in a tree of all nodes, as the paper sends it, covering rows came with it and are the node's own.
Rule 2: the rows are held a second time, turned: for each position the rows that have it, 64 to a word. Whoever looks
for a key ANDs the words of its positions and knows all rows that have it (as Flat-Bloofi asks many filters at once).
Rule 3: what is held is bounded by the message: some twenty octets for each node, the rows, and 64 rows for one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rookery.filters.tree import kernels
from rookery.filters.tree.geometry import TreeGeometry

__all__ = ["TreeIndex"]


@dataclass(frozen=True, slots=True)
class TreeIndex:
    """The nodes of a tree and their rows."""

    nodes: NDArray[np.int32]
    """The nodes that exist, depth first."""
    child: NDArray[np.int32]
    """Where the left and the right child of each are in this order; −1 for none."""
    own: NDArray[np.int32]
    """First and last (exclusive) of the rows that each owns."""
    cover: NDArray[np.int32]
    """First and last (exclusive) of the rows that cover the subtree of each."""
    rows: NDArray[np.uint8]
    slices: NDArray[np.uint64]
    """A line for each position: the rows that have it."""
    seat: NDArray[np.int32]
    """Where each node of the geometry is in this order; −1 for one that does not exist."""

    @classmethod
    def build(
        cls,
        geometry: TreeGeometry,
        present: NDArray[np.int32],
        first: NDArray[np.int32],
        rows: NDArray[np.uint8],
        *,
        all_nodes: bool,
    ) -> TreeIndex:
        """Lay out a tree: node `present[i]` has the rows from `first[i]` to `first[i + 1]`, packed, MSB first.

        They are its own, or with `all_nodes` those that cover it.
        """
        joins = not geometry.row_capacity and not all_nodes
        seat = np.empty(geometry.node_count, dtype=np.int32)
        nodes, child, own, cover, source = kernels.lay_out(present, first, geometry.levels, joins, all_nodes, seat)
        laid = rows[source]
        if joins:
            laid[source < 0] = 0
            kernels.join_rows(child, own, cover, laid)
        slices = np.zeros((geometry.bit_count, -(-len(laid) // 64)), dtype=np.uint64)
        kernels.slice_rows(laid, slices)
        return cls(nodes, child, own, cover, laid, slices, seat)

    def rows_of(self, node: int) -> list[NDArray[np.uint8]]:
        """Return the rows that a node owns."""
        return self._range(self.own, node)

    def covering_rows(self, node: int) -> list[NDArray[np.uint8]]:
        """Return the rows that cover the subtree of a node."""
        return self._range(self.cover, node)

    def _range(self, ranges: NDArray[np.int32], node: int) -> list[NDArray[np.uint8]]:
        if not 0 <= node < self.seat.size or self.seat[node] < 0:
            return []
        begin, end = ranges[self.seat[node]].tolist()
        return list(self.rows[begin:end])
