"""The routing table as printed: every change scans everything known again, on bits of the identity, without reset.

It has the same face as `links.LinkTable`, so one protocol runs on both. It exists for the comparison: on bits a
collision looks like a shared interest, the scan stops early, and rings are left open (spec 0 and 2.9).
"""

from __future__ import annotations

from collections.abc import Collection

from rookery.overlay.identity import Descriptor, clockwise
from rookery.overlay.selection import Rule, Selection, select

__all__ = ["PaperTable"]


class PaperTable:
    """The links of one peer by a rule other than the sound one."""

    __slots__ = ("_pruned", "_selection", "incoming", "known", "own", "rule", "version")

    def __init__(self, own: Descriptor, rule: Rule) -> None:
        self.own = own
        self.rule = rule
        self.known: dict[int, Descriptor] = {}
        self.incoming: set[int] = set()
        self._selection: Selection | None = None
        self.version = 0
        self._pruned: tuple[set[tuple[int, int]], int] = (set(), -1)

    def consider(self, peer: Descriptor) -> bool:
        """Take a node into what is known; say whether it was new."""
        old = self.known.get(peer.node)
        if peer.node == self.own.node or (old is not None and old.epoch >= peer.epoch):
            return False
        self.known[peer.node] = peer
        self._selection = None
        self.version += 1
        return True

    def admit(self, peer: Descriptor) -> None:
        """Record that `other` chose us."""
        self.consider(peer)
        self.incoming.add(peer.node)

    def dismiss(self, node: int) -> None:
        """Record that `node` no longer chooses us."""
        self.incoming.discard(node)

    def forget(self, node: int) -> bool:
        """Remove a node that is gone."""
        self.incoming.discard(node)
        self._selection = None
        self.version += 1
        return self.known.pop(node, None) is not None

    def refuse(self, hub: int, child: Descriptor) -> None:
        """Know the child too; the scan decides."""
        self.consider(child)

    def prune(self) -> None:
        """Forget what is known and not linked: when a join has ended, and with each heartbeat.

        Where the links are those of the last time, so is the version: nothing is new that others should be sent.
        """
        keep = self.chosen | self.incoming
        self.known = {node: one for node, one in self.known.items() if node in keep}
        links = {(node, one.epoch) for node, one in self.known.items()}
        before, version = self._pruned
        self.version = version if links == before else self.version
        self._pruned = links, self.version

    def ring_next(self, cell: int) -> Descriptor | None:
        """Return the nearest known holder of the cell clockwise."""
        held = [one for one in self.known.values() if cell in one.cells]
        return min(held, key=lambda one: clockwise(self.own, one), default=None)

    def ring_before(self, cell: int) -> Descriptor | None:
        """Return the nearest known holder of the cell anticlockwise."""
        held = [one for one in self.known.values() if cell in one.cells]
        return min(held, key=lambda one: clockwise(one, self.own), default=None)

    @property
    def selection(self) -> Selection:
        """The links by the printed algorithms."""
        if self._selection is None:
            self._selection = select(self.own, self.known.values(), self.rule)
        return self._selection

    @property
    def chosen(self) -> set[int]:
        """The nodes we chose."""
        return set(self.selection.chosen)

    @property
    def wanted(self) -> set[int]:
        """The same: here nothing else is announced."""
        return self.chosen

    @property
    def parents(self) -> list[int]:
        """The covering links."""
        return list(self.selection.covering)

    def is_chosen(self, node: int) -> bool:
        """Tell whether we chose this node."""
        return node in self.selection.chosen

    def is_on_ring(self, node: int) -> bool:
        """Tell whether the node is more than a parent."""
        return node in self.selection.covered or node in self.selection.neighbors

    def adjacent(self, node: int) -> frozenset[int]:
        """Return no cell: as printed, nobody looks after rings."""
        return frozenset()

    def holders(self, cell: int) -> Collection[int]:
        """Return the known nodes that hold a cell."""
        return [node for node, peer in self.known.items() if cell in peer.cells]
