"""How much longer is the way over the brokers than the direct one? Static runs over a matrix of round-trip times.

Every host is a broker; who resides in a neighboring domain is chosen in one of five ways, and the times of all hops of
a route are compared with the time between its ends: stretch is the one sum over the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rookery.brokers.ownership import ZoneOwnership
from rookery.brokers.proximity import PROBES, closest, scale
from rookery.brokers.spanhop import next_hop
from rookery.errors import SpaceError
from rookery.papers.seed_003.tables import exact_tables, face_neighbors
from rookery.space.zones import Path, Point, box_of, center_distance, contains

__all__ = ["CHOICES", "stretch"]

Floats = NDArray[np.float64]

#: Inherited as the seed's split leaves it, random, MGNP (Algorithms 2 and 3), closest by coordinates, closest by time.
CHOICES = ("inherited", "random", "mgnp", "coordinates", "oracle")


class _Index:
    """Algorithm 2's index over a whole network: by zone, the brokers at whose zone each resident's coordinates fall."""

    def __init__(self, paths: Sequence[Path], positions: list[Point], extent: tuple[Point, Point]) -> None:
        self._paths = paths
        self._positions = positions
        self._extent = extent
        self._dimensions = len(positions[0])
        self._zones: dict[Path, dict[int, list[int]]] = {}

    def _owner(self, point: Point, within: list[int]) -> int:
        return next(one for one in within if contains(box_of(self._paths[one], self._dimensions), point))

    def find(self, asker: int, zone: Path, within: list[int]) -> int | None:
        """Algorithm 3: ask where one's own coordinates fall, then the neighbors of that place."""
        box = box_of(zone, self._dimensions)
        entries = self._zones.get(zone)
        if entries is None:
            entries = self._zones[zone] = {}
            for resident in within:
                place = self._owner(scale(self._positions[resident], box, self._extent), within)
                entries.setdefault(place, []).append(resident)
        point = scale(self._positions[asker], box, self._extent)
        first = self._owner(point, within)
        beside = face_neighbors(self._paths[first], [self._paths[one] for one in within], self._dimensions)
        beside.sort(key=lambda path: center_distance(box_of(path, self._dimensions), point))
        number_of = {self._paths[one]: one for one in within}
        places = [first, *(number_of[path] for path in beside[:PROBES])]
        known = [
            ZoneOwnership(self._paths[one], 0, one, 0, self._positions[one])
            for place in places
            for one in entries.get(place, ())
        ]
        best = closest(self._positions[asker], known)
        return None if best is None else best.owner


def stretch(
    choice: str,
    *,
    paths: Sequence[Path],
    times: Floats,
    positions: Floats,
    extent: tuple[Point, Point],
    bits: int,
    pairs: NDArray[np.int64],
    generator: np.random.Generator,
) -> float:
    """Route each pair (source, target) of brokers, who are hosts of the same number; return routed over direct time."""
    if choice not in CHOICES:
        raise SpaceError(f"no choice {choice!r}; there are {', '.join(CHOICES)}")
    places: list[Point] = [tuple(row) for row in positions.tolist()]
    index = _Index(paths, places, extent)

    def resident(broker: int, zone: Path, within: list[int]) -> int:
        # A zone's owner keeps the lower half of every split: all inherit the broker in the lower corner.
        first = min(within, key=lambda one: [cut.bit for cut in paths[one]])
        if choice == "random":
            return within[int(generator.integers(len(within)))]
        if choice == "coordinates":
            return within[int(np.linalg.norm(positions[within] - positions[broker], axis=1).argmin())]
        if choice == "oracle":
            return within[int(times[broker, within].argmin())]
        if choice == "mgnp":
            found = index.find(broker, zone, within)
            return first if found is None else found
        return first

    dimensions = positions.shape[1]
    tables = exact_tables(paths, dimensions=dimensions, bits=bits, resident=resident)
    routed = direct = 0.0
    for source, target in pairs.tolist():
        box = box_of(paths[target], dimensions)
        point = tuple((low + high) / 2 for low, high in zip(*box, strict=True))
        broker = source
        while (hop := next_hop(tables[broker], point)) is not None:
            routed += times[broker, hop.owner]
            broker = hop.owner
        direct += times[source, target]
    return routed / direct
