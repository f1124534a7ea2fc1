"""Routes by column: where all events of a batch go next, without an object for any of them.

Theory. What `spanhop.next_hop` decides for an event depends on the zone, on who is known beside it and on the point.
The first two are the same for all events of a batch, and for most batches between two beats: they are put into arrays
once, and one kernel walks the cuts of the zone and the few zones beside them for each point.

Rule 1: the kernel says what `next_hop` says, for every point.
Rule 2: the arrays are made anew when the zone's neighbors or residents have changed, when somebody could not be reached
or can be again, and at every beat, since a broker that falls silent is no way any more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rookery.brokers.ownership import ZoneOwnership
from rookery.brokers.route_kernels import next_hops
from rookery.brokers.spanhop import ZoneRoutes
from rookery.space.zones import Path, ZoneBox, box_of, depth_shared

if TYPE_CHECKING:
    from rookery.brokers.broker import Broker
    from rookery.brokers.owned_zone import OwnedZone

__all__ = ["HERE", "NOWHERE", "ColumnRoutes", "ZoneHops"]

Array = np.ndarray[Any, Any]

#: What `ZoneHops.of` says of points that nobody is known to bring closer, and of those in the zone itself.
NOWHERE, HERE = -1, -2


class ZoneHops:
    """The next hops from one zone, as arrays."""

    def __init__(self, table: ZoneRoutes, usable: Callable[[ZoneOwnership], bool]) -> None:
        path, dimensions, bits = table.path, table.dimensions, table.bits
        #: The brokers that events may go to, by number.
        self.owners: list[int] = []
        numbers: dict[int, int] = {}
        ancestors = [box_of(path[: level * bits], dimensions) for level in range(len(path) // bits + 1)] if bits else []
        starts, zones, hops = [0], [], []
        for level in range(len(ancestors)):
            known = table.levels[level] if level < len(table.levels) else {}
            for zone in sorted(known, key=_bits):
                resident = next((one for one in known[zone] if usable(one)), None)
                if resident is not None:
                    zones.append(box_of(zone, dimensions))
                    hops.append(numbers.setdefault(resident.owner, len(numbers)))
            starts.append(len(zones))
        near = sorted((one for one in table.neighbors if usable(one)), key=lambda one: _bits(one.path))
        self._near_owners = [one.owner for one in near]
        near_hops = [numbers.setdefault(one.owner, len(numbers)) for one in near]
        self.owners += numbers
        self._unused = np.zeros(len(near), np.int64)
        self._arrays = (
            bits,
            np.array([cut.axis % dimensions for cut in path], np.int64),
            np.array([cut.bit for cut in path], np.bool_),
            np.array([cut.place for cut in path], np.float64),
            np.array(starts, np.int64),
            *_corners(zones, dimensions),
            np.array(hops, np.int64),
            *_corners(ancestors, dimensions),
            np.array([depth_shared(one.path, path) for one in near], np.int64),
            *_corners([box_of(one.path, dimensions) for one in near], dimensions),
            np.array(near_hops, np.int64),
        )

    def of(self, points: Array, visited: Collection[int] = (), *, came_back: bool = False) -> Array:
        """Return by point the number of the broker that is next, or `HERE`, or `NOWHERE`.

        `visited` are the brokers that the events have been at; those that came back ask no levels (failure case 3).
        """
        used = self._unused
        if came_back:
            used = np.array([owner in visited for owner in self._near_owners], np.int64)
        out = np.empty(len(points), np.int64)
        next_hops(points, *self._arrays, used, came_back, out)
        return out


class ColumnRoutes:
    """The next hops of one broker's events."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._key: Hashable = None
        self._hops: list[ZoneHops] = []

    def divide(self, points: Array, visited: Sequence[int]) -> list[tuple[OwnedZone | int | None, Array]]:
        """Return where the events of a batch go, each part with its rows in order: to an own zone, a broker, nowhere.

        The broker has a zone, one or more.
        """
        broker = self._broker
        zones = list(broker.owned.values())
        hops = self._present(zones)
        came_back = broker.id in visited
        if len(zones) == 1:
            return _parts(zones[0], hops[0], hops[0].of(points, visited, came_back=came_back), None)
        nearest = _nearest([owned.box for owned in zones], [len(owned.path) for owned in zones], points)
        found: list[tuple[OwnedZone | int | None, Array]] = []
        for number, owned in enumerate(zones):
            rows = np.flatnonzero(nearest == number)
            if len(rows):
                targets = hops[number].of(points[rows], visited, came_back=came_back)
                found += _parts(owned, hops[number], targets, rows)
        return found

    def _present(self, zones: Iterable[OwnedZone]) -> list[ZoneHops]:
        broker = self._broker
        key = (
            tuple((owned, owned.stamp, owned.queue.stamp) for owned in zones),
            tuple(broker.routing_table.unreachable),
            broker.timer(),
        )
        if key != self._key:
            self._key = key
            self._hops = [ZoneHops(owned, broker.is_usable) for owned in zones]
        return self._hops


def _parts(
    owned: OwnedZone, hops: ZoneHops, targets: Array, rows: Array | None
) -> list[tuple[OwnedZone | int | None, Array]]:
    """Group rows by where they go."""
    order = np.argsort(targets, kind="stable")
    ordered = targets[order]
    starts = [0, *(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1).tolist()]
    found: list[tuple[OwnedZone | int | None, Array]] = []
    for start, part in zip(starts, np.split(order, starts[1:]), strict=True):
        target = int(ordered[start])
        where = owned if target == HERE else None if target == NOWHERE else hops.owners[target]
        found.append((where, part if rows is None else rows[part]))
    return found


def _nearest(boxes: Sequence[ZoneBox], depths: Sequence[int], points: Array) -> Array:
    """Return by point which of some boxes holds it, else the nearest, of two the one of the longer path."""
    order = sorted(range(len(boxes)), key=lambda number: -depths[number])
    gaps = []
    for number in order:
        low, high = np.array(boxes[number].lower), np.array(boxes[number].upper)
        away = np.maximum(np.maximum(low - points, points - high), 0.0)
        holds = ((points >= low) & (points < high)).all(axis=1)
        gaps.append(np.where(holds, -1.0, (away * away).sum(axis=1)))
    nearest: Array = np.array(order)[np.argmin(np.stack(gaps), axis=0)]
    return nearest


def _corners(boxes: Sequence[ZoneBox], dimensions: int) -> tuple[Array, Array]:
    shape = (len(boxes), dimensions)
    lower = np.array([box.lower for box in boxes], np.float64).reshape(shape)
    return lower, np.array([box.upper for box in boxes], np.float64).reshape(shape)


def _bits(path: Path) -> tuple[int, ...]:
    return tuple(cut.bit for cut in path)
