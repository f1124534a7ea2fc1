"""The zone of each point by walking the tree, point by point: the twin of `space.kernels.zone_of_points`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["zone_of_points_plain"]


def zone_of_points_plain(
    points: NDArray[np.float64],
    axis: NDArray[np.int32],
    cut: NDArray[np.float64],
    upper: NDArray[np.int32],
    zone: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Do the same level by level, all rows at once."""
    node = np.zeros(len(points), dtype=np.int64)
    active = axis[node] >= 0
    while active.any():
        rows = np.flatnonzero(active)
        at = node[rows]
        above = points[rows, axis[at]] >= cut[at]
        node[rows] = np.where(above, upper[at], at + 1)
        active = axis[node] >= 0
    out[:] = zone[node]
