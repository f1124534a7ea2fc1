"""The kernels of the seed's algorithms: counting, predicate index, predicate matrix. Their plain twin is `scan`."""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.kernels import kernel
from rookery.matching.kernels import ATTRIBUTE_MASK, SET_FLAG, append_pair

__all__ = ["count_matches", "covered_columns", "index_matches", "matrix_matches"]

_ONE = np.uint64(1)


@kernel
def _holds(code: Any, flagged: Any, low: Any, high: Any, pool: Any) -> bool:
    """Say whether a code satisfies one predicate."""
    if not flagged:
        return bool(low <= code <= high)
    for item in range(low, high):
        if code < pool[item, 0]:
            return False
        if code <= pool[item, 1]:
            return True
    return False


@kernel
def _credit(
    predicate: Any, event: Any, post_start: Any, post_row: Any, stamp: Any, counter: Any, needed: Any, slot: Any,
    alive: Any, found: Any, count: Any,
) -> Any:  # fmt: skip
    """Count a satisfied predicate for its rows; a row whose predicates are all satisfied matches."""
    for place in range(post_start[predicate], post_start[predicate + 1]):
        row = post_row[place]
        if stamp[row] != event:
            stamp[row] = event
            counter[row] = 0
        counter[row] += 1
        if counter[row] == needed[row] and alive[slot[row]]:
            found = append_pair(found, count, event, slot[row])
            count += 1
    return found, count


@kernel
def count_matches(
    codes: Any,
    alive: Any,
    slot: Any,
    needed: Any,
    attribute: Any,
    bounds: Any,
    pool: Any,
    post_start: Any,
    post_row: Any,
) -> Any:
    """Test every distinct predicate, and count the satisfied ones per row."""
    rows = slot.shape[0]
    stamp = np.full(rows, -1, np.int64)
    counter = np.zeros(rows, np.int32)
    found, count = np.empty(1024, np.int64), 0
    for event in range(codes.shape[0]):
        for row in range(rows):
            if needed[row] > 0:
                break  # the rows without a predicate come first
            if alive[slot[row]]:
                found = append_pair(found, count, event, slot[row])
                count += 1
        for predicate in range(attribute.shape[0]):
            number = attribute[predicate]
            code = codes[event, number & ATTRIBUTE_MASK]
            if _holds(code, number & SET_FLAG, bounds[predicate, 0], bounds[predicate, 1], pool):
                found, count = _credit(
                    predicate, event, post_start, post_row, stamp, counter, needed, slot, alive, found, count
                )  # fmt: skip
    return found[:count]


@kernel
def index_matches(
    codes: Any, alive: Any, slot: Any, needed: Any, attribute: Any, bounds: Any, pool: Any, post_start: Any,
    post_row: Any, order: Any, reach: Any, points: Any, ranges: Any,
) -> Any:  # fmt: skip
    """Find the satisfied predicates of each attribute by search, and count them per row.

    `order` lists the predicates by attribute: first those for one value (`points`), by value, then the others
    (`ranges`), by the lower end in `reach`, so that the search stops at the first that begins above the event's code.
    """
    rows = slot.shape[0]
    stamp = np.full(rows, -1, np.int64)
    counter = np.zeros(rows, np.int32)
    found, count = np.empty(1024, np.int64), 0
    for event in range(codes.shape[0]):
        for row in range(rows):
            if needed[row] > 0:
                break
            if alive[slot[row]]:
                found = append_pair(found, count, event, slot[row])
                count += 1
        for number in range(points.shape[0]):
            code = codes[event, number]
            low, high = points[number, 0], points[number, 1]
            while low < high:
                middle = (low + high) >> 1
                if reach[middle] < code:
                    low = middle + 1
                else:
                    high = middle
            if low < points[number, 1] and reach[low] == code:
                found, count = _credit(
                    order[low], event, post_start, post_row, stamp, counter, needed, slot, alive, found, count
                )  # fmt: skip
            for place in range(ranges[number, 0], ranges[number, 1]):
                if reach[place] > code:
                    break
                predicate = order[place]
                flagged = attribute[predicate] & SET_FLAG
                if _holds(code, flagged, bounds[predicate, 0], bounds[predicate, 1], pool):
                    found, count = _credit(
                        predicate, event, post_start, post_row, stamp, counter, needed, slot, alive, found, count
                    )  # fmt: skip
    return found[:count]


@kernel
def covered_columns(attribute: Any, bounds: Any, columns: Any, doomed: Any, words: Any) -> None:
    """Add to each column's `doomed` rows those of every column that it covers: q inside p, so p false means q false."""
    count = attribute.shape[0]
    for wide in range(count):
        if attribute[wide] & SET_FLAG:
            continue
        for narrow in range(count):
            if attribute[narrow] != attribute[wide] or narrow == wide:
                continue
            if bounds[wide, 0] <= bounds[narrow, 0] and bounds[narrow, 1] <= bounds[wide, 1]:
                for word in range(words):
                    doomed[wide, word] |= columns[narrow, word]


@kernel
def matrix_matches(
    codes: Any, alive: Any, slot: Any, attribute: Any, bounds: Any, pool: Any, panel_column: Any, panel_row: Any,
    columns: Any, doomed: Any,
) -> Any:  # fmt: skip
    """Walk the columns that have a live row; a predicate that fails deletes its rows and those of what it covers."""
    words = columns.shape[1]
    live = np.empty(words, np.uint64)
    found, count = np.empty(1024, np.int64), 0
    for panel in range(panel_row.shape[0] - 1):
        first, rows = panel_row[panel], panel_row[panel + 1] - panel_row[panel]
        for event in range(codes.shape[0]):
            for word in range(words):
                left = rows - 64 * word
                live[word] = ~np.uint64(0) if left >= 64 else ((_ONE << np.uint64(max(left, 0))) - _ONE)
            any_live = np.uint64(1)
            for column in range(panel_column[panel], panel_column[panel + 1]):
                wanted = np.uint64(0)
                for word in range(words):
                    wanted |= live[word] & columns[column, word]
                if wanted == np.uint64(0):
                    continue
                number = attribute[column]
                code = codes[event, number & ATTRIBUTE_MASK]
                if not _holds(code, number & SET_FLAG, bounds[column, 0], bounds[column, 1], pool):
                    any_live = np.uint64(0)
                    for word in range(words):
                        live[word] &= ~doomed[column, word]
                        any_live |= live[word]
                    if any_live == np.uint64(0):
                        break
            if any_live == np.uint64(0):
                continue
            for position in range(rows):
                if (live[position >> 6] >> np.uint64(position & 63)) & _ONE and alive[slot[first + position]]:
                    found = append_pair(found, count, event, slot[first + position])
                    count += 1
    return found[:count]
