"""How the zones of a live network should lie, from statistics of a Spark job, and the next step toward that.

Statistics are the zones of a K-D tree (`rookery.spark.zone_stats`, or any `KdTree`) with a load each. A tree that has
as many zones as there are brokers, and no attribute that the network's space lacks, is taken as it is: each broker gets
one of its zones. For any other number of brokers the cuts are made anew, the axes in turn: inside a zone of the tree
the load is taken to be spread evenly, and each cut lies where both sides get the load of the brokers they are to have.
Where the statistics know nothing of an attribute (their tree never cuts it) the cut is the median of the owner's own
sample, which is what it would be without a plan. The tree's axes may have other ranges and codes than the network's: a
place is carried over by the least value that lies there.

Theory. A network's zones are the leaves of a binary tree, and a plan says for each zone and each number of brokers in
it where the cut should be. A cut that is near enough stays. Under one that is not everything is merged first, from
below: the owner of the upper of two sibling leaves gives it to the owner of the lower and waits. A waiting broker gets
the upper half of a leaf that should be cut. Where the two sides of a wrong cut are leaves it is moved in one step: the
lower owner takes both and gives the new upper part back. So there is never a network of one broker, which would have
no backup. Every step removes a cut that disagrees or makes one that agrees, so there are at most two steps for each
broker; after each the zones tile the space, so one may stop anywhere and go on later.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rookery.arrays import distinct
from rookery.errors import SpaceError
from rookery.space.axes import EventSpace
from rookery.space.tree import KdTree
from rookery.space.zones import ROOT, AxisCut, Path, Point, ZoneBox, box_of, inside, sibling, split, turn

__all__ = ["RequestStep", "SplitPlan", "Step", "TransferStep", "is_tiling", "next_step"]

Array = np.ndarray[Any, Any]

#: How far the load of a side may be off its brokers' share, relative to the smaller share, for a cut to stay.
TOLERANCE = 0.1
#: Loads beside cuts that are looked at together.
MOST_AT_ONCE = 1 << 20
#: A piece of the statistics is at least so wide: what lies at one value has to have a width to be divided.
NARROWEST = 2.0**-40


@dataclass(frozen=True, slots=True)
class TransferStep:
    """The owner of a zone is to give it to the owner of its sibling, and wait, or get a part of both back at once."""

    path: Path
    #: Where both together are to be cut; None where the owner is to wait.
    back: AxisCut | None = None


@dataclass(frozen=True, slots=True)
class RequestStep:
    """A broker that waits is to get the upper half of a zone, cut here, or at the owner's median."""

    path: Path
    cut: AxisCut | None


Step = TransferStep | RequestStep


class ZonePlan(Protocol):
    """What steps go toward."""

    def wanted(self, path: Path, brokers: int) -> AxisCut | None:
        """Return where a zone of so many brokers is to be cut; None where that is not known."""

    def brokers_below(self, path: Path, cut: AxisCut, brokers: int) -> int | None:
        """Return how many of a zone's brokers belong below a cut that exists; None if it should be elsewhere."""


class TreePlan:
    """The zones of a tree, one for each broker."""

    def __init__(self, paths: Collection[Path]) -> None:
        self.zone_count = len(paths)
        #: By zone that is cut: where, and how many zones are below and above.
        self._cuts: dict[Path, tuple[AxisCut, list[int]]] = {}
        for path in paths:
            for depth, (axis, bit, place) in enumerate(path):
                self._cuts.setdefault(path[:depth], ((axis, place), [0, 0]))[1][bit] += 1

    def wanted(self, path: Path, brokers: int) -> AxisCut | None:
        """Return where the tree cuts a zone."""
        return self._cuts[path][0]

    def brokers_below(self, path: Path, cut: AxisCut, brokers: int) -> int | None:
        """Return how many zones of the tree are below a cut, if it is the tree's."""
        known, (below, _) = self._cuts[path]
        return below if cut == known else None


class SplitPlan:
    """Where load lies, as boxes in coordinates with a load each, and where cuts should be for it."""

    def __init__(
        self, *, lower: Array, upper: Array, loads: Array, known: Sequence[bool], exact: TreePlan | None = None
    ) -> None:
        self._lower = lower
        self._upper = np.maximum(upper, lower + NARROWEST)
        self._loads = loads
        #: By dimension, whether the statistics say anything of it.
        self.known = tuple(known)
        #: What is carried out where there are as many brokers as zones.
        self.exact = exact

    @classmethod
    def of_tree(cls, tree: KdTree, space: EventSpace, *, loads: Sequence[float] | None = None) -> SplitPlan:
        """Read a tree; without loads its zones count the same."""
        numbers = {axis.attribute: number for number, axis in enumerate(space.axes)}
        cut = {axis for axis in tree.axis if axis >= 0}
        shared = [axis for axis in sorted(cut) if tree.axes[axis].attribute in numbers]
        if not shared:
            raise SpaceError(
                f"the tree is cut by {', '.join(tree.axes[axis].attribute for axis in sorted(cut)) or 'nothing'}, the "
                f"network by {', '.join(numbers)}: no attribute is in both"
            )
        weights = np.ones(tree.zone_count) if loads is None else np.array(loads, np.float64)
        if len(weights) != tree.zone_count or not (weights >= 0).all() or not np.isfinite(weights).all():
            raise SpaceError(f"a tree of {tree.zone_count} zones needs as many loads, none of them negative")
        if not weights.any():
            raise SpaceError("all zones of the tree have the load 0: there is nothing to share")
        own = EventSpace(space.schema, [tree.axes[axis] for axis in shared])
        carried = _Carried(own, space, [numbers[tree.axes[axis].attribute] for axis in shared])
        lower, upper = np.zeros((tree.zone_count, len(numbers))), np.ones((tree.zone_count, len(numbers)))
        for zone, box in enumerate(tree.boxes()):
            for place, axis in enumerate(shared):
                number = carried.numbers[place]
                lower[zone, number] = carried.place(place, box.lower[axis])
                upper[zone, number] = carried.place(place, box.upper[axis])
        known = [number in carried.numbers for number in range(len(numbers))]
        paths = carried.paths(tree, shared) if len(shared) == len(cut) else None
        exact = None if paths is None else TreePlan(paths)
        return cls(lower=lower, upper=upper, loads=weights, known=known, exact=exact)

    @classmethod
    def of_samples(cls, samples: Sequence[tuple[Sequence[Point], float]], dimensions: int) -> SplitPlan:
        """Read samples of events, each with the load that its events make together: what the brokers say themselves."""
        known = [(points, load) for points, load in samples if points and load > 0]
        if not known:
            raise SpaceError("the brokers have seen no events: publish some first, or give statistics of them")
        places = np.array([point for points, _ in known for point in points], np.float64).reshape(-1, dimensions)
        loads = np.concatenate([np.full(len(points), load / len(points)) for points, load in known])
        return cls(lower=places, upper=places, loads=loads, known=[True] * dimensions)

    def loads_in(self, box: ZoneBox) -> Array:
        """Return how much of each zone's load lies in a box."""
        low, high = np.array(box.lower), np.array(box.upper)
        shared = np.minimum(self._upper, high) - np.maximum(self._lower, low)
        share: Array = np.clip(shared / (self._upper - self._lower), 0.0, 1.0).prod(axis=1)
        return self._loads * share

    def share_below(self, box: ZoneBox, axis: int, cut: float) -> float:
        """Return which part of a box's load lies below a cut; what the cut divides evenly where there is no load."""
        low, high = box.lower[axis], box.upper[axis]
        whole = float(self.loads_in(box).sum())
        if whole <= 0:
            return (cut - low) / (high - low)
        below = ZoneBox(box.lower, (*box.upper[:axis], cut, *box.upper[axis + 1 :]))
        return float(self.loads_in(below).sum()) / whole

    def _shares_below(self, box: ZoneBox, axis: int, cuts: Array) -> Array:
        """Return what `share_below` does, for many cuts: a plan of thousands of points asks for as many."""
        low, high = np.array(box.lower), np.array(box.upper)
        bottom, width = np.maximum(self._lower, low), self._upper - self._lower
        share = np.clip((np.minimum(self._upper, high) - bottom) / width, 0.0, 1.0)
        within = (self._loads > 0) & (share > 0).all(axis=1)
        whole = float((self._loads * share.prod(axis=1))[within].sum())
        if whole <= 0:
            evenly: Array = (cuts - low[axis]) / (high[axis] - low[axis])
            return evenly
        others = self._loads[within] * np.delete(share[within], axis, axis=1).prod(axis=1)
        upper, lower, wide = (values[within, axis] for values in (self._upper, bottom, width))
        below = [
            (others * np.clip((np.minimum(upper, cut[:, None]) - lower) / wide, 0.0, 1.0)).sum(axis=1)
            for cut in np.array_split(cuts, 1 + len(cuts) * len(others) // MOST_AT_ONCE)
        ]
        return np.concatenate(below) / whole

    def cut(self, box: ZoneBox, axis: int, share: float) -> float | None:
        """Return where a box is to be cut so that a share of its load lies below; None where that is not known."""
        if not self.known[axis]:
            return None
        low, high = box.lower[axis], box.upper[axis]
        edges = distinct(np.clip(np.concatenate([self._lower[:, axis], self._upper[:, axis], [low, high]]), low, high))
        shares = self._shares_below(box, axis, edges)
        place = int(np.searchsorted(shares, share))
        if 0 < place < len(edges):
            step = shares[place] - shares[place - 1]
            inner = (share - shares[place - 1]) / step if step > 0 else 0.5
            cut = float(edges[place - 1] + inner * (edges[place] - edges[place - 1]))
            if low < cut < high:
                return cut
        return low + (high - low) / 2

    def wanted(self, path: Path, brokers: int) -> AxisCut | None:
        """Return where a zone of so many brokers is to be cut; None where that is not known."""
        axis = turn(path, len(self.known))
        place = self.cut(box_of(path, len(self.known)), axis, (brokers + 1) // 2 / brokers)
        return None if place is None else (axis, place)

    def brokers_below(self, path: Path, cut: AxisCut, brokers: int) -> int | None:
        """Return how many of a zone's brokers belong below a cut that exists; None if it should be elsewhere."""
        axis, place = cut
        half = (brokers + 1) // 2
        if not self.known[axis]:
            return half
        box = box_of(path, len(self.known))
        share = self.share_below(box, axis, place) * brokers
        below = min(max(round(share), 1), brokers - 1)
        if abs(share - below) <= TOLERANCE * min(below, brokers - below):
            return below
        return half if place == self.cut(box, axis, half / brokers) else None  # it cannot be better: load at one value


class _Carried:
    """Places of a tree as places of a network whose axes may have other ranges and codes."""

    def __init__(self, own: EventSpace, space: EventSpace, numbers: list[int]) -> None:
        self._own = own
        self._space = space
        #: By axis of the tree that is shared, the network's.
        self.numbers = numbers

    def place(self, axis: int, place: float) -> float:
        """Return the network's place of the least value at or above one of the tree's."""
        number = self.numbers[axis]
        if place in (0.0, 1.0) or self._own.axes[axis] == self._space.axes[number]:
            return place
        least = self._own.least(axis, place)
        if least is None:
            return 1.0
        return (
            self._space.text_place(number, least) if isinstance(least, bytes) else self._space.coordinate(number, least)
        )

    def paths(self, tree: KdTree, shared: list[int]) -> list[Path] | None:
        """Return the zones of a tree in the network's space; None where two of its cuts are one there."""
        places = {
            (axis, place): (self.numbers[shared.index(axis)], self.place(shared.index(axis), place))
            for axis, place in zip(tree.axis, tree.cut, strict=True)
            if axis >= 0
        }
        found: list[Path] = []
        for path in tree.paths():
            mine: Path = ROOT
            for axis, bit, place in path:
                number, there = places[axis, place]
                box = box_of(mine, self._space.dimensions)
                if not box.lower[number] < there < box.upper[number]:
                    return None
                mine = split(mine, number, there)[bit]
            found.append(mine)
        return found


def is_tiling(zones: Collection[Path]) -> bool:
    """Tell whether zones are the leaves of one tree: what brokers have said at different times may be of two."""
    pending: list[tuple[int, list[Path]]] = [(0, list(zones))]
    while pending:
        depth, leaves = pending.pop()
        if len(leaves) == 1 and len(leaves[0]) == depth:
            continue
        sides: tuple[list[Path], list[Path]] = ([], [])
        for leaf in leaves:
            if len(leaf) <= depth or leaf[depth][::2] != leaves[0][depth][::2]:
                return False
            sides[leaf[depth].bit].append(leaf)
        if not all(sides):
            return False
        pending += [(depth + 1, side) for side in sides]
    return True


def next_step(plan: SplitPlan, zones: Collection[Path], waiting: int) -> Step | None:
    """Return the next step toward a plan for zones that tile the space and brokers that wait; None when it is done."""
    total = len(zones) + waiting
    toward: ZonePlan = plan.exact if plan.exact is not None and plan.exact.zone_count == total else plan
    transfers: list[TransferStep] = []
    pending: list[tuple[Path, list[Path], int]] = [(ROOT, sorted(zones), total)]
    while pending:
        path, leaves, brokers = pending.pop()
        if leaves == [path]:
            if brokers > 1 and waiting:
                return RequestStep(path, toward.wanted(path, brokers))
            continue
        axis, _, place = leaves[0][len(path)]
        halves = split(path, axis, place)
        sides = [[leaf for leaf in leaves if inside(leaf, half)] for half in halves]
        below = toward.brokers_below(path, (axis, place), brokers) if brokers > 1 else None
        if below is None and brokers > 1 and len(leaves) == 2:
            transfers.append(TransferStep(leaves[1], toward.wanted(path, brokers)))
            continue
        if below is None:
            deepest = max(leaves, key=lambda leaf: (len(leaf), leaf))
            transfers.append(TransferStep(max(deepest, sibling(deepest), key=lambda leaf: leaf[-1].bit)))
            continue
        low, high = halves
        pending += [(high, sides[1], brokers - below), (low, sides[0], below)]
    return transfers[0] if transfers else None
