"""The kernels of positions in plain Python: what `bitmap/position_kernels.py` must compute, written to be read."""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.matching.bitmap.position_kernels import (
    HIGHEST_POSITION,
    LOWEST_POSITION,
    NULL_POSITION,
    ORIGIN,
    STATED,
)
from rookery.matching.kernels import ATTRIBUTE_MASK, NULL_CODE, SET_FLAG

__all__ = ["code_positions", "position", "survey_bounds", "wide_bounds", "write_positions"]

Array = np.ndarray[Any, Any]
_NAMED = {NULL_CODE: NULL_POSITION, NULL_CODE + 1: LOWEST_POSITION, 2**63 - 1: HIGHEST_POSITION}


def position(code: int, number: int, grid: Array, first: Array, points: Array) -> int:
    """Return the position of a code: twice the points below it, one less where it is no point, from ORIGIN on."""
    if code in _NAMED:
        return _NAMED[code]
    low, high, shift = grid[:, number].tolist()
    if code < low:
        return ORIGIN - 1
    if code > high:
        return HIGHEST_POSITION - 1
    if shift == STATED:
        mine = points[first[number] : first[number + 1]].tolist()
        below = sum(point < code for point in mine)
        return int(ORIGIN + 2 * below - (code not in mine))
    step, rest = divmod(code - (low >> shift << shift), 1 << shift)
    return int(ORIGIN + 2 * step + (rest > 0))


def write_positions(codes: Array, numbers: Array, grid: Array, first: Array, points: Array, positions: Array) -> None:
    """Write the positions of the codes that events have of some attributes."""
    for event in range(len(codes)):
        for number in numbers.tolist():
            positions[event, number] = position(int(codes[event, number]), number, grid, first, points)


def _bounds(attribute: Array, bounds: Array, pool: Array) -> list[tuple[int, Array]]:
    """Return each interval with its attribute, those of sets included."""
    found = []
    for place, flagged in enumerate((attribute & SET_FLAG).tolist()):
        number = int(attribute[place]) & ATTRIBUTE_MASK
        mine = pool[bounds[place, 0] : bounds[place, 1]] if flagged else bounds[place : place + 1]
        found += [(number, one) for one in mine]
    return found


def code_positions(
    attribute: Array, bounds: Array, pool: Array, grid: Array, first: Array, points: Array, short: Array,
    short_pool: Array,
) -> None:  # fmt: skip
    """Write the bounds of predicates and of the intervals of their sets as positions."""
    short[:] = np.where(((attribute & SET_FLAG) != 0)[:, None], bounds, 0)
    pairs = zip(_bounds(attribute, bounds, pool), _bounds(attribute, short, short_pool), strict=True)
    for (number, interval), (_, out) in pairs:
        out[:] = [position(code, number, grid, first, points) for code in interval.tolist()]


def wide_bounds(
    attribute: Array, bounds: Array, pool: Array, grid: Array, first: Array, points: Array, wide: Array,
    wide_pool: Array,
) -> None:  # fmt: skip
    """Undo `code_positions`: a bound between two points is the code after the one, or before the other."""
    named = {place: code for code, place in _NAMED.items()}
    wide[:] = np.where(((attribute & SET_FLAG) != 0)[:, None], bounds, 0)
    for (number, interval), (_, out) in zip(
        _bounds(attribute, bounds, pool), _bounds(attribute, wide, wide_pool), strict=True
    ):
        low, _, shift = grid[:, number].tolist()
        for side, place in enumerate(interval.tolist()):
            step, between = divmod(place - ORIGIN, 2)
            if place in named:
                out[side] = named[place]
            elif shift == STATED:
                out[side] = points[first[number] + step]
            else:
                point = (low >> shift << shift) + (step << shift)
                out[side] = point + (((1 << shift) - 1 if side else 1) if between else 0)


def survey_bounds(attribute: Array, bounds: Array, pool: Array, grid: Array, lowest_bit: Array) -> None:
    """Find each attribute's least and greatest bound, and the lowest bit that its points need."""
    for number, interval in _bounds(attribute, bounds, pool):
        for side, code in enumerate(interval.tolist()):
            if code in _NAMED:
                continue
            grid[0, number], grid[1, number] = min(grid[0, number], code), max(grid[1, number], code)
            points = [code, code + (1 if side else -1)]
            if 0 not in points:
                bit = max(point & -point for point in points)
                lowest_bit[number] = min(int(lowest_bit[number]), bit)
