"""Kernels that every engine shares: columns to codes, and the exact check of one row. Twins: `tests/twins/rows.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from rookery.kernels import kernel

__all__ = [
    "NULL_CODE",
    "SET_FLAG",
    "append_pair",
    "ascends",
    "encode_doubles",
    "encode_integers",
    "order_pairs",
    "pointer",
    "row_holds",
    "scan_rows",
    "set_bits",
    "split_pairs",
    "trailing_zeros",
    "write_ordered",
]

#: The code of NULL; every value has a higher one.
NULL_CODE = -(1 << 63)
#: Set in a predicate's attribute number: its bounds are a range of the pool of intervals.
SET_FLAG = 0x8000
ATTRIBUTE_MASK = 0x7FFF
#: Matches of an event that are sorted by insertion.
FEW_MATCHES = 32
#: Pairs that are compared before it is asked whether one is out of order.
LOOKED_AT = 64
#: Slots for each pair of a batch, up to which its pairs are ordered by a bit a slot.
SLOTS_A_PAIR = 4096
_ONE, _HALF = np.uint64(1), np.uint64(32)


@intrinsic  # type: ignore[untyped-decorator]
def trailing_zeros(typing_context: Any, word: Any) -> Any:
    """Return how many bits of a word are clear below its lowest set one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@intrinsic  # type: ignore[untyped-decorator]
def set_bits(typing_context: Any, word: Any) -> Any:
    """Return how many bits of a word are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic  # type: ignore[untyped-decorator]
def pointer(typing_context: Any, address: Any, kind: Any) -> Any:
    """Return an address as a pointer to items of a type, for `carray`."""
    found = types.CPointer(kind.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(found))

    return found(types.int64, kind), generate


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
            low, high = bounds[place, 0], bounds[place, 1]
            while low < high:  # the intervals are sorted: the first one that ends at the code or after it
                middle = (low + high) >> 1
                if pool[middle, 1] < code:
                    low = middle + 1
                else:
                    high = middle
            if low == bounds[place, 1] or code < pool[low, 0]:
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
def order_pairs(pairs: Any, event_count: Any, first: Any) -> Any:
    """Return the events, counted from `first` on, and the slots of pairs `event << 32 | slot`, in order, each once.

    Pairs that are in order already, as lists of values and keys of one row give them, stay as they are: the slots are
    then written over them, so that no memory is touched that was not.
    """
    if ascends(pairs):
        events = np.empty(pairs.shape[0], np.int64)
        split_pairs(pairs, first, events)
        return events, pairs
    total = pairs.shape[0]
    events, slots = np.empty(total, np.int64), np.empty(total, np.int64)
    count = write_ordered(pairs, event_count, first, np.empty(total, np.int32), events, slots)
    return events[:count], slots[:count]


@kernel
def split_pairs(pairs: Any, first: Any, events: Any) -> None:
    """Write the events of pairs, counted from `first` on, and their slots over the pairs."""
    for index in range(np.uint64(pairs.shape[0])):  # unsigned here and below: no index is asked whether it is negative
        events[index] = (pairs[index] >> 32) + first
        pairs[index] &= 0xFFFFFFFF


@kernel
def write_ordered(pairs: Any, event_count: Any, origin: Any, unordered: Any, events: Any, slots: Any) -> Any:
    """Write what `order_pairs` returns, and return how much it is; all that is written to has room for every pair.

    Events are counted, so a pair goes to its place at once. The slots of one event, where they are not in order yet,
    are then put in order: few of them by insertion, more by a bit for each slot, of which the words that were touched
    are read back. Engines give the pairs of some thousand events after the other, so the places that are written to
    are near each other.
    """
    total = pairs.shape[0]
    first = np.zeros(event_count + 1, np.int64)
    highest = np.int64(0)
    for index in range(np.uint64(total)):
        first[(np.uint64(pairs[index]) >> _HALF) + _ONE] += 1
        highest = max(highest, pairs[index] & 0xFFFFFFFF)
    most = np.int64(0)
    for event in range(event_count):
        most = max(most, first[event + 1])
        first[event + 1] += first[event]
    place = first[:-1].copy()
    for index in range(np.uint64(total)):
        owner = np.uint64(pairs[index]) >> _HALF
        unordered[np.uint64(place[owner])] = pairs[index]
        place[owner] += 1
    # A bit a slot is cleared once for all events: of few pairs among very many slots, that costs more than it saves.
    by_bits = most > FEW_MATCHES and highest <= SLOTS_A_PAIR * total
    bits = np.zeros((highest >> 6) + 1 if by_bits else 0, np.uint64)
    touched = np.zeros((highest >> 12) + 1 if by_bits else 0, np.uint64)
    count = 0
    for event in range(event_count):
        mine = unordered[first[event] : first[event + 1]]
        before = count
        if ascends(mine):
            for index in range(mine.shape[0]):
                slots[count] = mine[index]
                count += 1
        elif by_bits and mine.shape[0] > max(FEW_MATCHES, touched.shape[0] >> 4):
            count = _read_bits(mine, bits, touched, slots, count)
        else:
            count = _insert(mine, slots, count)
        events[before:count] = event + origin
    return count


@kernel
def ascends(mine: Any) -> Any:
    """Say whether slots or pairs ascend, each once, as lists of values and small sets give them."""
    for first in range(1, mine.shape[0], LOOKED_AT):  # not one by one: so many are compared at once
        fits = True
        for index in range(np.uint64(first), np.uint64(min(first + LOOKED_AT, mine.shape[0]))):
            fits &= mine[index] > mine[index - _ONE]
        if not fits:
            return False
    return True


@kernel
def _insert(mine: Any, slots: Any, count: Any) -> Any:
    """Write the distinct ones of some slots, ascending, to `slots[count:]`; return where they end."""
    if mine.shape[0] > FEW_MATCHES:
        mine.sort()
    for index in range(1, mine.shape[0]):  # what is sorted stays so
        slot = mine[index]
        at = index
        while at > 0 and mine[at - 1] > slot:
            mine[at] = mine[at - 1]
            at -= 1
        mine[at] = slot
    previous = np.int64(-1)
    for index in range(mine.shape[0]):
        slot = np.int64(mine[index])
        slots[count] = slot
        count += slot != previous
        previous = slot
    return count


@kernel
def _read_bits(mine: Any, bits: Any, touched: Any, slots: Any, count: Any) -> Any:
    """Do what `_insert` does by a bit for each slot, and one for each word of those; both are clear again after it."""
    for index in range(np.uint64(mine.shape[0])):
        slot = np.uint64(mine[index])
        word = slot >> np.uint64(6)
        bits[word] |= _ONE << (slot & np.uint64(63))
        touched[word >> np.uint64(6)] |= _ONE << (word & np.uint64(63))
    written = np.uint64(count)
    for group in range(np.uint64(touched.shape[0])):
        words = touched[group]
        touched[group] = np.uint64(0)
        while words != np.uint64(0):
            at = (group << np.uint64(6)) + trailing_zeros(words)
            words &= words - _ONE
            left = bits[at]
            bits[at] = np.uint64(0)
            while left != np.uint64(0):
                slots[written] = np.int64((at << np.uint64(6)) + trailing_zeros(left))
                left &= left - _ONE
                written += _ONE
    return np.int64(written)
