"""Kernels of the event space: the zone of each point. Each has its plain NumPy twin beside it.

The tree arrives as four arrays, one entry per node in pre-order: the dimension that the node cuts (-1 at a leaf), the
cut, the node of the upper half, and the zone of a leaf. The lower half is always the next node.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rookery.kernels import kernel

__all__ = ["zone_of_points", "zone_of_points_plain"]


@kernel
def zone_of_points(
    points: NDArray[np.float64],
    dimension: NDArray[np.int32],
    cut: NDArray[np.float64],
    upper: NDArray[np.int32],
    zone: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Write the zone of each row of `points` to `out`: walk down from the root, NaN to the lower half."""
    for row in range(points.shape[0]):
        node = 0
        while dimension[node] >= 0:
            node = upper[node] if points[row, dimension[node]] >= cut[node] else node + 1
        out[row] = zone[node]


def zone_of_points_plain(
    points: NDArray[np.float64],
    dimension: NDArray[np.int32],
    cut: NDArray[np.float64],
    upper: NDArray[np.int32],
    zone: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Do the same level by level, all rows at once."""
    node = np.zeros(len(points), dtype=np.int64)
    active = dimension[node] >= 0
    while active.any():
        rows = np.flatnonzero(active)
        at = node[rows]
        above = points[rows, dimension[at]] >= cut[at]
        node[rows] = np.where(above, upper[at], at + 1)
        active = dimension[node] >= 0
    out[:] = zone[node]
