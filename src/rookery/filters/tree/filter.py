"""The dynamic Bloom counting tree (DBCT) of seed 000, as its owner builds it and as a receiver asks it.

Rule 1: a node exists only while its subtree holds a used element (the paper's N′). Each node keeps two matrices: the
rows of its *own* elements, and rows that *cover* its subtree, which the search prunes by. In a leaf they are the same.
Rule 2: only own rows go on the wire (`sound`, the default); whoever receives them joins the rows of a subtree itself.
The rows of a key's own node are then all that decides: an ancestor contains them. `paper` sends every node's covering
rows, which for one common m is quadratic in the number of endpoints.
Rule 3: owner and receiver answer `key in tree` by the same bits.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from rookery.errors import FilterError, UnknownKeyError
from rookery.filters import equations
from rookery.filters.bloom.exact import exact_rate
from rookery.filters.bloom.plain import distinct_positions
from rookery.filters.hashing import DomainKey, KeyHasher, Keys, string_buffers
from rookery.filters.protocol import require_owner
from rookery.filters.tree import kernels, wire
from rookery.filters.tree.geometry import TreeGeometry, levels_for
from rookery.filters.tree.matrix import RowMatrix
from rookery.filters.tree.query import QueryResult, row_contains, search_paper, search_sound

__all__ = ["BloomTree", "Mode"]

Mode = Literal["sound", "paper"]


class _Node:
    """The two matrices of a node; one object in a leaf."""

    __slots__ = ("cover", "own")

    def __init__(self, geometry: TreeGeometry, node: int) -> None:
        shape = {
            "bit_count": geometry.bit_count,
            "hash_count": geometry.hash_count,
            "capacity": geometry.row_capacity,
        }
        self.cover = RowMatrix(**shape)
        self.own = RowMatrix(**shape) if geometry.children(node) else self.cover


class BloomTree:
    """A tree of counting Bloom filters over a namespace of N ordinals, N⊥ per node."""

    __slots__ = (
        "_counts",
        "_nodes",
        "_owned",
        "_packed",
        "_received",
        "epoch",
        "geometry",
        "hasher",
        "mode",
        "namespace",
    )

    def __init__(
        self,
        *,
        namespace_size: int,
        node_size: int = 16,
        bit_count: int = 117,
        hash_count: int = 5,
        row_capacity: int | None = None,
        namespace: Mapping[str, int] | None = None,
        mode: Mode = "sound",
        seed: int = 0,
        domain_key: DomainKey | None = None,
        epoch: int = 0,
    ) -> None:
        """Make an empty tree; `namespace` closes it, `row_capacity` 0 keeps one row per node (default ⌊m·ln 2/k⌋)."""
        if row_capacity is None:
            row_capacity = max(1, math.floor(bit_count * math.log(2) / max(1, hash_count)))
        self.geometry = TreeGeometry(
            levels=levels_for(namespace_size=namespace_size, node_size=node_size),
            bit_count=bit_count,
            hash_count=hash_count,
            node_size=0 if namespace is None else node_size,
            row_capacity=row_capacity,
        )
        if mode not in ("sound", "paper"):
            raise FilterError(f"mode is {mode!r}; write 'sound' or 'paper'")
        self.mode: Mode = mode
        self.namespace = namespace
        self.hasher = KeyHasher(seed=seed, domain_key=domain_key)
        self.epoch = epoch
        self._counts: dict[tuple[int, int], int] = {}  # by hash and node
        self._nodes: dict[int, _Node] = {}
        self._received: wire.TreeMessage | None = None
        self._packed: tuple[NDArray[np.int64], NDArray[np.uint8]] | None = None
        self._owned = True

    @classmethod
    def sized_for(
        cls,
        capacity: int,
        false_positive_rate: float = 0.01,
        *,
        node_size: int = 16,
        seed: int = 0,
        domain_key: DomainKey | None = None,
        epoch: int = 0,
    ) -> Self:
        """Make a tree for a quarter-used namespace: N = 4·`capacity`, rows sized for N⊥ elements."""
        if capacity < 0 or not 0 < false_positive_rate < 1:
            raise FilterError("capacity is at least 0 and the false-positive rate lies between 0 and 1")
        bit_count = equations.optimal_bit_count(n=node_size, rate=false_positive_rate)
        return cls(
            namespace_size=4 * max(1, capacity),
            node_size=node_size,
            bit_count=bit_count,
            hash_count=max(1, round(equations.optimal_hash_count(n=node_size, m=bit_count))),
            seed=seed,
            domain_key=domain_key,
            epoch=epoch,
        )

    @classmethod
    def build(
        cls,
        keys: Iterable[str],
        *,
        namespace: Mapping[str, int],
        node_size: int,
        bit_count: int,
        hash_count: int,
        row_capacity: int | None = None,
        mode: Mode = "sound",
    ) -> Self:
        """Algorithm 1: visit the namespace breadth first, create the nodes that meet the used keys, go on below them.

        The printed loop enqueues the node itself again and never ends; its children are meant (spec 1.1).
        """
        tree = cls(
            namespace_size=max(namespace.values(), default=0) + 1,
            node_size=node_size,
            bit_count=bit_count,
            hash_count=hash_count,
            row_capacity=row_capacity,
            namespace=namespace,
            mode=mode,
        )
        used = list(dict.fromkeys(keys))
        queue = deque([(0, used)])
        while queue:
            node, here = queue.popleft()
            met = [key for key in here if node in tree.geometry.path(tree._node_of(key, 0))]
            if not met:
                continue
            created = tree._nodes[node] = _Node(tree.geometry, node)
            for key in met:
                value = tree.hasher(key)
                created.cover.add(value)
                if tree._node_of(key, value) == node and created.own is not created.cover:
                    created.own.add(value)
            queue.extend((child, met) for child in tree.geometry.children(node))
        for key in used:
            value = tree.hasher(key)
            tree._counts[value, tree._node_of(key, value)] = 1
        return tree

    def _node_of(self, key: str, value: int) -> int:
        """Return the node that owns a key, −1 outside a closed namespace."""
        if not self.geometry.node_size:
            return self.geometry.open_node(value)
        if self.namespace is None:
            raise FilterError("this tree has a closed namespace; give from_bytes the namespace it was built with")
        ordinal = self.namespace.get(key, -1)
        node = ordinal // self.geometry.node_size
        return node if 0 <= node < self.geometry.node_count else -1

    @property
    def created_nodes(self) -> list[int]:
        """The nodes that exist."""
        return sorted(self._nodes if self._received is None else self._received.rows)

    def matrix(self, node: int) -> RowMatrix:
        """Return the rows with which the owner covers the subtree of a created node."""
        return self._nodes[node].cover

    def add(self, key: str) -> None:
        """Add one key, or one more reference to it, on the path from its node to the root."""
        require_owner(self._owned)
        value = self.hasher(key)
        owner = self._node_of(key, value)
        if owner < 0:
            raise FilterError(f"{key!r} is not in the namespace of this tree; add it there first")
        count = self._counts.get((value, owner), 0)
        self._counts[value, owner] = count + 1
        if count:
            return
        for node in self.geometry.path(owner):
            if node not in self._nodes:
                self._nodes[node] = _Node(self.geometry, node)
            self._nodes[node].cover.add(value)
        if self._nodes[owner].own is not self._nodes[owner].cover:
            self._nodes[owner].own.add(value)
        self._packed = None

    def add_many(self, keys: Keys) -> None:
        """Add an Arrow string array (or any strings)."""
        for key in keys.to_pylist() if hasattr(keys, "to_pylist") else keys:
            self.add(key)

    def remove(self, key: str) -> None:
        """Drop one reference; nodes whose subtree has become empty disappear."""
        require_owner(self._owned)
        value = self.hasher(key)
        owner = self._node_of(key, value)
        count = self._counts.get((value, owner), 0)
        if not count:
            raise UnknownKeyError(f"{key!r} is not in this tree; only keys that were added can be removed")
        if count > 1:
            self._counts[value, owner] = count - 1
            return
        del self._counts[value, owner]
        if self._nodes[owner].own is not self._nodes[owner].cover:
            self._nodes[owner].own.remove(value)
        for node in self.geometry.path(owner):
            self._nodes[node].cover.remove(value)
            if not len(self._nodes[node].cover):
                del self._nodes[node]
        self._packed = None

    def _deciding_rows(self, node: int) -> list[NDArray[np.uint8]]:
        """Return the rows that decide about keys of `node`: its own, or in paper mode those that cover its subtree."""
        if self._received is not None:
            rows = self._received.rows.get(node)
            return [] if rows is None else [np.packbits(row != 0) for row in rows]
        found = self._nodes.get(node)
        if found is None:
            return []
        return (found.own if self.mode == "sound" else found.cover).bits()

    def _covering_rows(self, node: int) -> list[NDArray[np.uint8]]:
        """Return the rows that cover the subtree of `node`: counted by the owner, joined by a receiver of own rows."""
        if self._received is None:
            found = self._nodes.get(node)
            return [] if found is None else found.cover.bits()
        if self.mode == "paper":
            return self._deciding_rows(node)
        joined = self._deciding_rows(node)
        for child in self.geometry.children(node):
            joined = joined + self._covering_rows(child)
        if not self.geometry.row_capacity and joined:  # one row per node: a parent is the OR of its children
            return [np.bitwise_or.reduce(joined)]
        return joined

    def query(self, keys: Iterable[str], *, mode: Mode | None = None, threshold: float | None = None) -> QueryResult:
        """Search for a set of keys at once (Algorithm 2); `paper` prunes by equation 6 and may miss members."""
        hashes = {key: self.hasher(key) for key in keys}
        nodes = {key: self._node_of(key, value) for key, value in hashes.items()}
        if (mode or self.mode) == "sound":
            return search_sound(self.geometry, self._covering_rows, hashes=hashes, nodes=nodes)
        return search_paper(self.geometry, self._covering_rows, hashes=hashes, nodes=nodes, threshold=threshold)

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str):
            return False
        value = self.hasher(key)
        return self._contains_at(value, self._node_of(key, value))

    def contains_hash(self, value: int) -> bool:
        """Ask with a hash that `hasher` made; only the open namespace can tell the node from the hash."""
        if self.geometry.node_size:
            raise FilterError("a closed namespace is asked by key, not by hash")
        return self._contains_at(value, self.geometry.open_node(value))

    def _contains_at(self, value: int, node: int) -> bool:
        geometry = self.geometry
        positions = distinct_positions(value, bit_count=geometry.bit_count, hash_count=geometry.hash_count)
        return node >= 0 and any(row_contains(row, positions) for row in self._deciding_rows(node))

    def _packed_rows(self) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return (first row of each node, all deciding rows), for the kernels."""
        if self._packed is None:
            counts = np.zeros(self.geometry.node_count + 1, dtype=np.int64)
            rows = []
            for node in self.created_nodes:
                bits = self._deciding_rows(node)
                counts[node + 1] = len(bits)
                rows += bits
            joined = np.concatenate(rows) if rows else np.zeros(1, dtype=np.uint8)
            self._packed = np.cumsum(counts), joined
        return self._packed

    def contains_many(self, keys: Keys) -> NDArray[np.bool_]:
        """Ask for a batch; one boolean per key, in order."""
        row_start, rows = self._packed_rows()
        geometry, hasher, parts = self.geometry, self.hasher, []
        if geometry.node_size:
            listed = keys.to_pylist() if hasattr(keys, "to_pylist") else list(keys)
            hashes = hasher.many(listed)
            nodes = np.array([self._node_of(key, 0) for key in listed], dtype=np.int64)
            found = np.empty(hashes.size, dtype=np.bool_)
            kernels.contains_nodes(hashes, nodes, row_start, rows, geometry.bit_count, geometry.hash_count, found)
            return found
        for offsets, data in string_buffers(keys):
            found = np.empty(offsets.size - 1, dtype=np.bool_)
            kernels.contains_strings(
                offsets, data, hasher.secret, hasher.salt,
                row_start, rows, geometry.bit_count, geometry.hash_count, found,
            )  # fmt: skip
            parts.append(found)
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.bool_)

    def _message(self, counters: bool) -> wire.TreeMessage:
        if self._received is not None:
            return self._received
        rows = {}
        for node, held in self._nodes.items():
            matrix = held.own if self.mode == "sound" else held.cover
            if matrix.rows:
                stacked = np.stack([row.counters for row in matrix.rows])
                rows[node] = stacked if counters else (stacked != 0).astype(np.uint8)
        return wire.TreeMessage(self.geometry, self.hasher, self.epoch, self.mode == "paper", counters, rows)

    def to_bytes(self, *, counters: bool = False) -> bytes:
        """Encode the bits; with `counters`, the counters, to hand over to another owner."""
        return wire.encode(self._message(counters))

    @classmethod
    def from_bytes(
        cls, data: bytes, *, domain_key: DomainKey | None = None, namespace: Mapping[str, int] | None = None
    ) -> Self:
        """Decode a container of magic 0xDB; a closed tree also needs the namespace that all participants share."""
        message = wire.decode(data, domain_key=domain_key)
        decoded = cls.__new__(cls)
        decoded.geometry, decoded.hasher, decoded.epoch = message.geometry, message.hasher, message.epoch
        decoded.mode = "paper" if message.all_nodes else "sound"
        decoded.namespace, decoded._received, decoded._packed = namespace, message, None
        decoded._counts, decoded._nodes, decoded._owned = {}, {}, False
        return decoded

    @property
    def size_in_bits(self) -> int:
        """All after the header: presence bitmap, and for each present node a byte of row count and its padded rows."""
        return 8 * (len(self.to_bytes()) - wire.HEADER_BYTES)

    @property
    def expected_false_positive_rate(self) -> float:
        """The mean over all nodes of the chance that some row of the node has all bits of a random hash."""
        geometry, rates = self.geometry, 0.0
        for node in self.created_nodes:
            rows = self._deciding_rows(node)
            if rows:
                bits = np.unpackbits(np.stack(rows), axis=1, count=geometry.bit_count).astype(np.bool_)
                rates += exact_rate(bits, hash_count=geometry.hash_count)
        return rates / geometry.node_count
