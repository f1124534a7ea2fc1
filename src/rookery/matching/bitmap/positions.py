"""Positions: the bounds of a packed index in four bytes each instead of eight.

Theory. What a row asks of an event is order alone: is the event's code below a bound, at it, or above? So the bounds of
an attribute may be numbered, if an event's code finds its place among the numbers: two for each point that a bound may
be at, the even one for the point, the odd one for all codes between it and the next. The order is kept, so a predicate
on positions holds just where it holds on codes; nothing is rounded.

Where all bounds of an attribute are multiples of a power of two, as whole numbers are and doubles of few digits (a
double's code is its bits), the points are a grid, and a shift gives the place. A bound beside a point, as `<` and `>`
make them, is the odd position between it and the next. Else the points are stated, and a search finds the place;
that is worth it where few values serve many predicates. Where it is not, or in an index of few predicates, the bounds
stay codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rookery.arrays import distinct
from rookery.matching.bitmap.position_kernels import (
    HIGHEST_POSITION,
    MOST_BITS,
    ORIGIN,
    STATED,
    code_positions,
    survey_bounds,
    wide_bounds,
)
from rookery.matching.kernels import ATTRIBUTE_MASK, NULL_CODE
from rookery.matching.rows import Rows

__all__ = ["PositionGrid", "coded_rows", "grid_of", "wide_rows"]

Array = np.ndarray[Any, Any]

#: An index of fewer predicates lies near the processor as it is.
LEAST_PREDICATES = 1 << 14
#: The share of what is saved that stated points may take.
LARGEST_SHARE = 1 / 2
#: The steps of a grid, and stated points, that positions have room for.
_STEPS = (HIGHEST_POSITION - 1 - ORIGIN) // 2 - 1
_HIGHEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class PositionGrid:
    """The points of each attribute; one without lines says that bounds are codes."""

    position_numbers: Array  # int64: the attributes that have bounds
    position_grid: Array  # int64 [3, attributes]: least bound, greatest bound, bits between points
    position_first: Array  # int64: where an attribute's stated points begin
    position_points: Array  # int64

    @classmethod
    def none(cls) -> PositionGrid:
        """Return the grid of an index whose bounds are codes."""
        no = np.empty(0, np.int64)
        return cls(no, np.empty((3, 0), np.int64), np.zeros(1, np.int64), no)


def grid_of(rows: Rows, attributes: int) -> PositionGrid:
    """Return the grid that the bounds of rows are to be written in."""
    if len(rows.attribute) < LEAST_PREDICATES or len(rows.attribute) >= 1 << 31:
        return PositionGrid.none()
    grid = np.zeros((3, attributes), np.int64)
    grid[0], grid[1] = _HIGHEST, NULL_CODE
    bits = np.full(attributes, np.uint64(1 << MOST_BITS), np.uint64)
    survey_bounds(rows.attribute, rows.bounds, rows.pool, grid, bits)
    tested = np.bincount(rows.attribute & ATTRIBUTE_MASK, minlength=attributes) > 0
    shift = np.array([int(bit).bit_length() - 1 for bit in bits.tolist()], np.int64)
    bounded = grid[0] <= grid[1]
    # One that is only tested for NULL, or open on both sides, has a single point.
    grid[0, ~bounded] = grid[1, ~bounded] = 0
    steps = ((grid[1].astype(np.uint64) - grid[0].astype(np.uint64)) >> shift.astype(np.uint64)) + np.uint64(1)
    stated = np.flatnonzero(tested & bounded & (steps > np.uint64(_STEPS)))
    shift[stated] = STATED
    grid[2] = shift
    points = _points(rows, stated)
    first = np.zeros(attributes + 1, np.int64)
    for number, mine in zip(stated.tolist(), points, strict=True):
        first[number + 1] = len(mine)
    count = int(first.sum())
    if 8 * count > LARGEST_SHARE * rows.bounds.nbytes / 2:
        return PositionGrid.none()
    return PositionGrid(
        np.flatnonzero(tested), grid, np.cumsum(first), np.concatenate(points) if points else np.empty(0, np.int64)
    )


def _points(rows: Rows, numbers: Array) -> list[Array]:
    """Return the distinct bounds of some attributes."""
    found = []
    for number in numbers.tolist():
        bounds = rows.bounds_of(number).reshape(-1)
        found.append(distinct(bounds[(bounds > NULL_CODE + 1) & (bounds < _HIGHEST)]))
    return found


def coded_rows(rows: Rows, grid: PositionGrid) -> Rows:
    """Return rows in positions; without a grid, they stay as they are."""
    if not grid.position_grid.shape[1]:
        return rows
    bounds, pool = np.empty(rows.bounds.shape, np.int32), np.zeros(rows.pool.shape, np.int32)
    code_positions(
        rows.attribute, rows.bounds, rows.pool, grid.position_grid, grid.position_first, grid.position_points,
        bounds, pool,
    )  # fmt: skip
    return Rows(rows.slot, rows.start.astype(np.int32), rows.attribute, bounds, pool)


def wide_rows(rows: Rows, grid: PositionGrid) -> Rows:
    """Undo `coded_rows`."""
    if not grid.position_grid.shape[1]:
        return rows
    bounds, pool = np.empty(rows.bounds.shape, np.int64), np.zeros(rows.pool.shape, np.int64)
    wide_bounds(
        rows.attribute, rows.bounds, rows.pool, grid.position_grid, grid.position_first, grid.position_points,
        bounds, pool,
    )  # fmt: skip
    return Rows(rows.slot, rows.start.astype(np.int64), rows.attribute, bounds, pool)
