"""Exact tables and shortcuts for many peers at once: the static setting of the seed, where each knows every other.

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

from rookery.arrays import distinct
from rookery.overlay.identity import Descriptor, Relation, relation
from rookery.overlay.links import LinkTable
from rookery.overlay.paper import PaperTable
from rookery.overlay.selection import Rule

__all__ = ["clusters", "exact_shortcuts", "exact_tables", "paper_tables"]

#: Holders of a cell that are looked at in each distance class, from its near end on.
SAMPLE = 4

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
        candidates = distinct(np.concatenate(slices))
        candidates = candidates[candidates != index]
        _fill(tables[peer.node], order, member[np.ix_(candidates, cells)], sizes[candidates], cells, candidates, index)
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


def _fill(
    table: LinkTable,
    order: Sequence[Descriptor],
    held: NDArray[np.bool_],
    size: NDArray[np.int64],
    cells: Indices,
    candidates: Indices,
    index: int,
) -> None:
    """Fill a table with the first holder of each cell, of each class, in each direction; any coverer may be parent."""
    shared = held.sum(axis=1)
    covered = (shared == size) & (size < len(cells))
    covering = (shared == len(cells)) & (size > len(cells))
    neighbor = ~covered & ~covering & (shared < np.maximum(size, len(cells)))
    clock = np.argsort((candidates - index) % len(order), kind="stable")
    for kind, members in ((Relation.COVERED, covered), (Relation.NEIGHBOR, neighbor), (Relation.COVERING, covering)):
        rows = clock[members[clock]]
        if not len(rows):
            continue
        for scan, forward in ((rows, True), (rows[::-1], False)):
            block = held[scan]
            holders: dict[int, list[int]] = defaultdict(list)
            present = block.any(axis=0)
            first = candidates[scan[block.argmax(axis=0)]]
            for cell, holder in zip(cells[present].tolist(), first[present].tolist(), strict=True):
                holders[holder].append(cell)
            for holder, own in holders.items():
                table.fill(order[holder], kind, own, forward=forward)
    table.adopt(order[one] for one in candidates[covering].tolist())


def exact_shortcuts(primaries: Sequence[Descriptor], *, shared_cell: int) -> dict[int, list[Descriptor]]:
    """Return for each peer who serves best in each distance class, of the first few holders of each cell there."""
    order = sorted(primaries, key=lambda one: one.position)
    random_ids = np.array([one.random_id for one in order], dtype=np.uint64)
    member = np.zeros((len(order), shared_cell + 1), dtype=np.bool_)
    for index, peer in enumerate(order):
        member[index, list(peer.cells)] = True
    rings = {cell: np.flatnonzero(member[:, cell]) for cell in range(shared_cell)}
    places = {cell: random_ids[ring] for cell, ring in rings.items()}
    starts = np.uint64(1) << np.arange(62, 62 - len(order).bit_length() - 6, -2, dtype=np.uint64)
    found: dict[int, list[Descriptor]] = {}
    for index, peer in enumerate(order):
        cells = np.array(sorted(peer.cells - {shared_cell}), dtype=np.int64)
        targets = random_ids[index] + starts  # wraps, as the circle does
        slices = [np.array([index])]
        for cell in cells.tolist():
            first = np.searchsorted(places[cell], targets)
            slices.append(rings[cell][((first[:, None] + np.arange(SAMPLE)) % len(rings[cell])).ravel()])
        candidates = distinct(np.concatenate(slices))
        candidates = candidates[candidates != index]
        found[peer.node] = [order[one] for one in _best_of_classes(member, random_ids, cells, candidates, index)]
    return found


def _best_of_classes(
    member: NDArray[np.bool_], random_ids: NDArray[np.uint64], cells: Indices, candidates: Indices, index: int
) -> list[int]:
    distances = random_ids[candidates] - random_ids[index]
    # A double is exact enough here: who lands in the wrong class is considered there and not taken.
    kinds = np.log2(np.maximum(distances, 1).astype(np.float64)).astype(np.int64) >> 1
    held = member[np.ix_(candidates, cells)]
    best_first = np.lexsort((distances, -held.sum(axis=1)))
    chosen: set[int] = set()
    for kind in np.unique(kinds).tolist():
        rows = best_first[kinds[best_first] == kind]
        block = held[rows]
        chosen.update(candidates[rows[block.argmax(axis=0)[block.any(axis=0)]]].tolist())
    return sorted(chosen)
