"""Shortcuts inside the rings: for each cell and each distance, one holder that is about so far ahead.

Theory. The links of `links.py` are the nearest of each class, so all of them are close by: a peer has some fifteen,
however many peers there are. A ring of m members is then walked in steps of constant length, and an event that goes by
arcs is m/3 hops deep. With one holder in every distance class an arc falls apart into pieces of a fixed fraction of its
length, and the depth is logarithmic in m.

Rule 1: distance classes are [4^i, 4^(i+1)) of the circle. The place of a cell in a class is held by the known holder of
that cell which shares most cells with us, the nearest of those: so few peers serve many places.
Rule 2: shortcuts are hearsay and one-way. They are learned from descriptors that pass by, cost no message to set up,
and nobody else knows of them; delivery never depends on them, since the pieces of an arc meet with or without them.
Rule 3: chosen links and shortcuts together stay within the bound 4|S| + c of the table; who serves fewest goes first.
"""

from __future__ import annotations

from collections.abc import Iterator

from rookery.overlay.identity import Descriptor, clockwise

__all__ = ["Shortcuts", "distance_class"]


def distance_class(distance: int) -> int:
    """Return i such that a distance lies in [4^i, 4^(i+1))."""
    return (distance.bit_length() - 1) >> 1


class Shortcuts:
    """The shortcuts of one peer."""

    __slots__ = ("_places", "_shared_cell", "_uses", "known", "own")

    def __init__(self, own: Descriptor, *, shared_cell: int) -> None:
        self.own = own
        self.known: dict[int, Descriptor] = {}
        self._shared_cell = shared_cell
        self._places: dict[tuple[int, int], int] = {}  # distance class and cell → node
        self._uses: dict[int, int] = {}  # node → places that it holds

    def __iter__(self) -> Iterator[Descriptor]:
        return iter(self.known.values())

    def __len__(self) -> int:
        return len(self.known)

    def at(self, kind: int, cell: int) -> int | None:
        """Return who holds the place of a cell in a distance class."""
        return self._places.get((kind, cell))

    def consider(self, peer: Descriptor) -> bool:
        """Take a peer where it serves better than who is there, or is newer; say whether it is a new one."""
        old = self.known.get(peer.node)
        if peer.node == self.own.node or (old is not None and old.epoch >= peer.epoch):
            return False
        if old is not None:
            self.remove(peer.node)
        shared = self.own.cells & peer.cells
        distance = clockwise(self.own, peer)
        kind, rank = distance_class(distance), (len(shared), -distance)
        for cell in shared:
            if cell == self._shared_cell:
                continue  # the ring of all has fingers
            holder = self._places.get((kind, cell))
            if holder is not None:
                if self._rank(holder) >= rank:
                    continue
                self._release(holder)
            self._places[kind, cell] = peer.node
            self._uses[peer.node] = self._uses.get(peer.node, 0) + 1
            self.known[peer.node] = peer
        return old is None and peer.node in self.known

    def remove(self, node: int) -> None:
        """Forget a peer that is gone."""
        if self.known.pop(node, None) is not None:
            del self._uses[node]
            for place in [place for place, held in self._places.items() if held == node]:
                del self._places[place]

    def trim(self, room: int) -> None:
        """Keep at most so many: who serves fewest places goes first."""
        while len(self.known) > max(0, room):
            self.remove(min(self._uses, key=lambda node: (self._uses[node], node)))

    def _rank(self, node: int) -> tuple[int, int]:
        peer = self.known[node]
        return len(self.own.cells & peer.cells), -clockwise(self.own, peer)

    def _release(self, node: int) -> None:
        self._uses[node] -= 1
        if not self._uses[node]:
            del self._uses[node], self.known[node]
