"""Zones: a zone is a path of cuts from the root, and a path says which box it is. Brokers and Spark own the same ones.

The event space is the unit cube [0, 1)^d (`axes.py`). A cut names its axis, its half (bit 0 is the lower, 1 the upper)
and its place. The axes take turns (seed 003, section 1), and one that the events of a zone do not differ in is passed
over. Everything that owners must agree on follows from paths alone: whose sibling is whose, which zone lies inside
which, and every ancestor's box with the exact floats.

The seed writes zones as (low, up]; here they are half open the other way, [low, up). A point at a cut belongs to the
upper half, so it can lie at distance 0 from a zone and still be outside: `gap` therefore counts the dimensions that are
outside beside the distance, and strict progress is progress of the pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, NamedTuple, TypeAlias

from msgspec import Meta

__all__ = [
    "ROOT",
    "AxisCut",
    "Cut",
    "Gap",
    "Path",
    "Point",
    "ZoneBox",
    "bits_of",
    "box_of",
    "center_distance",
    "contains",
    "depth_of",
    "depth_shared",
    "gap",
    "inside",
    "median_of",
    "meets",
    "overlap",
    "parent",
    "sibling",
    "split",
    "subtract",
    "touching",
    "turn",
    "volume",
]

Point: TypeAlias = tuple[float, ...]


class Cut(NamedTuple):
    """One cut of a path: through which axis, which half is meant, and where it is."""

    axis: int
    bit: int
    place: float


#: No path of a network is longer than 40 cuts (`membership.py`); a longer one from the wire is refused when decoded.
Path: TypeAlias = Annotated[tuple[Cut, ...], Meta(max_length=64)]
#: Where a zone is to be cut: through which axis, and at which place.
AxisCut: TypeAlias = tuple[int, float]
#: Squared distance, then the count of dimensions in which the point is outside.
Gap: TypeAlias = tuple[float, int]

#: The path of the whole space.
ROOT: Path = ()


class ZoneBox(NamedTuple):
    """A half-open box inside the unit cube."""

    lower: Point
    upper: Point


@lru_cache(maxsize=1 << 19)
def box_of(path: Path, dimensions: int) -> ZoneBox:
    """Return the box that a path names; an axis from the wire that the space does not have counts round."""
    if not path:
        return ZoneBox((0.0,) * dimensions, (1.0,) * dimensions)
    lower, upper = box_of(path[:-1], dimensions)
    axis, bit, cut = path[-1]
    axis %= dimensions
    if bit:
        return ZoneBox((*lower[:axis], cut, *lower[axis + 1 :]), upper)
    return ZoneBox(lower, (*upper[:axis], cut, *upper[axis + 1 :]))


def turn(path: Path, dimensions: int) -> int:
    """Return the axis whose turn it is to be cut in a zone."""
    return len(path) % dimensions


def split(path: Path, axis: int, cut: float) -> tuple[Path, Path]:
    """Return the lower and the upper half of a zone."""
    return (*path, Cut(axis, 0, cut)), (*path, Cut(axis, 1, cut))


def bits_of(path: Path) -> str:
    """Return a path as people read it: 0 for each lower half, 1 for each upper one."""
    return "".join(str(cut.bit) for cut in path)


def median_of(values: Sequence[float], low: float, high: float) -> float | None:
    """Return the value nearest the median that cuts (low, high) with values on both sides; None where none does."""
    ordered = sorted(values)
    median = ordered[len(ordered) // 2]
    if median == ordered[0]:  # many equal values at the bottom: cut just above them
        median = next((value for value in ordered if value > median), low)
    return median if low < median < high else None


def parent(path: Path) -> Path:
    """Return the zone that was cut to make this one: merging undoes splitting."""
    return path[:-1]


def sibling(path: Path) -> Path:
    """Return the other half of the zone that was cut to make this one."""
    axis, bit, cut = path[-1]
    return (*path[:-1], Cut(axis, 1 - bit, cut))


def inside(path: Path, ancestor: Path) -> bool:
    """Tell whether a zone lies in another one (or is it)."""
    return path[: len(ancestor)] == ancestor


def overlap(one: Path, other: Path) -> bool:
    """Tell whether two zones share a point.

    In one tree one lies in the other then. But a zone that was merged may have been cut anew, elsewhere: of the zones
    before and after only the boxes tell.
    """
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            if mine[0] == theirs[0] and mine[2] == theirs[2]:
                return False  # the two sides of one cut
            return _share(_ranges(one), _ranges(other))
    return True


@lru_cache(maxsize=4096)
def _ranges(path: Path) -> dict[int, tuple[float, float]]:
    """Return the range of a zone on each axis that a cut has narrowed."""
    found: dict[int, tuple[float, float]] = {}
    for axis, bit, cut in path:
        low, high = found.get(axis, (0.0, 1.0))
        found[axis] = (cut, high) if bit else (low, cut)
    return found


def _share(one: dict[int, tuple[float, float]], other: dict[int, tuple[float, float]]) -> bool:
    return all(low < other[axis][1] and other[axis][0] < high for axis, (low, high) in one.items() if axis in other)


def depth_shared(one: Path, other: Path) -> int:
    """Return how many cuts two paths have in common."""
    for depth, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            return depth
    return min(len(one), len(other))


def depth_of(path: Path, point: Point, dimensions: int) -> int:
    """Return how many cuts of a path a point shares with it."""
    for depth, (axis, bit, cut) in enumerate(path):
        if (point[axis % dimensions] >= cut) != bool(bit):
            return depth
    return len(path)


def contains(box: ZoneBox, point: Point) -> bool:
    """Tell whether a point lies in a box: in ALL dimensions (Algorithm 1 as printed asks for any)."""
    # a plain loop: this is asked several times per message, and a generator costs twice as much
    for x, low, high in zip(point, box.lower, box.upper, strict=True):  # noqa: SIM110
        if not low <= x < high:
            return False
    return True


def meets(box: ZoneBox, lower: Point, upper: Point) -> bool:
    """Tell whether a half-open zone shares a point with a closed box, a subscription's."""
    for bottom, top, low, high in zip(lower, upper, box.lower, box.upper, strict=True):
        if bottom >= high or top < low:
            return False
    return True


def touching(one: ZoneBox, other: ZoneBox) -> bool:
    """Tell whether two zones are face neighbours: they touch in one dimension and overlap in all the others."""
    faces = 0
    for low, high, bottom, top in zip(one.lower, one.upper, other.lower, other.upper, strict=True):
        if high == bottom or top == low:
            faces += 1
            if faces > 1:
                return False
        elif high < bottom or top < low:
            return False
    return faces == 1


def gap(box: ZoneBox, point: Point) -> Gap:
    """Return how far a point is from a box; (0, 0) only inside."""
    total, outside = 0.0, 0
    for x, low, high in zip(point, box.lower, box.upper, strict=True):
        if x < low:
            total += (low - x) * (low - x)
            outside += 1
        elif x >= high:
            total += (x - high) * (x - high)
            outside += 1
    return total, outside


def center_distance(box: ZoneBox, point: Point) -> float:
    """Return the squared distance of a point from the middle of a box."""
    total = 0.0
    for x, low, high in zip(point, box.lower, box.upper, strict=True):
        middle = 0.5 * (low + high) - x
        total += middle * middle
    return total


def volume(box: ZoneBox) -> float:
    """Return the volume of a box."""
    product = 1.0
    for low, high in zip(box.lower, box.upper, strict=True):
        product *= high - low
    return product


def subtract(whole: list[ZoneBox], part: ZoneBox) -> list[ZoneBox]:
    """Return what is left of some disjoint boxes when one box is cut out, again as disjoint boxes, exactly."""
    left: list[ZoneBox] = []
    for lower, upper in whole:
        if any(part.upper[axis] <= lower[axis] or part.lower[axis] >= upper[axis] for axis in range(len(lower))):
            left.append(ZoneBox(lower, upper))
            continue
        low, high = list(lower), list(upper)
        for axis in range(len(low)):
            if part.lower[axis] > low[axis]:
                left.append(ZoneBox(tuple(low), (*high[:axis], part.lower[axis], *high[axis + 1 :])))
                low[axis] = part.lower[axis]
            if part.upper[axis] < high[axis]:
                left.append(ZoneBox((*low[:axis], part.upper[axis], *low[axis + 1 :]), tuple(high)))
                high[axis] = part.upper[axis]
    return left
