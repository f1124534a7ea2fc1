"""Kernels that every engine shares: columns to codes, and the exact check of one row. Twins: `tests/twins/rows.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.kernels import kernel

__all__ = [
    "NULL_CODE",
    "SET_FLAG",
    "append_pair",
    "encode_doubles",
    "encode_integers",
    "order_pairs",
    "row_holds",
    "scan_rows",
]

#: The code of NULL; every value has a higher one.
NULL_CODE = -(1 << 63)
#: Set in a predicate's attribute number: its bounds are a range of the pool of intervals.
SET_FLAG = 0x8000
ATTRIBUTE_MASK = 0x7FFF
#: Matches of an event that are sorted by insertion.
FEW_MATCHES = 32


@kernel
def encode_doubles(values: Any, valid: Any, codes: Any, column: Any) -> None:
    """Write the order-preserving codes of doubles; NaN and what is not valid is NULL."""
    bits = values.view(np.int64)
    for event in range(values.shape[0]):
        value = values[event]
        if not valid[event] or value != value:
            codes[event, column] = NULL_CODE
        else:
            word = bits[event]
            codes[event, column] = word if word >= 0 else NULL_CODE - word


@kernel
def encode_integers(values: Any, valid: Any, codes: Any, column: Any) -> None:
    """Write int64 values as their own codes; the lowest shares its neighbour's (`codes.py` says why that is exact)."""
    for event in range(values.shape[0]):
        if valid[event]:
            codes[event, column] = max(values[event], NULL_CODE + 1)
        else:
            codes[event, column] = NULL_CODE


@kernel
def row_holds(codes: Any, event: Any, row: Any, start: Any, attribute: Any, bounds: Any, pool: Any) -> bool:
    """Say whether an event satisfies every predicate of a row; stops at the first that fails."""
    for place in range(start[row], start[row + 1]):
        number = attribute[place]
        if number & SET_FLAG:
            code = codes[event, number & ATTRIBUTE_MASK]
            held = False
            for item in range(bounds[place, 0], bounds[place, 1]):
                if code < pool[item, 0]:
                    break  # the intervals are sorted
                if code <= pool[item, 1]:
                    held = True
                    break
            if not held:
                return False
        else:
            code = codes[event, number]
            if code < bounds[place, 0] or code > bounds[place, 1]:
                return False
    return True


@kernel
def append_pair(found: Any, count: Any, event: Any, slot: Any) -> Any:
    """Write the pair `event << 32 | slot` at `found[count]`; return `found`, or a larger copy where it was full."""
    if count == found.shape[0]:
        larger = np.empty(2 * count, np.int64)
        larger[:count] = found
        found = larger
    found[count] = (np.int64(event) << 32) | np.int64(slot)
    return found


@kernel
def scan_rows(
    codes: Any, first: Any, last: Any, slot: Any, alive: Any, start: Any, attribute: Any, bounds: Any, pool: Any
) -> Any:
    """Return the pairs `event << 32 | slot` of every event against the rows from `first` to `last`, one by one."""
    found = np.empty(1024, np.int64)
    count = 0
    for event in range(codes.shape[0]):
        for row in range(first, last):
            if row_holds(codes, event, row, start, attribute, bounds, pool) and alive[slot[row]]:
                found = append_pair(found, count, event, slot[row])
                count += 1
    return found[:count]


@kernel
def order_pairs(pairs: Any, event_count: Any) -> Any:
    """Return the events and the slots of the pairs `event << 32 | slot`, in order, each pair once.

    Events are counted, so a pair goes to its place at once; the slots of one event are then sorted, few of them by
    insertion. Engines give the pairs of some thousand events after the other, so the places that are written to are
    near each other.
    """
    first = np.zeros(event_count + 1, np.int64)
    for index in range(pairs.shape[0]):
        first[(pairs[index] >> 32) + 1] += 1
    for event in range(event_count):
        first[event + 1] += first[event]
    place = first.copy()
    slots = np.empty(pairs.shape[0], np.int64)
    for index in range(pairs.shape[0]):
        event = pairs[index] >> 32
        slots[place[event]] = pairs[index] & 0xFFFFFFFF
        place[event] += 1
    events = np.empty(pairs.shape[0], np.int64)
    count = 0
    for event in range(event_count):
        low, high = first[event], first[event + 1]
        if high - low > FEW_MATCHES:
            slots[low:high].sort()
        for index in range(low + 1, high):  # what is sorted stays so
            slot = slots[index]
            at = index
            while at > low and slots[at - 1] > slot:
                slots[at] = slots[at - 1]
                at -= 1
            slots[at] = slot
        previous = np.int64(-1)
        for index in range(low, high):  # `count` never passes `index`
            slot = slots[index]
            if slot != previous:
                events[count], slots[count], previous = event, slot, slot
                count += 1
    return events[:count], slots[:count]
