"""Kernels of the Bloom tree: positions and places of keys, the flat probe, and the search of Algorithm 2 in one pass.

The plain twins: `TreeGeometry.positions`, `layers.layered_place`, `BloomTree.__contains__` key by key, and
`tests.twins.tree`. Arrays over the nodes of a tree are those of `index.TreeIndex`: in the order of a depth-first
search, so that a parent comes before its left child and that before its right one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rookery.filters.hashing.kernels import fmix64, mulhi64
from rookery.kernels import kernel

__all__ = ["fill_nodes", "fill_places", "fill_positions", "join_rows", "lay_out", "probe", "search", "slice_rows"]

_LOW = np.uint64(0xFFFFFFFF)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_PRIME = np.uint64(0x100000001B3)
_1, _32, _63 = (np.uint64(n) for n in (1, 32, 63))


@kernel
def fill_positions(hashes: NDArray[np.uint64], bit_count: int, layered: bool, positions: NDArray[np.int32]) -> None:
    """Set the positions of each hash in a row: by double hashing, or two from each mix in a layered tree."""
    size = np.uint64(bit_count)
    for key in range(hashes.size):
        value = hashes[key]
        if layered:
            word = np.uint64(0)
            for index in range(positions.shape[1]):
                word = word >> _32 if index & 1 else fmix64(value + np.uint64(index // 2 + 1) * _GOLDEN)
                positions[key, index] = np.int32((word & _LOW) * size >> _32)
        else:
            mixed, step = value & _LOW, (value >> _32) | _1
            for index in range(positions.shape[1]):
                positions[key, index] = np.int32((mixed & _LOW) * size >> _32)
                mixed += step


@kernel
def fill_nodes(hashes: NDArray[np.uint64], node_count: int, top: NDArray[np.int64], deep: NDArray[np.int64]) -> None:
    """Set the node of each hash in the open namespace."""
    for key in range(hashes.size):
        top[key] = deep[key] = np.int64(mulhi64(fmix64(hashes[key]), np.uint64(node_count)))


@kernel
def fill_places(
    offsets: NDArray[np.int32],
    data: NDArray[np.uint8],
    hashes: NDArray[np.uint64],
    basis: np.uint64,
    levels: int,
    named_layers: int,
    top: NDArray[np.int64],
    deep: NDArray[np.int64],
) -> None:
    """Set the path of each key of an Arrow string array in a layered tree; −2 where its home is below the tree."""
    for key in range(hashes.size):
        begin, end = offsets[key], offsets[key + 1]
        for at in range(begin, end):
            if data[at] == 0x1F:
                begin = at + 1
                break
        node, depth, length, state = np.int64(0), 0, 0, basis
        for at in range(begin, end):
            octet = data[at]
            if octet == 0x1F and begin > offsets[key]:
                break
            state = (state ^ np.uint64(octet)) * _PRIME
            if octet != 0x2F:
                length += 1
            else:
                if length > 0 and depth < named_layers - 1:
                    node = 2 * node + 1 + np.int64(fmix64(state) >> _63)
                    depth += 1
                length = 0
        top[key] = node
        if depth >= levels:
            deep[key] = -2
            continue
        bits = fmix64(hashes[key])
        for level in range(depth, levels - 1):
            node = 2 * node + 1 + np.int64(bits >> np.uint64(63 - level) & _1)
        deep[key] = node


@kernel
def lay_out(
    present: NDArray[np.int32],
    first: NDArray[np.int32],
    levels: int,
    joins: bool,
    all_nodes: bool,
    seat: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Order the nodes that exist depth first: nodes, children, own rows, covering rows, and where each row comes from.

    The rows of `present[i]` are `first[i]` to `first[i + 1]`. With `joins` each node gets a row more, which comes from
    nowhere (−1) and is joined later. `seat` tells where a node is.
    """
    count = 0
    rank = np.full(seat.size, -2, dtype=np.int32)  # -1: exists and has no rows
    for index in range(present.size):
        node = np.int64(present[index])
        fresh = rank[node] == -2
        rank[node] = index
        while fresh:
            count += 1
            if node == 0:
                break
            node = (node - 1) >> 1
            fresh = rank[node] == -2
            if fresh:
                rank[node] = -1
    total = (first[-1] if first.size else 0) + (count if joins else 0)
    nodes, child = np.empty(count, dtype=np.int32), np.full((count, 2), -1, dtype=np.int32)
    own, cover = np.zeros((count, 2), dtype=np.int32), np.zeros((count, 2), dtype=np.int32)
    source = np.full(total, -1, dtype=np.int32)
    seat[:] = -1
    stack = np.empty(2 * levels + 2, dtype=np.int64)
    height, at, row = 0, 0, 0
    if count > 0:
        stack[0] = 0
        height = 1
    while height > 0:
        height -= 1
        node = stack[height]
        nodes[at], seat[node] = node, at
        if node > 0:
            child[seat[(node - 1) >> 1], 1 - node % 2] = at
        cover[at, 0] = row
        if joins:
            row += 1
            cover[at, 1] = row
            own[at, 0] = own[at, 1] = row - 1  # none, unless it has one
        else:
            own[at, 0] = own[at, 1] = row
        index = rank[node]
        if index >= 0:
            own[at, 0] = row
            for line in range(first[index], first[index + 1]):
                source[row] = line
                row += 1
            own[at, 1] = row
        at += 1
        for below in (2 * node + 2, 2 * node + 1):
            if below < seat.size and rank[below] != -2:
                stack[height] = below
                height += 1
    if not joins:
        for place in range(count - 1, -1, -1):  # children before their parents
            cover[place, 1] = own[place, 1]
            for side in (0, 1):
                if child[place, side] >= 0 and not all_nodes:
                    cover[place, 1] = cover[child[place, side], 1]
    return nodes, child, own, cover, source


@kernel
def join_rows(
    child: NDArray[np.int32], own: NDArray[np.int32], cover: NDArray[np.int32], rows: NDArray[np.uint8]
) -> None:
    """Make the covering row of each node the OR of its own rows and of those that cover its children."""
    for place in range(child.shape[0] - 1, -1, -1):
        joined = rows[cover[place, 0]]
        for line in range(own[place, 0], own[place, 1]):
            joined |= rows[line]
        for side in (0, 1):
            if child[place, side] >= 0:
                joined |= rows[cover[child[place, side], 0]]


@kernel
def _first_row(positions: NDArray[np.int32], key: int, rows: NDArray[np.uint8], begin: int, end: int) -> int:
    """Return the first of some rows that has all positions of a key, `end` if none has."""
    for row in range(begin, end):
        hit = True
        for index in range(positions.shape[1]):
            position = positions[key, index]
            if rows[row, position >> 3] >> np.uint8(7 - (position & 7)) & np.uint8(1) == 0:
                hit = False
                break
        if hit:
            return row
    return end


@kernel
def probe(
    positions: NDArray[np.int32],
    top: NDArray[np.int64],
    deep: NDArray[np.int64],
    seat: NDArray[np.int32],
    own: NDArray[np.int32],
    rows: NDArray[np.uint8],
    found: NDArray[np.bool_],
) -> None:
    """Ask each key's own nodes alone, from the last of its path upward; `seat` finds a node in the index."""
    for key in range(found.size):
        found[key] = False
        node = deep[key]
        if node == -1:
            for at in range(own.shape[0]):
                if _first_row(positions, key, rows, own[at, 0], own[at, 1]) < own[at, 1]:
                    found[key] = True
                    break
        while node >= top[key]:
            at = seat[node]
            if at >= 0 and _first_row(positions, key, rows, own[at, 0], own[at, 1]) < own[at, 1]:
                found[key] = True
                break
            if node == 0:
                break
            node = (node - 1) >> 1


@kernel
def slice_rows(rows: NDArray[np.uint8], slices: NDArray[np.uint64]) -> None:
    """Turn the rows: a line for each position, in which bit `row` says whether that row has it."""
    for row in range(rows.shape[0]):
        word, bit = row >> 6, _1 << np.uint64(row & 63)
        for position in range(slices.shape[0]):
            if rows[row, position >> 3] >> np.uint8(7 - (position & 7)) & np.uint8(1):
                slices[position, word] |= bit


@kernel
def _rows_with(positions: NDArray[np.int32], key: int, slices: NDArray[np.uint64], mask: NDArray[np.uint64]) -> None:
    """Set the rows that have all positions of a key: the AND of their slices, ended where nothing is left."""
    for word in range(mask.size):
        left = slices[positions[key, 0], word]
        for index in range(1, positions.shape[1]):
            if left == 0:
                break
            left &= slices[positions[key, index], word]
        mask[word] = left


@kernel
def _next_row(mask: NDArray[np.uint64], begin: int, end: int) -> int:
    """Return the first row of a mask from `begin` on; `end` if there is none before."""
    row = begin
    while row < end:
        left = mask[row >> 6] >> np.uint64(row & 63)
        if left == 0:
            row = (row | 63) + 1
            continue
        while left & _1 == 0:
            left >>= _1
            row += 1
        return min(row, end)
    return end


@kernel
def search(
    positions: NDArray[np.int32],
    top: NDArray[np.int64],
    deep: NDArray[np.int64],
    nodes: NDArray[np.int32],
    child: NDArray[np.int32],
    own: NDArray[np.int32],
    cover: NDArray[np.int32],
    slices: NDArray[np.uint64],
    levels: int,
    limit: int,
    found: NDArray[np.int64],
    visited: NDArray[np.int32],
) -> tuple[int, int]:
    """Carry all keys down the tree at once; keep at each node those that a covering row has, note those that are there.

    The rows that have a key are found once, by the slices of its positions, 64 rows at a time; then a covering row is
    one of them within a range, and `cursor` is the first from where the key's search stands. Returns how many pairs
    (key, node) and visited nodes there are.
    """
    count = top.size
    masks = np.empty((count, slices.shape[1]), dtype=np.uint64)
    for key in range(count):
        _rows_with(positions, key, slices, masks[key])
    kept = np.empty((levels + 1, max(count, 1)), dtype=np.int32)
    left = np.zeros(levels + 1, dtype=np.int32)
    cursor = np.full(count, -1, dtype=np.int32)
    noted = np.zeros(count, dtype=np.int32)
    for key in range(count):
        kept[0, key] = key
    left[0] = count
    stack = np.empty(2 * levels + 2, dtype=np.int32)
    height, pairs, seen = 0, 0, 0
    if nodes.size:
        stack[0] = 0
        height = 1
    while height > 0:
        height -= 1
        at = stack[height]
        node = np.int64(nodes[at])
        depth, above = 0, node + 1
        while above > 1:
            above >>= 1
            depth += 1
        begin, end = cover[at, 0], cover[at, 1]
        visited[seen] = node
        seen += 1
        here = 0
        for index in range(left[depth]):
            key = kept[depth, index]
            last = deep[key]
            if last < -1 or noted[key] >= limit:
                continue
            if last >= 0:  # is this node on its path?
                deeper = last + 1
                while deeper > node + 1:
                    deeper >>= 1
                if deeper != node + 1:
                    continue
            if cursor[key] < begin:
                row = _next_row(masks[key], begin, end)
                cursor[key] = row if row < end else begin - 1
            if not begin <= cursor[key] < end:
                continue
            kept[depth + 1, here] = key
            here += 1
            if last >= 0 and node < top[key]:
                continue
            if begin <= own[at, 0] and own[at, 1] <= end:
                holds = cursor[key] < own[at, 1]
            else:
                holds = _next_row(masks[key], own[at, 0], own[at, 1]) < own[at, 1]
            if holds:
                found[pairs, 0], found[pairs, 1] = key, node
                pairs += 1
                noted[key] += 1
        left[depth + 1] = here
        if here > 0:
            for side in (1, 0):
                if child[at, side] >= 0:
                    stack[height] = child[at, side]
                    height += 1
    return pairs, seen
