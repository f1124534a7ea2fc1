"""The K-D tree of zones: cut the event space so that the zones share the load (seed 003, section 3.1).

Theory. A zone's load is what its owner has to do: the events that fall in it, and the subscriptions that meet it. The
seed asks for M(z1) = M(z2) and leaves M open; here a zone costs `events * (1 + subscriptions)` on Spark, where every
event is tested against the rules of its zone, and `events + subscriptions` for a broker, which stores and forwards.
`fit` takes a sample of events and the boxes of the subscriptions, and always cuts the zone of the greatest load at the
sample's median. The dimension goes round in turn (`cyclic`, as printed) or is the one that leaves the least load
(`load`, the default): a cut through a dimension that no rule bounds copies every rule to both halves and gains nothing.

A zone that cannot be cut (all its events share one value) stays whole; the tree then has fewer zones than asked for.
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
from rookery.space.boxes import Box, Boxes, Floats

__all__ = ["KdTree", "ZoneLoad"]

FORMAT = "rookery.kdtree"
FORMAT_VERSION = 1

#: Below this many sampled events a median says nothing (spec, routing 3): such a zone is not cut by load.
FEWEST_EVENTS = 8

#: The kernels' form: dimension, cut, node of the upper half, zone.
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
    """Zones as the leaves of a binary tree; `zone` numbers run from 0 to `zone_count - 1`."""

    __slots__ = ("_arrays", "attributes", "dimension", "cut", "lower", "upper", "zone")  # noqa: RUF023 - by meaning

    def __init__(self, attributes: Sequence[str]) -> None:
        """Make a tree of one zone, number 0, over the named attributes."""
        if not attributes or len(set(attributes)) != len(attributes):
            raise SpaceError(f"a K-D tree needs one or more different attributes, got {list(attributes)}")
        self.attributes = tuple(attributes)
        self.dimension: list[int] = [-1]
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
    def fit(
        cls,
        points: Floats,
        *,
        attributes: Sequence[str],
        zones: int,
        boxes: Boxes | None = None,
        load: Load = "product",
        dimension: Dimension = "load",
    ) -> KdTree:
        """Cut the space into at most `zones` zones of nearly equal load; `points` is a sample of the events."""
        tree = cls(attributes)
        points = np.ascontiguousarray(points, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != len(attributes):
            raise SpaceError(f"the sample must have shape (events, {len(attributes)}), got {points.shape}")
        if zones < 1:
            raise SpaceError(f"a space has at least one zone, asked for {zones}")
        if boxes is None:
            boxes = Boxes(np.empty((0, len(attributes))), np.empty((0, len(attributes))))
        elif boxes.dimensions != len(attributes):
            raise SpaceError(f"the boxes have {boxes.dimensions} dimensions, the tree has {len(attributes)}")
        points = np.where(np.isnan(points), -np.inf, points)
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

    def split(self, zone: int, *, attribute: str, cut: float) -> int:
        """Cut one zone in two: it keeps the lower half, the new number (returned) has the upper."""
        node = self._leaf(zone)
        box = self.box(zone)
        axis = self.attributes.index(attribute)
        if not box.lower[axis] < cut < box.upper[axis]:
            raise SpaceError(f"zone {zone} has {attribute} in [{box.lower[axis]}, {box.upper[axis]}): {cut} is outside")
        return self.zone[self._split_node(node, axis, cut)[1]]

    def zones_of(self, points: Floats) -> NDArray[np.int32]:
        """Return the one zone of each point; an absent coordinate (NaN) counts as the lowest value."""
        from rookery.space.kernels import zone_of_points

        points = np.ascontiguousarray(points, dtype=np.float64)
        out = np.empty(len(points), dtype=np.int32)
        dimension, cut, upper, zone = self.arrays()
        zone_of_points(points, dimension, cut, upper, zone, out)
        return out

    def zones_met(self, boxes: Boxes) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return (row of the box, zone) for every box and every zone that it meets, in the order of the rows."""
        rows: list[NDArray[np.int64]] = []
        zones: list[NDArray[np.int32]] = []
        pending = [(0, np.arange(len(boxes)))]
        while pending:
            node, inside = pending.pop()
            axis = self.dimension[node]
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

    def box(self, zone: int) -> Box:
        """Return the half-open box of one zone."""
        return self.boxes()[zone]

    def boxes(self) -> list[Box]:
        """Return the boxes of all zones, by zone number."""
        found = [Box.everything(len(self.attributes))] * self.zone_count
        pending = [(0, Box.everything(len(self.attributes)))]
        while pending:
            node, box = pending.pop()
            if self.dimension[node] < 0:
                found[self.zone[node]] = box
                continue
            below, above = box.split(self.dimension[node], self.cut[node])
            pending += [(self.lower[node], below), (self.upper[node], above)]
        return found

    def arrays(self) -> Arrays:
        """Return the tree in the kernels' form: pre-order, the lower half next to its parent."""
        if self._arrays is None:
            order: list[int] = []
            pending = [0]
            while pending:
                node = pending.pop()
                order.append(node)
                if self.dimension[node] >= 0:
                    pending += [self.upper[node], self.lower[node]]
            place = {node: index for index, node in enumerate(order)}
            self._arrays = (
                np.array([self.dimension[node] for node in order], dtype=np.int32),
                np.array([self.cut[node] for node in order], dtype=np.float64),
                np.array([place.get(self.upper[node], -1) for node in order], dtype=np.int32),
                np.array([self.zone[node] for node in order], dtype=np.int32),
            )
        return self._arrays

    def to_json(self) -> str:
        """Write the serial form: the nodes in pre-order, a cut as [dimension, value], a leaf as its zone number."""
        dimension, cut, _, zone = self.arrays()
        nodes = [[int(d), float(c).hex()] if d >= 0 else int(z) for d, c, z in zip(dimension, cut, zone, strict=True)]
        document = {"format": FORMAT, "version": FORMAT_VERSION, "attributes": list(self.attributes), "nodes": nodes}
        return json.dumps(document, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> KdTree:
        """Read the serial form; anything else is a `SpaceError`."""
        try:
            document = json.loads(text)
            if document["format"] != FORMAT or document["version"] != FORMAT_VERSION:
                raise ValueError(f"format {document['format']!r} version {document['version']!r}")
            tree = cls([str(name) for name in document["attributes"]])
            tree._read(document["nodes"])
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise SpaceError(f"this is no {FORMAT} document of version {FORMAT_VERSION}: {error}") from error
        return tree

    def _read(self, nodes: list[Any]) -> None:
        """Rebuild the nodes from pre-order; a node waits on the stack until its upper half begins."""
        self.dimension, self.cut, self.lower, self.upper, self.zone = [], [], [], [], []
        waiting: list[int] = []
        for index, entry in enumerate(nodes):
            if index and not waiting:
                raise ValueError("more nodes than the tree has places")
            leaf = isinstance(entry, int)
            axis, cut = (-1, 0.0) if leaf else (int(entry[0]), float.fromhex(entry[1]))
            if not leaf and not (0 <= axis < len(self.attributes) and np.isfinite(cut)):
                raise ValueError(f"node {index} cuts dimension {axis} at {cut}")
            if index:
                parent = waiting[-1]
                if self.lower[parent] < 0:
                    self.lower[parent] = index
                else:
                    self.upper[parent] = index
                    waiting.pop()
            self.dimension.append(axis)
            self.cut.append(cut)
            self.lower.append(-1)
            self.upper.append(-1)
            self.zone.append(entry if leaf else -1)
            if not leaf:
                waiting.append(index)
        if waiting or sorted(zone for zone in self.zone if zone >= 0) != list(range(self.zone_count)):
            raise ValueError("the tree is cut short, or its zones are not numbered 0, 1, 2 …")

    def _leaf(self, zone: int) -> int:
        for node, number in enumerate(self.zone):
            if number == zone and self.dimension[node] < 0:
                return node
        raise SpaceError(f"there is no zone {zone}; the zones are 0 to {self.zone_count - 1}")

    def _split_node(self, node: int, axis: int, cut: float) -> tuple[int, int]:
        zones = (self.zone[node], self.zone_count)
        low = len(self.zone)
        for zone in zones:
            self.dimension.append(-1)
            self.cut.append(0.0)
            self.lower.append(-1)
            self.upper.append(-1)
            self.zone.append(zone)
        self.dimension[node], self.cut[node], self.zone[node] = axis, float(cut), -1
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
        for name in ("attributes", "dimension", "cut", "lower", "upper", "zone"):
            setattr(self, name, getattr(tree, name))
        self._arrays = None

    def __repr__(self) -> str:
        return f"KdTree({', '.join(self.attributes)}; {self.zone_count} zones)"


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
        value = _median(points[zone.events, axis])
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


def _median(values: Floats) -> float | None:
    """Return the value nearest the median that leaves events on both sides, finite, or None."""
    ordered = np.sort(values)
    middle = float(ordered[len(ordered) // 2])
    if middle == ordered[0]:  # many equal values at the bottom: cut just above them
        larger = ordered[np.searchsorted(ordered, middle, side="right") :]
        if not len(larger):
            return None
        middle = float(larger[0])
    return middle if np.isfinite(middle) else None
