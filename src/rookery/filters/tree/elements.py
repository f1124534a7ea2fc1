"""What the owner of a tree knows besides the bits: its elements, where each is, and the counters of every node.

Rule 1: an element is in the first node of its path that has room. So a node has elements of the nodes above it only
while those are full, and no row exists that the elements do not need.
Rule 2: when an element leaves a node, one further down that may be here takes the free place, the deepest first; then
the same goes for the place that it left. The rows of a node merge likewise (`matrix`).
Rule 3: in paper mode an element also counts in each node above it, as printed.
"""

from __future__ import annotations

from rookery.filters.tree.geometry import Place, TreeGeometry, depth_of
from rookery.filters.tree.matrix import RowMatrix

__all__ = ["Element", "TreeElements"]

#: The hash of a key, and the first node that may have it.
Element = tuple[int, int]


class TreeElements:
    """The elements of one tree; `room` of them for a node, or any number where it is 0."""

    __slots__ = ("_counts", "_here", "cover", "covers", "geometry", "held", "own", "room")

    def __init__(self, geometry: TreeGeometry, *, room: int, covers: bool) -> None:
        self.geometry = geometry
        self.room = room
        self.covers = covers
        self.own: dict[int, RowMatrix] = {}
        self.cover: dict[int, RowMatrix] = {}
        self.held: dict[Element, int] = {}
        """The node of each element."""
        self._here: dict[int, dict[Element, None]] = {}
        self._counts: dict[Element, int] = {}

    @property
    def levels(self) -> int:
        """The levels that are in use, at least one."""
        return depth_of(max(self.own, default=0)) + 1

    def add(self, value: int, place: Place) -> bool:
        """Take in an element, or one more reference to it; say whether that changed the tree."""
        element = value, place.top
        self._counts[element] = self._counts.get(element, 0) + 1
        if self._counts[element] > 1:
            return False
        down = depth_of(place.deep) - depth_of(place.top)
        path = [((place.deep + 1) >> above) - 1 for above in range(down, -1, -1)]
        self.put(element, next((node for node in path if self._has_room(node)), path[-1]))
        return True

    def remove(self, value: int, place: Place) -> bool:
        """Drop a reference; say whether that changed the tree. `KeyError` if there is none."""
        element = value, place.top
        self._counts[element] -= 1
        if self._counts[element]:
            return False
        del self._counts[element]
        self._refill(self._take(element))
        return True

    def _has_room(self, node: int) -> bool:
        return not self.room or node not in self.own or len(self.own[node]) < self.room

    def put(self, element: Element, node: int) -> None:
        """Put an element into a node, and in paper mode into those above."""
        self.hold(element, node)
        self.count(element, node)
        if self.covers:
            for above in self.geometry.path(node):
                self.count(element, above, covers=True)

    def hold(self, element: Element, node: int) -> None:
        """Note where an element is, without counting it."""
        self._counts.setdefault(element, 1)
        self.held[element] = node
        self._here.setdefault(node, {})[element] = None

    def count(self, element: Element, node: int, *, covers: bool = False) -> None:
        """Count an element into the own rows of a node, or into those that cover it."""
        matrices = self.cover if covers else self.own
        if node not in matrices:
            matrices[node] = RowMatrix(self.geometry)
        matrices[node].add(element[0])

    def _take(self, element: Element) -> int:
        node = self.held.pop(element)
        del self._here[node][element]
        self._count_out(self.own, node, element)
        if self.covers:
            for above in self.geometry.path(node):
                self._count_out(self.cover, above, element)
        return node

    def _count_out(self, matrices: dict[int, RowMatrix], node: int, element: Element) -> None:
        matrices[node].remove(element[0])
        if not len(matrices[node]):
            del matrices[node]

    def _refill(self, node: int) -> None:
        """Fill the free place in a node from below."""
        while self.room and self._has_room(node):
            higher = self._below(node)
            if higher is None:
                return
            left = self._take(higher)
            self.put(higher, node)
            node = left

    def _below(self, node: int) -> Element | None:
        """Return an element further down that may be in `node`, the deepest."""
        depth = depth_of(node)
        for held in sorted(self.own, reverse=True):
            if held <= node:
                return None
            if self.geometry.leads_to(node, Place(held, held)):
                for element in self._here[held]:
                    if depth_of(element[1]) <= depth:
                        return element
        return None

    def under(self, node: int) -> RowMatrix:
        """Count the elements of a subtree into rows of their own."""
        counted = RowMatrix(self.geometry)
        for (value, _), held in self.held.items():
            if self.geometry.leads_to(node, Place(held, held)):
                counted.add(value)
        return counted
