"""The routing table in incremental form: who is next and who is before me, for each class and each of my cells.

Theory (spec 2.3). By Lemma 1 the two passes of Algorithm 2 choose, for each class and cell, the first holder clockwise
and the first anticlockwise. So the table keeps just these: a new candidate changes only the cells it shares and where
it is nearer, in O(|S|), and nothing is ever scanned again.

Rule 1: *chosen* links are those of the classes COVERED and NEIGHBOR and the covering parents: at most 4|S| + c.
Rule 2: the nearest coverers on each ring are remembered too. They are not chosen (they choose us: we are the first one
that they cover in that direction), but with them `ring_next` and `ring_before` know the ring itself, of any class.
Rule 3: *incoming* are those who chose us. A link is used in both directions, whoever chose it.
Rule 4: a peer of the same cells is no link; it belongs to the cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from rookery.overlay.identity import CIRCLE, Descriptor, Relation, clockwise, hamming, relation

__all__ = ["LinkTable"]

_CLASSES = (Relation.COVERED, Relation.NEIGHBOR, Relation.COVERING)


class LinkTable:
    """The links of one peer."""

    __slots__ = (
        "_after",
        "_before",
        "_references",
        "incoming",
        "known",
        "own",
        "parents",
        "parents_wanted",
        "refused",
        "version",
    )

    def __init__(self, own: Descriptor, *, covering_count: int = 1) -> None:
        self.own = own
        self.parents_wanted = covering_count
        self.known: dict[int, Descriptor] = {}
        self.incoming: set[int] = set()
        self.parents: list[int] = []
        self.version = 0
        """Grows with every change, so that others notice."""
        self.refused: set[int] = set()
        """Hubs that sent us on to one of their children: not asked again to be our parent."""
        self._after: tuple[dict[int, int], ...] = ({}, {}, {})
        self._before: tuple[dict[int, int], ...] = ({}, {}, {})
        self._references: dict[int, list[int]] = {}  # node → [slots of a chosen class, slots of coverers]

    def consider(self, peer: Descriptor) -> bool:
        """Take a candidate where it is nearer; say whether the table changed.

        A descriptor of a higher epoch replaces what was known of that node; one of a lower epoch is stale.
        """
        if peer.node == self.own.node:
            return False
        old = self.known.get(peer.node)
        if old is not None:
            if old.epoch >= peer.epoch:
                return False
            was_incoming = peer.node in self.incoming
            self.forget(peer.node)
            if was_incoming:
                self.incoming.add(peer.node)
                self.known[peer.node] = peer
        kind = relation(self.own.cells, peer.cells)
        if kind is Relation.SAME:
            return old is not None
        ahead = clockwise(self.own, peer)
        changed = self._take(self._after[kind], peer, kind, ahead, forward=True)
        changed |= self._take(self._before[kind], peer, kind, CIRCLE - ahead, forward=False)
        if kind is Relation.COVERING:
            changed |= self._adopt(peer)
        changed = changed or old is not None
        self.version += changed
        return changed

    def fill(self, peer: Descriptor, kind: Relation, cells: Iterable[int], *, forward: bool) -> None:
        """Put a candidate into empty places without comparing: for who knows that nobody is nearer (`bulk`)."""
        slots = self._after[kind] if forward else self._before[kind]
        before = len(slots)
        slots.update(dict.fromkeys(cells, peer.node))
        self.known[peer.node] = peer
        self._count(peer.node, kind, len(slots) - before)
        self.version += 1

    def adopt(self, peers: Iterable[Descriptor]) -> None:
        """Choose the covering parents among these."""
        for peer in peers:
            self._adopt(peer)

    def admit(self, peer: Descriptor) -> None:
        """Record that `other` chose us."""
        if peer.node not in self.incoming:
            self.known.setdefault(peer.node, peer)
            self.incoming.add(peer.node)
            self.version += 1

    def dismiss(self, node: int) -> None:
        """Record that `node` no longer chooses us."""
        if node in self.incoming:
            self.incoming.discard(node)
            self._drop_if_unused(node)
            self.version += 1

    def forget(self, node: int) -> bool:
        """Remove a node that is gone, and fill its places from the rest of the table; say whether it was there."""
        if self.known.pop(node, None) is None:
            return False
        self.version += 1
        self.incoming.discard(node)
        self._references.pop(node, None)
        for kind in _CLASSES:
            for slots, forward in ((self._after[kind], True), (self._before[kind], False)):
                for cell in [cell for cell, held in slots.items() if held == node]:
                    del slots[cell]
                    self._refill(slots, kind, cell, forward=forward)
        if node in self.parents:
            self.parents.remove(node)
            for peer in list(self.known.values()):
                if relation(self.own.cells, peer.cells) is Relation.COVERING:
                    self._adopt(peer)
        return True

    def refuse(self, hub: int, child: Descriptor) -> None:
        """Take the child that a hub named as covering parent instead of the hub (spec 2.3, REDIRECT)."""
        self.version += 1
        self.refused.add(hub)
        if hub in self.parents:
            self.parents.remove(hub)
        if relation(self.own.cells, child.cells) is Relation.COVERING:
            self.consider(child)
            if child.node not in self.parents:
                self.known.setdefault(child.node, child)
                self.parents = [child.node, *self.parents][: self.parents_wanted]
        self._drop_if_unused(hub)

    def after(self, kind: Relation, cell: int) -> int | None:
        """Return the first node of a class clockwise that holds the cell."""
        return self._after[kind].get(cell)

    def before(self, kind: Relation, cell: int) -> int | None:
        """Return the first node of a class anticlockwise that holds the cell."""
        return self._before[kind].get(cell)

    def ring_next(self, cell: int) -> Descriptor | None:
        """Return the nearest known holder of the cell clockwise, of any class."""
        return self._nearest((slots.get(cell) for slots in self._after), forward=True)

    def ring_before(self, cell: int) -> Descriptor | None:
        """Return the nearest known holder of the cell anticlockwise, of any class."""
        return self._nearest((slots.get(cell) for slots in self._before), forward=False)

    def is_chosen(self, node: int) -> bool:
        """Tell whether we chose this node."""
        return node in self.parents or self._references.get(node, (0, 0))[0] > 0

    def is_on_ring(self, node: int) -> bool:
        """Tell whether the node fills a place of any ring, so that more than a parent is lost with it."""
        return node in self._references

    def adjacent(self, node: int) -> frozenset[int]:
        """Return the cells on whose rings a node stands next to us, as far as we know."""
        found = set()
        for cell in self.own.cells & self.known[node].cells:
            after, before = self.ring_next(cell), self.ring_before(cell)
            if (after is not None and after.node == node) or (before is not None and before.node == node):
                found.add(cell)
        return frozenset(found)

    @property
    def chosen(self) -> set[int]:
        """The nodes we chose: at most 4|S| + c."""
        return {node for node, counts in self._references.items() if counts[0]} | set(self.parents)

    @property
    def wanted(self) -> set[int]:
        """The nodes that must know of us: the chosen ones, and the coverers next to us on some ring."""
        return set(self._references) | set(self.parents)

    def _nearest(self, nodes: Iterable[int | None], *, forward: bool) -> Descriptor | None:
        found = [self.known[node] for node in nodes if node is not None]
        if not found:
            return None
        return min(found, key=lambda one: clockwise(self.own, one) if forward else clockwise(one, self.own))

    def _take(self, slots: dict[int, int], peer: Descriptor, kind: Relation, distance: int, *, forward: bool) -> bool:
        changed = False
        own, known = self.own, self.known
        for cell in own.cells & peer.cells:
            holder = slots.get(cell)
            if holder is not None:
                there = known[holder]
                if distance >= (clockwise(own, there) if forward else clockwise(there, own)):
                    continue
            known[peer.node] = peer
            slots[cell] = peer.node
            self._count(peer.node, kind, 1)
            if holder is not None:
                self._count(holder, kind, -1)
                self._drop_if_unused(holder)
            changed = True
        return changed

    def _refill(self, slots: dict[int, int], kind: Relation, cell: int, *, forward: bool) -> None:
        own = self.own
        best: Descriptor | None = None
        least = CIRCLE
        for peer in self.known.values():
            if cell in peer.cells and relation(own.cells, peer.cells) is kind:
                distance = clockwise(own, peer) if forward else clockwise(peer, own)
                if distance < least:
                    best, least = peer, distance
        if best is not None:
            slots[cell] = best.node
            self._count(best.node, kind, 1)

    def _adopt(self, peer: Descriptor) -> bool:
        """Make a coverer a parent if it is among the nearest in Hamming distance (Algorithm 1)."""
        if peer.node in self.parents or peer.node in self.refused:
            return False
        bits = self.own.bits

        def rank(node: int) -> tuple[int, int]:
            one = peer if node == peer.node else self.known[node]
            return hamming(one.bits, bits), clockwise(self.own, one)

        ranked = sorted([*self.parents, peer.node], key=rank)
        kept, left = ranked[: self.parents_wanted], ranked[self.parents_wanted :]
        if peer.node not in kept:
            return False
        self.known[peer.node] = peer
        self.parents = kept
        for node in left:
            self._drop_if_unused(node)
        return True

    def _count(self, node: int, kind: Relation, change: int) -> None:
        counts = self._references.setdefault(node, [0, 0])
        counts[kind is Relation.COVERING] += change
        if counts == [0, 0]:
            del self._references[node]

    def _drop_if_unused(self, node: int) -> None:
        if node not in self._references and node not in self.parents and node not in self.incoming:
            self.known.pop(node, None)

    def holders(self, cell: int) -> Collection[int]:
        """Return the linked nodes that hold a cell."""
        return [node for node, peer in self.known.items() if cell in peer.cells]
