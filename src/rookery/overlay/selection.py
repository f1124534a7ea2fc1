"""Link selection as the seed prints it: Algorithms 1 and 2 over everything a peer knows (spec 2.3). The slow twin.

A scan goes around the circle of random IDs from the peer's own place, takes a node if it holds an interest that no
node taken before holds, then goes around again the other way. Lemma 1: one pass takes exactly the first holder of each
interest, so a cell's audience becomes a double ring, and connected, when four things hold that the seed leaves unsaid:
the scan starts at the peer's own random ID, coverage is reset between the passes, the unit of interest is the cell,
and links are used both ways.

`Rule.sound()` is that; `Rule.paper()` is the printed text: the unit is a bit of the identity, and the second pass
goes on with what the first one covered (which makes it do nothing). `links.py` is the incremental form of the former.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rookery.overlay.identity import Descriptor, Relation, clockwise, hamming, relation

__all__ = ["Rule", "Selection", "relation_by", "select"]


@dataclass(frozen=True, slots=True)
class Rule:
    """Which reading of Algorithm 2 is meant."""

    by_cells: bool = True
    """Interests are cells; else bits of the identity."""
    reset: bool = True
    """The second pass begins with nothing covered."""
    covering_count: int = 1
    """How many covering links a peer has: c of the size bound 4|S| + c."""

    @classmethod
    def sound(cls) -> Rule:
        """Return the reading that never misses."""
        return cls()

    @classmethod
    def paper(cls) -> Rule:
        """Return the reading of the printed algorithms."""
        return cls(by_cells=False, reset=False)


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen nodes by class."""

    covering: tuple[int, ...]
    covered: frozenset[int]
    neighbors: frozenset[int]

    @property
    def chosen(self) -> frozenset[int]:
        """All of them."""
        return self.covered | self.neighbors | frozenset(self.covering)


def relation_by(rule: Rule, own: Descriptor, peer: Descriptor) -> Relation:
    """Return what `other` is to `own`, on cells or, as printed, on bits."""
    if rule.by_cells:
        return relation(own.cells, peer.cells)
    mine, theirs = own.bits, peer.bits
    if mine == theirs:
        return Relation.SAME
    if mine & theirs == theirs:
        return Relation.COVERED
    return Relation.COVERING if mine & theirs == mine else Relation.NEIGHBOR


def select(own: Descriptor, known: Iterable[Descriptor], rule: Rule) -> Selection:
    """Choose the links of `own` among all that it knows."""
    classes: dict[Relation, list[Descriptor]] = {kind: [] for kind in Relation}
    for peer in known:
        if peer.node != own.node:
            classes[relation_by(rule, own, peer)].append(peer)
    covering = sorted(classes[Relation.COVERING], key=lambda one: (hamming(one.bits, own.bits), clockwise(own, one)))
    return Selection(
        covering=tuple(one.node for one in covering[: rule.covering_count]),
        covered=_two_passes(own, classes[Relation.COVERED], rule),
        neighbors=_two_passes(own, classes[Relation.NEIGHBOR], rule),
    )


def _two_passes(own: Descriptor, candidates: list[Descriptor], rule: Rule) -> frozenset[int]:
    forward = sorted(candidates, key=lambda one: clockwise(own, one))
    taken: set[int] = set()
    uncovered = _interests(own, rule)
    for order in (forward, forward[::-1]):
        if rule.reset:
            uncovered = _interests(own, rule)
        for one in order:
            if not uncovered:
                break
            held = _interests(one, rule)
            if held & uncovered:
                taken.add(one.node)
                uncovered &= ~held
    return frozenset(taken)


def _interests(one: Descriptor, rule: Rule) -> int:
    """Return the interests as a bit set: of cells, or the identity itself."""
    if not rule.by_cells:
        return one.bits
    found = 0
    for cell in one.cells:
        found |= 1 << cell
    return found
