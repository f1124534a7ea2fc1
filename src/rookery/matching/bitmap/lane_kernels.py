"""The kernel that scans rows for many events at once. Twin: `tests/twins/lanes.py`; `lanes.py` says when it is used.

64 events are the lanes of a vector, so a predicate is two comparisons for all of them and gives a word with a bit for
each event. Where many rows hold, or lines leave many that do not, that is less work than to verify what survives, and
there is nothing to guess. A row writes its words to the place of its slot: squares of 64 slots and 64 events, turned
over, are the matches of each event in the order of slots, each once, and nothing is sorted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from rookery.kernels import kernel
from rookery.matching.kernels import ATTRIBUTE_MASK, SET_FLAG, set_bits, trailing_zeros

__all__ = ["LANES", "STEP_WORDS", "lanes_between", "match_lanes"]

#: Events in a word, and words that a row is scanned for while it is near the processor.
LANES = 64
STEP_WORDS = 2
#: Bits of a word that are written without asking how many there are.
AT_ONCE = 8
_TO_EACH_LANE = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
_ONE, _SIX, _HALF = np.uint64(1), np.uint64(6), np.uint64(32)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@intrinsic  # type: ignore[untyped-decorator]
def lanes_between(typing_context: Any, values: Any, index: Any, low: Any, high: Any) -> Any:
    """Return a bit for each of the 64 values from `values[index]` on: whether it is `low`, `high` or between them."""
    bits = values.dtype.bitwidth
    item = ir.IntType(bits)
    vector = ir.VectorType(item, LANES)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        lanes = builder.load(builder.bitcast(builder.gep(data, [arguments[1]]), vector.as_pointer()), align=bits // 8)

        def everywhere(value: Any) -> Any:
            narrow = builder.trunc(value, item) if bits < 64 else value
            first = builder.insert_element(ir.Constant(vector, ir.Undefined), narrow, ir.Constant(ir.IntType(32), 0))
            return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), _TO_EACH_LANE)

        above = builder.icmp_signed(">=", lanes, everywhere(arguments[2]))
        below = builder.icmp_signed("<=", lanes, everywhere(arguments[3]))
        return builder.bitcast(builder.and_(above, below), ir.IntType(LANES))

    return types.uint64(values, types.int64, types.int64, types.int64), generate


@kernel
def _scan(
    lanes: Any, words: Any, first_row: Any, last_row: Any, alive: Any, slot: Any, start: Any, attribute: Any,
    bounds: Any, pool: Any, square: Any,
) -> None:  # fmt: skip
    """Write for each live slot the words that say which events one of its rows holds for."""
    for row in range(np.uint64(first_row), np.uint64(last_row)):  # unsigned: no index is asked whether it is negative
        mine = np.uint64(slot[row])
        if not alive[mine]:
            continue
        begin, end = np.uint64(start[row]), np.uint64(start[row + _ONE])
        for word in range(np.uint64(words)):
            held = _ALL
            for place in range(begin, end):
                number = np.int64(attribute[place] & ATTRIBUTE_MASK)
                at = (number * STEP_WORDS + np.int64(word)) * LANES
                if attribute[place] & SET_FLAG:
                    some = np.uint64(0)
                    for item in range(np.uint64(bounds[place, 0]), np.uint64(bounds[place, 1])):
                        some |= lanes_between(lanes, at, np.int64(pool[item, 0]), np.int64(pool[item, 1]))
                    held &= some
                else:
                    held &= lanes_between(lanes, at, np.int64(bounds[place, 0]), np.int64(bounds[place, 1]))
            square[mine * np.uint64(words) + word] |= held


@kernel
def _swap(square: Any, width: Any, mask: Any) -> None:
    """Exchange the upper right and the lower left quarters of the squares of twice a width."""
    for base in range(0, LANES, 2 * width):
        for at in range(base, base + width):
            changed = ((square[at] >> np.uint64(width)) ^ square[at + width]) & mask
            square[at + width] ^= changed
            square[at] ^= changed << np.uint64(width)


@kernel
def _turn(by_slot: Any, words: Any, tiles: Any, by_event: Any) -> None:
    """Write the bits that are there by slot and then by event, by event and then by slot."""
    square = np.empty(LANES, np.uint64)
    for tile in range(tiles):
        for word in range(words):
            for at in range(LANES):
                square[at] = by_slot[(tile * LANES + at) * words + word]
            _swap(square, 32, np.uint64(0x00000000FFFFFFFF))
            _swap(square, 16, np.uint64(0x0000FFFF0000FFFF))
            _swap(square, 8, np.uint64(0x00FF00FF00FF00FF))
            _swap(square, 4, np.uint64(0x0F0F0F0F0F0F0F0F))
            _swap(square, 2, np.uint64(0x3333333333333333))
            _swap(square, 1, np.uint64(0x5555555555555555))
            for at in range(LANES):
                by_event[(word * LANES + at) * tiles + tile] = square[at]


@kernel
def _write(event: Any, words: Any, found: Any, count: Any) -> Any:
    """Append the pairs of an event and the slots whose bits are set in words; `found` has room for AT_ONCE more.

    Most words have few bits: so many are written in any case, and what is too much is written over by the next.
    """
    written, head = np.uint64(count), np.uint64(event) << _HALF
    for word in range(np.uint64(words.shape[0])):
        left = words[word]
        more, base = set_bits(left), head | word << _SIX
        for place in range(np.uint64(AT_ONCE)):
            found[written + place] = np.int64(base | (trailing_zeros(left) & np.uint64(LANES - 1)))
            left &= left - _ONE
        for place in range(np.uint64(AT_ONCE), more):
            found[written + place] = np.int64(base | trailing_zeros(left))
            left &= left - _ONE
        written += more
    return np.int64(written)


@kernel
def match_lanes(
    positions: Any, events: Any, alive: Any, first_row: Any, last_row: Any, slot: Any, start: Any, attribute: Any,
    bounds: Any, pool: Any, found: Any,
) -> Any:  # fmt: skip
    """Return the pairs `event << 32 | slot` of the listed events and the rows of a range, ascending, each once.

    They are written to `found`, or where that has no room for them, to memory of their own.
    """
    attributes, count = positions.shape[1], np.int64(0)
    highest = np.int64(-1)
    for row in range(first_row, last_row):
        highest = max(highest, np.int64(slot[row]))
    tiles = (highest + LANES) // LANES
    lanes = np.zeros(attributes * STEP_WORDS * LANES, positions.dtype)
    by_slot = np.empty(tiles * LANES * STEP_WORDS, np.uint64)
    by_event = np.empty(tiles * LANES * STEP_WORDS, np.uint64)
    for begin in range(0, events.shape[0], STEP_WORDS * LANES):
        step = min(events.shape[0] - begin, STEP_WORDS * LANES)
        words = (step + LANES - 1) // LANES
        for index in range(step):
            event = events[begin + index]
            for number in range(attributes):
                lanes[number * STEP_WORDS * LANES + index] = positions[event, number]
        by_slot[: tiles * LANES * words] = np.uint64(0)
        _scan(lanes, words, first_row, last_row, alive, slot, start, attribute, bounds, pool, by_slot)
        _turn(by_slot, words, tiles, by_event)
        most = np.uint64(count + AT_ONCE)
        for place in range(step * tiles):
            most += set_bits(by_event[place])
        if np.int64(most) > found.shape[0]:
            larger = np.empty(2 * np.int64(most), np.int64)
            larger[:count] = found[:count]
            found = larger
        for index in range(step):
            mine = by_event[index * tiles : (index + 1) * tiles]
            count = _write(events[begin + index], mine, found, count)
    return found[:count]
