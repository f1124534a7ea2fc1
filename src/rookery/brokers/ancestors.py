"""The ancestor queue AQ: residents of the zones beside each ancestor, one level every log2 m cuts (seed 003, 2.2).

The seed copies whole neighbor tables at a split and never looks at them again. Three repairs: only zones inside the
ancestor one level up are kept, the only ones Spanhop may use; an entry keeps several residents, so that no single
broker carries the traffic of a whole domain; and entries are renewed all the time, from every ownership that passes by
and from look-ups, since copies from the day of the split lead to brokers long gone.
"""

from __future__ import annotations

from collections.abc import Iterator

from rookery.brokers.ownership import ZoneOwnership
from rookery.machine.randomness import RandomNumbers
from rookery.space.zones import Path, Point, ZoneBox, box_of, depth_shared, overlap, sibling, touching

__all__ = ["AncestorQueue"]


#: Refreshes that a resident outlives without being heard of.
LEASE = 2


class AncestorQueue:
    """AQ of one zone: `levels[i]` maps the zones beside path[: i * bits] to residents, the latest first."""

    __slots__ = (
        "_bits",
        "_capacity",
        "_dimensions",
        "_learned",
        "_path",
        "_preferred",
        "_refreshes",
        "levels",
        "stamp",
    )

    def __init__(self, path: Path, *, dimensions: int, bits: int, capacity: int) -> None:
        self._path = path
        self._dimensions = dimensions
        self._bits = bits
        self._capacity = capacity
        self._refreshes = 0
        #: Changes with who resides where.
        self.stamp = 0
        #: By zone, the resident that is closest on the network: it stays first.
        self._preferred: dict[Path, int] = {}
        #: The lease of a resident, by broker and where it resides: the number of the refresh before which it was last
        #: heard of. Of residents alone: a broker that relays for many hears of many more.
        self._learned: dict[int, dict[Path, int]] = {}
        self.levels: list[dict[Path, list[ZoneOwnership]]] = [{} for _ in range(len(path) // bits + 1)]

    def __iter__(self) -> Iterator[ZoneOwnership]:
        for level in self.levels:
            for residents in level.values():
                yield from residents

    def __len__(self) -> int:
        return sum(len(residents) for level in self.levels for residents in level.values())

    def box(self, level: int) -> ZoneBox:
        """Return AQ[level].cz."""
        return box_of(self._path[: level * self._bits], self._dimensions)

    def learn(self, ownership: ZoneOwnership, *, first: bool = True) -> None:
        """Take in who owns a zone, if it lies beside one of the ancestors."""
        shared = depth_shared(self._path, ownership.path)
        level = shared // self._bits + 1
        if level >= len(self.levels) or shared == len(ownership.path):
            return
        zone = ownership.path[: level * self._bits]
        entries = self.levels[level]
        residents = entries.get(zone)
        if residents is None:
            if not touching(self.box(level), box_of(zone, self._dimensions)):
                return
            for other in [other for other in entries if overlap(other, zone)]:
                if any(resident.epoch > ownership.epoch for resident in entries[other]):
                    return
                del entries[other]
            entries[zone] = [ownership]
            self.stamp += 1
            self._lease(ownership)
            return
        for place, resident in enumerate(residents):
            if resident.owner == ownership.owner:
                if resident.epoch <= ownership.epoch:
                    residents[place] = ownership
                self._lease(ownership)
                return
        self.stamp += 1
        if first:
            residents.insert(int(self._preferred.get(zone) == residents[0].owner), ownership)
            for dropped in residents[self._capacity :]:
                self._end_lease(dropped)
            del residents[self._capacity :]
        elif len(residents) < self._capacity:
            residents.append(ownership)
        else:
            return
        self._lease(ownership)

    def moved(self, ownership: ZoneOwnership) -> None:
        """Drop a broker from where it resides no more: it has said itself, over its own link, where it is now.

        Else two that each take the other for a way may send a message to and fro for as long as the lease lasts. Who
        has two zones for a while is dropped where it says nothing of; others reside there too.
        """
        known = self._learned.get(ownership.owner)
        if known is not None:  # of most that speak nobody ever knew that they reside anywhere
            for path in [path for path in known if not overlap(path, ownership.path)]:
                self._move_out(ownership.owner, path)

    def _lease(self, resident: ZoneOwnership) -> None:
        self._learned.setdefault(resident.owner, {})[resident.path] = self._refreshes

    def _end_lease(self, resident: ZoneOwnership) -> None:
        known = self._learned.get(resident.owner)
        if known is not None:
            known.pop(resident.path, None)
            if not known:
                del self._learned[resident.owner]

    def _move_out(self, owner: int, path: Path) -> None:
        """Drop a broker from where it resided."""
        self.stamp += 1
        for level in self.levels:
            for zone in list(level):
                for resident in [one for one in level[zone] if (one.owner, one.path) == (owner, path)]:
                    level[zone].remove(resident)
                    if not level[zone]:
                        del level[zone]
        self._end_lease(ZoneOwnership(path, 0, owner))

    def prefer(self, ownership: ZoneOwnership) -> None:
        """Put a resident first in its entry, and keep it there: it is the closest on the network (Algorithm 3).

        The ownership may be older than what is known of the resident, whose zone was split since it was noted.
        """
        self.learn(ownership)
        self.stamp += 1
        for level in self.levels:
            for zone, residents in level.items():
                for place, resident in enumerate(residents):
                    if resident.owner == ownership.owner and overlap(resident.path, ownership.path):
                        residents.insert(0, residents.pop(place))
                        self._preferred[zone] = ownership.owner

    def preferred(self, zone: Path) -> ZoneOwnership | None:
        """Return the resident of a zone that was found to be the closest, if there is one."""
        for level in self.levels:
            if zone in level and self._preferred.get(zone) == level[zone][0].owner:
                return level[zone][0]
        return None

    def dismiss(self, zone: Path, owner: int) -> None:
        """Drop a broker that resides in a zone no more."""
        self.stamp += 1
        for level in self.levels:
            kept = [resident for resident in level.get(zone, ()) if resident.owner != owner]
            if kept:
                level[zone] = kept
            else:
                level.pop(zone, None)

    def forget(self, owner: int) -> None:
        """Drop a broker that is gone, wherever it is a resident."""
        self.stamp += 1
        for level in self.levels:
            for zone in list(level):
                kept = [resident for resident in level[zone] if resident.owner != owner]
                if kept:
                    level[zone] = kept
                else:
                    del level[zone]

    def renew(self) -> None:
        """Begin a refresh: residents that were not heard of since the last but one are dropped."""
        self._refreshes += 1
        self.stamp += 1
        for owner, known in list(self._learned.items()):
            for path in [path for path, heard in known.items() if heard + LEASE < self._refreshes]:
                del known[path]
            if not known:
                del self._learned[owner]
        for level in self.levels:
            for zone in list(level):
                level[zone] = [one for one in level[zone] if one.path in self._learned.get(one.owner, ())]
                if not level[zone]:
                    del level[zone]

    def probes(self, random: RandomNumbers) -> list[Point]:
        """Return random points beside each ancestor inside its domain, one per cut: whom to look up at a refresh."""
        points = []
        for depth in range(len(self.levels[1:]) * self._bits):
            level = depth // self._bits + 1
            beside = box_of(sibling(self._path[: depth + 1]), self._dimensions)
            mine = self.box(level)
            axis = depth % self._dimensions
            point = []
            for number in range(self._dimensions):
                # Across the cut anywhere; along it within the ancestor, or the zone found would not touch it.
                inner = beside if number == axis else mine
                low, high = inner.lower[number], inner.upper[number]
                point.append(min(low + random.random() * (high - low), _below(high, low)))
            points.append(tuple(point))
        return points


def _below(high: float, low: float) -> float:
    """Return a number below `high` and not below `low`: rounding must not carry a point out of its zone."""
    return max(low, high - (high - low) * 2.0**-40)
