"""The Bloom tree on the wire (spec 1.7): own rows only, or all nodes as the paper would send them.

    <B 0xDB, B version and flags, B levels, B k, H m, H N⊥, H row capacity, I seed, I epoch>
    presence bitmap of 2^L − 1 bits, MSB first, zero padding
    for each present node: B rows, then rows·m bits (with the counters flag, nibbles), MSB first, zero padding

The low nibble of the version byte is 1; the high nibble holds flags: 0x20 keyed, 0x40 counters, 0x80 all nodes (each
node's rows cover its subtree). A decoder that knows no flags rejects a flagged message by its version, as it should.
N⊥ = 0 means the open namespace. Row capacity 0 means one row per node.
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

__all__ = ["HEADER_BYTES", "TreeMessage", "decode", "encode"]

_HEADER = struct.Struct("<BBBBHHHII")
HEADER_BYTES = _HEADER.size
_COUNTERS, _ALL_NODES = 0x40, 0x80
_MAXIMAL_ROWS = 255


@dataclass(frozen=True, slots=True)
class TreeMessage:
    """A decoded tree: for each present node its rows, as one byte per bit (or per counter)."""

    geometry: TreeGeometry
    hasher: KeyHasher
    epoch: int
    all_nodes: bool
    has_counters: bool
    rows: dict[int, NDArray[np.uint8]]


def encode(message: TreeMessage) -> bytes:
    """Encode a tree; rows over their fill cap are refused."""
    geometry = message.geometry
    flags = keyed_flag(message.hasher) << 4 | message.has_counters * _COUNTERS | message.all_nodes * _ALL_NODES
    header = _HEADER.pack(
        TREE, VERSION | flags, geometry.levels, geometry.hash_count, geometry.bit_count,
        geometry.node_size, geometry.row_capacity, message.hasher.seed, message.epoch & 0xFFFFFFFF,
    )  # fmt: skip
    present = np.zeros(geometry.node_count, dtype=np.uint8)
    present[list(message.rows)] = 1
    parts = [header, np.packbits(present).tobytes()]
    for node in sorted(message.rows):
        rows = message.rows[node]
        if len(rows) > _MAXIMAL_ROWS:
            raise FilterError(f"node {node} has {len(rows)} rows, at most {_MAXIMAL_ROWS}; use more or larger nodes")
        _check_rows(rows, geometry.bit_count)
        parts.append(bytes([len(rows)]))
        if message.has_counters:
            flat = np.append(rows.ravel(), np.zeros(rows.size & 1, dtype=np.uint8))
            parts.append((flat[::2] << 4 | flat[1::2]).astype(np.uint8).tobytes())
        else:
            parts.append(np.packbits(rows.ravel()).tobytes())
    return b"".join(parts)


def decode(data: bytes, *, domain_key: DomainKey | None) -> TreeMessage:
    """Decode a container of magic 0xDB."""
    if len(data) < HEADER_BYTES:
        raise FilterError(f"truncated: {len(data)} bytes, the header has {HEADER_BYTES}")
    magic, version, levels, hash_count, bit_count, node_size, capacity, seed, epoch = _HEADER.unpack_from(data)
    flags = version & 0xF0
    if magic != TREE or version & 0x0F != VERSION or flags & 0x10:
        raise FilterError(f"bad header: magic {magic:#04x} version {version:#04x}")
    geometry = TreeGeometry(levels, bit_count, hash_count, node_size, capacity)
    has_counters, at = bool(flags & _COUNTERS), HEADER_BYTES
    end = at + (geometry.node_count + 7) // 8
    if end > len(data):
        raise FilterError("truncated: the presence bitmap is not whole")
    present = np.unpackbits(np.frombuffer(data, dtype=np.uint8, count=end - at, offset=at))
    if present[geometry.node_count :].any():
        raise FilterError("non-zero padding")
    rows, at = {}, end
    for node in np.flatnonzero(present).tolist():
        if at >= len(data) or not data[at]:
            raise FilterError(f"truncated: node {node} has no rows")
        row_count = data[at]
        end = at + 1 + (row_count * bit_count * (4 if has_counters else 1) + 7) // 8
        if end > len(data):
            raise FilterError(f"truncated: the rows of node {node} are not whole")
        rows[node] = _unpack(data[at + 1 : end], row_count, bit_count, has_counters)
        at = end
    if at != len(data):
        raise FilterError(f"trailing bytes: {len(data) - at}")
    hasher = hasher_for(KEYED if flags & KEYED << 4 else 0, seed, domain_key)
    return TreeMessage(geometry, hasher, epoch, bool(flags & _ALL_NODES), has_counters, rows)


def _unpack(payload: bytes, row_count: int, bit_count: int, has_counters: bool) -> NDArray[np.uint8]:
    packed = np.frombuffer(payload, dtype=np.uint8)
    if has_counters:
        items = np.empty(2 * packed.size, dtype=np.uint8)
        items[::2], items[1::2] = packed >> 4, packed & 15
    else:
        items = np.unpackbits(packed)
    size = row_count * bit_count
    if size < items.size and items[size:].any():
        raise FilterError("non-zero padding")
    rows = items[:size].reshape(row_count, bit_count)
    _check_rows(rows, bit_count)
    return rows


def _check_rows(rows: NDArray[np.uint8], bit_count: int) -> None:
    if int((rows != 0).sum(axis=1).max()) > FILL_CAP * bit_count:
        raise FilterError(f"over the fill cap: a row has more than {FILL_CAP:.0%} of its bits set")
