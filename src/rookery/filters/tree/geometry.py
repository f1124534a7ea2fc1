"""The shape of the tree: a binary tree over the namespace, in breadth-first order (spec 1.2).

A namespace of N ordinals at N⊥ per node needs L = ⌈log2(N/N⊥ + 1)⌉ levels, nodes t = 0 … 2^L − 2, children 2t + 1 and
2t + 2. Node t *owns* the ordinals [t·N⊥, (t + 1)·N⊥) and its filter *covers* its whole subtree. The paper counts layers
and columns from one: node t is β(i, j), a `SubNode`.

Where a key belongs is its `Place`: one node, or a path of nodes of which one has it.

- *closed*: a dictionary that all participants share gives every key its ordinal. Whoever does not have the dictionary
  asks every node;
- *open*: the node comes from the hash: t = fmix64(h)·(2^L − 1) >> 64. The extra mixing matters: without it the node and
  the bit positions inside it would be correlated;
- *layered*, which goes on the wire: the layer is in the key (`layers`).

Rows of a layered tree are short, and double hashing repeats itself in few bits: four keys in 96 bits have 150 times
the rate of independent positions. There each pair of positions comes from a mix of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from rookery.errors import FilterError
from rookery.filters.bloom.plain import distinct_positions
from rookery.filters.hashing import fmix64

__all__ = ["ANYWHERE", "MAXIMAL_LEVELS", "NOWHERE", "Place", "SubNode", "TreeGeometry", "depth_of", "levels_for"]

MAXIMAL_LEVELS = 16
_GOLDEN = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1


class SubNode(NamedTuple):
    """A node as the paper names it: β(layer, column), both from one."""

    layer: int
    column: int


class Place(NamedTuple):
    """Where a key may be: one of the nodes on the path from `top` down to `deep`."""

    top: int
    deep: int


#: Any node may have the key: of a closed tree without its dictionary.
ANYWHERE = Place(0, -1)
#: No node can have it.
NOWHERE = Place(0, -2)


def levels_for(*, namespace_size: int, node_size: int) -> int:
    """Return L = ⌈log2(N/N⊥ + 1)⌉, by whole numbers."""
    if namespace_size < 1 or not 1 <= node_size <= 0xFFFF:
        raise FilterError("namespace_size is at least 1 and node_size lies between 1 and 65535")
    levels = (-(-namespace_size // node_size)).bit_length()
    if levels > MAXIMAL_LEVELS:
        raise FilterError(f"{levels} levels, at most {MAXIMAL_LEVELS}; put more elements into a node")
    return levels


def depth_of(node: int) -> int:
    """Return how many nodes are above one."""
    return (node + 1).bit_length() - 1


@dataclass(frozen=True, slots=True)
class TreeGeometry:
    """What every node of a tree shares: levels, m, k, elements per node (0: not closed), elements per row, layered."""

    levels: int
    bit_count: int
    hash_count: int
    node_size: int
    row_capacity: int
    layered: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.levels <= MAXIMAL_LEVELS:
            raise FilterError(f"bad tree: {self.levels} levels, 1 … {MAXIMAL_LEVELS} are possible")
        if not 2 <= self.bit_count <= 0xFFFF or not 1 <= self.hash_count <= 64:
            raise FilterError(f"bad tree: {self.bit_count} bits (2 … 65535), {self.hash_count} hash functions (1 … 64)")
        if not 0 <= self.node_size <= 0xFFFF or not 0 <= self.row_capacity <= 0xFFFF:
            raise FilterError("bad tree: node size and row capacity are 16-bit numbers")
        if self.layered and self.node_size:
            raise FilterError("bad tree: the layers of names and a closed namespace exclude each other")

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

    def leads_to(self, node: int, place: Place) -> bool:
        """Return whether the way to a place goes through `node`."""
        if place.deep < 0:
            return place == ANYWHERE
        above = depth_of(place.deep) - depth_of(node)
        return above >= 0 and (place.deep + 1) >> above == node + 1

    def may_own(self, node: int, place: Place) -> bool:
        """Return whether `node` is one of a place's."""
        return self.leads_to(node, place) and depth_of(node) >= depth_of(place.top)

    def sub_node(self, node: int) -> SubNode:
        """Return layer and column of a node."""
        return SubNode(depth_of(node) + 1, node + 2 - (1 << depth_of(node)))

    def positions(self, value: int) -> list[int]:
        """Return the distinct positions of a hash in a row."""
        if not self.layered:
            return distinct_positions(value, bit_count=self.bit_count, hash_count=self.hash_count)
        words = (fmix64(value + (pair + 1) * _GOLDEN & _WORD) for pair in range((self.hash_count + 1) // 2))
        halves = [half for word in words for half in (word & 0xFFFFFFFF, word >> 32)]
        return list(dict.fromkeys(half * self.bit_count >> 32 for half in halves[: self.hash_count]))
