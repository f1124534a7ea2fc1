"""Kernels of the event space: the zone of each point, the place of each text. Their plain twins are in `tests/twins`.

A tree arrives as four arrays, one entry per node in pre-order: the axis that the node cuts (-1 at a leaf), the cut, the
node of the upper half, and the zone of a leaf. The lower half is always the next node. The plain twin of `place_texts`
is `rookery.space.texts.TextCode.place`, which places one text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rookery.kernels import kernel

__all__ = ["place_texts", "zone_of_points"]

_PARTS, _CONTROL, _PRINTABLE = 1111, 32, 982
_WHOLE = 1 << 62


@kernel
def zone_of_points(
    points: NDArray[np.float64],
    axis: NDArray[np.int32],
    cut: NDArray[np.float64],
    upper: NDArray[np.int32],
    zone: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Write the zone of each row of `points` to `out`: walk down from the root."""
    for row in range(points.shape[0]):
        node = 0
        while axis[node] >= 0:
            node = upper[node] if points[row, axis[node]] >= cut[node] else node + 1
        out[row] = zone[node]


@kernel
def _is_below(data: Any, first: Any, end: Any, knots: Any, start: Any, stop: Any) -> bool:
    """Tell whether a text comes before a knot, byte by byte."""
    for place in range(min(end - first, stop - start)):
        mine, other = data[first + place], knots[start + place]
        if mine != other:
            return bool(mine < other)
    return bool(end - first < stop - start)


@kernel
def _spread(data: Any, first: Any, end: Any) -> Any:
    """Return where bytes lie among all bytes, between 0 and 2^62."""
    low, width = np.int64(0), np.int64(_WHOLE)
    for place in range(first, end):
        part = width // _PARTS
        if part == 0:
            break
        byte = np.int64(data[place])
        if byte < 0x20:
            low, width = low + part * byte, part
        elif byte < 0x7F:
            low, width = low + part * (_CONTROL + 10 * (byte - 0x20)), 10 * part
        else:
            low, width = low + part * (_PRINTABLE + byte - 0x7F), part
    return low


@kernel
def place_texts(
    data: Any,
    bounds: Any,
    out: Any,
    knots: Any,
    knot_bounds: Any,
    start: Any,
    width: Any,
    end: Any,
    prefix: Any,
    bottom: Any,
    span: Any,
) -> None:
    """Write the place of each text to `out`: find its gap by halves, then its place in the gap."""
    for row in range(bounds.shape[0] - 1):
        first, last = np.int64(bounds[row]), np.int64(bounds[row + 1])
        low, high = 1, start.shape[0]
        while low < high:
            middle = (low + high) // 2
            if _is_below(data, first, last, knots, knot_bounds[middle], knot_bounds[middle + 1]):
                high = middle
            else:
                low = middle + 1
        gap = low - 1
        if span[gap] == 0:
            out[row] = start[gap]
            continue
        inside = np.float64(_spread(data, first + prefix[gap], last) - bottom[gap]) / np.float64(span[gap])
        out[row] = min(start[gap] + width[gap] * inside, end[gap])
