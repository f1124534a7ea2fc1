"""Claims: who owns which zone, and which of two claims on one place is the newer.

Theory. Zones are nodes of a binary trie, and whoever owns one claims its path with an epoch. A split gives both halves
the zone's epoch plus one, a merge gives the whole the greater epoch plus one, a hand-over or a takeover adds one. So of
two claims that overlap, the later one has the greater epoch; where two brokers took one zone at the same time, the
greater id wins. `prevails` is a total order, so a claim that prevails over all that overlap it is kept by everyone who
hears of it, in whatever order, and a broker that hears of a prevailing claim on its own zone knows that it has lost it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from rookery.brokers.zones import Path, overlap

__all__ = ["Claim", "ClaimMap"]


class Claim(msgspec.Struct, frozen=True, array_like=True):
    """A broker says that it owns a zone."""

    path: Path
    epoch: int
    owner: int
    #: What the zone carries: events seen and subscriptions held; a hint for joins.
    load: int = 0
    #: Network coordinates of the owner, empty where it has none.
    position: tuple[float, ...] = ()

    def prevails(self, other: Claim) -> bool:
        """Tell whether this claim wins over another one on an overlapping zone."""
        return (self.epoch, self.owner) > (other.epoch, other.owner)


class ClaimMap:
    """Claims that do not overlap: the winners of all that were heard."""

    __slots__ = ("_claims",)

    def __init__(self, claims: Iterable[Claim] = ()) -> None:
        self._claims: dict[Path, Claim] = {}
        for claim in claims:
            self.add(claim)

    def __iter__(self) -> Iterator[Claim]:
        return iter(self._claims.values())

    def __len__(self) -> int:
        return len(self._claims)

    def get(self, path: Path) -> Claim | None:
        """Return the claim on exactly this zone."""
        return self._claims.get(path)

    def rivals(self, claim: Claim) -> list[Claim]:
        """Return the claims held here that overlap one."""
        return [held for held in self._claims.values() if overlap(held.path, claim.path)]

    def add(self, claim: Claim) -> bool:
        """Take a claim in unless one held here prevails; say whether the map changed."""
        known = self._claims.get(claim.path)
        if known is not None:
            if known == claim or known.prevails(claim):
                return False
            self._claims[claim.path] = claim
            return known.owner != claim.owner or known.epoch != claim.epoch
        rivals = self.rivals(claim)
        if any(rival.prevails(claim) for rival in rivals):
            return False
        for rival in rivals:
            del self._claims[rival.path]
        self._claims[claim.path] = claim
        return True

    def discard(self, path: Path) -> None:
        """Forget the claim on a zone."""
        self._claims.pop(path, None)
