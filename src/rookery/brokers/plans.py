"""How the zones of a live network should lie, from statistics of a Spark job, and the next step toward that.

Statistics are the zones of a K-D tree in the events' own units (`rookery.spark.zone_stats`, or any `KdTree`) with a
load each; inside a zone the load is taken to be spread evenly. The network's own cuts go through its dimensions in
turn, so its tree cannot be the statistics' tree: it is made anew, each cut where it gives both sides the load of the
brokers they are to have. Where the statistics know nothing of an attribute (a text, or a number that their tree never
cuts) the cut is the median of the owner's own sample, which is what it would be without a plan.

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
from math import inf
from typing import Any

import numpy as np

from rookery.arrays import distinct
from rookery.brokers.zones import ROOT, Path, ZoneBox, box_of, inside, sibling, split
from rookery.errors import SpaceError
from rookery.space.axes import EventSpace
from rookery.space.tree import KdTree

__all__ = ["RequestStep", "SplitPlan", "Step", "TransferStep", "next_step"]

Array = np.ndarray[Any, Any]

#: How far the load of a side may be off its brokers' share, relative to the smaller share, for a cut to stay.
TOLERANCE = 0.1
#: A piece of the statistics is at least so wide: what lies at one value has to have a width to be divided.
NARROWEST = 2.0**-40


@dataclass(frozen=True, slots=True)
class TransferStep:
    """The owner of a zone is to give it to the owner of its sibling, and wait, or get a part of both back at once."""

    path: Path
    #: Where both together are to be cut; None where the owner is to wait.
    back: float | None = None


@dataclass(frozen=True, slots=True)
class RequestStep:
    """A broker that waits is to get the upper half of a zone, cut here, or at the owner's median."""

    path: Path
    cut: float | None


Step = TransferStep | RequestStep


class SplitPlan:
    """Where load lies, as boxes in coordinates with a load each, and where cuts should be for it."""

    def __init__(self, *, lower: Array, upper: Array, loads: Array, known: Sequence[bool]) -> None:
        self._lower = lower
        self._upper = np.maximum(upper, lower + NARROWEST)
        self._loads = loads
        #: By dimension, whether the statistics say anything of it.
        self.known = tuple(known)

    @classmethod
    def of_tree(cls, tree: KdTree, space: EventSpace, *, loads: Sequence[float] | None = None) -> SplitPlan:
        """Read a tree whose cuts are in the events' units; without loads its zones count the same."""
        axes = [axis.attribute for axis in space.axes]
        cut = {tree.attributes[axis] for axis in tree.dimension if axis >= 0}
        known = [name in cut and space.is_number(number) for number, name in enumerate(axes)]
        if not any(known):
            raise SpaceError(
                f"the tree is cut by {', '.join(sorted(cut)) or 'nothing'}, the network by {', '.join(axes)}: "
                "no number is in both"
            )
        weights = np.ones(tree.zone_count) if loads is None else np.array(loads, np.float64)
        if len(weights) != tree.zone_count or not (weights >= 0).all() or not np.isfinite(weights).all():
            raise SpaceError(f"a tree of {tree.zone_count} zones needs as many loads, none of them negative")
        if not weights.any():
            raise SpaceError("all zones of the tree have the load 0: there is nothing to share")
        lower, upper = np.zeros((tree.zone_count, len(axes))), np.ones((tree.zone_count, len(axes)))
        for zone, box in enumerate(tree.boxes()):
            for number, name in enumerate(axes):
                if known[number]:
                    column = tree.attributes.index(name)
                    low, high = float(box.lower[column]), float(box.upper[column])
                    lower[zone, number] = 0.0 if low == -inf else space.coordinate(number, low)
                    upper[zone, number] = 1.0 if high == inf else space.coordinate(number, high)
        return cls(lower=lower, upper=upper, loads=weights, known=known)

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

    def cut(self, box: ZoneBox, axis: int, share: float) -> float | None:
        """Return where a box is to be cut so that a share of its load lies below; None where that is not known."""
        if not self.known[axis]:
            return None
        low, high = box.lower[axis], box.upper[axis]
        edges = distinct(np.clip(np.concatenate([self._lower[:, axis], self._upper[:, axis], [low, high]]), low, high))
        shares = np.array([self.share_below(box, axis, float(edge)) for edge in edges])
        place = int(np.searchsorted(shares, share))
        if 0 < place < len(edges):
            step = shares[place] - shares[place - 1]
            inner = (share - shares[place - 1]) / step if step > 0 else 0.5
            cut = float(edges[place - 1] + inner * (edges[place] - edges[place - 1]))
            if low < cut < high:
                return cut
        return low + (high - low) / 2

    def brokers_below(self, box: ZoneBox, axis: int, cut: float, brokers: int) -> int | None:
        """Return how many of a box's brokers belong below a cut that exists; None if it should be elsewhere."""
        half = (brokers + 1) // 2
        if not self.known[axis]:
            return half
        share = self.share_below(box, axis, cut) * brokers
        below = min(max(round(share), 1), brokers - 1)
        if abs(share - below) <= TOLERANCE * min(below, brokers - below):
            return below
        return half if cut == self.cut(box, axis, half / brokers) else None  # it cannot be better: load at one value


def next_step(plan: SplitPlan, zones: Collection[Path], waiting: int) -> Step | None:
    """Return the next step toward a plan for zones that tile the space and brokers that wait; None when it is done."""
    dimensions = len(plan.known)
    transfers: list[TransferStep] = []
    pending: list[tuple[Path, list[Path], int]] = [(ROOT, sorted(zones), len(zones) + waiting)]
    while pending:
        path, leaves, brokers = pending.pop()
        box, axis = box_of(path, dimensions), len(path) % dimensions
        if leaves == [path]:
            if brokers > 1 and waiting:
                return RequestStep(path, plan.cut(box, axis, (brokers + 1) // 2 / brokers))
            continue
        cut = leaves[0][len(path)][1]
        sides = [[leaf for leaf in leaves if inside(leaf, half)] for half in split(path, cut)]
        below = plan.brokers_below(box, axis, cut, brokers) if brokers > 1 else None
        if below is None and brokers > 1 and len(leaves) == 2:
            transfers.append(TransferStep(leaves[1], plan.cut(box, axis, (brokers + 1) // 2 / brokers)))
            continue
        if below is None:
            deepest = max(leaves, key=lambda leaf: (len(leaf), leaf))
            transfers.append(TransferStep(max(deepest, sibling(deepest), key=lambda leaf: leaf[-1][0])))
            continue
        low, high = split(path, cut)
        pending += [(high, sides[1], brokers - below), (low, sides[0], below)]
    return transfers[0] if transfers else None
