"""The kernels that match by the bitmap index; `build.py` says what the arrays mean. Twin: `tests/twins/bitmap.py`.

Those that build it are in `build_kernels.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.filters.hashing.kernels import prefetch
from rookery.kernels import kernel
from rookery.matching.bitmap.line_kernels import line_from_words, line_load, line_or, line_store
from rookery.matching.kernels import NULL_CODE, row_holds, set_bits, trailing_zeros

__all__ = [
    "BLOCK_ROWS",
    "BUCKETS",
    "CUTS",
    "GROUP_BLOCKS",
    "MULTIPLIER",
    "NULL_BUCKET",
    "WORDS",
    "bucket_of",
    "hash_key",
    "match_events",
    "place_of_key",
]

#: Rows in a block, and bits in a line.
BLOCK_ROWS = 512
WORDS = 8
#: Cut points per attribute; 26 buckets between them and one for NULL.
CUTS = 25
BUCKETS = 27
NULL_BUCKET = 26
#: Events whose keys are looked up together.
STEP_EVENTS = 256
#: Words of survivors that wait to be verified together.
WAITING_WORDS = 4096
#: Blocks under one summary line.
GROUP_BLOCKS = 512

#: What mixes a composite key.
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_ONE = np.uint64(1)
_HALF, _LOW_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)


@kernel
def bucket_of(cuts: Any, number: Any, code: Any) -> int:
    """Return the bucket of a code: how many of the attribute's cut points are at or below it."""
    if code == NULL_CODE:
        return NULL_BUCKET
    place = 0
    for step in (13, 6, 3, 2, 1):
        place += step * (cuts[number, place + step - 1] <= code)
    return place


@kernel
def hash_key(signature: Any, codes: Any, row: Any, numbers: Any, first: Any, last: Any, seed: Any) -> Any:
    """Return the hash of a composite key: the codes of a signature's attributes."""
    state = np.uint64(seed) ^ (np.uint64(signature) * MULTIPLIER)
    for place in range(first, last):
        state = (state ^ np.uint64(codes[row, numbers[place]])) * MULTIPLIER
        state ^= state >> np.uint64(29)
    return state


@kernel
def place_of_key(codes: Any, row: Any, numbers: Any, first: Any, last: Any, low: Any, span: Any) -> Any:
    """Return the place of a composite key in a table with a place for each key that there may be, -1 if it has none."""
    place, inside = np.uint64(0), np.int64(1)
    for key in range(first, last):
        offset = np.uint64(codes[row, numbers[key]]) - np.uint64(low[key])
        inside &= np.int64(offset < np.uint64(span[key]))
        place = place * np.uint64(span[key]) + offset
    return np.int64(place) if inside else np.int64(-1)


@kernel
def _verify(
    words: Any, rows: Any, waiting: Any, positions: Any, slot: Any, alive: Any, start: Any, attribute: Any, bounds: Any,
    pool: Any, found: Any, count: Any, checked: Any,
) -> Any:  # fmt: skip
    """Check the rows whose bits are set in waiting words exactly, append those that hold, and count what was checked.

    Without sets of intervals there is no branch that the processor could guess wrong: each predicate of a row is
    tested, and the pair is written whether it holds or not. Half of the rows hold, so guessing costs more.
    """
    most = count
    for index in range(waiting):
        most += np.int64(set_bits(words[index]))
    checked[0] += most - count
    if most > found.shape[0]:
        larger = np.empty(2 * most, np.int64)
        larger[:count] = found[:count]
        found = larger
    if pool.shape[0]:
        for index in range(waiting):
            left = words[index]
            event, base = rows[index] >> 32, rows[index] & 0xFFFFFFFF
            while left != np.uint64(0):
                row = base + np.int64(trailing_zeros(left))
                left &= left - _ONE
                if row_holds(positions, event, row, start, attribute, bounds, pool) and alive[slot[row]]:
                    found[count] = (event << 32) | np.int64(slot[row])
                    count += 1
        return found, count
    for index in range(waiting):
        left = words[index]
        # Unsigned, so that no index is asked whether it counts from the end.
        event, base = np.uint64(rows[index]) >> _HALF, np.uint64(rows[index]) & _LOW_HALF
        while left != np.uint64(0):
            row = base + trailing_zeros(left)
            left &= left - _ONE
            mine = np.uint64(slot[row])
            held = np.int64(alive[mine])
            for place in range(np.uint64(start[row]), np.uint64(start[row + _ONE])):
                code = positions[event, np.uint64(attribute[place])]
                held &= np.int64(code >= bounds[place, 0]) & np.int64(code <= bounds[place, 1])
            found[count] = np.int64((event << _HALF) | mine)
            count += held
    return found, count


@kernel
def _match_block(
    block: Any,
    first_row: Any,
    last_row: Any,
    block_first: Any,
    numbers: Any,
    lines: Any,
    buckets: Any,
    events: Any,
    event_count: Any,
    live: Any,
    live_at: Any,
    visiting: Any,
    positions: Any,
    slot: Any,
    alive: Any,
    start: Any,
    attribute: Any,
    bounds: Any,
    pool: Any,
    scratch: Any,
    words: Any,
    rows: Any,
    found: Any,
    count: Any,
    checked: Any,
) -> Any:
    """Match the listed events against the rows of one block that lie in the given range.

    `live` holds one summary line per listed event (empty: every event visits), by word and then by event; `live_at` is
    the block's bit in it. Nothing is guessed that is as likely as not: events that do not visit, and words without a
    survivor, are written like the others, and the next is written over them.
    """
    base = np.int64(block) * BLOCK_ROWS
    # Rows of other partitions in this block are excluded from the start.
    for word in range(WORDS):
        low = base + 64 * word
        excluded = np.uint64(0)
        if low < first_row or low + 64 > last_row:
            for bit in range(64):
                if low + bit < first_row or low + bit >= last_row:
                    excluded |= _ONE << np.uint64(bit)
        scratch[WORDS + word] = excluded
    edge = line_load(scratch, WORDS)
    visitors = np.int64(0)
    if live.shape[0]:
        first_word, own_bit = np.uint64((live_at >> 6) * event_count), np.uint64(live_at & 63)
        for position in range(np.uint64(event_count)):
            visiting[visitors] = events[position]
            visitors += np.int64(~(live[first_word + position] >> own_bit) & _ONE)
    else:
        for position in range(np.uint64(event_count)):
            visiting[position] = events[position]
        visitors = np.int64(event_count)
    first, last = np.int64(block_first[block]), np.int64(block_first[block + 1])
    waiting = np.int64(0)
    for position in range(np.uint64(visitors)):
        event = np.int64(visiting[position])
        line = edge
        place = first
        while place + 4 <= last:
            line = line_or(line, line_load(lines, (place * BUCKETS + buckets[event, numbers[place]]) * WORDS))
            line = line_or(line, line_load(lines, ((place + 1) * BUCKETS + buckets[event, numbers[place + 1]]) * WORDS))
            line = line_or(line, line_load(lines, ((place + 2) * BUCKETS + buckets[event, numbers[place + 2]]) * WORDS))
            line = line_or(line, line_load(lines, ((place + 3) * BUCKETS + buckets[event, numbers[place + 3]]) * WORDS))
            place += 4
        while place < last:
            line = line_or(line, line_load(lines, (place * BUCKETS + buckets[event, numbers[place]]) * WORDS))
            place += 1
        if waiting > WAITING_WORDS - WORDS:
            found, count = _verify(
                words, rows, waiting, positions, slot, alive, start, attribute, bounds, pool, found, count, checked
            )
            waiting = np.int64(0)
        line_store(scratch, 0, line)
        for word in range(WORDS):
            survivors = ~scratch[word]
            words[waiting] = survivors
            rows[waiting] = (event << 32) | (base + 64 * word)
            waiting += np.int64(survivors != np.uint64(0))
    if waiting:
        found, count = _verify(
            words, rows, waiting, positions, slot, alive, start, attribute, bounds, pool, found, count, checked
        )
    return found, count


@kernel
def _summarize(
    group: Any,
    group_first: Any,
    group_numbers: Any,
    group_lines: Any,
    buckets: Any,
    events: Any,
    event_count: Any,
    scratch: Any,
    live: Any,
) -> None:
    """Write for each listed event the line of the blocks that are excluded for it, by word and then by event."""
    for position in range(event_count):
        event = np.int64(events[position])
        line = line_from_words(np.uint64(0))
        for place in range(group_first[group], group_first[group + 1]):
            line = line_or(
                line, line_load(group_lines, (place * BUCKETS + buckets[event, group_numbers[place]]) * WORDS)
            )
        line_store(scratch, 0, line)
        for word in range(WORDS):
            live[word * event_count + position] = scratch[word]


@kernel
def _find_partitions(
    codes: Any, begin: Any, end: Any, signature: Any, numbers: Any, key_first: Any, key_last: Any, low: Any, span: Any,
    seed: Any, table: Any, base: Any, mask: Any, partition_key: Any, partition_first: Any, alone: Any, places: Any,
    asked: Any,
) -> None:  # fmt: skip
    """Write to `asked` the partition of a signature that each of some events leads to, or -1.

    Keys lie anywhere in memory. So there is a loop for each thing to read, which asks for what the next one will read:
    the processor waits for many events at once.
    """
    # Unsigned, so that no index is asked whether it counts from the end.
    own = table[base : base + np.int64(mask) + 1]
    if key_first < key_last and span[key_first]:
        # No branch on what is as likely as not: the first place is read for an event that has none.
        number, least, codes_of = np.uint64(numbers[key_first]), np.uint64(low[key_first]), np.uint64(span[key_first])
        for event in range(np.uint64(begin), np.uint64(end)):
            place = np.uint64(codes[event, number]) - least
            inside = place < codes_of
            for key in range(np.uint64(key_first + 1), np.uint64(key_last)):
                offset = np.uint64(codes[event, np.uint64(numbers[key])]) - np.uint64(low[key])
                inside &= offset < np.uint64(span[key])
                place = place * np.uint64(span[key]) + offset
            partition = own[place if inside else np.uint64(0)]
            asked[event] = partition if inside else -1
    else:
        width = partition_key.shape[1]
        begun = np.uint64(seed) ^ (np.uint64(signature) * MULTIPLIER)
        for event in range(np.uint64(begin), np.uint64(end)):  # what `hash_key` does
            state = begun
            for key in range(np.uint64(key_first), np.uint64(key_last)):
                state = (state ^ np.uint64(codes[event, np.uint64(numbers[key])])) * MULTIPLIER
                state ^= state >> np.uint64(29)
            places[event] = state & mask
            prefetch(own, np.int64(state & mask))
        for event in range(np.uint64(begin), np.uint64(end)):
            partition = own[places[event]]
            asked[event] = partition
            prefetch(partition_key, width * max(np.int64(0), np.int64(partition)))
        for event in range(np.uint64(begin), np.uint64(end)):
            place, partition = places[event], np.int64(asked[event])
            while partition >= 0:
                other = np.int64(0)
                for key in range(np.uint64(key_last - key_first)):
                    wanted = codes[event, np.uint64(numbers[np.uint64(key_first) + key])]
                    other |= partition_key[np.uint64(partition), key] ^ wanted
                if other == 0:
                    break
                place = (place + _ONE) & mask
                partition = np.int64(own[place])
            asked[event] = partition
    if not alone:
        for event in range(np.uint64(begin), np.uint64(end)):
            prefetch(partition_first, max(np.int64(0), np.int64(asked[event])))


@kernel
def match_events(
    codes: Any,
    positions: Any,
    alive: Any,
    cuts: Any,
    signature_first: Any,
    signature_numbers: Any,
    key_low: Any,
    key_span: Any,
    table_first: Any,
    table: Any,
    seed: Any,
    partition_key: Any,
    partition_first: Any,
    blocked_rows: Any,
    partition_group: Any,
    block_first: Any,
    block_numbers: Any,
    lines: Any,
    group_partition: Any,
    group_block: Any,
    group_first: Any,
    group_numbers: Any,
    group_lines: Any,
    slot: Any,
    start: Any,
    attribute: Any,
    bounds: Any,
    pool: Any,
    found: Any,
    checked: Any,
) -> Any:
    """Return the pairs `event << 32 | slot` of a chunk of events, in no order; one row's pair stands once.

    They are written to `found`, or where that has no room for them, to memory of their own. `checked[0]` grows by the
    rows that lines left to be verified.
    """
    count_events = codes.shape[0]
    buckets = np.empty((count_events, codes.shape[1]), np.uint8)
    if block_first.shape[0] > 1:
        for event in range(count_events):
            for number in range(cuts.shape[0]):
                buckets[event, number] = bucket_of(cuts, number, codes[event, number])
    count = np.int64(0)
    # Partitions with bitmaps are the first; there may be a million others, of a row each.
    large = np.int64(0)
    while large < partition_first.shape[0] - 1 and partition_first[large] < blocked_rows:
        large += 1
    # Where each row has a key of its own and that decides it, partitions are rows: none is empty.
    partitions = partition_first.shape[0] - 1
    alone = partitions > 0 and partition_first[partitions] == partitions and start[partitions] == 0
    head = np.empty(large, np.int32)
    for first in range(large):
        head[first] = -1
    following = np.empty(count_events, np.int32)
    touched = np.empty(count_events, np.int64)
    places, asked = np.empty(count_events, np.uint64), np.empty(count_events, np.int32)
    events = np.empty(count_events, np.int32)
    scratch = np.empty(2 * WORDS, np.uint64)
    words, rows = np.empty(WAITING_WORDS, np.uint64), np.empty(WAITING_WORDS, np.int64)
    visiting = np.empty(count_events + 1, np.int32)
    none = np.empty(0, np.uint64)
    live = np.empty(count_events * WORDS, np.uint64) if group_block.shape[0] else none
    for signature in range(signature_first.shape[0] - 1):
        key_first, key_last = signature_first[signature], signature_first[signature + 1]
        base, mask = table_first[signature], np.uint64(table_first[signature + 1] - table_first[signature] - 1)
        if mask == _ONE and table[base] < 0 and table[base + 1] < 0:
            continue  # as the empty key where every row has another
        touched_count = 0
        for begin in range(0, count_events, STEP_EVENTS):
            end = min(count_events, begin + STEP_EVENTS)
            _find_partitions(
                codes, begin, end, signature, signature_numbers, key_first, key_last, key_low, key_span, seed, table,
                base, mask, partition_key, partition_first, alone, places, asked,
            )  # fmt: skip
            if alone:
                if count + end - begin > found.shape[0]:
                    larger = np.empty(2 * (count + count_events), np.int64)
                    larger[:count] = found[:count]
                    found = larger
                for event in range(np.uint64(begin), np.uint64(end)):
                    partition = np.int64(asked[event])
                    mine = np.uint64(slot[np.uint64(max(np.int64(0), partition))])
                    found[count] = np.int64(event << _HALF | mine)
                    count += np.int64(alive[mine]) & np.int64(partition >= 0)
                continue
            direct = 0
            for event in range(begin, end):
                partition = np.int64(asked[event])
                if partition < 0:
                    continue
                row = partition_first[partition]
                if row >= blocked_rows:  # too few rows for bitmaps: each is checked, once its memory has come
                    prefetch(start, row)
                    prefetch(slot, row)
                    direct += partition_first[partition + 1] - row
                else:
                    if head[partition] < 0:
                        touched[touched_count] = partition
                        touched_count += 1
                    following[event] = head[partition]
                    head[partition] = event
                    asked[event] = -1
            if not direct:
                continue
            if count + direct > found.shape[0]:
                larger = np.empty(2 * (count + direct), np.int64)
                larger[:count] = found[:count]
                found = larger
            for event in range(begin, end):
                partition = np.int64(asked[event])
                if partition < 0:
                    continue
                for row in range(np.uint64(partition_first[partition]), np.uint64(partition_first[partition + 1])):
                    mine = np.uint64(slot[row])  # unsigned: no index is asked whether it counts from the end
                    held = np.int64(alive[mine])
                    if start[row] != start[row + _ONE]:
                        held &= np.int64(row_holds(positions, event, row, start, attribute, bounds, pool))
                    found[count] = (event << 32) | np.int64(mine)
                    count += held
        for index in range(touched_count):
            partition = touched[index]
            event_count = 0
            member = head[partition]
            while member >= 0:
                events[event_count] = member
                event_count += 1
                member = following[member]
            head[partition] = -1
            first_row, last_row = partition_first[partition], partition_first[partition + 1]
            group = np.int64(partition_group[partition])
            if group < 0:
                for block in range(first_row // BLOCK_ROWS, (last_row + BLOCK_ROWS - 1) // BLOCK_ROWS):
                    found, count = _match_block(
                        block, first_row, last_row, block_first, block_numbers, lines, buckets, events, event_count,
                        none, 0, visiting, positions, slot, alive, start, attribute, bounds, pool, scratch, words, rows,
                        found, count, checked,
                    )  # fmt: skip
                continue
            final = (last_row + BLOCK_ROWS - 1) // BLOCK_ROWS
            while group < group_block.shape[0] and group_partition[group] == partition:
                _summarize(group, group_first, group_numbers, group_lines, buckets, events, event_count, scratch, live)
                for block in range(group_block[group, 0], min(final, group_block[group, 1])):
                    found, count = _match_block(
                        block, first_row, last_row, block_first, block_numbers, lines, buckets, events, event_count,
                        live, block - group_block[group, 0], visiting, positions, slot, alive, start, attribute, bounds,
                        pool, scratch, words, rows, found, count, checked,
                    )  # fmt: skip
                group += 1
    return found[:count]
