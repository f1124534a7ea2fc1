"""Exact tables for many peers at once: the static setting of the seed, where every peer knows every other.

Rule: the result is that of `select` run by each peer over all (Lemma 1), found through the rings instead. Who shares a
cell with a peer stands on the ring of that cell, so only those are compared, as rows of a matrix of booleans; the
shared cell, which everybody holds, is walked outwards from the peer until a neighbor turns up.

`window` limits how many members of a ring are looked at on each side. The next and the previous of any class are
always among them, so delivery stays exact; only links to a farther member of a class may be missed. It is what makes
rings of a thousand members affordable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from rookery.routing.overlay.identity import Descriptor, Relation, relation
from rookery.routing.overlay.links import LinkTable
from rookery.routing.overlay.paper import PaperTable
from rookery.routing.overlay.selection import Rule

__all__ = ["clusters", "exact_tables", "paper_tables"]

Indices = NDArray[np.int64]


def clusters(peers: Iterable[Descriptor], *, by_cells: bool = True) -> list[list[Descriptor]]:
    """Group peers of equal cells, in the order given; the first of each group is its primary (spec 2.6).

    As printed, peers of equal identity are grouped; the primary then wants what any of them wants.
    """
    groups: dict[object, list[Descriptor]] = defaultdict(list)
    for peer in peers:
        groups[peer.cells if by_cells else peer.identity].append(peer)
    if not by_cells:
        for group in groups.values():
            union = frozenset[int]().union(*(one.cells for one in group))
            group[0] = msgspec.structs.replace(group[0], cells=union)
    return list(groups.values())


def paper_tables(primaries: Sequence[Descriptor], rule: Rule) -> dict[int, PaperTable]:
    """Return the table of each peer by the printed scan over everybody, links announced to both ends."""
    tables = {peer.node: PaperTable(peer, rule) for peer in primaries}
    known = {peer.node: peer for peer in primaries}
    for table in tables.values():
        table.known = known
        for node in table.chosen:
            tables[node].incoming.add(table.own.node)
    for table in tables.values():
        table.known = {node: known[node] for node in table.chosen | table.incoming}
    return tables


def exact_tables(
    primaries: Sequence[Descriptor], *, shared_cell: int, window: int | None = None, covering_count: int = 1
) -> dict[int, LinkTable]:
    """Return the table of each peer, links announced to both ends; no two peers may have the same cells."""
    order = sorted(primaries, key=lambda one: one.position)
    rings: dict[int, list[int]] = defaultdict(list)
    for index, peer in enumerate(order):
        for cell in peer.cells:
            rings[cell].append(index)
    arrays = {cell: np.array(ring, dtype=np.int64) for cell, ring in rings.items() if cell != shared_cell}
    member = np.zeros((len(order), shared_cell + 1), dtype=np.bool_)
    for cell, ring in rings.items():
        member[ring, cell] = True
    sizes = member.sum(axis=1)
    bare = np.flatnonzero(sizes == 1)
    tables = {peer.node: LinkTable(peer, covering_count=covering_count) for peer in order}
    for index, peer in enumerate(order):
        near = _walk_shared_ring(order, index, bare)
        cells = np.array(sorted(peer.cells), dtype=np.int64)
        slices = [near, *(_around(arrays[cell], index, window) for cell in cells.tolist() if cell != shared_cell)]
        candidates = np.unique(np.concatenate(slices))
        candidates = candidates[candidates != index]
        table = tables[peer.node]
        for choice in _first_holders(member, sizes, cells, candidates, index):
            table.consider(order[choice])
    for table in tables.values():
        for node in table.chosen:
            tables[node].admit(table.own)
    return tables


def _around(ring: Indices, index: int, window: int | None) -> Indices:
    if window is None or len(ring) <= 2 * window + 1:
        return ring
    place = int(np.searchsorted(ring, index))
    return np.asarray(ring[np.arange(place - window, place + window + 1) % len(ring)])


def _walk_shared_ring(order: Sequence[Descriptor], index: int, bare: Indices) -> Indices:
    """Return who matters on the ring of everybody: up to the first neighbor, and the next ones without interests."""
    own, count = order[index].cells, len(order)
    found: set[int] = set()
    for step in (1, -1):
        for distance in range(1, count):
            other = (index + step * distance) % count
            found.add(other)
            if relation(own, order[other].cells) is Relation.NEIGHBOR:
                break
    if len(bare):
        place = int(np.searchsorted(bare, index))
        found.update(int(bare[(place + step) % len(bare)]) for step in (-1, 0, 1))
    return np.array(sorted(found), dtype=np.int64)


def _first_holders(
    member: NDArray[np.bool_], sizes: NDArray[np.int64], cells: Indices, candidates: Indices, index: int
) -> list[int]:
    """Return the first holder of each cell, of each class, in each direction, and every coverer (one is the parent)."""
    held = member[np.ix_(candidates, cells)]
    shared = held.sum(axis=1)
    size = sizes[candidates]
    covered = (shared == size) & (size < len(cells))
    covering = (shared == len(cells)) & (size > len(cells))
    clock = np.argsort((candidates - index) % len(member), kind="stable")
    chosen: set[int] = set(candidates[covering].tolist())
    for kind in (covered, ~covered & ~covering & (shared < np.maximum(size, len(cells)))):
        rows = clock[kind[clock]]
        for scan in (rows, rows[::-1]):
            if len(scan):
                block = held[scan]
                first = block.argmax(axis=0)
                chosen.update(candidates[scan[first[block.any(axis=0)]]].tolist())
    return sorted(chosen)
