"""The Bloom tree on the wire (spec 1.7): own rows only, or all nodes as the paper would send them.

    <B 0xDB, B version and flags, B levels, B k, H m, H N⊥, H row capacity, I seed, I epoch>
    presence bitmap of 2^L − 1 bits, MSB first, zero padding
    for each present node: B rows, then rows·m bits (with the counters flag, nibbles), MSB first, zero padding

The low nibble of the version byte is 1; the high nibble holds flags: 0x10 layered (the node comes from the names, see
`layers`, and positions are independent), 0x20 keyed, 0x40 counters, 0x80 all nodes (each node's rows cover its
subtree). N⊥ = 0 means a namespace that is not closed. Row capacity 0 means one row per node.

A tree of all nodes whose search would miss what it says it has is refused: each node but the root is below one that is
present and that has all of its bits.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rookery.errors import FilterError
from rookery.filters.container import FILL_CAP, KEYED, TREE, VERSION, hasher_for, keyed_flag
from rookery.filters.hashing import DomainKey, KeyHasher
from rookery.filters.tree.geometry import TreeGeometry

__all__ = ["HEADER_BYTES", "MAXIMAL_ROWS", "TreeMessage", "decode", "encode"]

_HEADER = struct.Struct("<BBBBHHHII")
HEADER_BYTES = _HEADER.size
_LAYERED, _COUNTERS, _ALL_NODES = 0x10, 0x40, 0x80
#: The rows of a node are counted in an octet.
MAXIMAL_ROWS = 255


@dataclass(frozen=True, slots=True)
class TreeMessage:
    """A tree as it travels: present nodes in order, their rows one after the other."""

    geometry: TreeGeometry
    hasher: KeyHasher
    epoch: int
    all_nodes: bool
    has_counters: bool
    nodes: NDArray[np.int32]
    first: NDArray[np.int32]
    """Where the rows of each node begin, and the end of the last."""
    cells: NDArray[np.uint8]
    """A line for each row, an octet for each bit (or counter)."""

    @property
    def rows(self) -> NDArray[np.uint8]:
        """The bits of each row, MSB first."""
        return np.packbits(self.cells != 0, axis=1)


def encode(message: TreeMessage) -> bytes:
    """Encode a tree; rows over their fill cap are refused."""
    geometry = message.geometry
    flags = keyed_flag(message.hasher) << 4 | message.has_counters * _COUNTERS | message.all_nodes * _ALL_NODES
    flags |= geometry.layered * _LAYERED
    header = _HEADER.pack(
        TREE, VERSION | flags, geometry.levels, geometry.hash_count, geometry.bit_count,
        geometry.node_size, geometry.row_capacity, message.hasher.seed, message.epoch & 0xFFFFFFFF,
    )  # fmt: skip
    _check_fill(message.cells, geometry.bit_count)
    present = np.zeros(geometry.node_count, dtype=np.uint8)
    present[message.nodes] = 1
    parts = [header, np.packbits(present).tobytes()]
    for node, begin, end in zip(
        message.nodes.tolist(), message.first[:-1].tolist(), message.first[1:].tolist(), strict=True
    ):
        if end - begin > MAXIMAL_ROWS:
            raise FilterError(f"node {node} has {end - begin} rows, at most {MAXIMAL_ROWS}; use more or larger nodes")
        flat = message.cells[begin:end].ravel()
        parts.append(bytes([end - begin]))
        if message.has_counters:
            flat = np.append(flat, np.zeros(flat.size & 1, dtype=np.uint8))
            parts.append((flat[::2] << 4 | flat[1::2]).astype(np.uint8).tobytes())
        else:
            parts.append(np.packbits(flat).tobytes())
    return b"".join(parts)


def decode(data: bytes, *, domain_key: DomainKey | None) -> TreeMessage:
    """Decode a container of magic 0xDB."""
    if len(data) < HEADER_BYTES:
        raise FilterError(f"truncated: {len(data)} bytes, the header has {HEADER_BYTES}")
    magic, version, levels, hash_count, bit_count, node_size, capacity, seed, epoch = _HEADER.unpack_from(data)
    flags = version & 0xF0
    if magic != TREE or version & 0x0F != VERSION:
        raise FilterError(f"bad header: magic {magic:#04x} version {version:#04x}")
    geometry = TreeGeometry(levels, bit_count, hash_count, node_size, capacity, bool(flags & _LAYERED))
    end = HEADER_BYTES + (geometry.node_count + 7) // 8
    if end > len(data):
        raise FilterError("truncated: the presence bitmap is not whole")
    present = np.unpackbits(np.frombuffer(data, dtype=np.uint8, count=end - HEADER_BYTES, offset=HEADER_BYTES))
    if present[geometry.node_count :].any():
        raise FilterError("non-zero padding")
    nodes = np.flatnonzero(present).astype(np.int32)
    has_counters = bool(flags & _COUNTERS)
    first, cells = _read_rows(data, end, nodes, bit_count=bit_count, width=4 if has_counters else 1)
    _check_fill(cells, bit_count)
    if flags & _ALL_NODES:
        _check_cover(nodes, first, cells)
    hasher = hasher_for(KEYED if flags & KEYED << 4 else 0, seed, domain_key)
    return TreeMessage(geometry, hasher, epoch, bool(flags & _ALL_NODES), has_counters, nodes, first, cells)


def _read_rows(
    data: bytes, at: int, nodes: NDArray[np.int32], *, bit_count: int, width: int
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Read the rows of all nodes, cells of `width` bits; return where each node's begin, and a line for each row."""
    begins, counts = [], []
    for node in nodes.tolist():
        if at >= len(data) or not data[at]:
            raise FilterError(f"truncated: node {node} has no rows")
        begins.append(at + 1)
        counts.append(data[at])
        at += 1 + (data[at] * bit_count * width + 7) // 8
        if at > len(data):
            raise FilterError(f"truncated: the rows of node {node} are not whole")
    if at != len(data):
        raise FilterError(f"trailing bytes: {len(data) - at}")
    first = np.zeros(nodes.size + 1, dtype=np.int32)
    first[1:] = np.cumsum(counts)
    if not begins:
        return first, np.zeros((0, bit_count), dtype=np.uint8)
    octets = np.frombuffer(data, dtype=np.uint8, offset=begins[0]).copy()
    octets[np.array(begins[1:], dtype=np.int64) - 1 - begins[0]] = 0  # the counts of rows between them
    cells = np.unpackbits(octets) if width == 1 else np.stack([octets >> 4, octets & 15], axis=1).ravel()
    within = np.arange(first[-1]) - np.repeat(first[:-1], counts)
    starts = np.repeat((np.array(begins) - begins[0]) * (8 // width), counts) + within * bit_count
    rows = np.lib.stride_tricks.sliding_window_view(cells, bit_count)[starts]
    if int(rows.sum(dtype=np.int64)) != int(cells.sum(dtype=np.int64)):
        raise FilterError("non-zero padding")
    return first, rows


def _check_fill(cells: NDArray[np.uint8], bit_count: int) -> None:
    if cells.size and int((cells != 0).sum(axis=1).max()) > FILL_CAP * bit_count:
        raise FilterError(f"over the fill cap: a row has more than {FILL_CAP:.0%} of its bits set")


def _check_cover(nodes: NDArray[np.int32], first: NDArray[np.int32], cells: NDArray[np.uint8]) -> None:
    """Refuse a tree of all nodes where one has a bit that the node above it does not have."""
    if not nodes.size:
        return
    joined = np.bitwise_or.reduceat(cells != 0, first[:-1], axis=0)
    above = np.searchsorted(nodes, (nodes - 1) >> 1)
    for place, node in enumerate(nodes.tolist()):
        if node and (nodes[above[place]] != (node - 1) >> 1 or (joined[place] & ~joined[above[place]]).any()):
            raise FilterError(f"bad tree: node {node} is not covered by the one above it")
