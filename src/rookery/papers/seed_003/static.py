"""Static broker networks: a whole tree of zones at once, without messages, for routes by the million.

Two ways to make one: `balanced` cuts every zone in half to one depth; `grown` lets brokers join one after the other at
points drawn from the events (or from anywhere), each cutting the zone it falls into as a live broker would. Brokers are
the leaves, numbered from left to right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rookery.brokers.sampling import RESERVOIR, cut_of
from rookery.errors import SpaceError
from rookery.papers.seed_003.kernels import route_many
from rookery.space.zones import ROOT, Path, box_of, contains, split, turn

__all__ = ["Routes", "StaticBrokers"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Routes:
    """What became of some routes: hops of each (-1 for one that never arrived), and who forwarded how many."""

    hops: Ints
    forwarded: NDArray[np.int64]

    @property
    def loops(self) -> int:
        """How many routes never arrived."""
        return int(np.count_nonzero(self.hops < 0))

    @property
    def mean(self) -> float:
        """Mean hops of the routes that arrived."""
        return float(self.hops[self.hops >= 0].mean())


@dataclass(frozen=True, slots=True)
class StaticBrokers:
    """A tree of zones in the kernels' form; see `kernels.py`."""

    low: Ints
    high: Ints
    depth: Ints
    first: Ints
    count: Ints
    lower: Floats
    upper: Floats
    leaf: Ints
    #: The axis that a node is cut through; -1 at a leaf.
    axis: Ints

    def __len__(self) -> int:
        return len(self.leaf)

    @property
    def dimensions(self) -> int:
        """Of the event space."""
        return int(self.lower.shape[1])

    @classmethod
    def balanced(cls, dimensions: int, depth: int) -> StaticBrokers:
        """Cut every zone in half, `depth` times: 2^depth brokers."""
        nodes = (2 << depth) - 1
        number = np.arange(nodes, dtype=np.int64)
        level = np.floor(np.log2(number + 1)).astype(np.int32)
        inner = level < depth
        low = np.where(inner, 2 * number + 1, -1).astype(np.int32)
        count = (1 << (depth - level)).astype(np.int32)
        first = ((number + 1 - (1 << level.astype(np.int64))) * count).astype(np.int32)
        lower, upper = np.zeros((nodes, dimensions)), np.ones((nodes, dimensions))
        for step in range(depth):
            above = np.arange((1 << step) - 1, (2 << step) - 1)
            axis = step % dimensions
            middle = (lower[above, axis] + upper[above, axis]) / 2
            for child in (2 * above + 1, 2 * above + 2):
                lower[child], upper[child] = lower[above], upper[above]
            upper[2 * above + 1, axis] = middle
            lower[2 * above + 2, axis] = middle
        leaf = np.arange((1 << depth) - 1, nodes, dtype=np.int32)
        high = np.where(inner, low + 1, -1).astype(np.int32)
        axes = np.where(inner, level % dimensions, -1).astype(np.int32)
        return cls(low, high, level, first, count, lower, upper, leaf, axes)

    @classmethod
    def grown(
        cls,
        brokers: int,
        *,
        dimensions: int,
        generator: np.random.Generator,
        events: Floats | None = None,
        joins: Floats | None = None,
        choices: int = 2,
    ) -> StaticBrokers:
        """Let brokers join at random events (or at the points of `joins`); zones are cut at their sample's median.

        A newcomer looks at the owners of `choices` points and joins the one with the most events: a zone of eight times
        the mean load then survives a thousand joins hardly ever, with one point it often does.
        """
        if events is None:
            events = np.empty((0, dimensions))
        if joins is None:
            wanted = choices * (brokers - 1)
            joins = (
                events[generator.integers(len(events), size=wanted)]
                if len(events)
                else generator.random((wanted, dimensions))
            )
        if len(joins) < choices * (brokers - 1):
            raise SpaceError(f"{brokers} brokers need {choices * (brokers - 1)} points to join at, got {len(joins)}")
        children: dict[Path, tuple[Path, Path]] = {}
        held: dict[Path, NDArray[np.int64]] = {ROOT: np.arange(len(events))}
        for newcomer in range(brokers - 1):
            candidates = []
            for row in joins[newcomer * choices : (newcomer + 1) * choices].tolist():
                path, point = ROOT, tuple(row)
                while path in children:
                    below, above = children[path]
                    path = below if contains(box_of(below, dimensions), point) else above
                candidates.append(path)
            path = max(candidates, key=lambda candidate: len(held[candidate]))
            axis = turn(path, dimensions)
            mine = held.pop(path)
            sample = mine if len(mine) <= RESERVOIR else generator.choice(mine, RESERVOIR, replace=False)
            cut = cut_of(box_of(path, dimensions), axis, list(map(tuple, events[sample].tolist())))
            children[path] = split(path, axis, cut)
            is_above = events[mine, axis] >= cut
            held[children[path][0]], held[children[path][1]] = mine[~is_above], mine[is_above]
        return cls.from_paths(list(held), dimensions=dimensions)

    @classmethod
    def from_paths(cls, paths: Sequence[Path], *, dimensions: int) -> StaticBrokers:
        """Make the tree whose leaves are these zones (in any order); they must tile the space."""
        ordered = sorted(paths, key=lambda path: [cut.bit for cut in path])
        low: list[int] = []
        high: list[int] = []
        depth: list[int] = []
        first: list[int] = []
        count: list[int] = []
        boxes = []
        leaf: list[int] = []
        axes: list[int] = []
        #: A span of leaves, the depth of the node that holds it, and whose upper child that node is.
        pending = [(0, len(ordered), 0, -1)]
        while pending:
            begin, end, level, parent = pending.pop()
            node = len(low)
            if parent >= 0:
                high[parent] = node
            path = ordered[begin]
            single = end - begin == 1 and len(path) == level
            low.append(-1 if single else node + 1)
            high.append(-1)
            depth.append(level)
            first.append(begin)
            count.append(end - begin)
            boxes.append(box_of(path[:level], dimensions))
            axes.append(path[level].axis % dimensions if len(path) > level else -1)
            if single:
                leaf.append(node)
                continue
            middle = begin
            while middle < end and len(ordered[middle]) > level and ordered[middle][level].bit == 0:
                middle += 1
            if middle in (begin, end):
                raise SpaceError(f"zones {begin} to {end - 1} do not tile their part of the space")
            pending += [(middle, end, level + 1, node), (begin, middle, level + 1, -1)]
        low_, high_, depth_, first_, count_ = (np.array(c, dtype=np.int32) for c in (low, high, depth, first, count))
        lower = np.array([box.lower for box in boxes])
        upper = np.array([box.upper for box in boxes])
        leaves, axes_ = np.array(leaf, dtype=np.int32), np.array(axes, dtype=np.int32)
        return cls(low_, high_, depth_, first_, count_, lower, upper, leaves, axes_)

    def paths(self) -> list[Path]:
        """Return the brokers' paths, by number."""
        found: list[Path] = [ROOT] * len(self)
        pending: list[tuple[int, Path]] = [(0, ROOT)]
        while pending:
            node, path = pending.pop()
            if self.low[node] < 0:
                found[self.first[node]] = path
                continue
            axis = int(self.axis[node])
            below, above = split(path, axis, float(self.upper[self.low[node], axis]))
            pending += [(int(self.low[node]), below), (int(self.high[node]), above)]
        return found

    def owners(self, points: Floats) -> Ints:
        """Return the broker that owns each point."""
        node = np.zeros(len(points), dtype=np.int32)
        while (active := np.flatnonzero(self.low[node] >= 0)).size:
            at = node[active]
            axis = self.axis[at]
            above = points[active, axis] >= self.lower[self.high[at], axis]
            node[active] = np.where(above, self.high[at], self.low[at])
        return self.first[node]

    def route(
        self,
        sources: Ints,
        points: Floats,
        *,
        span: int,
        residents: str = "random",
        in_domain: bool = True,
        seed: int = 0,
        limit: int = 5000,
    ) -> Routes:
        """Route points from their sources; `span` is the seed's m, 1 for greedy routing."""
        if span < 1 or span & (span - 1):
            raise SpaceError(f"the span m is a power of two, got {span}")
        if residents not in ("random", "inherited"):
            raise SpaceError(f"residents are 'random' or 'inherited', got {residents!r}")
        hops = np.empty(len(points), dtype=np.int32)
        forwarded = np.zeros(len(self), dtype=np.int64)
        route_many(
            self.low,
            self.high,
            self.depth,
            self.first,
            self.count,
            self.lower,
            self.upper,
            self.leaf,
            np.ascontiguousarray(sources, dtype=np.int32),
            np.ascontiguousarray(points, dtype=np.float64),
            span.bit_length() - 1,
            in_domain,
            int(residents == "random"),
            seed,
            limit,
            hops,
            forwarded,
        )
        return Routes(hops, forwarded)
