"""Boxes: what a subscription or a zone covers, attribute by attribute, in float64.

Two kinds share this file because they meet. A *zone* is half open, `lower <= x < upper`, so that zones tile the space
without overlap (seed 003, with the strict comparisons of Algorithm 1 repaired). A *subscription's* box is closed,
`lower <= x <= upper`, and it is an outer bound: rounding only ever widens it, so a test on boxes may send a
subscription to one zone too many and never to one too few. An attribute that is not bounded is -inf .. +inf.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Box", "Boxes", "Floats"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Box:
    """One half-open box: a zone, named by its lower and upper corner."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.lower) != len(self.upper):
            raise ValueError(f"a box needs as many upper as lower bounds, got {len(self.lower)} and {len(self.upper)}")

    @classmethod
    def everything(cls, dimensions: int) -> Box:
        """Return the box that holds every point of a space of so many dimensions."""
        return cls((-np.inf,) * dimensions, (np.inf,) * dimensions)

    def contains(self, point: tuple[float, ...]) -> bool:
        """Tell whether `point` lies inside: at or above each lower bound, below each upper one.

        An absent coordinate (NaN) compares with nothing, so it counts as the lowest value there is. An upper bound of
        +inf has nothing beyond it and includes +inf itself.
        """
        for x, low, high in zip(point, self.lower, self.upper, strict=True):
            value = -np.inf if np.isnan(x) else x
            if value < low or (value >= high and high != np.inf):
                return False
        return True

    def split(self, dimension: int, cut: float) -> tuple[Box, Box]:
        """Cut the box at `cut`: the lower half ends before it, the upper half begins with it."""
        upper, lower = list(self.upper), list(self.lower)
        upper[dimension] = lower[dimension] = cut
        return Box(self.lower, tuple(upper)), Box(tuple(lower), self.upper)


@dataclass(frozen=True, slots=True)
class Boxes:
    """Many closed boxes as two arrays of shape (count, dimensions): the outer bounds of many subscriptions."""

    lower: Floats
    upper: Floats

    def __post_init__(self) -> None:
        if self.lower.ndim != 2 or self.lower.shape != self.upper.shape:
            raise ValueError(
                f"lower and upper bounds must have one shape (count, dimensions), got {self.lower.shape} "
                f"and {self.upper.shape}"
            )

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def dimensions(self) -> int:
        """How many attributes a box has."""
        return int(self.lower.shape[1])

    def meet(self, zone: Box) -> NDArray[np.bool_]:
        """Tell for each box whether it shares a point with the half-open `zone`."""
        lower, upper = np.asarray(zone.lower), np.asarray(zone.upper)
        below = (self.lower < upper) | np.isposinf(upper)
        return np.asarray(np.all(below & (self.upper >= lower), axis=1), dtype=np.bool_)

    def take(self, rows: NDArray[np.int64]) -> Boxes:
        """Return the boxes of these rows."""
        return Boxes(self.lower[rows], self.upper[rows])
