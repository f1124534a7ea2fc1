"""The kernels of the seed's algorithms: counting, predicate index, predicate matrix. Their plain twins: `plain.py`.

All three match class by class (`topics.py`): the rows without a topic, then those of the event's topic.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.kernels import kernel
from rookery.matching.bitmap.kernels import trailing_zeros

__all__ = ["class_of", "count_matches", "covered_columns", "enter_topics", "index_matches", "matrix_matches"]

_ONE = np.uint64(1)
_NONE = np.uint64(0)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
#: Sorted limits that are counted one and all, which the processor does eight at a time; more are searched.
FEW_LIMITS = 64
HIGHEST = (1 << 63) - 1


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
def _credit(
    first: Any, last: Any, post_row: Any, left: Any, slot: Any, alive: Any, event: Any, found: Any, count: Any
) -> Any:
    """Take one off what the rows of satisfied predicates still need; a row that needs no more matches."""
    for place in range(first, last):
        row = post_row[place]
        needed = left[row] - 1
        left[row] = needed
        if needed == 0 and alive[slot[row]]:
            found[count] = (np.int64(event) << 32) | np.int64(slot[row])
            count += 1
    return count


@kernel
def _restore(
    touched: Any, spans: Any, span_count: Any, post_row: Any, left: Any, sizes: Any, first: Any, last: Any
) -> None:
    """Undo an event's credits: by the rows that had some, or all rows of the class at once where those are fewer."""
    if touched < (last - first) >> 3:
        for span in range(span_count):
            for place in range(spans[span, 0], spans[span, 1]):
                left[post_row[place]] += 1
    else:
        for row in range(first, last):
            left[row] = sizes[row]


@kernel
def count_matches(
    codes: Any, alive: Any, topic: Any, topics: Any, slot: Any, row_first: Any, sizes: Any, empty_rows: Any,
    section_first: Any, section_attribute: Any, section_kind: Any, predicate_first: Any, low: Any, high: Any,
    is_set: Any, pool: Any, post_start: Any, post_row: Any,
) -> Any:  # fmt: skip
    """Test every distinct predicate of the classes that an event visits, and count the satisfied ones per row."""
    left = sizes.copy()
    spans = np.empty((low.shape[0], 2), np.int64)
    found, count = np.empty(1024, np.int64), 0
    for event in range(codes.shape[0]):
        number = np.int64(0)
        while True:
            first, last = row_first[number], row_first[number + 1]
            found = _with_room(found, count, last - first)
            for row in range(first, first + empty_rows[number]):
                if alive[slot[row]]:
                    found[count] = (np.int64(event) << 32) | np.int64(slot[row])
                    count += 1
            touched, span_count = 0, 0
            for section in range(section_first[number], section_first[number + 1]):
                code = codes[event, section_attribute[section]]
                for predicate in range(predicate_first[section], predicate_first[section + 1]):
                    if is_set[predicate]:
                        holds = _in_set(code, low[predicate], high[predicate], pool)
                    else:
                        holds = (low[predicate] <= code) & (code <= high[predicate])
                    if holds:
                        begin, end = post_start[predicate], post_start[predicate + 1]
                        count = _credit(begin, end, post_row, left, slot, alive, event, found, count)
                        spans[span_count, 0], spans[span_count, 1] = begin, end
                        span_count += 1
                        touched += end - begin
            _restore(touched, spans, span_count, post_row, left, sizes, first, last)
            if number or topic < 0:
                break
            number = class_of(codes[event, topic], topics)
            if not number:
                break
    return found[:count]


@kernel
def _limits_below(limits: Any, first: Any, last: Any, code: Any) -> Any:
    """Return the place of the first of some sorted limits that is not below a code."""
    if last - first <= FEW_LIMITS:
        below = 0
        for place in range(first, last):
            below += limits[place] < code
        return first + below
    while first < last:
        middle = (first + last) >> 1
        if limits[middle] < code:
            first = middle + 1
        else:
            last = middle
    return first


@kernel
def index_matches(
    codes: Any, alive: Any, topic: Any, topics: Any, slot: Any, row_first: Any, sizes: Any, empty_rows: Any,
    section_first: Any, section_attribute: Any, section_kind: Any, predicate_first: Any, low: Any, high: Any,
    is_set: Any, pool: Any, post_start: Any, post_row: Any,
) -> Any:  # fmt: skip
    """Find the satisfied predicates of each attribute by search among sorted limits, and count them per row.

    In a section lie the predicates of one attribute and one kind, sorted: of lower limits a code satisfies the first
    so many, of upper limits the last, of single values at most one. So their rows lie in one run each.
    """
    left = sizes.copy()
    spans = np.empty((low.shape[0] + 1, 2), np.int64)
    found, count = np.empty(1024, np.int64), 0
    for event in range(codes.shape[0]):
        number = np.int64(0)
        while True:
            first, last = row_first[number], row_first[number + 1]
            found = _with_room(found, count, last - first)
            for row in range(first, first + empty_rows[number]):
                if alive[slot[row]]:
                    found[count] = (np.int64(event) << 32) | np.int64(slot[row])
                    count += 1
            touched, span_count = 0, 0
            for section in range(section_first[number], section_first[number + 1]):
                code = codes[event, section_attribute[section]]
                begin, end = predicate_first[section], predicate_first[section + 1]
                kind = section_kind[section]
                if kind == 1:  # LEAST: all end where the attribute does
                    if code > high[begin]:
                        end = begin
                    elif code < HIGHEST:
                        end = _limits_below(low, begin, end, code + 1)
                elif kind == 2:  # MOST
                    begin = _limits_below(high, begin, end, code) if code >= low[begin] else end
                elif kind == 0:  # EQUAL
                    begin = _limits_below(low, begin, end, code)
                    end = begin + (begin < end and low[begin] == code)
                else:
                    for predicate in range(begin, end):
                        if is_set[predicate]:
                            holds = _in_set(code, low[predicate], high[predicate], pool)
                        else:
                            holds = (low[predicate] <= code) & (code <= high[predicate])
                        if holds:
                            spans[span_count, 0], spans[span_count, 1] = post_start[predicate], post_start[predicate + 1]
                            span_count += 1
                    continue
                if begin < end:
                    spans[span_count, 0], spans[span_count, 1] = post_start[begin], post_start[end]
                    span_count += 1
            for span in range(span_count):
                begin, end = spans[span, 0], spans[span, 1]
                count = _credit(begin, end, post_row, left, slot, alive, event, found, count)
                touched += end - begin
            _restore(touched, spans, span_count, post_row, left, sizes, first, last)
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
                        covered = covered and _inside(
                            pool[item, 0], pool[item, 1], wide, is_set[wide], bounds, pool
                        )
                else:
                    covered = _inside(bounds[narrow, 0], bounds[narrow, 1], wide, is_set[wide], bounds, pool)
                if covered:
                    for word in range(words):
                        doomed[word_first[wide] + word] |= columns[word_first[narrow] + word]
        begin = end


@kernel
def _fails(code: Any, column: Any, low: Any, high: Any, is_set: Any, pool: Any) -> bool:
    if is_set[column]:
        return not _in_set(code, low[column], high[column], pool)
    return bool((code < low[column]) | (code > high[column]))


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
def _walk(
    codes: Any, event: Any, alive: Any, slot: Any, panel: Any, panel_row: Any, panel_column: Any, panel_word: Any,
    attribute: Any, low: Any, high: Any, is_set: Any, pool: Any, columns: Any, doomed: Any, live: Any, found: Any,
    count: Any,
) -> Any:  # fmt: skip
    """Walk the columns of a panel that have a live row; a predicate that fails deletes what it dooms."""
    first, rows = panel_row[panel], panel_row[panel + 1] - panel_row[panel]
    begin, end, at = panel_column[panel], panel_column[panel + 1], panel_word[panel]
    words = (rows + 63) >> 6
    rest = ~_NONE >> np.uint64((64 - (rows & 63)) & 63)
    if words == 1:  # the seed's own size: the set of live rows is one word
        alone = rest
        for column in range(begin, end):
            if alone & columns[at + column - begin] and _fails(
                codes[event, attribute[column]], column, low, high, is_set, pool
            ):
                alone &= ~doomed[at + column - begin]
                if not alone:
                    return count
        return _report(alone, first, slot, alive, event, found, count)
    for word in range(words):
        live[word] = ~_NONE
    live[words - 1] = rest
    for column in range(begin, end):
        wanted = _NONE
        for word in range(words):
            wanted |= live[word] & columns[at + word]
        if wanted and _fails(codes[event, attribute[column]], column, low, high, is_set, pool):
            any_live = _NONE
            for word in range(words):
                live[word] &= ~doomed[at + word]
                any_live |= live[word]
            if not any_live:
                return count
        at += words
    for word in range(words):
        count = _report(live[word], first + 64 * word, slot, alive, event, found, count)
    return count


@kernel
def matrix_matches(
    codes: Any, alive: Any, topic: Any, topics: Any, slot: Any, class_panel: Any, panel_row: Any, panel_column: Any,
    panel_word: Any, attribute: Any, low: Any, high: Any, is_set: Any, pool: Any, columns: Any, doomed: Any,
    panel_rows: Any,
) -> Any:  # fmt: skip
    """Match the panels of class 0 with every event, and those of its topic with each."""
    live = np.empty((panel_rows >> 6) + 1, np.uint64)
    found, count = np.empty(1024, np.int64), 0
    for panel in range(class_panel[0], class_panel[1]):  # a panel stays in the cache while the events pass by
        for event in range(codes.shape[0]):
            found = _with_room(found, count, panel_rows)
            count = _walk(
                codes, event, alive, slot, panel, panel_row, panel_column, panel_word, attribute, low, high, is_set,
                pool, columns, doomed, live, found, count,
            )  # fmt: skip
    if topic < 0:
        return found[:count]
    for event in range(codes.shape[0]):
        number = class_of(codes[event, topic], topics)
        if not number:
            continue
        for panel in range(class_panel[number], class_panel[number + 1]):
            found = _with_room(found, count, panel_rows)
            count = _walk(
                codes, event, alive, slot, panel, panel_row, panel_column, panel_word, attribute, low, high, is_set,
                pool, columns, doomed, live, found, count,
            )  # fmt: skip
    return found[:count]
