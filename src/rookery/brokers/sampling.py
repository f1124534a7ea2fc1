"""What a zone knows of its events: a reservoir of points, and where to cut so that both halves carry the same load.

The seed asks for M(z1) = M(z2) and leaves M open (section 1). Here a zone's load is the count of its events, seen
through a uniform sample of them, and the cut is the sample's median in the dimension whose turn it is; the middle of
the zone where the sample is too small. Where the sample has one value in that dimension (all its events are of one
symbol, say) the next dimension in turn has its place: half a zone with no event in it would idle its owner.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rookery.machine.randomness import RandomNumbers
from rookery.space.zones import AxisCut, Point, ZoneBox, contains, median_of

__all__ = ["FEWEST_SAMPLES", "RESERVOIR", "Reservoir", "choose_cut", "cut_of"]

Array = np.ndarray[Any, Any]

#: Points that a zone keeps of its events.
RESERVOIR = 256
#: Below this many points a median says nothing.
FEWEST_SAMPLES = 8


class Reservoir:
    """A uniform sample of a stream of points (Vitter's algorithm R, for many at a time)."""

    __slots__ = ("points", "seen")

    def __init__(self, points: Sequence[Point] = (), seen: int = 0) -> None:
        self.points = list(points)
        self.seen = max(seen, len(self.points))

    def observe(self, count: int, points: Callable[[list[int]], Array], random: RandomNumbers) -> None:
        """Show it so many more points; where some of them lie is asked, by row, if these belong in the sample.

        The more were seen the fewer that are, so that a batch of a long stream costs nothing.
        """
        first = min(count, RESERVOIR - len(self.points))
        self.seen += count
        replaced = int(RESERVOIR * (count - first) / self.seen + random.random()) if count > first else 0
        if not first and not replaced:
            return
        rows = [row * count // first for row in range(first)]
        places = []
        for _ in range(min(replaced, RESERVOIR)):
            rows.append(int(random.random() * count))
            places.append(int(random.random() * RESERVOIR))
        found = list(map(tuple, points(rows).tolist()))
        self.points += found[:first]
        for place, point in zip(places, found[first:], strict=True):
            self.points[place] = point

    def part(self, box: ZoneBox) -> Reservoir:
        """Return the sample of a part of the zone; the count of what was seen shrinks with it."""
        kept = [point for point in self.points if contains(box, point)]
        share = len(kept) / len(self.points) if self.points else 0.0
        return Reservoir(kept, round(self.seen * share))


def cut_of(box: ZoneBox, axis: int, points: Sequence[Point]) -> float:
    """Return where to cut a zone in one dimension."""
    low, high = box.lower[axis], box.upper[axis]
    median = median_of([point[axis] for point in points], low, high) if len(points) >= FEWEST_SAMPLES else None
    return low + (high - low) / 2 if median is None else median


def choose_cut(box: ZoneBox, turn: int, points: Sequence[Point]) -> AxisCut:
    """Return where to cut a zone, and in which dimension: the one whose turn it is, if its sample differs in it."""
    dimensions = len(box.lower)
    if len(points) >= FEWEST_SAMPLES:
        for axis in ((turn + step) % dimensions for step in range(dimensions)):
            median = median_of([point[axis] for point in points], box.lower[axis], box.upper[axis])
            if median is not None:
                return axis, median
    return turn, cut_of(box, turn, ())
