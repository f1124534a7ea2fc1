"""The kernels of positions; `positions.py` says what they mean. Twin: `tests/twins/positions.py`.

A grid is three lines: the least and the greatest bound of each attribute, and how many bits lie between its points. Of
an attribute whose points are stated one by one, the third line has STATED, and its points ascend from `first` on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.kernels import kernel, short_kernel
from rookery.matching.kernels import ATTRIBUTE_MASK, NULL_CODE, SET_FLAG

__all__ = [
    "HIGHEST_POSITION",
    "LOWEST_POSITION",
    "MOST_BITS",
    "NULL_POSITION",
    "ORIGIN",
    "STATED",
    "code_positions",
    "survey_bounds",
    "wide_bounds",
    "write_positions",
]  # fmt: skip

#: The positions of NULL, and of the lowest and the highest code, which are bounds that leave a side open.
NULL_POSITION, LOWEST_POSITION, HIGHEST_POSITION = -(1 << 31), 1 - (1 << 31), (1 << 31) - 1
#: The position of an attribute's first point.
ORIGIN = 4 - (1 << 31)
#: The bits between two points at the most; in place of them: the points are stated.
MOST_BITS, STATED = 62, -1
_LOWEST, _HIGHEST = NULL_CODE + 1, (1 << 63) - 1
_ONE = np.uint64(1)


@short_kernel
def _position(code: Any, number: Any, grid: Any, first: Any, points: Any) -> Any:
    """Return the position of a code of an attribute."""
    if code <= _LOWEST:
        return np.int64(NULL_POSITION if code == NULL_CODE else LOWEST_POSITION)
    if code == _HIGHEST:
        return np.int64(HIGHEST_POSITION)
    if code < grid[0, number]:
        return np.int64(ORIGIN - 1)
    if code > grid[1, number]:
        return np.int64(HIGHEST_POSITION - 1)
    shift = grid[2, number]
    if shift == STATED:
        low, high = first[number], first[number + 1]
        while low < high:  # the first point at the code or after it: there is one
            middle = (low + high) >> 1
            if points[middle] < code:
                low = middle + 1
            else:
                high = middle
        return ORIGIN + 2 * (low - first[number]) - np.int64(points[low] != code)
    bits = np.uint64(shift)
    past = np.uint64(code) - (np.uint64(grid[0, number]) >> bits << bits)
    between = np.int64((past & ((_ONE << bits) - _ONE)) != np.uint64(0))
    return ORIGIN + 2 * np.int64(past >> bits) + between


@short_kernel
def write_positions(codes: Any, numbers: Any, grid: Any, first: Any, points: Any, positions: Any) -> None:
    """Write the positions of the codes that events have of some attributes."""
    for event in range(codes.shape[0]):
        for index in range(numbers.shape[0]):
            number = numbers[index]
            positions[event, number] = _position(codes[event, number], number, grid, first, points)


@kernel
def code_positions(
    attribute: Any, bounds: Any, pool: Any, grid: Any, first: Any, points: Any, short_bounds: Any, short_pool: Any
) -> None:
    """Write the bounds of predicates and of the intervals of their sets as positions."""
    for place in range(attribute.shape[0]):
        number = attribute[place] & ATTRIBUTE_MASK
        if attribute[place] & SET_FLAG:
            for side in range(2):
                short_bounds[place, side] = bounds[place, side]
            for item in range(bounds[place, 0], bounds[place, 1]):
                for side in range(2):
                    short_pool[item, side] = _position(pool[item, side], number, grid, first, points)
        else:
            for side in range(2):
                short_bounds[place, side] = _position(bounds[place, side], number, grid, first, points)


@kernel
def _code(position: Any, upper: Any, number: Any, grid: Any, first: Any, points: Any) -> Any:
    """Return the code of a bound from its position; between two points it is beside the one that it lies next to."""
    if position <= LOWEST_POSITION:
        return np.int64(NULL_CODE if position == NULL_POSITION else _LOWEST)
    if position == HIGHEST_POSITION:
        return np.int64(_HIGHEST)
    past = np.int64(position) - ORIGIN
    step, between = past >> 1, past & 1
    shift = grid[2, number]
    if shift == STATED:
        return points[min(max(first[number] + step, first[number]), first[number + 1] - 1)]
    bits = np.uint64(shift)
    origin = np.uint64(grid[0, number]) >> bits << bits
    if between:
        return np.int64(origin + (np.uint64(step + upper) << bits)) + 1 - 2 * upper
    return np.int64(origin + (np.uint64(step) << bits))


@kernel
def wide_bounds(
    attribute: Any, bounds: Any, pool: Any, grid: Any, first: Any, points: Any, wide: Any, wide_pool: Any
) -> None:
    """Undo `code_positions`."""
    for place in range(attribute.shape[0]):
        number = attribute[place] & ATTRIBUTE_MASK
        if attribute[place] & SET_FLAG:
            for side in range(2):
                wide[place, side] = bounds[place, side]
            for item in range(bounds[place, 0], bounds[place, 1]):
                for side in range(2):
                    wide_pool[item, side] = _code(pool[item, side], side, number, grid, first, points)
        else:
            for side in range(2):
                wide[place, side] = _code(bounds[place, side], side, number, grid, first, points)


@kernel
def _survey(code: Any, upper: Any, number: Any, grid: Any, lowest_bit: Any) -> None:
    """Take a bound into account."""
    if code <= _LOWEST or code == _HIGHEST:
        return
    grid[0, number] = min(grid[0, number], code)
    grid[1, number] = max(grid[1, number], code)
    word = np.uint64(code)
    beside = word + _ONE if upper else word - _ONE
    bit = max(word & (~word + _ONE), beside & (~beside + _ONE))
    if code == 0 or (code == -1 and upper) or (code == 1 and not upper):  # a point of every grid, or beside it
        return
    lowest_bit[number] = min(lowest_bit[number], bit)


@kernel
def survey_bounds(attribute: Any, bounds: Any, pool: Any, grid: Any, lowest_bit: Any) -> None:
    """Find each attribute's least and greatest bound, and the lowest bit that its points need.

    A lower bound is a point or the code after one, an upper bound a point or the code before one.
    """
    for place in range(attribute.shape[0]):
        number = attribute[place] & ATTRIBUTE_MASK
        if attribute[place] & SET_FLAG:
            for item in range(bounds[place, 0], bounds[place, 1]):
                for side in range(2):
                    _survey(pool[item, side], side, number, grid, lowest_bit)
        else:
            for side in range(2):
                _survey(bounds[place, side], side, number, grid, lowest_bit)
