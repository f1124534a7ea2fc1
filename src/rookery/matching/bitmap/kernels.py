"""The kernels that match by the bitmap index; `build.py` says what the arrays mean. Twin: `tests/twins/bitmap.py`.

Those that build it are in `build_kernels.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.filters.hashing.kernels import prefetch
from rookery.kernels import kernel
from rookery.matching.bitmap.line_kernels import line_from_words, line_is_full, line_load, line_or, line_store
from rookery.matching.kernels import NULL_CODE, row_holds, trailing_zeros

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
]

#: Rows in a block, and bits in a line.
BLOCK_ROWS = 512
WORDS = 8
#: Cut points per attribute; 32 buckets between them and one for NULL.
CUTS = 31
BUCKETS = 33
NULL_BUCKET = 32
#: Events whose keys are looked up together.
STEP_EVENTS = 256
#: Survivors that wait to be verified together.
CANDIDATES = 8192
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
    for step in (16, 8, 4, 2, 1):
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
def _verify(
    candidates: Any, waiting: Any, codes: Any, slot: Any, alive: Any, start: Any, attribute: Any, bounds: Any,
    pool: Any, found: Any, count: Any,
) -> Any:  # fmt: skip
    """Check candidates exactly, and append those that hold.

    Without sets of intervals there is no branch that the processor could guess wrong: each predicate of a candidate is
    tested, and the pair is written whether it holds or not. Half of the candidates hold, so guessing costs more.
    """
    if count + waiting > found.shape[0]:
        larger = np.empty(2 * (count + waiting), np.int64)
        larger[:count] = found[:count]
        found = larger
    if pool.shape[0]:
        for index in range(waiting):
            event, row = candidates[index] >> 32, candidates[index] & 0xFFFFFFFF
            if row_holds(codes, event, row, start, attribute, bounds, pool) and alive[slot[row]]:
                found[count] = (event << 32) | np.int64(slot[row])
                count += 1
        return found, count
    for index in range(waiting):
        # Unsigned, so that no index is asked whether it counts from the end.
        event, row = np.uint64(candidates[index]) >> _HALF, np.uint64(candidates[index]) & _LOW_HALF
        mine = np.uint64(slot[row])
        held = np.int64(alive[mine])
        for place in range(np.uint64(start[row]), np.uint64(start[row + _ONE])):
            code = codes[event, np.uint64(attribute[place])]
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
    codes: Any,
    slot: Any,
    alive: Any,
    start: Any,
    attribute: Any,
    bounds: Any,
    pool: Any,
    scratch: Any,
    candidates: Any,
    found: Any,
    count: Any,
) -> Any:
    """Match the listed events against the rows of one block that lie in the given range.

    `live` holds one summary line per listed event (empty: every event visits); `live_at` is the block's bit in it.
    """
    base = block * BLOCK_ROWS
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
    first, last = np.int64(block_first[block]), np.int64(block_first[block + 1])
    filtered = live.shape[0] > 0
    live_word, live_bit = live_at >> 6, np.uint64(live_at & 63)
    waiting = 0
    for position in range(event_count):
        if filtered and (live[position * WORDS + live_word] >> live_bit) & _ONE:
            continue
        event = np.int64(events[position])
        line = edge
        place = first
        full = False
        while place + 4 <= last:
            line = line_or(line, line_load(lines, (place * BUCKETS + buckets[event, numbers[place]]) * WORDS))
            line = line_or(line, line_load(lines, ((place + 1) * BUCKETS + buckets[event, numbers[place + 1]]) * WORDS))
            line = line_or(line, line_load(lines, ((place + 2) * BUCKETS + buckets[event, numbers[place + 2]]) * WORDS))
            line = line_or(line, line_load(lines, ((place + 3) * BUCKETS + buckets[event, numbers[place + 3]]) * WORDS))
            place += 4
            if line_is_full(line):
                full = True
                break
        if full:
            continue
        while place < last:
            line = line_or(line, line_load(lines, (place * BUCKETS + buckets[event, numbers[place]]) * WORDS))
            place += 1
        if line_is_full(line):
            continue
        if waiting > CANDIDATES - BLOCK_ROWS:
            found, count = _verify(
                candidates, waiting, codes, slot, alive, start, attribute, bounds, pool, found, count
            )
            waiting = 0
        line_store(scratch, 0, line)
        for word in range(WORDS):
            survivors = ~scratch[word]
            while survivors != np.uint64(0):
                row = base + 64 * word + np.int64(trailing_zeros(survivors))
                survivors &= survivors - _ONE
                candidates[waiting] = (event << 32) | row
                waiting += 1
    if waiting:
        found, count = _verify(candidates, waiting, codes, slot, alive, start, attribute, bounds, pool, found, count)
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
    live: Any,
) -> None:
    """Write for each listed event the line of the group's blocks that are excluded for it."""
    for position in range(event_count):
        event = np.int64(events[position])
        line = line_from_words(np.uint64(0))
        for place in range(group_first[group], group_first[group + 1]):
            line = line_or(
                line, line_load(group_lines, (place * BUCKETS + buckets[event, group_numbers[place]]) * WORDS)
            )
        line_store(live, position * WORDS, line)


@kernel
def _find_partitions(
    codes: Any, begin: Any, end: Any, signature: Any, numbers: Any, key_first: Any, key_last: Any, seed: Any,
    table: Any, base: Any, mask: Any, partition_key: Any, partition_first: Any, places: Any, asked: Any,
) -> None:  # fmt: skip
    """Write to `asked` the partition of a signature that each of some events leads to, or -1.

    Keys lie anywhere in memory. So there is a loop for each thing to read, which asks for what the next one will read:
    the processor waits for many events at once.
    """
    width = partition_key.shape[1]
    for event in range(begin, end):
        place = hash_key(signature, codes, event, numbers, key_first, key_last, seed) & mask
        places[event] = place
        prefetch(table, base + np.int64(place))
    for event in range(begin, end):
        partition = table[base + np.int64(places[event])]
        asked[event] = partition
        prefetch(partition_key, width * max(np.int64(0), np.int64(partition)))
    for event in range(begin, end):
        place, partition = places[event], np.int64(asked[event])
        while partition >= 0:
            other = np.int64(0)
            for key in range(np.uint64(key_last - key_first)):
                wanted = codes[event, np.uint64(numbers[np.uint64(key_first) + key])]
                other |= partition_key[np.uint64(partition), key] ^ wanted
            if other == 0:
                break
            place = (place + _ONE) & mask
            partition = np.int64(table[base + np.int64(place)])
        asked[event] = partition
        prefetch(partition_first, max(np.int64(0), partition))


@kernel
def match_events(
    codes: Any,
    alive: Any,
    cuts: Any,
    signature_first: Any,
    signature_numbers: Any,
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
) -> Any:
    """Return the pairs `event << 32 | slot` of a chunk of events, in no order; one row's pair stands once."""
    count_events = codes.shape[0]
    buckets = np.empty((count_events, codes.shape[1]), np.uint8)
    if block_first.shape[0] > 1:
        for event in range(count_events):
            for number in range(cuts.shape[0]):
                buckets[event, number] = bucket_of(cuts, number, codes[event, number])
    found = np.empty(1024, np.int64)
    count = np.int64(0)
    # Partitions with bitmaps are the first; there may be a million others, of a row each.
    head = np.full(np.searchsorted(partition_first, blocked_rows), -1, np.int32)
    following = np.empty(count_events, np.int32)
    touched = np.empty(count_events, np.int64)
    places, asked = np.empty(count_events, np.uint64), np.empty(count_events, np.int32)
    events = np.empty(count_events, np.int32)
    scratch = np.empty(2 * WORDS, np.uint64)
    candidates = np.empty(CANDIDATES, np.int64)
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
                codes, begin, end, signature, signature_numbers, key_first, key_last, seed, table, base, mask,
                partition_key, partition_first, places, asked,
            )  # fmt: skip
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
                        held &= np.int64(row_holds(codes, event, row, start, attribute, bounds, pool))
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
                        none, 0, codes, slot, alive, start, attribute, bounds, pool, scratch, candidates, found, count,
                    )  # fmt: skip
                continue
            final = (last_row + BLOCK_ROWS - 1) // BLOCK_ROWS
            while group < group_block.shape[0] and group_partition[group] == partition:
                _summarize(group, group_first, group_numbers, group_lines, buckets, events, event_count, live)
                for block in range(group_block[group, 0], min(final, group_block[group, 1])):
                    found, count = _match_block(
                        block, first_row, last_row, block_first, block_numbers, lines, buckets, events, event_count,
                        live, block - group_block[group, 0], codes, slot, alive, start, attribute, bounds, pool,
                        scratch, candidates, found, count,
                    )  # fmt: skip
                group += 1
    return found[:count]
