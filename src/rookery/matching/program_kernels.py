"""Kernels that decide pairs by programs. Plain twin: `tests/twins/rows.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.kernels import kernel
from rookery.matching.kernels import ATTRIBUTE_MASK, SET_FLAG

__all__ = ["ACCEPT", "REJECT", "decide_pairs"]

#: Where a program may go beside its own steps: the condition is TRUE, or it is not.
ACCEPT, REJECT = -1, -2


@kernel
def decide_pairs(
    events: Any,
    programs: Any,
    codes: Any,
    text: Any,
    truth_first: Any,
    truths: Any,
    start: Any,
    attribute: Any,
    bounds: Any,
    pool: Any,
    jumps: Any,
) -> Any:
    """Say of each pair of an event and a program whether the program accepts; `text` is the number of `$text`."""
    kept = np.empty(events.shape[0], np.bool_)
    for index in range(events.shape[0]):
        event, first = events[index], start[programs[index]]
        step = np.int64(0)
        while step >= 0:
            place = first + step
            number = np.int64(attribute[place] & ATTRIBUTE_MASK)
            held = False
            if number == text and bounds[place, 0] == bounds[place, 1]:  # what always holds is a range
                label = bounds[place, 0]
                low, high = truth_first[event], truth_first[event + 1]
                while low < high:
                    middle = (low + high) >> 1
                    if truths[middle] < label:
                        low = middle + 1
                    else:
                        high = middle
                held = low < truth_first[event + 1] and truths[low] == label
            elif attribute[place] & SET_FLAG:
                code = codes[event, number]
                low, high = bounds[place, 0], bounds[place, 1]
                while low < high:  # the first interval that ends at the code or after it
                    middle = (low + high) >> 1
                    if pool[middle, 1] < code:
                        low = middle + 1
                    else:
                        high = middle
                held = low < bounds[place, 1] and pool[low, 0] <= code
            else:
                code = codes[event, number]
                held = bounds[place, 0] <= code <= bounds[place, 1]
            step = np.int64(jumps[place, 0] if held else jumps[place, 1])
        kept[index] = step == ACCEPT
    return kept
