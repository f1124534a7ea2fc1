"""Kernels that find patterns in columns of texts. Plain twin: `tests/twins/texts.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray

from rookery.kernels import kernel, short_kernel
from rookery.matching.kernels import append_pair, pointer

__all__ = [
    "ANY_CHARACTER",
    "ANY_RUN",
    "CONTAINS",
    "EQUALS",
    "GLOB",
    "HASH",
    "PREFIX",
    "REGEX",
    "SUFFIX",
    "find_everywhere",
    "find_grams",
    "find_in_event",
    "glob_holds",
]

#: What `_` and `%` are among the tokens of a pattern; every other token is a byte.
ANY_CHARACTER = 256
ANY_RUN = 257
#: What a pattern is: its one fragment anywhere, at the start, at the end, the whole text; or more than a fragment.
CONTAINS, PREFIX, SUFFIX, EQUALS, GLOB, REGEX = 0, 1, 2, 3, 4, 5
#: An odd multiplier that spreads the bytes of a window over 32 bits.
HASH = 0x9E3779B1


@kernel
def glob_holds(data: Any, first: Any, last: Any, tokens: Any, begin: Any, end: Any) -> bool:
    """Say whether the bytes from `first` to `last` are what the tokens from `begin` to `end` describe.

    What stands between two `%` is taken where it first occurs: if all fails after that, only the last `%` is stretched.
    """
    at, token = first, begin
    star, mark = np.int64(-1), first
    while at < last:
        wanted = tokens[token] if token < end else -1
        if wanted == ANY_RUN:
            star, mark = token, at
            token += 1
        elif wanted == ANY_CHARACTER:
            at += 1
            while at < last and (data[at] & 0xC0) == 0x80:  # a character may have several bytes
                at += 1
            token += 1
        elif wanted == data[at]:
            at += 1
            token += 1
        elif star >= 0:
            mark += 1
            while mark < last and (data[mark] & 0xC0) == 0x80:
                mark += 1
            at, token = mark, star + 1
        else:
            return False
    while token < end and tokens[token] == ANY_RUN:
        token += 1
    return bool(token == end)


@kernel
def _literal_at(data: Any, at: Any, literals: Any, first: Any, last: Any) -> bool:
    place = 0
    while place < last - first and data[at + place] == literals[first + place]:
        place += 1
    return bool(place == last - first)


@kernel
def _find_in_text(
    data: Any,
    first: Any,
    last: Any,
    event: Any,
    width: Any,
    filter_words: Any,
    filter_shift: Any,
    bucket_first: Any,
    bucket_shift: Any,
    entries: Any,
    literal_first: Any,
    literals: Any,
    token_first: Any,
    tokens: Any,
    seen: Any,
    found: Any,
    count: Any,
) -> Any:
    """Append the pairs of one text, from `first` to `last`; `seen` says of a pattern which event had it last."""
    if last - first < width:
        return found, count
    low = np.uint64(64 - 8 * width)
    recent = np.uint64(0)
    for at in range(first, first + width - 1):
        recent = (recent >> np.uint64(8)) | (np.uint64(data[at]) << np.uint64(56))
    for stop in range(first + width, last + 1):
        recent = (recent >> np.uint64(8)) | (np.uint64(data[stop - 1]) << np.uint64(56))
        spread = np.uint32(np.uint32(recent >> low) * np.uint32(HASH))
        bit = np.uint32(spread >> np.uint32(filter_shift))
        if not (filter_words[bit >> np.uint32(6)] >> np.uint64(bit & np.uint32(63))) & np.uint64(1):
            continue
        bucket = np.int64(np.uint32(spread >> np.uint32(bucket_shift)))
        for place in range(bucket_first[bucket], bucket_first[bucket + 1]):
            if (recent ^ entries[place, 0]) & entries[place, 1]:
                continue
            one = np.int64(entries[place, 2] & np.uint64(0xFFFFFFFF))
            if seen[one] == event:
                continue
            start = stop - np.int64(entries[place, 2] >> np.uint64(32))
            end = start + np.int64(entries[place, 3] >> np.uint64(8))
            if start < first or end > last:
                continue
            sort = np.int64(entries[place, 3] & np.uint64(0x7F))
            if start != first and sort in (PREFIX, EQUALS):
                continue
            if end != last and sort in (SUFFIX, EQUALS):
                continue
            if entries[place, 3] & np.uint64(0x80) and not _literal_at(
                data, start, literals, literal_first[one], literal_first[one + 1]
            ):
                continue
            seen[one] = event
            if sort == GLOB and not glob_holds(data, first, last, tokens, token_first[one], token_first[one + 1]):
                continue
            found = append_pair(found, count, event, one)
            count += 1
    return found, count


@kernel
def find_grams(
    data: Any,
    offsets: Any,
    valid: Any,
    width: Any,
    filter_words: Any,
    filter_shift: Any,
    bucket_first: Any,
    bucket_shift: Any,
    entries: Any,
    kind: Any,
    literal_first: Any,
    literals: Any,
    token_first: Any,
    tokens: Any,
) -> Any:
    """Return the pairs `event << 32 | pattern` of the patterns that are filed under a window of `width` bytes.

    Every window of a text is looked up; where one is known, the eight bytes that end with it are compared with those of
    an entry (`patterns.py`), which is all of most patterns and touches no other memory; then the rest of its pattern.
    A pattern of the kind REGEX is returned where its literal stands: the caller asks the regular expression.
    """
    found = np.empty(1024, np.int64)
    count = np.int64(0)
    seen = np.full(kind.shape[0], -1, np.int32)
    for event in range(offsets.shape[0] - 1):
        if valid[event]:
            found, count = _find_in_text(
                data, offsets[event], offsets[event + 1], event, width, filter_words, filter_shift, bucket_first,
                bucket_shift, entries, literal_first, literals, token_first, tokens, seen, found, count,
            )  # fmt: skip
    return found[:count]


@short_kernel
def find_in_event(data: Any, asked: Any, tables: Any, most: Any, owner_first: Any, owners: Any) -> Any:
    """Return the pairs `condition << 32 | leaf` of the leaves that texts of one event have; some may repeat.

    Each line of `asked` is a text, by where it starts and stops in `data`, and from which to which line of `tables` it
    is asked: a line says where the arrays of `find_grams` lie, or of `find_everywhere` where its width is 0. No table
    has more patterns than `most`. A regular expression is taken to hold where its literal stands.
    """
    found = np.empty(256, np.int64)
    pairs = np.empty(256, np.int64)
    total = np.int64(0)
    seen = np.full(most, -1, np.int32)
    tables_asked = np.int32(0)
    for number in range(asked.shape[0]):
        first, last = asked[number, 0], asked[number, 1]
        for table in range(asked[number, 2], asked[number, 3]):
            where = tables[table]
            token_first, tokens = carray(pointer(where[10], np.int64), (1,)), carray(pointer(where[11], np.int16), (1,))
            leaf = carray(pointer(where[12], np.int64), (1,))
            count = np.int64(0)
            tables_asked += np.int32(1)
            if where[0]:
                found, count = _find_in_text(
                    data, first, last, tables_asked, where[0], carray(pointer(where[2], np.uint64), (1,)), where[3],
                    carray(pointer(where[4], np.int32), (1,)), where[5], carray(pointer(where[6], np.uint64), (1, 4)),
                    carray(pointer(where[8], np.int64), (1,)), carray(pointer(where[9], np.uint8), (1,)), token_first,
                    tokens, seen, found, count,
                )  # fmt: skip
            else:
                everywhere, kind = carray(pointer(where[2], np.int64), (1,)), carray(pointer(where[7], np.int8), (1,))
                for place in range(where[1]):
                    one = everywhere[place]
                    if kind[one] == REGEX or glob_holds(
                        data, first, last, tokens, token_first[one], token_first[one + 1]
                    ):
                        found = append_pair(found, count, number, one)
                        count += 1
            for place in range(count):
                mine = leaf[found[place] & 0xFFFFFFFF]
                for owner in range(owner_first[mine], owner_first[mine + 1]):
                    pairs = append_pair(pairs, total, owners[owner], mine)
                    total += 1
    return pairs[:total]


@kernel
def find_everywhere(data: Any, offsets: Any, valid: Any, pattern: Any, kind: Any, token_first: Any, tokens: Any) -> Any:
    """Return the pairs `event << 32 | pattern` of patterns without any fragment: each is asked of every event."""
    found = np.empty(1024, np.int64)
    count = 0
    for event in range(offsets.shape[0] - 1):
        if not valid[event]:
            continue
        for one in pattern:
            if kind[one] == REGEX or glob_holds(
                data, offsets[event], offsets[event + 1], tokens, token_first[one], token_first[one + 1]
            ):
                found = append_pair(found, count, event, one)
                count += 1
    return found[:count]
