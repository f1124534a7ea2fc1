"""Semantic identities: what a peer wants, as a set of cells and as 1024 bits (seed 002, section III; spec 2.1 and 2.2).

Rule 1: every peer holds the shared cell `c0`; bit d-1 belongs to it alone, so that "a fixed bit is set in all IDs".
Rule 2: an identity is the Bloom filter of the cells. Two 64-bit halves of blake2b of the cell's number give
h_j = (a + j·b) mod (d-1), j = 0 … k-1. An identity says no with certainty and yes with false positives, hence
Rule 3: relations are decided on cells. Bits only refuse quickly: a 1 of M that N lacks means that N does not cover M.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Iterable
from math import inf

import msgspec

__all__ = ["CIRCLE", "Descriptor", "Relation", "SemanticSpace", "affinity", "clockwise", "hamming", "relation"]

#: Positions on the circle of random IDs: 64 bits of random ID, then 64 bits of node id to break ties.
CIRCLE = 1 << 128


class Descriptor(msgspec.Struct, frozen=True, array_like=True):
    """What peers tell each other about a peer: who, where on the circle, and what it wants.

    `identity` is redundant with `cells` and is sent all the same: it is what `paper` mode decides on. `epoch` grows
    when a peer's interests change or when it takes over a cluster; a higher one replaces a lower one.
    """

    node: int
    random_id: int
    cells: frozenset[int]
    identity: bytes
    epoch: int = 0
    address: str = ""

    @property
    def position(self) -> int:
        """The place on the circle; no two peers share one."""
        return self.random_id << 64 | self.node

    @property
    def bits(self) -> int:
        """The identity as one integer."""
        return int.from_bytes(self.identity, "big")


class Relation(enum.IntEnum):
    """What M is to N."""

    COVERED = 0
    """N covers M: all that M wants, N wants, and more."""
    NEIGHBOR = 1
    """They share an interest, and neither covers the other."""
    COVERING = 2
    """M covers N."""
    SAME = 3
    """Both want the same cells: one cluster."""


class SemanticSpace:
    """How cells become identities: `bit_count` bits, `hash_count` of them for each cell."""

    def __init__(self, *, cell_count: int, bit_count: int = 1024, hash_count: int = 4) -> None:
        if cell_count < 1 or hash_count < 1 or bit_count < 2 or bit_count % 8:
            raise ValueError("a semantic space needs a cell, a hash function, and a number of bits that fills bytes")
        self.cell_count = cell_count
        self.bit_count = bit_count
        self.hash_count = hash_count
        self.shared_cell = cell_count
        self._masks: dict[int, int] = {cell_count: 1 << (bit_count - 1)}

    def mask(self, cell: int) -> int:
        """Return the bits of one cell: the identity of an event in it (c0 not included)."""
        found = self._masks.get(cell)
        if found is None:
            digest = hashlib.blake2b(cell.to_bytes(8, "big"), digest_size=16).digest()
            start, step = int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:], "big") | 1
            found = 0
            for index in range(self.hash_count):
                found |= 1 << (start + index * step) % (self.bit_count - 1)
            self._masks[cell] = found
        return found

    def bits(self, cells: Iterable[int]) -> int:
        """Return the identity of a set of cells as one integer."""
        found = 0
        for cell in cells:
            found |= self.mask(cell)
        return found

    def describe(
        self, *, node: int, random_id: int, cells: Iterable[int], epoch: int = 0, address: str = ""
    ) -> Descriptor:
        """Return the descriptor of a peer that wants these cells; the shared one is added."""
        held = frozenset(cells) | {self.shared_cell}
        identity = self.bits(held).to_bytes(self.bit_count // 8, "big")
        return Descriptor(node, random_id, held, identity, epoch, address)

    def is_sound(self, descriptor: Descriptor) -> bool:
        """Tell whether a descriptor from a peer holds what it must: c0, known cells, and their own identity."""
        cells = descriptor.cells
        return (
            self.shared_cell in cells
            and min(cells) >= 0
            and max(cells) <= self.shared_cell
            and 0 <= descriptor.random_id < 1 << 64
            and 0 <= descriptor.node < 1 << 64
            and descriptor.identity == self.bits(cells).to_bytes(self.bit_count // 8, "big")
        )

    def distance(self, one: Descriptor, *, cells: frozenset[int], bits: int) -> float:
        """Return the interest-proximity metric d = hamming / (d · affinity), equation 1; infinite without affinity."""
        shared = affinity(one.cells, cells)
        return hamming(one.bits, bits) / (self.bit_count * shared) if shared else inf


def affinity(one: frozenset[int], other: frozenset[int]) -> float:
    """Return |S_N ∩ S_M| / min(|S_N|, |S_M|), equation 2."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0


def hamming(one: int, other: int) -> int:
    """Return in how many bits two identities differ."""
    return (one ^ other).bit_count()


def relation(own: frozenset[int], other: frozenset[int]) -> Relation:
    """Return what a peer that wants `other` is to one that wants `own`; they share at least the shared cell."""
    if len(other) < len(own):
        return Relation.COVERED if other < own else Relation.NEIGHBOR
    if len(other) > len(own):
        return Relation.COVERING if own < other else Relation.NEIGHBOR
    return Relation.SAME if own == other else Relation.NEIGHBOR


def clockwise(start: Descriptor, end: Descriptor) -> int:
    """Return how far it is on the circle from one peer forward to another."""
    return (end.position - start.position) % CIRCLE
