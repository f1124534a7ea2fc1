"""The dynamic Bloom counting tree (DBCT) of seed 000, as its owner builds it and as a receiver asks it.

Rule 1: a node exists only while its subtree holds a used element (the paper's N′). It counts the rows of its *own*
elements; what *covers* its subtree, which the search prunes by, is joined from the rows below (`index`).
Rule 2: only own rows go on the wire (`sound`, the default); whoever receives them joins the rows of a subtree itself.
The rows of a key's own node are then all that decides: an ancestor contains them. `paper` counts every element into
each of its ancestors and sends all those rows, which for one common m is quadratic in the number of endpoints.
Rule 3: owner and receiver answer by the same bits, and the search (`query`, Algorithm 2) finds what the flat probe of a
key's own nodes (`contains_many`) finds.
Rule 4: in a layered tree a node takes `node_rows` rows; then its children take what comes, and when something leaves
the node, it takes back what they have for it. So the tree has no more nodes and rows than its elements need.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rookery.errors import FilterError, UnknownKeyError
from rookery.filters import equations
from rookery.filters.bloom.exact import exact_rate
from rookery.filters.hashing import DomainKey, KeyHasher, Keys
from rookery.filters.protocol import require_owner
from rookery.filters.tree import kernels, wire
from rookery.filters.tree.elements import TreeElements
from rookery.filters.tree.geometry import ANYWHERE, NOWHERE, Place, SubNode, TreeGeometry, depth_of, levels_for
from rookery.filters.tree.index import TreeIndex
from rookery.filters.tree.matrix import RowMatrix
from rookery.filters.tree.query import MOST_NODES, QueryResult, deepest, row_contains, search_paper
from rookery.filters.tree.questions import Questions, place_of

__all__ = ["BloomTree", "Mode"]

Mode = Literal["sound", "paper"]
#: How far down the owner of a layered tree goes; the last level takes rows without bound.
_OWNED_LEVELS = 12
#: Names that are faster taken from an Arrow array one by one than together.
_FEW = 64
#: Rows on a path that a layered tree is sized for: a thousand topics of one directory fill six nodes of six rows.
_ROWS_ON_A_PATH = 36


class BloomTree:
    """A tree of counting Bloom filters over a namespace of N ordinals, N⊥ per node."""

    __slots__ = (
        "_elements",
        "_index",
        "_received",
        "epoch",
        "geometry",
        "hasher",
        "mode",
        "namespace",
        "node_rows",
    )

    def __init__(
        self,
        *,
        namespace_size: int = 1,
        node_size: int = 16,
        bit_count: int = 117,
        hash_count: int = 5,
        row_capacity: int | None = None,
        namespace: Mapping[str, int] | None = None,
        node_rows: int = 0,
        mode: Mode = "sound",
        seed: int = 0,
        domain_key: DomainKey | None = None,
        epoch: int = 0,
    ) -> None:
        """Make an empty tree: open, closed by `namespace`, or layered with `node_rows` rows for a node.

        `row_capacity` 0 keeps one row per node; the default is ⌊m·ln 2/k⌋.
        """
        if row_capacity is None:
            row_capacity = max(1, math.floor(bit_count * math.log(2) / max(1, hash_count)))
        if mode not in ("sound", "paper"):
            raise FilterError(f"mode is {mode!r}; write 'sound' or 'paper'")
        if node_rows and not (0 < node_rows <= wire.MAXIMAL_ROWS and row_capacity):
            raise FilterError(f"node_rows is {node_rows}: 1 … {wire.MAXIMAL_ROWS} rows, of a capacity above 0")
        self.geometry = TreeGeometry(
            levels=1 if node_rows else levels_for(namespace_size=namespace_size, node_size=node_size),
            bit_count=bit_count,
            hash_count=hash_count,
            node_size=0 if namespace is None else node_size,
            row_capacity=row_capacity,
            layered=bool(node_rows),
        )
        self.mode: Mode = mode
        self.namespace = namespace
        self.node_rows = node_rows
        self.hasher = KeyHasher(seed=seed, domain_key=domain_key)
        self.epoch = epoch
        self._elements = TreeElements(self.geometry, room=node_rows * row_capacity, covers=mode == "paper")
        self._received: wire.TreeMessage | None = None
        self._index: TreeIndex | None = None

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
    def layered(
        cls,
        false_positive_rate: float = 0.01,
        *,
        row_capacity: int = 5,
        node_rows: int = 6,
        mode: Mode = "sound",
        seed: int = 0,
        domain_key: DomainKey | None = None,
        epoch: int = 0,
    ) -> Self:
        """Make a tree that grows with its elements, layered by names; each row has its share of the rate."""
        if not 0 < false_positive_rate < 1 or row_capacity < 1:
            raise FilterError("the false-positive rate lies between 0 and 1, and a row holds at least one element")
        bit_count = equations.optimal_bit_count(n=row_capacity, rate=false_positive_rate / _ROWS_ON_A_PATH)
        bit_count = -(-bit_count // 8) * 8  # a row that ends in the middle of an octet would waste the rest
        return cls(
            bit_count=bit_count,
            hash_count=max(1, round(equations.optimal_hash_count(n=row_capacity, m=bit_count))),
            row_capacity=row_capacity,
            node_rows=node_rows,
            mode=mode,
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
        elements = tree._elements
        used = {key: (tree.hasher(key), tree._place(key, 0)) for key in keys}
        for value, place in used.values():
            elements.hold((value, place.top), place.top)
        queue = deque([(0, list(used.values()))])
        while queue:
            node, here = queue.popleft()
            met = [(value, place) for value, place in here if tree.geometry.leads_to(node, place)]
            for value, place in met:
                if elements.covers:
                    elements.count((value, place.top), node, covers=True)
                if place.top == node:
                    elements.count((value, node), node)
            if met:
                queue.extend((child, met) for child in tree.geometry.children(node))
        return tree

    def _place(self, key: str, value: int, *, levels: int | None = None) -> Place:
        geometry = self.geometry if levels is None else replace(self.geometry, levels=levels)
        return place_of(key, value, geometry=geometry, hasher=self.hasher, namespace=self.namespace)

    def _owned_place(self, key: str, value: int) -> Place:
        return self._place(key, value, levels=_OWNED_LEVELS if self.node_rows else None)

    @property
    def created_nodes(self) -> list[int]:
        """The nodes that exist."""
        return sorted(self._laid_out().nodes.tolist())

    def sub_node(self, node: int) -> SubNode:
        """Return layer and column of a node."""
        return self.geometry.sub_node(node)

    @property
    def row_counts(self) -> dict[int, int]:
        """The rows s of each node that has elements of its own (in paper mode: of every node)."""
        index = self._laid_out()
        counts = (index.own[:, 1] - index.own[:, 0]).tolist()
        return {node: count for node, count in sorted(zip(index.nodes.tolist(), counts, strict=True)) if count}

    def matrix(self, node: int) -> RowMatrix:
        """Return the rows with which the owner covers the subtree of a node; only paper mode keeps them counted."""
        return self._elements.cover[node] if self.mode == "paper" else self._elements.under(node)

    def add(self, key: str) -> None:
        """Add one key, or one more reference to it, to the first node of its path that has room."""
        require_owner(self._received is None)
        value = self.hasher(key)
        place = self._owned_place(key, value)
        if place == NOWHERE:
            raise FilterError(f"{key!r} is not in the namespace of this tree; add it there first")
        if self._elements.add(value, place):
            self._changed()

    def add_many(self, keys: Keys) -> None:
        """Add an Arrow string array (or any strings)."""
        for key in keys.to_pylist() if hasattr(keys, "to_pylist") else keys:
            self.add(key)

    def remove(self, key: str) -> None:
        """Drop one reference; nodes whose subtree has become empty disappear."""
        require_owner(self._received is None)
        value = self.hasher(key)
        try:
            if self._elements.remove(value, self._owned_place(key, value)):
                self._changed()
        except KeyError:
            raise UnknownKeyError(f"{key!r} is not in this tree; only keys that were added can be removed") from None

    def _changed(self) -> None:
        self._index = None
        if self.node_rows and self._elements.levels != self.geometry.levels:
            self.geometry = replace(self.geometry, levels=self._elements.levels)

    def _laid_out(self) -> TreeIndex:
        if self._index is None:
            message = self._message(counters=False)
            self._index = TreeIndex.build(
                self.geometry, message.nodes, message.first, message.rows, all_nodes=self.mode == "paper"
            )
        return self._index

    def query(self, keys: Keys, *, mode: Mode | None = None, threshold: float | None = None) -> QueryResult:
        """Search for a set of keys at once (Algorithm 2); `paper` prunes by equation 6 and may miss members."""
        if (mode or self.mode) == "paper":
            return self._printed_query(keys, threshold)
        if not hasattr(keys, "to_pylist"):
            keys = list(dict.fromkeys(keys))
        index, asked = self._laid_out(), self._questions(keys)
        found = np.empty((MOST_NODES * asked.top.size, 2), dtype=np.int64)
        visited = np.empty(index.nodes.size, dtype=np.int32)
        pairs, seen = kernels.search(
            asked.positions, asked.top, asked.deep, index.nodes, index.child, index.own, index.cover, index.slices,
            self.geometry.levels, MOST_NODES, found, visited,
        )  # fmt: skip
        which, nodes = found[:pairs, 0].tolist(), found[:pairs, 1].tolist()
        names = [str(keys[key]) for key in which] if pairs < _FEW or isinstance(keys, list) else _taken(keys, which)
        return self._result(list(zip(names, nodes, strict=True)), visited[:seen].tolist())

    def _printed_query(self, keys: Keys, threshold: float | None) -> QueryResult:
        listed = [str(key) for key in keys]
        hashes = {key: self.hasher(key) for key in listed}
        places = {key: self._place(key, value) for key, value in hashes.items()}
        counted: dict[int, list[NDArray[np.uint8]]] = {}

        def rows(node: int) -> list[NDArray[np.uint8]]:
            if self._received is not None:
                return self._laid_out().covering_rows(node)
            if node not in counted:
                has = self.mode == "sound" or node in self._elements.cover
                counted[node] = list(self.matrix(node).bits()) if has else []
            return counted[node]

        pairs, visited = search_paper(self.geometry, rows, hashes=hashes, places=places, threshold=threshold)
        return self._result(pairs, visited)

    def _result(self, pairs: list[tuple[str, int]], visited: list[int]) -> QueryResult:
        if self.mode == "paper":
            pairs = deepest(pairs)
        return QueryResult(tuple(key for key, _ in pairs), tuple(node for _, node in pairs), tuple(visited))

    def _questions(self, keys: Keys) -> Questions:
        return Questions.of(keys, geometry=self.geometry, hasher=self.hasher, namespace=self.namespace)

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str):
            return False
        value = self.hasher(key)
        return self._contains_at(value, self._place(key, value))

    def contains_hash(self, value: int) -> bool:
        """Ask with a hash that `hasher` made; only the open namespace tells the node from it, else all are asked."""
        node = self.geometry.open_node(value)
        closed = self.geometry.layered or self.geometry.node_size
        return self._contains_at(value, ANYWHERE if closed else Place(node, node))

    def _contains_at(self, value: int, place: Place) -> bool:
        positions, index = self.geometry.positions(value), self._laid_out()
        nodes = index.nodes.tolist() if place == ANYWHERE else self.geometry.path(place.deep)
        if place == NOWHERE:
            return False
        return any(
            row_contains(row, positions)
            for node in nodes
            if self.geometry.may_own(node, place)
            for row in index.rows_of(node)
        )

    def contains_many(self, keys: Keys) -> NDArray[np.bool_]:
        """Ask for a batch by a flat probe of each key's own nodes; one boolean per key, in order."""
        index, asked = self._laid_out(), self._questions(keys)
        found = np.empty(asked.top.size, dtype=np.bool_)
        kernels.probe(asked.positions, asked.top, asked.deep, index.seat, index.own, index.rows, found)
        return found

    def _message(self, *, counters: bool) -> wire.TreeMessage:
        if self._received is not None:
            return self._received
        held = self._elements.own if self.mode == "sound" else self._elements.cover
        nodes = sorted(held)
        first = np.cumsum([0, *(len(held[node].rows) for node in nodes)], dtype=np.int32)
        empty = np.zeros((0, self.geometry.bit_count), dtype=np.uint8)
        cells = np.concatenate([empty, *(held[node].counters() for node in nodes)])
        return wire.TreeMessage(
            self.geometry,
            self.hasher,
            self.epoch,
            self.mode == "paper",
            counters,
            np.array(nodes, dtype=np.int32),
            first,
            cells if counters else (cells != 0).astype(np.uint8),
        )

    def to_bytes(self, *, counters: bool = False) -> bytes:
        """Encode the bits; with `counters`, the counters, to hand over to another owner."""
        return wire.encode(self._message(counters=counters))

    @classmethod
    def from_bytes(
        cls, data: bytes, *, domain_key: DomainKey | None = None, namespace: Mapping[str, int] | None = None
    ) -> Self:
        """Decode a container of magic 0xDB; who has the namespace of a closed tree looks into fewer nodes."""
        message = wire.decode(data, domain_key=domain_key)
        decoded = cls.__new__(cls)
        decoded.geometry, decoded.hasher, decoded.epoch = message.geometry, message.hasher, message.epoch
        decoded.mode = "paper" if message.all_nodes else "sound"
        decoded.namespace, decoded.node_rows = namespace, 0
        decoded._received, decoded._index = message, None
        decoded._elements = TreeElements(message.geometry, room=0, covers=False)
        return decoded

    @property
    def size_in_bits(self) -> int:
        """All after the header: presence bitmap, and for each present node a byte of row count and its padded rows."""
        return 8 * (len(self.to_bytes()) - wire.HEADER_BYTES)

    @property
    def expected_false_positive_rate(self) -> float:
        """The chance that a random absent key is found: in the mean over all nodes, of which one or any may have it.

        In a layered tree, of a key that any path from the root may lead to: keys of deeper layers pass fewer rows.
        """
        geometry, index = self.geometry, self._laid_out()
        weigh = 1.0 / geometry.node_count
        passed, total = 1.0, 0.0
        for node in index.nodes.tolist():
            rows = index.rows_of(node)
            if not rows:
                continue
            bits = np.unpackbits(np.stack(rows), axis=1, count=geometry.bit_count).astype(np.bool_)
            if geometry.layered:
                shares = (np.count_nonzero(bits, axis=1) / geometry.bit_count) ** geometry.hash_count
                total += equations.combined_rate(*shares.tolist()) / (1 << depth_of(node))
            else:
                rate = exact_rate(bits, hash_count=geometry.hash_count)
                total += rate * weigh
                passed *= 1 - rate
        anywhere = geometry.node_size and self.namespace is None
        return 1 - passed if anywhere else min(1.0, total)


def _taken(keys: Any, which: list[int]) -> list[str]:
    taken: list[str] = keys.take(which).to_pylist()
    return taken
