"""The K-D tree of zones: cut the event space so that the zones share the load (seed 003, section 3.1).

Theory. A zone's load is what its owner has to do: the events that fall in it, and the subscriptions that meet it. The
seed asks for M(z1) = M(z2) and leaves M open; here a zone costs `events * (1 + subscriptions)` on Spark, where every
event is tested against the rules of its zone, and `events + subscriptions` for a broker, which stores and forwards.
`fit` takes a sample of events and the boxes of the subscriptions, and always cuts the zone of the greatest load at the
sample's median. The dimension goes round in turn (`cyclic`, as printed) or is the one that leaves the least load
(`load`, the default): a cut through a dimension that no rule bounds copies every rule to both halves and gains nothing.

A zone that cannot be cut (all its events share one point) stays whole; the tree then has fewer zones than asked for.
A tree lies in coordinates (`axes.py`) and has its axes with it, codes of texts included; its zones are paths
(`zones.py`), those of brokers. So the zone of an event on Spark is its owner's zone in a network with the same cuts.
One serial form, a small JSON document, travels to Spark's workers, to the brokers and into files.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rookery.errors import SpaceError
from rookery.model.batches import Events
from rookery.space.axes import Axis, EventSpace
from rookery.space.boxes import Boxes, Floats
from rookery.space.zones import ROOT, Path, ZoneBox, box_of, median_of, split

__all__ = ["KdTree", "ZoneLoad"]

FORMAT = "rookery.kdtree"
FORMAT_VERSION = 2

#: Below this many sampled events a median says nothing (spec, routing 3): such a zone is not cut by load.
FEWEST_EVENTS = 8

#: The kernels' form: axis, cut, node of the upper half, zone.
Arrays = tuple[NDArray[np.int32], Floats, NDArray[np.int32], NDArray[np.int32]]

Load = Literal["product", "sum"]
Dimension = Literal["load", "cyclic"]


class ZoneLoad(NamedTuple):
    """What one zone carries: events of the sample in it, subscriptions that meet it."""

    zone: int
    events: int
    subscriptions: int


@dataclass(frozen=True, slots=True)
class _Open:
    """A zone that may still be cut: its node, the sampled events and the boxes inside."""

    node: int
    depth: int
    events: NDArray[np.int64]
    boxes: NDArray[np.int64]


class KdTree:
    """Zones as the leaves of a binary tree over some axes; `zone` numbers run from 0 to `zone_count - 1`."""

    __slots__ = ("_arrays", "axes", "axis", "cut", "lower", "upper", "zone")

    def __init__(self, axes: Sequence[Axis]) -> None:
        """Make a tree of one zone, number 0, over some axes."""
        if not axes or len({axis.attribute for axis in axes}) != len(axes):
            raise SpaceError(f"a K-D tree needs one or more different axes, got {[axis.attribute for axis in axes]}")
        self.axes = tuple(axes)
        self.axis: list[int] = [-1]
        self.cut: list[float] = [0.0]
        self.lower: list[int] = [-1]
        self.upper: list[int] = [-1]
        self.zone: list[int] = [0]
        self._arrays: Arrays | None = None

    @property
    def zone_count(self) -> int:
        """How many zones there are."""
        return (len(self.zone) + 1) // 2

    @classmethod
    def of_paths(cls, paths: Sequence[Path], axes: Sequence[Axis]) -> KdTree:
        """Return the tree whose zone n is `paths[n]`: the zones of brokers, which must tile the space."""
        tree = cls(axes)
        pending = [(0, 0, list(enumerate(paths)))]
        while pending:
            node, depth, inside = pending.pop()
            if len(inside) == 1 and len(inside[0][1]) == depth:
                tree.zone[node] = inside[0][0]
                continue
            halves: tuple[list[Any], list[Any]] = ([], [])
            cuts = {(path[depth].axis, path[depth].place) if len(path) > depth else None for _, path in inside}
            for one in inside:
                halves[len(one[1]) > depth and one[1][depth].bit > 0].append(one)
            cut = cuts.pop() if len(cuts) == 1 else None
            if cut is None or not all(halves):
                raise SpaceError(f"{len(inside)} zones do not tile their part of the space")
            tree._check_cut(*cut)
            low, high = tree._split_node(node, *cut)
            pending += [(low, depth + 1, halves[0]), (high, depth + 1, halves[1])]
        return tree

    def paths(self) -> list[Path]:
        """Return the zones as paths, by zone number."""
        found: list[Path] = [ROOT] * self.zone_count
        pending: list[tuple[int, Path]] = [(0, ROOT)]
        while pending:
            node, path = pending.pop()
            if self.axis[node] < 0:
                found[self.zone[node]] = path
                continue
            below, above = split(path, self.axis[node], self.cut[node])
            pending += [(self.lower[node], below), (self.upper[node], above)]
        return found

    @classmethod
    def fit(
        cls,
        points: Floats,
        *,
        axes: Sequence[Axis],
        zones: int,
        boxes: Boxes | None = None,
        load: Load = "product",
        dimension: Dimension = "load",
    ) -> KdTree:
        """Cut the space into at most `zones` zones of nearly equal load; `points` is where a sample of events lies."""
        tree = cls(axes)
        points = np.ascontiguousarray(points, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != len(axes):
            raise SpaceError(f"the sample must have shape (events, {len(axes)}), got {points.shape}")
        if zones < 1:
            raise SpaceError(f"a space has at least one zone, asked for {zones}")
        if boxes is None:
            boxes = Boxes(np.empty((0, len(axes))), np.empty((0, len(axes))))
        elif boxes.dimensions != len(axes):
            raise SpaceError(f"the boxes have {boxes.dimensions} dimensions, the tree has {len(axes)}")
        first = _Open(0, 0, np.arange(len(points)), np.arange(len(boxes)))
        heap = [(-_weight(len(first.events), len(first.boxes), load), 0, first)]
        ticket = 0
        while heap and tree.zone_count < zones:
            open_zone = heapq.heappop(heap)[2]
            halves = _cut(open_zone, points, boxes, load, dimension)
            if halves is None:
                continue
            axis, value, below, above = halves
            low, high = tree._split_node(open_zone.node, axis, value)
            for node, (events, rules) in ((low, below), (high, above)):
                ticket += 1
                piece = _Open(node, open_zone.depth + 1, events, rules)
                heapq.heappush(heap, (-_weight(len(events), len(rules), load), ticket, piece))
        return tree

    def zones_of(self, points: Floats) -> NDArray[np.int32]:
        """Return the one zone of each point."""
        from rookery.space.kernels import zone_of_points

        points = np.ascontiguousarray(points, dtype=np.float64)
        out = np.empty(len(points), dtype=np.int32)
        zone_of_points(points, *self.arrays(), out)
        return out

    def zones_of_events(self, space: EventSpace, events: Events) -> NDArray[np.int32]:
        """Return the one zone of each event of a batch, by column; the space must have the tree's axes."""
        if space.axes != self.axes:
            raise SpaceError("the space and the tree have different axes: make the space of the tree's own")
        return self.zones_of(space.points(events))

    def zones_met(self, boxes: Boxes) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return (row of the box, zone) for every box and every zone that it meets, in the order of the rows."""
        rows: list[NDArray[np.int64]] = []
        zones: list[NDArray[np.int32]] = []
        pending = [(0, np.arange(len(boxes)))]
        while pending:
            node, inside = pending.pop()
            axis = self.axis[node]
            if axis < 0:
                rows.append(inside)
                zones.append(np.full(len(inside), self.zone[node], dtype=np.int32))
                continue
            cut = self.cut[node]
            # An empty box (lower above upper) matches nothing; it still goes somewhere, so that it is counted.
            above = boxes.upper[inside, axis] >= cut
            below = (boxes.lower[inside, axis] < cut) | ~above
            pending += [(self.lower[node], inside[below]), (self.upper[node], inside[above])]
        row, zone = np.concatenate(rows), np.concatenate(zones)
        order = np.lexsort((zone, row))
        return row[order], zone[order]

    def loads(self, points: Floats, boxes: Boxes) -> list[ZoneLoad]:
        """Count the events and subscriptions of each zone."""
        events = np.bincount(self.zones_of(points), minlength=self.zone_count)
        rules = np.bincount(self.zones_met(boxes)[1], minlength=self.zone_count)
        return [ZoneLoad(zone, int(events[zone]), int(rules[zone])) for zone in range(self.zone_count)]

    def boxes(self) -> list[ZoneBox]:
        """Return the half-open boxes of all zones, by zone number."""
        return [box_of(path, len(self.axes)) for path in self.paths()]

    def arrays(self) -> Arrays:
        """Return the tree in the kernels' form: pre-order, the lower half next to its parent."""
        if self._arrays is None:
            order: list[int] = []
            pending = [0]
            while pending:
                node = pending.pop()
                order.append(node)
                if self.axis[node] >= 0:
                    pending += [self.upper[node], self.lower[node]]
            place = {node: index for index, node in enumerate(order)}
            self._arrays = (
                np.array([self.axis[node] for node in order], dtype=np.int32),
                np.array([self.cut[node] for node in order], dtype=np.float64),
                np.array([place.get(self.upper[node], -1) for node in order], dtype=np.int32),
                np.array([self.zone[node] for node in order], dtype=np.int32),
            )
        return self._arrays

    def to_json(self) -> str:
        """Write the serial form: the nodes in pre-order, a cut as [axis, place], a leaf as its zone number."""
        axis, cut, _, zone = self.arrays()
        nodes = [[int(a), float(c)] if a >= 0 else int(z) for a, c, z in zip(axis, cut, zone, strict=True)]
        axes = [one.plain() for one in self.axes]
        document = {"format": FORMAT, "version": FORMAT_VERSION, "axes": axes, "nodes": nodes}
        return json.dumps(document, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> KdTree:
        """Read the serial form; anything else is a `SpaceError`."""
        try:
            document = json.loads(text)
            if document["format"] != FORMAT or document["version"] != FORMAT_VERSION:
                raise ValueError(f"format {document['format']!r} version {document['version']!r}")
            tree = cls([Axis.read(axis) for axis in document["axes"]])
            tree._read(document["nodes"])
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise SpaceError(f"this is no {FORMAT} document of version {FORMAT_VERSION}: {error}") from error
        return tree

    def _read(self, nodes: list[Any]) -> None:
        """Rebuild the nodes from pre-order; a node waits on the stack until its upper half begins."""
        self.axis, self.cut, self.lower, self.upper, self.zone = [], [], [], [], []
        waiting: list[int] = []
        for index, entry in enumerate(nodes):
            if index and not waiting:
                raise ValueError("more nodes than the tree has places")
            leaf = isinstance(entry, int)
            axis, cut = (-1, 0.0) if leaf else (int(entry[0]), float(entry[1]))
            if not leaf:
                self._check_cut(axis, cut)
            if index:
                parent = waiting[-1]
                if self.lower[parent] < 0:
                    self.lower[parent] = index
                else:
                    self.upper[parent] = index
                    waiting.pop()
            self.axis.append(axis)
            self.cut.append(cut)
            self.lower.append(-1)
            self.upper.append(-1)
            self.zone.append(entry if leaf else -1)
            if not leaf:
                waiting.append(index)
        if waiting or sorted(zone for zone in self.zone if zone >= 0) != list(range(self.zone_count)):
            raise ValueError("the tree is cut short, or its zones are not numbered 0, 1, 2 …")

    def _check_cut(self, axis: int, cut: float) -> None:
        if not (0 <= axis < len(self.axes) and 0 < cut < 1):
            raise SpaceError(f"a tree of {len(self.axes)} axes over the unit cube has no cut of axis {axis} at {cut}")

    def _split_node(self, node: int, axis: int, cut: float) -> tuple[int, int]:
        zones = (self.zone[node], self.zone_count)
        low = len(self.zone)
        for zone in zones:
            self.axis.append(-1)
            self.cut.append(0.0)
            self.lower.append(-1)
            self.upper.append(-1)
            self.zone.append(zone)
        self.axis[node], self.cut[node], self.zone[node] = axis, float(cut), -1
        self.lower[node], self.upper[node] = low, low + 1
        self._arrays = None
        return low, low + 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KdTree) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> str:
        return self.to_json()

    def __setstate__(self, text: str) -> None:
        tree = KdTree.from_json(text)
        for name in ("axes", "axis", "cut", "lower", "upper", "zone"):
            setattr(self, name, getattr(tree, name))
        self._arrays = None

    def __repr__(self) -> str:
        return f"KdTree({', '.join(axis.attribute for axis in self.axes)}; {self.zone_count} zones)"


Half = tuple[NDArray[np.int64], NDArray[np.int64]]


def _weight(events: int, rules: int, load: Load) -> int:
    return events * (1 + rules) if load == "product" else events + rules


def _cut(
    zone: _Open, points: Floats, boxes: Boxes, load: Load, rule: Dimension
) -> tuple[int, float, Half, Half] | None:
    """Find the cut of one zone, or None when no dimension has a median with events on both sides."""
    if len(zone.events) < FEWEST_EVENTS:
        return None
    dimensions = points.shape[1]
    axes = range(dimensions) if rule == "load" else [(zone.depth + turn) % dimensions for turn in range(dimensions)]
    best: tuple[int, int, float] | None = None
    for axis in axes:
        value = median_of(np.sort(points[zone.events, axis]).tolist(), 0.0, 1.0)
        if value is None:
            continue
        if rule == "cyclic":
            best = (0, axis, value)
            break
        above = int(np.count_nonzero(points[zone.events, axis] >= value))
        rules_above = int(np.count_nonzero(boxes.upper[zone.boxes, axis] >= value))
        rules_below = int(np.count_nonzero(boxes.lower[zone.boxes, axis] < value))
        cost = _weight(above, rules_above, load) + _weight(len(zone.events) - above, rules_below, load)
        if best is None or cost < best[0]:
            best = (cost, axis, value)
    if best is None:
        return None
    _, axis, value = best
    high = points[zone.events, axis] >= value
    met_above = boxes.upper[zone.boxes, axis] >= value
    met_below = (boxes.lower[zone.boxes, axis] < value) | ~met_above
    return axis, value, (zone.events[~high], zone.boxes[met_below]), (zone.events[high], zone.boxes[met_above])
