"""The shared kernels in plain Python and NumPy: what `kernels.py` must compute, written to be read.

Each function has the name, the arguments and the effect of the kernel that it mirrors. They are slow, and are used by
tests alone; a kernel and its twin that disagree are a bug in one of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.matching.code_kernels import DOUBLE, WHOLE
from rookery.matching.kernels import ATTRIBUTE_MASK, NULL_CODE, SET_FLAG
from rookery.matching.program_kernels import FALSE, OPEN

__all__ = ["code_event", "decide_pairs", "encode_doubles", "encode_integers", "order_pairs", "row_holds", "scan_rows"]

Array = np.ndarray[Any, Any]


def decide_pairs(
    events: Array, programs: Array, codes: Array, text: int, truth_first: Array, truths: Array, states: Array,
    start: Array, attribute: Array, bounds: Array, pool: Array, jumps: Array,
) -> Array:  # fmt: skip
    """Return ACCEPT, REJECT or the place of the truth that is to be asked, for each pair of an event and a program."""
    outcomes = []
    for event, program in zip(events.tolist(), programs.tolist(), strict=True):
        places = range(truth_first[event], truth_first[event + 1])
        said = {int(truths[place]): place for place in places}
        step = 0
        while step >= 0:
            place = start[program] + step
            number, (low, high) = int(attribute[place]), bounds[place].tolist()
            code = int(codes[event, number & ATTRIBUTE_MASK])
            if number == text and low == high:
                state = FALSE if low not in said else states[said[low]] if len(states) else 0
                if state == OPEN:
                    outcomes.append(said[low])
                    break
                held = state == 0
            else:
                intervals = pool[low:high].tolist() if number & SET_FLAG else [(low, high)]
                held = any(first <= code <= last for first, last in intervals)
            step = int(jumps[place, 0 if held else 1])
        else:
            outcomes.append(step)
    return np.array(outcomes, np.int64)


def code_event(codes: Array, forms: Array) -> bool:
    """Turn raw values into codes where they lie; say whether all are within their limits."""
    fits = True
    for place, (form, lowest, highest) in enumerate(forms.tolist()):
        column = codes[:, place : place + 1]
        if form == DOUBLE:
            encode_doubles(column[0].copy().view(np.float64), np.ones(1, np.bool_), column, 0)
        elif form == WHOLE:
            fits = fits and lowest <= column[0, 0] <= highest
            encode_integers(column[0].copy(), np.ones(1, np.bool_), column, 0)
    return fits


def encode_doubles(values: Array, valid: Array, codes: Array, column: int) -> None:
    """Write the order-preserving codes of doubles; NaN and what is not valid is NULL."""
    bits = values.view(np.int64)
    ordered = np.where(bits >= 0, bits, NULL_CODE - bits)  # below zero a larger pattern is a smaller number
    codes[:, column] = np.where(valid & ~np.isnan(values), ordered, NULL_CODE)


def encode_integers(values: Array, valid: Array, codes: Array, column: int) -> None:
    """Write int64 values as their own codes; the lowest of all shares its neighbour's."""
    codes[:, column] = np.where(valid, np.maximum(values, NULL_CODE + 1), NULL_CODE)


def row_holds(codes: Array, event: int, row: int, start: Array, attribute: Array, bounds: Array, pool: Array) -> bool:
    """Say whether an event satisfies every predicate of a row."""

    def satisfied(place: int) -> bool:
        number, (low, high) = int(attribute[place]), bounds[place].tolist()
        code = int(codes[event, number & ATTRIBUTE_MASK])
        if number & SET_FLAG:
            return any(bottom <= code <= top for bottom, top in pool[low:high].tolist())
        return bool(low <= code <= high)

    return all(satisfied(place) for place in range(start[row], start[row + 1]))


def scan_rows(
    codes: Array,
    first: int,
    last: int,
    slot: Array,
    alive: Array,
    start: Array,
    attribute: Array,
    bounds: Array,
    pool: Array,
) -> Array:
    """Return the pairs `event << 32 | slot` of every event against the rows from `first` to `last`."""
    pairs = [
        event << 32 | int(slot[row])
        for event in range(len(codes))
        for row in range(first, last)
        if alive[slot[row]] and row_holds(codes, event, row, start, attribute, bounds, pool)
    ]
    return np.array(pairs, np.int64)


def order_pairs(pairs: Array, event_count: int, first: int) -> tuple[Array, Array]:
    """Return the events, counted from `first` on, and the slots of pairs `event << 32 | slot`, in order, each once."""
    once = np.unique(pairs)
    return (once >> 32) + first, once & 0xFFFFFFFF
