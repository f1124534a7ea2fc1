"""The peers without an index: every event against every row, in machine code and in NumPy.

Each writes the (event, row) that hold. The forms differ a lot in speed, so the benchmark runs all and names its ratios:

- `row scan`: `for event: for row:`, stopping at a row's first predicate that fails; a struct of arrays, compiled for
  the workload. Equalities first, each in a column of its own; then for each predicate one column of attribute numbers,
  lower and upper bounds. No flags, no nulls, no indirection to a list of predicates. For `device`, where each attribute
  has one threshold, the attribute is a constant and one side is tested.
- `row lists`: the same loop as a general engine has it. A row is a run of (attribute, lower, upper) of any length.
- `column scan`: no branch on a predicate's outcome. One predicate at a time over the survivors of a run of 512 rows,
  which are packed without a jump. Where a quarter of the rows pass, the row scan pays for mispredicted jumps.
- `NumPy`: one predicate at a time over all rows that are still alive.

All take the events as ready matrices of float64 and int64: reading Arrow is not charged to them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from benchmarks.workloads import Boxes, Events

import rookery.kernels  # noqa: F401 - says where Numba keeps compiled code

__all__ = ["column_scan", "numpy_scan", "row_lists", "row_scan"]

Array = np.ndarray[Any, Any]
Scan = Callable[[int], tuple[Array, Array]]

#: Rows whose survivors are packed together by the column scan: their numbers stay in the first-level cache.
_RUN = 512

_compile = numba.njit(nogil=True, error_model="numpy", cache=True)


@_compile
def _grown(found: Any) -> Any:
    larger = np.empty((2 * found.shape[0], 2), np.int64)
    larger[: found.shape[0]] = found
    return larger


@_compile
def _scan_ranges(doubles: Any, attribute: Any, lower: Any, upper: Any) -> Any:
    found, count = np.empty((4096, 2), np.int64), 0
    first_attribute, first_lower, first_upper = attribute[0], lower[0], upper[0]
    for event in range(doubles.shape[0]):
        values = doubles[event]
        for row in range(lower.shape[1]):
            value = values[first_attribute[row]]
            if value < first_lower[row] or value > first_upper[row]:
                continue
            held = True
            for place in range(1, lower.shape[0]):
                value = values[attribute[place, row]]
                if value < lower[place, row] or value > upper[place, row]:
                    held = False
                    break
            if held:
                if count == found.shape[0]:
                    found = _grown(found)
                found[count, 0], found[count, 1] = event, row
                count += 1
    return found[:count]


@_compile
def _scan_category(keys: Any, doubles: Any, category: Any, attribute: Any, lower: Any, upper: Any) -> Any:
    found, count = np.empty((4096, 2), np.int64), 0
    for event in range(doubles.shape[0]):
        values = doubles[event]
        wanted = keys[event, 0]
        for row in range(lower.shape[1]):
            if category[row] != wanted:
                continue
            held = True
            for place in range(lower.shape[0]):
                value = values[attribute[place, row]]
                if value < lower[place, row] or value > upper[place, row]:
                    held = False
                    break
            if held:
                if count == found.shape[0]:
                    found = _grown(found)
                found[count, 0], found[count, 1] = event, row
                count += 1
    return found[:count]


@_compile
def _scan_devices(keys: Any, doubles: Any, device: Any, kind: Any, least: Any, most: Any, last: Any) -> Any:
    found, count = np.empty((4096, 2), np.int64), 0
    for event in range(doubles.shape[0]):
        wanted_device, wanted_kind = keys[event, 0], keys[event, 1]
        one, two, three = doubles[event, 0], doubles[event, 1], doubles[event, 2]
        for row in range(device.shape[0]):
            if device[row] != wanted_device or kind[row] != wanted_kind:
                continue
            if one < least[row] or two > most[row] or three < last[row]:
                continue
            if count == found.shape[0]:
                found = _grown(found)
            found[count, 0], found[count, 1] = event, row
            count += 1
    return found[:count]


@_compile
def _scan_lists(values: Any, start: Any, attribute: Any, bounds: Any) -> Any:
    found, count = np.empty((4096, 2), np.int64), 0
    for event in range(values.shape[0]):
        for row in range(start.shape[0] - 1):
            held = True
            for place in range(start[row], start[row + 1]):
                value = values[event, attribute[place]]
                if value < bounds[place, 0] or value > bounds[place, 1]:
                    held = False
                    break
            if held:
                if count == found.shape[0]:
                    found = _grown(found)
                found[count, 0], found[count, 1] = event, row
                count += 1
    return found[:count]


@_compile
def _scan_columns(keys: Any, doubles: Any, equals: Any, attribute: Any, lower: Any, upper: Any) -> Any:
    found, count = np.empty((4096, 2), np.int64), 0
    alive = np.empty(_RUN, np.int32)
    equalities, rows = equals.shape
    for event in range(doubles.shape[0]):
        values = doubles[event]
        for base in range(0, rows, _RUN):
            kept = 0
            if equalities:
                column, wanted = equals[0], keys[event, 0]
                for row in range(base, min(rows, base + _RUN)):
                    alive[kept] = row
                    kept += column[row] == wanted
                first = 0
            else:
                numbers, least, most = attribute[0], lower[0], upper[0]
                for row in range(base, min(rows, base + _RUN)):
                    value = values[numbers[row]]
                    alive[kept] = row
                    kept += (value >= least[row]) & (value <= most[row])
                first = 1
            for place in range(1, equalities):
                left = 0
                for position in range(kept):
                    row = np.int64(alive[position])
                    alive[left] = row
                    left += equals[place, row] == keys[event, place]
                kept = left
            for place in range(first, attribute.shape[0]):
                left = 0
                for position in range(kept):
                    row = np.int64(alive[position])
                    value = values[attribute[place, row]]
                    alive[left] = row
                    left += (value >= lower[place, row]) & (value <= upper[place, row])
                kept = left
            for position in range(kept):
                if count == found.shape[0]:
                    found = _grown(found)
                found[count, 0], found[count, 1] = event, alive[position]
                count += 1
    return found[:count]


def column_scan(boxes: Boxes, events: Events) -> Scan:
    """Return the scan without branches on predicates."""
    columns = (boxes.equals, boxes.attribute, boxes.lower, boxes.upper)
    return lambda count: _pairs(_scan_columns(events.keys[:count], events.doubles[:count], *columns))


def row_scan(boxes: Boxes, events: Events) -> Scan:
    """Return the specialised scan: first n events in, (event, row) arrays out."""
    keys, doubles = events.keys, events.doubles
    if boxes.workload.one_sided:
        device, kind = (np.ascontiguousarray(column) for column in boxes.equals)
        least, most, last = boxes.lower[0].copy(), boxes.upper[1].copy(), boxes.lower[2].copy()
        return lambda count: _pairs(_scan_devices(keys[:count], doubles[:count], device, kind, least, most, last))
    bounds = (boxes.attribute, boxes.lower, boxes.upper)
    if boxes.workload.equalities:
        category = np.ascontiguousarray(boxes.equals[0])
        return lambda count: _pairs(_scan_category(keys[:count], doubles[:count], category, *bounds))
    return lambda count: _pairs(_scan_ranges(doubles[:count], *bounds))


def row_lists(boxes: Boxes, events: Events) -> Scan:
    """Return the scan over lists of predicates; equalities are ranges of one value, first in their list."""
    equalities, tested = boxes.equals.shape[0], boxes.attribute.shape[0]
    width = equalities + tested
    values = np.concatenate([events.keys.astype(np.float64), events.doubles], axis=1)
    attribute = np.empty((boxes.count, width), np.int64)
    bounds = np.empty((boxes.count, width, 2))
    attribute[:, :equalities] = np.arange(equalities)
    bounds[:, :equalities] = boxes.equals.T[:, :, None]
    attribute[:, equalities:] = boxes.attribute.T + equalities
    bounds[:, equalities:, 0], bounds[:, equalities:, 1] = boxes.lower.T, boxes.upper.T
    start = np.arange(boxes.count + 1) * width
    flat = (attribute.reshape(-1), bounds.reshape(-1, 2))
    return lambda count: _pairs(_scan_lists(values[:count], start, *flat))


def numpy_scan(boxes: Boxes, events: Events) -> Scan:
    """Return the NumPy scan."""

    def scan(count: int) -> tuple[Array, Array]:
        found = []
        for event in range(count):
            rows: Array | None = None
            for place in range(boxes.equals.shape[0]):
                column = boxes.equals[place] if rows is None else boxes.equals[place][rows]
                kept = np.flatnonzero(column == events.keys[event, place])
                rows = kept if rows is None else rows[kept]
            for place in range(boxes.attribute.shape[0]):
                numbers, lower, upper = boxes.attribute[place], boxes.lower[place], boxes.upper[place]
                if rows is not None:
                    numbers, lower, upper = numbers[rows], lower[rows], upper[rows]
                values = events.doubles[event][numbers]
                kept = np.flatnonzero((values >= lower) & (values <= upper))
                rows = kept if rows is None else rows[kept]
            assert rows is not None
            found.append(rows)
        return np.repeat(np.arange(count), [len(rows) for rows in found]), np.concatenate(found)

    return scan


def _pairs(found: Array) -> tuple[Array, Array]:
    return found[:, 0], found[:, 1]
