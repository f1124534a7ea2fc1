"""The shape of the tree: a binary tree over the namespace, in breadth-first order (spec 1.2).

A namespace of N ordinals at N⊥ per node needs L = ⌈log2(N/N⊥ + 1)⌉ levels, nodes t = 0 … 2^L − 2, children 2t + 1 and
2t + 2. Node t *owns* the ordinals [t·N⊥, (t + 1)·N⊥) and its filter *covers* its whole subtree.

A closed namespace gives every key its ordinal (a dictionary that all participants share). The open one, the default,
derives the node from the hash: t = fmix64(h)·(2^L − 1) >> 64. The extra mixing matters: without it the node and the bit
positions inside it would be correlated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rookery.errors import FilterError
from rookery.filters.hashing import fmix64

__all__ = ["MAXIMAL_LEVELS", "TreeGeometry", "levels_for"]

MAXIMAL_LEVELS = 16


def levels_for(*, namespace_size: int, node_size: int) -> int:
    """Return L = ⌈log2(N/N⊥ + 1)⌉, by whole numbers."""
    if namespace_size < 1 or not 1 <= node_size <= 0xFFFF:
        raise FilterError("namespace_size is at least 1 and node_size lies between 1 and 65535")
    levels = (-(-namespace_size // node_size)).bit_length()
    if levels > MAXIMAL_LEVELS:
        raise FilterError(f"{levels} levels, at most {MAXIMAL_LEVELS}; put more elements into a node")
    return levels


@dataclass(frozen=True, slots=True)
class TreeGeometry:
    """What every node of a tree shares: levels, m, k, elements per node (0: open namespace), elements per row."""

    levels: int
    bit_count: int
    hash_count: int
    node_size: int
    row_capacity: int

    def __post_init__(self) -> None:
        if not 1 <= self.levels <= MAXIMAL_LEVELS:
            raise FilterError(f"bad tree: {self.levels} levels, 1 … {MAXIMAL_LEVELS} are possible")
        if not 2 <= self.bit_count <= 0xFFFF or not 1 <= self.hash_count <= 64:
            raise FilterError(f"bad tree: {self.bit_count} bits (2 … 65535), {self.hash_count} hash functions (1 … 64)")
        if not 0 <= self.node_size <= 0xFFFF or not 0 <= self.row_capacity <= 0xFFFF:
            raise FilterError("bad tree: node size and row capacity are 16-bit numbers")

    @property
    def node_count(self) -> int:
        """2^L − 1."""
        return (1 << self.levels) - 1

    @property
    def first_leaf(self) -> int:
        """The first node of the last level."""
        return self.node_count >> 1

    def children(self, node: int) -> tuple[int, ...]:
        """Return the nodes below `node`."""
        return () if node >= self.first_leaf else (2 * node + 1, 2 * node + 2)

    def path(self, node: int) -> Iterator[int]:
        """Yield `node` and its ancestors up to the root."""
        yield node
        while node:
            node = (node - 1) >> 1
            yield node

    def open_node(self, value: int) -> int:
        """Return the node of a hash in the open namespace."""
        return fmix64(value) * self.node_count >> 64
