"""Lists of values as keys: `code IN (…)` of any length is found by the event's value, not by searching the list.

Theory. A row that tests an attribute for one of many single values is filed under each of them: a *posting* is the
row's number, four bytes, under the value. The values decide that predicate, so it is taken out of the row and stands
nowhere else; `restored` makes it from the postings again. What else the row tests is stored once and checked as ever.

A list is worth it where it leaves few rows to check: where it holds a small share of the values that the attribute's
lists name, or the row tests nothing else, so that each posting is a match. A row that has equality predicates too is
filed under whichever leaves less.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import numpy as np

from rookery.arrays import distinct
from rookery.matching.bitmap.build_kernels import fill_table
from rookery.matching.bitmap.kernels import MULTIPLIER
from rookery.matching.kernels import ATTRIBUTE_MASK, NULL_CODE, SET_FLAG
from rookery.matching.rows import POINTS_TO_ROWS, Rows

__all__ = ["ListKeys", "choose_lists", "file_lists", "list_table", "restored"]

Array = np.ndarray[Any, Any]

#: The share of an attribute's values up to which a list is a key for a row that tests something else too.
LARGEST_SHARE = 1 / 8
#: Whole numbers beside each other are one interval: a list may have this many values for each that it is written as.
VALUES_AN_INTERVAL = 4
_WIDE = 64


@dataclass(frozen=True, slots=True)
class ListKeys:
    """Values and their postings, by attribute and value, both ascending."""

    list_numbers: Array  # int64: the attributes
    list_keys: Array  # int64: where an attribute's values begin in list_code
    list_code: Array  # int64
    list_first: Array  # int64: where a value's postings begin
    list_table: Array  # int32: open-addressed; value or -1
    list_posting: Array  # int32: rows, ascending under each value

    @classmethod
    def none(cls) -> ListKeys:
        """Return no lists."""
        no, begin = np.empty(0, np.int64), np.zeros(1, np.int64)
        return cls(no, begin, no, begin, np.full(2, -1, np.int32), np.empty(0, np.int32))


def choose_lists(rows: Rows, labelled: Container[int] = ()) -> Array:
    """Return the predicates that rows are to be filed under: their places, ascending, one a row at most.

    Attributes that are labelled have texts, of which single ones alone are values: a range between two is none.
    """
    places: Array = np.flatnonzero(rows.attribute & SET_FLAG)
    if not len(places):
        return places
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(_sizes(rows.pool))])
    intervals = rows.bounds[places, 1] - rows.bounds[places, 0]
    values = ends[rows.bounds[places, 1]] - ends[rows.bounds[places, 0]]
    numbers = (rows.attribute[places] & ATTRIBUTE_MASK).astype(np.int64)
    texts = np.isin(numbers, [number for number in distinct(numbers).tolist() if number in labelled])
    single = values == intervals
    listed = np.where(single, intervals > POINTS_TO_ROWS, ~texts & (values <= VALUES_AN_INTERVAL * intervals))
    places, values, numbers = places[listed], values[listed], numbers[listed]
    if not len(places):
        return places
    owners = rows.owners(places)
    share = values / _named_values(rows, places, numbers)
    order = np.lexsort((share, owners))  # of several lists in a row, the one that leaves least
    best = order[np.concatenate([[True], owners[order][1:] != owners[order][:-1]])]
    places, owners, share = places[best], owners[best], share[best]
    by_key, tested_by_key = _equality_share(rows, owners)
    alone = rows.start[owners + 1] - rows.start[owners] == 1 + tested_by_key
    chosen: Array = places[(share <= by_key) & (alone | (share <= LARGEST_SHARE))]
    return chosen


def _sizes(intervals: Array) -> Array:
    """Return how many codes each of some intervals holds; of a wide one, very many."""
    width = intervals[:, 1] - intervals[:, 0]  # below zero where it does not fit
    sizes: Array = np.where((width < 0) | (width >= _WIDE), np.int64(1 << 32), width + 1)
    return sizes


def _named_values(rows: Rows, places: Array, numbers: Array) -> Array:
    """Return for each list how many values the lists of its attribute name together."""
    found = np.empty(len(places), np.int64)
    for number in distinct(numbers):
        mine = numbers == number
        found[mine] = len(distinct(_values(rows, places[mine])[0]))
    return found


def _values(rows: Rows, places: Array) -> tuple[Array, Array]:
    """Return the values of some lists one behind the other, and how many each has."""
    first, last = rows.bounds[places].T
    lengths = last - first
    intervals = rows.pool[_runs(first, lengths)]
    sizes = _sizes(intervals)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    until = np.cumsum(lengths)
    return _runs(intervals[:, 0], sizes), ends[until] - ends[until - lengths]


def _runs(first: Array, lengths: Array) -> Array:
    """Return the numbers from each first one on, as many as its length says, one run behind the other."""
    ends = np.cumsum(lengths)
    numbers: Array = np.repeat(first - (ends - lengths), lengths) + np.arange(int(lengths.sum()))
    return numbers


def _equality_share(rows: Rows, owners: Array) -> tuple[Array, Array]:
    """Return the share of events that the equality predicates of some rows let pass, and how many they are."""
    share, count = np.ones(len(owners)), np.zeros(len(owners), np.int64)
    points = np.flatnonzero((rows.bounds[:, 0] == rows.bounds[:, 1]) & ((rows.attribute & SET_FLAG) == 0))
    if not len(points):
        return share, count
    place = np.full(len(rows), -1, np.int64)
    place[owners] = np.arange(len(owners))
    mine = place[rows.owners(points)]
    for number in distinct(rows.attribute[points[mine >= 0]]):
        tested = rows.attribute[points] == number
        values = len(distinct(rows.bounds[points[tested], 0]))
        listed = mine[tested & (mine >= 0)]
        share[listed] /= values
        count[listed] += 1
    return share, count


def file_lists(rows: Rows, places: Array, first_row: int) -> tuple[Rows, ListKeys]:
    """Return the rows of chosen lists without them, to stand from `first_row` on, and where they are filed."""
    owners = rows.owners(places)
    numbers = (rows.attribute[places] & ATTRIBUTE_MASK).astype(np.int64)
    values, lengths = _values(rows, places)
    number = np.repeat(numbers, lengths)
    row = np.repeat(np.arange(first_row, first_row + len(places), dtype=np.int32), lengths)
    order = np.lexsort((values, number))  # stable: rows ascend under each value
    number, values, row = number[order], values[order], row[order]
    new = np.concatenate([[True] * min(1, len(row)), (number[1:] != number[:-1]) | (values[1:] != values[:-1])])
    begins = np.flatnonzero(new)
    asked = distinct(numbers)
    keys = np.append(np.searchsorted(number[begins], asked), len(begins))
    code = values[begins]
    kept = rows.take(owners)
    mask = np.ones(len(kept.attribute), np.bool_)
    mask[kept.start[:-1] + (places - rows.start[owners])] = False
    start = kept.start - np.arange(len(kept.start))
    rest = Rows(kept.slot, start, kept.attribute[mask], kept.bounds[mask], kept.pool).trimmed()
    return rest, ListKeys(
        asked, keys.astype(np.int64), code, np.append(begins, len(row)).astype(np.int64),
        list_table(asked, keys, code), row,
    )  # fmt: skip


def list_table(numbers: Array, keys: Array, code: Array) -> Array:
    """Return the hash table of values."""
    hashes = _hashes(np.repeat(numbers, np.diff(keys)), code)
    size = 1 << max(1, int(2 * len(code) - 1).bit_length()) if len(code) else 2
    table = np.full(size, -1, np.int32)
    fill_table(hashes, np.array([0, size], np.int64), np.zeros(len(code), np.int64), table)
    return table


def _hashes(number: Array, code: Array) -> Array:
    """Return the hashes of values, as `list_hash` computes each."""
    state = (code.astype(np.uint64) ^ (number.astype(np.uint64) * MULTIPLIER)) * MULTIPLIER
    hashes: Array = state ^ (state >> np.uint64(29))
    return hashes


def restored(rest: Rows, keys: ListKeys, first_row: int) -> Rows:
    """Undo `file_lists`: return the rows with their lists as predicates again, behind the others."""
    key = np.repeat(np.arange(len(keys.list_code)), np.diff(keys.list_first))
    row = keys.list_posting - first_row
    order = np.argsort(row, kind="stable")  # values ascend in each
    row, values = row[order], keys.list_code[key[order]]
    lengths = np.bincount(row, minlength=len(rest))
    number = keys.list_numbers[np.searchsorted(keys.list_keys, key[order[np.cumsum(lengths) - lengths]], "right") - 1]
    # Values beside each other were one interval; NULL stands alone.
    begins = np.concatenate(
        [[True], (row[1:] != row[:-1]) | (values[1:] - 1 != values[:-1]) | (values[:-1] == NULL_CODE)]
    )
    low, high = values[begins], values[np.append(begins[1:], True)]
    ends = np.cumsum(np.bincount(row[begins], minlength=len(rest))) + len(rest.pool)
    bounds = np.stack([np.concatenate([[len(rest.pool)], ends[:-1]]), ends], axis=1)
    return Rows(
        rest.slot,
        rest.start + np.arange(len(rest.start)),
        np.insert(rest.attribute, rest.start[1:], (number | SET_FLAG).astype(np.uint16)),
        np.insert(rest.bounds, rest.start[1:], bounds, axis=0),
        np.concatenate([rest.pool, np.stack([low, high], axis=1)]),
    )
