"""A seat: one zone as its owner keeps it, with neighbor table, ancestor queue, subscriptions and sample.

A broker has one seat. For a while it may have more: whoever inherits the zone of a dead broker serves it at once as a
second seat, and passes it on afterwards. So every point of the space has an owner even while the tree is being mended.

Rule: a seat knows by itself whether its neighbor table is complete, since its neighbors' boxes must tile its faces.
What they leave uncovered is a hole, and a look-up across the hole finds the missing neighbor, however it got lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf, nextafter

from rookery.brokers.ancestors import AncestorQueue
from rookery.brokers.claims import Claim, ClaimMap
from rookery.brokers.configuration import BrokerConfiguration
from rookery.brokers.messages import SeatReport, SeatState
from rookery.brokers.sampling import Reservoir
from rookery.brokers.store import ZoneStore
from rookery.brokers.zones import (
    Cell,
    Path,
    Point,
    cell_of,
    contains,
    depth_shared,
    overlap,
    subtract,
    touching,
    volume,
)

__all__ = ["HEIRS", "Seat"]

#: Heirs that a zone names, in the order in which they take over.
HEIRS = 4


class Seat:
    """One zone at its owner; a `spanhop.RoutingTable`."""

    __slots__ = (
        "_holes",
        "_ranked",
        "bits",
        "cell",
        "claim",
        "details",
        "dimensions",
        "index",
        "neighbors",
        "path",
        "queue",
        "replicated",
        "reservoir",
        "stamp",
        "store",
        "watchers",
        "young",
    )

    def __init__(self, claim: Claim, configuration: BrokerConfiguration) -> None:
        self.claim = claim
        self.path: Path = claim.path
        self.dimensions = configuration.space.dimensions
        self.bits = configuration.level_bits
        self.cell: Cell = cell_of(claim.path, self.dimensions)
        self.neighbors = ClaimMap()
        #: What each neighboring zone told of itself: needed when it falls silent.
        self.details: dict[Path, SeatReport] = {}
        self.queue = AncestorQueue(
            claim.path, dimensions=self.dimensions, bits=self.bits, capacity=configuration.residents
        )
        self.store = ZoneStore(configuration.space.schema, engine=configuration.engine)
        self.reservoir = Reservoir()
        #: Algorithm 2's index by zone and resident: where it is noted, its coordinates, until when.
        self.index: dict[Path, dict[int, tuple[Point, Claim, int]]] = {}
        #: Who located residents of a zone here, and is told when they change, until when.
        self.watchers: dict[Path, dict[int, int]] = {}
        #: Changes with the neighbor table.
        self.stamp = 0
        #: Who holds the replica of the subscriptions.
        self.replicated: int | None = None
        #: When all subscriptions of the zone are known to be here, 0 if they are.
        self.young = 0
        self._holes: tuple[int, list[Point]] | None = None
        #: All owners around in the order in which they inherit, as of a stamp.
        self._ranked: tuple[int, tuple[int, ...]] | None = None

    @property
    def levels(self) -> list[dict[Path, list[Claim]]]:
        """AQ."""
        return self.queue.levels

    @property
    def load(self) -> int:
        """Events seen and subscriptions held."""
        return self.reservoir.seen + len(self.store)

    def current_claim(self) -> Claim:
        """Return the claim with today's load."""
        claim = self.claim
        if claim.load != self.load:
            self.claim = claim = Claim(claim.path, claim.epoch, claim.owner, self.load, claim.position)
        return claim

    def learn(self, claim: Claim) -> bool:
        """Take in a claim on another zone; say whether the neighbor table changed."""
        if overlap(claim.path, self.path):
            return False
        self.queue.learn(claim, first=False)
        if touching(self.cell, cell_of(claim.path, self.dimensions)):
            changed = self.neighbors.add(claim)
        else:
            stale = [rival for rival in self.neighbors.rivals(claim) if claim.prevails(rival)]
            for rival in stale:
                self.neighbors.discard(rival.path)
            changed = bool(stale)
        if changed:
            self.stamp += 1
        return changed

    def drop(self, path: Path) -> None:
        """Forget a neighbor."""
        self.neighbors.discard(path)
        self.stamp += 1

    def heirs(self, alive: Callable[[int], bool]) -> tuple[int, ...]:
        """Return who takes over, first those inside the sibling's zone, the smallest zone first."""
        if self._ranked is None or self._ranked[0] != self.stamp:
            ranked = sorted(
                (-depth_shared(claim.path, self.path), volume(cell_of(claim.path, self.dimensions)), claim.owner)
                for claim in self.neighbors
                if claim.owner != self.claim.owner
            )
            self._ranked = (self.stamp, tuple(dict.fromkeys(owner for _, _, owner in ranked)))
        return tuple([owner for owner in self._ranked[1] if alive(owner)][:HEIRS])

    def holes(self) -> list[Point]:
        """Return a point across each part of the faces that no neighbor covers."""
        if self._holes is None or self._holes[0] != self.stamp:
            self._holes = (self.stamp, [point for axis in range(self.dimensions) for point in self._face(axis)])
        return self._holes[1]

    def _face(self, axis: int) -> list[Point]:
        points: list[Point] = []
        for upper in (False, True):
            edge = self.cell.upper[axis] if upper else self.cell.lower[axis]
            if edge in (0.0, 1.0):
                continue
            left = [_flat(self.cell, axis)]
            for claim in self.neighbors:
                other = cell_of(claim.path, self.dimensions)
                if edge == (other.lower[axis] if upper else other.upper[axis]):
                    left = subtract(left, _flat(other, axis))
            across = edge if upper else nextafter(edge, -inf)
            points += [(*piece.lower[:axis], across, *piece.lower[axis:]) for piece in left]
        return points

    def state(self, claim: Claim, ages: Iterable[tuple[Claim, int]], now: int) -> SeatState:
        """Return what the owner of `claim`, this zone or a half of it, has to know; leases as the time they have left.

        No time of day travels: brokers' clocks need not agree.
        """
        cell = cell_of(claim.path, self.dimensions)
        sample = self.reservoir.part(cell)
        return SeatState(
            claim=claim,
            neighbors=tuple(ages),
            ancestors=tuple(self.queue),
            subscriptions=tuple((held, expires - now) for held, expires in self.store.part(cell)),
            sample=tuple(sample.points),
            seen=sample.seen,
            index=tuple(
                (zone, point, held, expires - now)
                for zone, entries in self.index.items()
                for point, held, expires in entries.values()
                if contains(cell, point)
            ),
            young=max(0, self.young - now),
            watchers=tuple(
                (zone, asker, expires - now)
                for zone, askers in self.watchers.items()
                if overlap(zone, claim.path)  # both halves of a split have residents that were found
                for asker, expires in askers.items()
            ),
        )

    def fill(self, state: SeatState, now: int) -> None:
        """Take in what came with a zone."""
        for claim in state.ancestors:
            self.queue.learn(claim, first=False)
        for subscription, left in state.subscriptions:
            self.store.add(subscription, now + left)
        self.reservoir = Reservoir((*self.reservoir.points, *state.sample), self.reservoir.seen + state.seen)
        if state.young:
            self.young = max(self.young, now + state.young)
        for zone, point, held, left in state.index:
            if contains(self.cell, point):
                self.index.setdefault(zone, {})[held.owner] = (point, held, now + left)
        for zone, asker, left in state.watchers:
            if overlap(zone, self.path):
                self.watchers.setdefault(zone, {})[asker] = now + left


def _flat(cell: Cell, axis: int) -> Cell:
    """Return a box seen along an axis: one dimension less."""
    lower, upper = cell
    return Cell((*lower[:axis], *lower[axis + 1 :]), (*upper[:axis], *upper[axis + 1 :]))
