"""Boxes of many subscriptions: what each covers, axis by axis, in coordinates.

A *zone* is half open, `lower <= x < upper`, so that zones tile the space without overlap (`zones.py`). A
*subscription's* box is closed, `lower <= x <= upper`, and it is an outer bound: rounding only ever widens it, so a test
on boxes may send a subscription to one zone too many and never to one too few.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Boxes", "Floats"]

Floats = NDArray[np.float64]


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
