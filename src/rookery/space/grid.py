"""The grid over the event space: attributes cut into buckets, and every event in exactly one cell (seed 002, III).

Rule 1: an event has one cell. A numeric attribute has sorted edges e0 < … < eb; bucket i is [ei, ei+1), what lies
outside is clamped to the first or last bucket, and the last bucket is closed. A categorical attribute has a bucket for
each listed value and one more for every other value; a text of which nobody knows the values is cut between edges, as
a number is; NULL, NaN and a missing attribute go to a bucket of their own.
Rule 2: a subscription has every cell that holds an event which can satisfy it, never one too few: cells come from the
terms of `rookery.model.lower`, which are outer bounds. Clamping keeps this true: a bound is clamped as a value is.
Rule 3: the cell number is the mixed-radix index of the buckets, first attribute most significant, so the buckets of
the last attribute are neighboring numbers. `cell_count` itself is no cell; the overlay uses it for the interest that
all peers share.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product
from math import isnan
from typing import Any, TypeAlias

from rookery.errors import SpaceError
from rookery.model.lower import Constraint, Term
from rookery.model.schema import Schema
from rookery.model.types import FloatType, LeafType, float_key

__all__ = ["CategoricalAxis", "Grid", "GridAxis", "NumericAxis", "TextAxis"]


@dataclass(frozen=True, slots=True)
class NumericAxis:
    """A numeric attribute and the edges of its buckets."""

    name: str
    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.edges) < 2 or any(low >= high for low, high in zip(self.edges, self.edges[1:], strict=False)):
            raise SpaceError(f"{self.name}: a numeric axis needs at least two edges in increasing order")

    @property
    def bucket_count(self) -> int:
        """The buckets between the edges, and the one of NULL."""
        return len(self.edges)

    def bucket(self, value: Any) -> int:
        """Return the bucket of a value: clamped at both ends, the last one closed, NULL and NaN apart."""
        if value is None or (isinstance(value, float) and isnan(value)):
            return self.bucket_count - 1
        return max(0, min(bisect_right(self.edges, value) - 1, self.bucket_count - 2))

    def buckets(self, constraint: Constraint, kind: LeafType) -> set[int]:
        """Return the buckets that hold a value of the constraint: null or not, and closed intervals of keys."""
        null, intervals = constraint
        found = {self.bucket_count - 1} if null else set()
        # Keys are ordered as the values are, so the edges are compared as keys: no int64 passes through a double.
        edges = [_edge_key(edge, kind) for edge in self.edges]
        for low, high in intervals:
            first, last = bisect_right(edges, low) - 1, bisect_right(edges, high) - 1
            top = self.bucket_count - 2
            found.update(range(max(0, min(first, top)), max(0, min(last, top)) + 1))
        return found


@dataclass(frozen=True, slots=True)
class CategoricalAxis:
    """A text attribute and the values that have a bucket of their own."""

    name: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.values or list(self.values) != sorted(set(self.values)):
            raise SpaceError(f"{self.name}: a categorical axis needs values, sorted and none twice")

    @property
    def bucket_count(self) -> int:
        """One bucket for each value, one for all others, one for NULL."""
        return len(self.values) + 2

    def bucket(self, value: Any) -> int:
        """Return the bucket of a value."""
        if value is None:
            return len(self.values) + 1
        place = bisect_left(self.values, value)
        return place if place < len(self.values) and self.values[place] == value else len(self.values)

    def buckets(self, constraint: Constraint, kind: LeafType) -> set[int]:
        """Return the buckets that hold a value of the constraint."""
        null, intervals = constraint
        found = {len(self.values) + 1} if null else set()
        for low, high in intervals:
            inside = [place for place, value in enumerate(self.values) if low <= (value, 0) <= high]
            found.update(inside)
            single = low == high and low[1] == 0
            if not (single and inside):  # an interval of more than one listed value may hold an unlisted one
                found.add(len(self.values))
        return found


@dataclass(frozen=True, slots=True)
class TextAxis:
    """A text attribute whose values nobody listed, and the texts between which its buckets lie."""

    name: str
    edges: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.edges or list(self.edges) != sorted(set(self.edges)):
            raise SpaceError(f"{self.name}: a text axis needs edges, sorted and none twice")

    @property
    def bucket_count(self) -> int:
        """One bucket below the first edge, one from each edge on, one for NULL."""
        return len(self.edges) + 2

    def bucket(self, value: Any) -> int:
        """Return the bucket of a value."""
        return len(self.edges) + 1 if value is None else bisect_right(self.edges, value)

    def buckets(self, constraint: Constraint, kind: LeafType) -> set[int]:
        """Return the buckets that hold a value of the constraint."""
        null, intervals = constraint
        found = {len(self.edges) + 1} if null else set()
        edges = [(edge, 0) for edge in self.edges]
        for low, high in intervals:
            found.update(range(bisect_right(edges, low), bisect_right(edges, high) + 1))
        return found


#: One attribute of the space, cut into buckets.
GridAxis: TypeAlias = NumericAxis | CategoricalAxis | TextAxis


class Grid:
    """The axes and the numbering of their cells."""

    def __init__(self, axes: Sequence[GridAxis]) -> None:
        if not axes or len({axis.name for axis in axes}) != len(axes):
            raise SpaceError("a grid needs at least one axis, and no attribute twice")
        self.axes = tuple(axes)
        self.cell_count = 1
        for axis in self.axes:
            self.cell_count *= axis.bucket_count

    def cell(self, event: Mapping[str, Any]) -> int:
        """Return the one cell of an event."""
        number = 0
        for axis in self.axes:
            number = number * axis.bucket_count + axis.bucket(event.get(axis.name))
        return number

    def cells(self, terms: Iterable[Term], schema: Schema) -> frozenset[int]:
        """Return every cell that holds an event which satisfies one of the terms."""
        found: set[int] = set()
        for term in terms:
            ranges = []
            for axis in self.axes:
                constraint = term.constraints.get((axis.name,))
                if constraint is None:
                    ranges.append(set(range(axis.bucket_count)))
                else:
                    ranges.append(axis.buckets(constraint, self._kind(axis, schema)))
            for buckets in product(*ranges):
                number = 0
                for axis, bucket in zip(self.axes, buckets, strict=True):
                    number = number * axis.bucket_count + bucket
                found.add(number)
        return frozenset(found)

    def _kind(self, axis: GridAxis, schema: Schema) -> LeafType:
        kind = schema.attribute((axis.name,)).type
        if kind.family != ("number" if isinstance(axis, NumericAxis) else "string"):
            raise SpaceError(f"{axis.name} is {kind.name}: a grid cuts text and numbers")
        return kind


def _edge_key(edge: float, kind: LeafType) -> Any:
    """Return the least key of the values at or above an edge."""
    if isinstance(kind, FloatType):
        return float_key(float(edge))
    return kind.enclose(Decimal(edge))[1]  # type: ignore[arg-type]
