"""Ownership: who owns which zone since which epoch, and which of two ownerships of one place is the newer.

Theory. Zones are nodes of a binary trie, and whoever owns one says so with an epoch. A split gives both halves the
zone's epoch plus one, a merge gives the whole the greater epoch plus one, a hand-over or a takeover adds one. So of two
ownerships that overlap, the later one has the greater epoch; where two brokers took one zone at the same time, the
greater id wins. `prevails` is a total order, so an ownership that prevails over all that overlap it is kept by everyone
who hears of it, in whatever order, and a broker that hears of a prevailing owner of its zone knows that it has lost it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from rookery.space.zones import Path, overlap

__all__ = ["OwnershipMap", "ZoneOwnership"]


class ZoneOwnership(msgspec.Struct, frozen=True, array_like=True):
    """A broker says that it owns a zone."""

    path: Path
    epoch: int
    owner: int
    #: What the zone carries: events seen and subscriptions held; a hint for joins.
    load: int = 0
    #: Network coordinates of the owner, empty where it has none.
    position: tuple[float, ...] = ()

    def prevails(self, other: ZoneOwnership) -> bool:
        """Tell whether this ownership wins over that of an overlapping zone."""
        return (self.epoch, self.owner) > (other.epoch, other.owner)


class OwnershipMap:
    """Ownerships that do not overlap: the winners of all that were heard."""

    __slots__ = ("_ownerships",)

    def __init__(self, ownerships: Iterable[ZoneOwnership] = ()) -> None:
        self._ownerships: dict[Path, ZoneOwnership] = {}
        for ownership in ownerships:
            self.add(ownership)

    def __iter__(self) -> Iterator[ZoneOwnership]:
        return iter(self._ownerships.values())

    def __len__(self) -> int:
        return len(self._ownerships)

    def get(self, path: Path) -> ZoneOwnership | None:
        """Return the ownership of exactly this zone."""
        return self._ownerships.get(path)

    def rivals(self, ownership: ZoneOwnership) -> list[ZoneOwnership]:
        """Return the ownerships here that overlap one."""
        return [one for one in self._ownerships.values() if overlap(one.path, ownership.path)]

    def add(self, ownership: ZoneOwnership) -> bool:
        """Take an ownership in unless one that is here prevails; say whether the map changed."""
        known = self._ownerships.get(ownership.path)
        if known is not None:
            if known == ownership or known.prevails(ownership):
                return False
            self._ownerships[ownership.path] = ownership
            return known.owner != ownership.owner or known.epoch != ownership.epoch
        rivals = self.rivals(ownership)
        if any(rival.prevails(ownership) for rival in rivals):
            return False
        for rival in rivals:
            del self._ownerships[rival.path]
        self._ownerships[ownership.path] = ownership
        return True

    def discard(self, path: Path) -> None:
        """Forget the ownership of a zone."""
        self._ownerships.pop(path, None)
