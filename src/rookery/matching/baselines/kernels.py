"""The kernels of the seed's algorithms: counting, predicate index, predicate matrix. Plain twins: `papers.interpreted`.

All three match class by class (`topics.py`): the rows without a topic, then those of the event's topic.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.kernels import kernel
from rookery.matching.kernels import trailing_zeros

__all__ = ["class_of", "count_matches", "covered_columns", "enter_topics", "index_matches", "matrix_matches"]

_ONE = np.uint64(1)
_NONE = np.uint64(0)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
#: The kinds of predicates: one value, a lower limit, an upper limit, and what no order finds (sets of intervals).
EQUAL, LEAST, MOST, OTHER = range(4)


@kernel
def enter_topics(codes: Any, table: Any) -> None:
    """Enter the codes of topics into an empty hash table, as the classes from 1 on."""
    mask = table.shape[0] - 1
    for number in range(codes.shape[0]):
        place = np.int64((np.uint64(codes[number]) * _GOLDEN) >> _HALF) & mask
        while table[place, 1]:
            place = (place + 1) & mask
        table[place, 0], table[place, 1] = codes[number], number + 1


@kernel
def class_of(code: Any, table: Any) -> Any:
    """Return the class of a topic, 0 for a topic that no row is for."""
    mask = table.shape[0] - 1
    place = np.int64((np.uint64(code) * _GOLDEN) >> _HALF) & mask
    while table[place, 1] and table[place, 0] != code:
        place = (place + 1) & mask
    return table[place, 1]


@kernel
def _with_room(found: Any, count: Any, more: Any) -> Any:
    """Return `found`, or a larger copy where it has no room for so many more."""
    if count + more <= found.shape[0]:
        return found
    larger = np.empty(2 * (count + more), np.int64)
    larger[:count] = found[:count]
    return larger


@kernel
def _in_set(code: Any, first: Any, last: Any, pool: Any) -> bool:
    """Say whether a code is in one of some sorted intervals."""
    for item in range(first, last):
        if code <= pool[item, 1]:
            return bool(code >= pool[item, 0])
    return False


@kernel
def _holds(code: Any, predicate: Any, low: Any, high: Any, is_set: Any, pool: Any) -> bool:
    """Say whether a code satisfies a predicate."""
    if is_set[predicate]:
        return bool(_in_set(code, low[predicate], high[predicate], pool))
    return bool((low[predicate] <= code) & (code <= high[predicate]))


@kernel
def count_matches(
    codes: Any, alive: Any, topic: Any, topics: Any, slot: Any, row_first: Any, sizes: Any, empty_rows: Any,
    section_first: Any, section_attribute: Any, section_kind: Any, predicate_first: Any, low: Any, high: Any,
    is_set: Any, pool: Any, post_start: Any, post_row: Any, post_predicate: Any,
) -> Any:  # fmt: skip
    """Test every distinct predicate of the classes that an event visits, and count the satisfied ones per row."""
    left = sizes.copy()
    held = np.empty(low.shape[0], np.int32)
    found, count = np.empty(1024, np.int64), 0
    for event in range(codes.shape[0]):
        number = np.int64(0)
        while True:
            begin, end = section_first[number], section_first[number + 1]
            for section in range(begin, end):
                code = codes[event, section_attribute[section]]
                if section_kind[section] == OTHER:
                    for predicate in range(predicate_first[section], predicate_first[section + 1]):
                        held[predicate] = _holds(code, predicate, low, high, is_set, pool)
                else:
                    for predicate in range(predicate_first[section], predicate_first[section + 1]):
                        held[predicate] = (low[predicate] <= code) & (code <= high[predicate])
            for place in range(
                np.uint64(post_start[predicate_first[begin]]), np.uint64(post_start[predicate_first[end]])
            ):
                left[post_row[place]] -= held[post_predicate[place]]
            first, last = row_first[number], row_first[number + 1]
            found = _with_room(found, count, last - first)
            for row in range(np.uint64(first), np.uint64(last)):
                if left[row] == 0 and alive[slot[row]]:
                    found[count] = (np.int64(event) << 32) | np.int64(slot[row])
                    count += 1
                left[row] = sizes[row]
            if number or topic < 0:
                break
            number = class_of(codes[event, topic], topics)
            if not number:
                break
    return found[:count]


@kernel
def _place(limits: Any, first: Any, last: Any, code: Any, passing: Any) -> Any:
    """Return the place of the first of some sorted limits that is not below a code, or with `passing` = 1 is above it.

    There is one limit at least. The steps are the same for every code, so that none has to be guessed.
    """
    length = last - first
    while length > 1:
        half = length >> 1
        limit = limits[first + half - 1]
        first = first + half if limit < code or (passing and limit == code) else first
        length -= half
    limit = limits[first]
    return first + (limit < code or (passing and limit == code))


@kernel
def index_matches(
    codes: Any, alive: Any, topic: Any, topics: Any, slot: Any, row_first: Any, sizes: Any, empty_rows: Any,
    section_first: Any, section_attribute: Any, section_kind: Any, predicate_first: Any, low: Any, high: Any,
    is_set: Any, pool: Any, post_start: Any, post_row: Any, post_predicate: Any,
) -> Any:  # fmt: skip
    """Find the satisfied predicates of each attribute by search among sorted limits, and count them per row.

    In a section lie the predicates of one attribute and one kind, sorted: of lower limits a code satisfies the first
    so many, of upper limits the last, of single values at most one. So their rows lie in one run each. Where an event
    touches a small part of a class, its rows are looked at and set back one by one, else the class from end to end.
    """
    left = sizes.copy()
    spans = np.empty((low.shape[0] + 1, 2), np.int64)
    found, count = np.empty(1024, np.int64), 0
    for event in range(codes.shape[0]):
        number = np.int64(0)
        while True:
            touched, span_count = 0, 0
            for section in range(section_first[number], section_first[number + 1]):
                code = codes[event, section_attribute[section]]
                begin, end = predicate_first[section], predicate_first[section + 1]
                kind = section_kind[section]
                if kind == LEAST:  # all end where the attribute does
                    end = begin if code > high[begin] else _place(low, begin, end, code, np.int64(1))
                elif kind == MOST:
                    begin = end if code < low[begin] else _place(high, begin, end, code, np.int64(0))
                elif kind == EQUAL:
                    begin = _place(low, begin, end, code, np.int64(0))
                    end = begin + (begin < end and low[begin] == code)
                else:
                    for predicate in range(begin, end):
                        if _holds(code, predicate, low, high, is_set, pool):
                            for place in range(np.uint64(post_start[predicate]), np.uint64(post_start[predicate + 1])):
                                left[post_row[place]] -= 1
                            spans[span_count, 0], spans[span_count, 1] = (
                                post_start[predicate],
                                post_start[predicate + 1],
                            )
                            touched += post_start[predicate + 1] - post_start[predicate]
                            span_count += 1
                    continue
                begin, end = post_start[begin], post_start[end]
                for place in range(np.uint64(begin), np.uint64(end)):
                    left[post_row[place]] -= 1
                spans[span_count, 0], spans[span_count, 1] = begin, end
                touched += end - begin
                span_count += 1
            first, last = row_first[number], row_first[number + 1]
            found = _with_room(found, count, last - first)
            if touched < (last - first) >> 3:
                for span in range(span_count):
                    for place in range(np.uint64(spans[span, 0]), np.uint64(spans[span, 1])):
                        row = post_row[place]
                        if left[row] == 0 and alive[slot[row]]:
                            found[count] = (np.int64(event) << 32) | np.int64(slot[row])
                            count += 1
                        left[row] = sizes[row]
                last = first + empty_rows[number]
            for row in range(np.uint64(first), np.uint64(last)):
                if left[row] == 0 and alive[slot[row]]:
                    found[count] = (np.int64(event) << 32) | np.int64(slot[row])
                    count += 1
                left[row] = sizes[row]
            if number or topic < 0:
                break
            number = class_of(codes[event, topic], topics)
            if not number:
                break
    return found[:count]


@kernel
def _inside(low: Any, high: Any, outer: Any, outer_is_set: Any, bounds: Any, pool: Any) -> bool:
    """Say whether one interval lies inside a predicate."""
    if not outer_is_set:
        return bool(bounds[outer, 0] <= low and high <= bounds[outer, 1])
    for item in range(bounds[outer, 0], bounds[outer, 1]):
        if high <= pool[item, 1]:
            return bool(low >= pool[item, 0])
    return False


@kernel
def covered_columns(
    panel: Any, attribute: Any, bounds: Any, is_set: Any, pool: Any, word_first: Any, columns: Any, doomed: Any
) -> None:
    """Add to each column's `doomed` rows those of every column that it covers: q inside p, so p false means q false.

    Columns of one panel and attribute lie together.
    """
    count = attribute.shape[0]
    begin = 0
    while begin < count:
        end = begin
        while end < count and panel[end] == panel[begin] and attribute[end] == attribute[begin]:
            end += 1
        words = word_first[begin + 1] - word_first[begin]
        for wide in range(begin, end):
            for narrow in range(begin, end):
                if narrow == wide:
                    continue
                covered = True
                if is_set[narrow]:
                    for item in range(bounds[narrow, 0], bounds[narrow, 1]):
                        covered = covered and _inside(pool[item, 0], pool[item, 1], wide, is_set[wide], bounds, pool)
                else:
                    covered = _inside(bounds[narrow, 0], bounds[narrow, 1], wide, is_set[wide], bounds, pool)
                if covered:
                    for word in range(words):
                        doomed[word_first[wide] + word] |= columns[word_first[narrow] + word]
        begin = end


@kernel
def _report(live: Any, first: Any, slot: Any, alive: Any, event: Any, found: Any, count: Any) -> Any:
    """Write the pairs of the rows whose bits are set in a word; return the count of pairs."""
    while live:
        one = slot[first + np.int64(trailing_zeros(live))]
        live &= live - _ONE
        if alive[one]:
            found[count] = (np.int64(event) << 32) | np.int64(one)
            count += 1
    return count


@kernel
def matrix_matches(
    codes: Any, alive: Any, topic: Any, topics: Any, slot: Any, class_panel: Any, panel_row: Any, panel_column: Any,
    panel_word: Any, attribute: Any, low: Any, high: Any, is_set: Any, pool: Any, columns: Any, doomed: Any,
    panel_rows: Any,
) -> Any:  # fmt: skip
    """Match every event with the panels of class 0, and with those of its topic.

    Of a panel the columns that have a live row are walked; a predicate that fails deletes what it dooms. A panel of
    class 0 stays in the cache while the events pass by; the topic's panels come last, for one event after the other.
    """
    live = np.empty((panel_rows >> 6) + 1, np.uint64)
    found, count = np.empty(1024, np.int64), 0
    common = class_panel[1]
    for turn in range(common + (topic >= 0)):
        begin_panel, end_panel = turn, turn + 1
        for event in range(codes.shape[0]):
            if turn == common:
                number = class_of(codes[event, topic], topics)
                if not number:
                    continue
                begin_panel, end_panel = class_panel[number], class_panel[number + 1]
            for panel in range(begin_panel, end_panel):
                first, rows = panel_row[panel], panel_row[panel + 1] - panel_row[panel]
                begin, end = np.uint64(panel_column[panel]), np.uint64(panel_column[panel + 1])
                words = np.uint64((rows + 63) >> 6)
                rest = ~_NONE >> np.uint64((64 - (rows & 63)) & 63)
                at = np.uint64(panel_word[panel])
                found = _with_room(found, count, rows)
                if words == _ONE:  # the seed's own size: the set of live rows is one word
                    for column in range(begin, end):
                        if rest & columns[at] and not _holds(
                            codes[event, attribute[column]], column, low, high, is_set, pool
                        ):
                            rest &= ~doomed[at]
                            if not rest:
                                break
                        at += _ONE
                    count = _report(rest, first, slot, alive, event, found, count)
                    continue
                for word in range(words):
                    live[word] = ~_NONE
                live[words - _ONE] = rest
                any_live = _ONE
                for column in range(begin, end):
                    wanted = _NONE
                    for word in range(words):
                        wanted |= live[word] & columns[at + word]
                    if wanted and not _holds(codes[event, attribute[column]], column, low, high, is_set, pool):
                        any_live = _NONE
                        for word in range(words):
                            live[word] &= ~doomed[at + word]
                            any_live |= live[word]
                        if not any_live:
                            break
                    at += words
                if any_live:
                    for word in range(words):
                        count = _report(live[word], first + np.int64(64 * word), slot, alive, event, found, count)
    return found[:count]
