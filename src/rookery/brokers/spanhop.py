"""Spanhop: Algorithm 1 of seed 003, repaired; and greedy routing.

Theory. A broker knows its face neighbors and, per level i of its own path (every log2 m cuts), residents of the zones
beside its ancestor at that level: AQ[i]. An event goes to the closest such zone of the first level whose ancestor does
not hold it, the widest hop there is. All of that happens inside the ancestor one level up, the *domain*, which is a box
holding both the broker and the event: a step toward the event along an axis stays inside, so the level never falls, and
within a level the distance strictly falls. A route therefore ends, after at most (m - 1) hops a level.

Repairs of what is printed: an event is accepted if ALL its coordinates are inside, not any; each branch ends the
routing, where the printed `break` only leaves the inner loop; zones are half open on one side; no hop leaves the
domain. The last holds for the step to a face neighbor too, which a broker takes whose zone is larger than the level:
without it about three routes in 100,000 of a randomly grown tree go round for ever.

Failures: a dead resident is passed over for another one of its zone or the next zone (case 1), then for the next,
smaller level (case 2), then for the face neighbors (case 3), those first that the message has not visited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias

from rookery.brokers.ownership import ZoneOwnership
from rookery.space.zones import Path, Point, ZoneBox, box_of, center_distance, contains, depth_of, gap, inside

__all__ = ["ZoneRoutes", "greedy_hop", "nearness", "next_hop"]


class ZoneRoutes(Protocol):
    """What routing needs to know of a zone."""

    @property
    def path(self) -> Path:
        """The zone."""
        ...

    @property
    def dimensions(self) -> int:
        """Of the event space."""
        ...

    @property
    def bits(self) -> int:
        """log2 m: cuts per level."""
        ...

    @property
    def levels(self) -> Sequence[Mapping[Path, Sequence[ZoneOwnership]]]:
        """AQ: per level the zones beside the ancestor, each with residents; level 0 is empty."""
        ...

    @property
    def neighbors(self) -> Iterable[ZoneOwnership]:
        """RT.nb: the face neighbors."""
        ...


#: Gap, distance from the middle, bits of the path: a total order.
Nearness: TypeAlias = tuple[tuple[float, int], float, tuple[int, ...]]


def _always(ownership: ZoneOwnership) -> bool:
    return True


def nearness(path: Path, box: ZoneBox, point: Point) -> Nearness:
    """Return by what zones are ordered: how far an event is from one, and which it is."""
    return gap(box, point), center_distance(box, point), tuple(cut.bit for cut in path)


def next_hop(
    table: ZoneRoutes,
    point: Point,
    *,
    usable: Callable[[ZoneOwnership], bool] = _always,
    neighbors_only: bool = False,
    used: frozenset[int] = frozenset(),
) -> ZoneOwnership | None:
    """Return where an event goes next; None where nobody usable is closer, or the zone itself holds it.

    `used` are the brokers that the message has visited; with `neighbors_only` (a message that came back) the levels are
    not asked.
    """
    path, dimensions, bits = table.path, table.dimensions, table.bits
    shared = depth_of(path, point, dimensions)
    if shared == len(path):
        return None
    if not neighbors_only and bits:
        for level in range(shared // bits + 1, len(path) // bits + 1):
            found = _level_hop(table, level, point, usable)
            if found is not None:
                return found
    domain = path[: shared // bits * bits] if bits else ()
    return _neighbor_hop(table, point, domain, usable, used)


def _level_hop(
    table: ZoneRoutes, level: int, point: Point, usable: Callable[[ZoneOwnership], bool]
) -> ZoneOwnership | None:
    if level >= len(table.levels):
        return None
    dimensions, bits = table.dimensions, table.bits
    mine = gap(box_of(table.path[: level * bits], dimensions), point)
    zones = [(nearness(zone, box_of(zone, dimensions), point), zone) for zone in table.levels[level]]
    zones.sort()
    for near, zone in zones:
        if near[0] >= mine:
            break
        for resident in table.levels[level][zone]:
            if usable(resident):
                return resident
    return None


def _neighbor_hop(
    table: ZoneRoutes, point: Point, domain: Path, usable: Callable[[ZoneOwnership], bool], used: frozenset[int]
) -> ZoneOwnership | None:
    dimensions = table.dimensions
    best: tuple[bool, bool, Nearness] | None = None
    chosen: ZoneOwnership | None = None
    for ownership in table.neighbors:
        if not usable(ownership):
            continue
        near = nearness(ownership.path, box_of(ownership.path, dimensions), point)
        # Outside the domain only where nobody inside is left: then it is a way round a failure.
        key = (ownership.owner in used, not inside(ownership.path, domain), near)
        if best is None or key < best:
            best, chosen = key, ownership
    if chosen is not None and chosen.owner in used:
        return None
    return chosen


def greedy_hop(
    table: ZoneRoutes, point: Point, *, usable: Callable[[ZoneOwnership], bool] = _always
) -> ZoneOwnership | None:
    """Return the face neighbor closest to an event: (d/3)(n - 1/n) hops on n = N^(1/d) zones a side."""
    if contains(box_of(table.path, table.dimensions), point):
        return None
    return _neighbor_hop(table, point, (), usable, frozenset())
