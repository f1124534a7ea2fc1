"""Kernels that decide pairs by programs. Plain twin: `tests/twins/rows.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.kernels import kernel
from rookery.matching.kernels import ATTRIBUTE_MASK, SET_FLAG

__all__ = ["ACCEPT", "FALSE", "OPEN", "REJECT", "decide_pairs"]

#: Where a program may go beside its own steps: the condition is TRUE, or it is not.
ACCEPT, REJECT = -1, -2
#: What a text may say beside TRUE: that somebody has to ask, and that it is not TRUE after all.
OPEN, FALSE = 1, 2


@kernel
def decide_pairs(
    events: Any,
    programs: Any,
    codes: Any,
    text: Any,
    truth_first: Any,
    truths: Any,
    states: Any,
    start: Any,
    attribute: Any,
    bounds: Any,
    pool: Any,
    jumps: Any,
) -> Any:
    """Return ACCEPT or REJECT for each pair of an event and a program, or the place of the truth that is to be asked.

    `text` is the number of `$text`; `states` says of each truth what it is, and is empty where all are TRUE.
    """
    outcome = np.empty(events.shape[0], np.int64)
    for index in range(events.shape[0]):
        event, first = events[index], start[programs[index]]
        step, asked = np.int64(0), np.int64(-1)
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
                if held and states.shape[0]:
                    if states[low] == OPEN:
                        asked = low
                        break
                    held = states[low] != FALSE
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
        outcome[index] = step if asked < 0 else asked
    return outcome
