"""An owned zone: a zone as its owner keeps it, with neighbor table, ancestor queue, subscriptions and sample.

A broker owns one zone. For a while it may own more: whoever takes over the zone of a dead broker serves it at once as
a second one, and passes it on afterwards. So every point of the space has an owner even while the tree is being mended.

Rule: an owned zone knows by itself whether its neighbor table is complete, since its neighbors' boxes must tile its
faces. What they leave uncovered is a hole, and a look-up across the hole finds the missing neighbor, however it got
lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf, nextafter

from rookery.brokers.ancestors import AncestorQueue
from rookery.brokers.configuration import BrokerConfiguration
from rookery.brokers.messages import ZoneReport, ZoneState
from rookery.brokers.ownership import OwnershipMap, ZoneOwnership
from rookery.brokers.sampling import Reservoir
from rookery.brokers.store import ZoneStore
from rookery.space.zones import (
    Path,
    Point,
    ZoneBox,
    box_of,
    contains,
    depth_shared,
    overlap,
    subtract,
    touching,
    volume,
)

__all__ = ["MOST_BACKUPS", "OwnedZone"]

#: Backups that a zone names, in the order in which they take over.
MOST_BACKUPS = 4


class OwnedZone:
    """One zone at its owner; a `spanhop.ZoneRoutes`."""

    __slots__ = (
        "_holes",
        "_ranked",
        "bits",
        "box",
        "details",
        "dimensions",
        "grace_until",
        "index",
        "lease",
        "neighbors",
        "ownership",
        "path",
        "queue",
        "replicated",
        "reservoir",
        "since",
        "stamp",
        "store",
        "watchers",
    )

    def __init__(self, ownership: ZoneOwnership, configuration: BrokerConfiguration) -> None:
        self.ownership = ownership
        self.path: Path = ownership.path
        self.dimensions = configuration.space.dimensions
        self.bits = configuration.level_bits
        self.box: ZoneBox = box_of(ownership.path, self.dimensions)
        self.neighbors = OwnershipMap()
        #: What each neighboring zone told of itself: needed when it falls silent.
        self.details: dict[Path, ZoneReport] = {}
        self.queue = AncestorQueue(
            ownership.path, dimensions=self.dimensions, bits=self.bits, capacity=configuration.residents
        )
        self.store = ZoneStore(configuration.space.schema, engine=configuration.engine)
        self.reservoir = Reservoir()
        #: Algorithm 2's index by zone and resident: where it is noted, its coordinates, until when.
        self.index: dict[Path, dict[int, tuple[Point, ZoneOwnership, int]]] = {}
        #: Who located residents of a zone here, and is told when they change, until when.
        self.watchers: dict[Path, dict[int, int]] = {}
        #: Changes with the neighbor table.
        self.stamp = 0
        #: The latest stamp before it was owned: only younger ones count for its lease (`leases.py`).
        self.since = 0
        #: When its lease ends, as computed from the neighbor table and the grants of a moment.
        self.lease: tuple[int, tuple[int, int]] = (0, (-1, -1))
        #: Who holds the replica of the subscriptions.
        self.replicated: int | None = None
        #: When the grace period ends, and all subscriptions of the zone are known to be here; 0 if they are.
        self.grace_until = 0
        self._holes: tuple[int, list[Point]] | None = None
        #: All owners beside it in the order in which they take over, as of a stamp.
        self._ranked: tuple[int, tuple[int, ...]] | None = None

    @property
    def levels(self) -> list[dict[Path, list[ZoneOwnership]]]:
        """AQ."""
        return self.queue.levels

    @property
    def load(self) -> int:
        """Events seen and subscriptions held."""
        return self.reservoir.seen + len(self.store)

    def current_ownership(self) -> ZoneOwnership:
        """Return the ownership with today's load."""
        ownership = self.ownership
        if ownership.load != self.load:
            self.ownership = ownership = ZoneOwnership(
                ownership.path, ownership.epoch, ownership.owner, self.load, ownership.position
            )
        return ownership

    def learn(self, ownership: ZoneOwnership) -> bool:
        """Take in who owns another zone; say whether the neighbor table changed."""
        if overlap(ownership.path, self.path):
            return False
        self.queue.learn(ownership, first=False)
        if touching(self.box, box_of(ownership.path, self.dimensions)):
            changed = self.neighbors.add(ownership)
        else:
            stale = [rival for rival in self.neighbors.rivals(ownership) if ownership.prevails(rival)]
            for rival in stale:
                self.neighbors.discard(rival.path)
            changed = bool(stale)
        if changed:
            self.stamp += 1
        return changed

    def inherit(self, other: OwnedZone) -> None:
        """Take in what neighbors told another zone of themselves, one that this was a part of, or is beside."""
        for path, report in other.details.items():
            if self.neighbors.get(path) is not None:
                self.details.setdefault(path, report)

    def drop(self, path: Path) -> None:
        """Forget a neighbor."""
        self.neighbors.discard(path)
        self.stamp += 1

    def backups(self, alive: Callable[[int], bool]) -> tuple[int, ...]:
        """Return who takes over, first those inside the sibling's zone, the smallest zone first."""
        if self._ranked is None or self._ranked[0] != self.stamp:
            ranked = sorted(
                (
                    -depth_shared(ownership.path, self.path),
                    volume(box_of(ownership.path, self.dimensions)),
                    ownership.owner,
                )
                for ownership in self.neighbors
                if ownership.owner != self.ownership.owner
            )
            self._ranked = (self.stamp, tuple(dict.fromkeys(owner for _, _, owner in ranked)))
        return tuple([owner for owner in self._ranked[1] if alive(owner)][:MOST_BACKUPS])

    def holes(self) -> list[Point]:
        """Return a point across each part of the faces that no neighbor covers."""
        if self._holes is None or self._holes[0] != self.stamp:
            self._holes = (self.stamp, [point for axis in range(self.dimensions) for point in self._face(axis)])
        return self._holes[1]

    def _face(self, axis: int) -> list[Point]:
        points: list[Point] = []
        for upper in (False, True):
            edge = self.box.upper[axis] if upper else self.box.lower[axis]
            if edge in (0.0, 1.0):
                continue
            left = [_flat(self.box, axis)]
            for ownership in self.neighbors:
                other = box_of(ownership.path, self.dimensions)
                if edge == (other.lower[axis] if upper else other.upper[axis]):
                    left = subtract(left, _flat(other, axis))
            across = edge if upper else nextafter(edge, -inf)
            points += [(*piece.lower[:axis], across, *piece.lower[axis:]) for piece in left]
        return points

    def state(self, ownership: ZoneOwnership, ages: Iterable[tuple[ZoneOwnership, int]], now: int) -> ZoneState:
        """Return what the owner of this zone, or of a half of it, has to know; leases as the time they have left.

        No time of day travels: brokers' clocks need not agree.
        """
        box = box_of(ownership.path, self.dimensions)
        sample = self.reservoir.part(box)
        return ZoneState(
            ownership=ownership,
            neighbors=tuple(ages),
            ancestors=tuple(self.queue),
            subscriptions=tuple((one, expires - now) for one, expires in self.store.part(box)),
            sample=tuple(sample.points),
            seen=sample.seen,
            index=tuple(
                (zone, point, one, expires - now)
                for zone, entries in self.index.items()
                for point, one, expires in entries.values()
                if contains(box, point)
            ),
            grace=max(0, self.grace_until - now),
            watchers=tuple(
                (zone, asker, expires - now)
                for zone, askers in self.watchers.items()
                if overlap(zone, ownership.path)  # both halves of a split have residents that were found
                for asker, expires in askers.items()
            ),
            taken_back=tuple((name, rank, until - now) for name, rank, until in self.store.taken_back() if until > now),
        )

    def fill(self, state: ZoneState, now: int) -> None:
        """Take in what came with a zone."""
        for ownership in state.ancestors:
            self.queue.learn(ownership, first=False)
        for name, rank, left in state.taken_back:
            self.store.take_back(name, rank, now + left)
        for subscription, left in state.subscriptions:
            self.store.add(subscription, now + left)
        self.reservoir = Reservoir((*self.reservoir.points, *state.sample), self.reservoir.seen + state.seen)
        if state.grace:
            self.grace_until = max(self.grace_until, now + state.grace)
        for zone, point, resident, left in state.index:
            if contains(self.box, point):
                self.index.setdefault(zone, {})[resident.owner] = (point, resident, now + left)
        for zone, asker, left in state.watchers:
            if overlap(zone, self.path):
                self.watchers.setdefault(zone, {})[asker] = now + left


def _flat(box: ZoneBox, axis: int) -> ZoneBox:
    """Return a box seen along an axis: one dimension less."""
    lower, upper = box
    return ZoneBox((*lower[:axis], *lower[axis + 1 :]), (*upper[:axis], *upper[axis + 1 :]))
