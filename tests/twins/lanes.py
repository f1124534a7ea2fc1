"""The kernel of lanes in plain Python: what `lane_kernels.py` must compute, written to be read. Used by tests alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.twins.rows import row_holds

__all__ = ["match_lanes"]

Array = np.ndarray[Any, Any]


def match_lanes(
    positions: Array, events: Array, alive: Array, first_row: int, last_row: int, slot: Array, start: Array,
    attribute: Array, bounds: Array, pool: Array,
) -> Array:  # fmt: skip
    """Return the pairs `event << 32 | slot` of the listed events and the rows of a range, ascending, each once."""
    pairs = {
        event << 32 | int(slot[row])
        for event in events.tolist()
        for row in range(first_row, last_row)
        if alive[slot[row]] and row_holds(positions, event, row, start, attribute, bounds, pool)
    }
    return np.array(sorted(pairs), np.int64)
