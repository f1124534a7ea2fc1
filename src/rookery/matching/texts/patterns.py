"""Patterns filed by their fragments: for each the window of up to four bytes that fewest patterns share.

Theory. A pattern that holds has its fragments in the text, so it has each window of four bytes of them. One window of
the longest fragment is chosen, and the text is read window by window: a bit says whether any pattern is filed under it,
a hash table which. An entry of the table has the eight bytes that end with the window, so most that are not there are
dismissed by one line of memory. What is found is compared in full, so the choice costs time at most. An automaton
(Aho-Corasick) would need a state a byte, a megabyte of states for 10⁵ patterns, where this needs some 50 bytes a
pattern. Shorter fragments are filed under three, two or one bytes, patterns without any are asked of every text.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from rookery.matching.texts.kernels import (
    ANY_CHARACTER,
    ANY_RUN,
    CONTAINS,
    EQUALS,
    GLOB,
    HASH,
    PREFIX,
    REGEX,
    SUFFIX,
    find_everywhere,
    find_grams,
)
from rookery.model.regexes import required_literals
from rookery.model.texts import pattern_tokens

__all__ = ["ADDRESSES", "Pattern", "PatternTable", "like_parts", "regex_parts"]

Array = np.ndarray[Any, Any]

WIDEST = 4
#: Numbers in a line of `PatternTable.addresses`.
ADDRESSES = 13
#: The bytes that an entry has at once.
WORD = 8
_WHOLE = (1 << 64) - 1
#: A window that so many more patterns share than another is as good.
_SHARED = 4
_LEAST_FILTER_BITS, _MOST_FILTER_BITS = 10, 22


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern as the kernels take it; several may belong to one leaf (a regular expression with alternatives)."""

    leaf: int
    kind: int
    literal: bytes
    tokens: tuple[int, ...] = ()


def like_parts(leaf: int, pattern: str) -> list[Pattern]:
    """Return a LIKE pattern in canonical form as the kernels take it."""
    tokens: list[int] = []
    fragments: list[list[int]] = [[]]
    for wild, character in pattern_tokens(pattern):
        if wild:
            tokens.append(ANY_RUN if character == "%" else ANY_CHARACTER)
            fragments.append([])
        else:
            tokens += character.encode()
            fragments[-1] += character.encode()
    literal = bytes(max(fragments, key=len))
    bare = [token for token in tokens if token < ANY_CHARACTER] == list(literal)
    ends = (tokens[:1] == [ANY_RUN], tokens[-1:] == [ANY_RUN])
    if bare and literal and len(tokens) == len(literal) + sum(ends):
        kind = {(True, True): CONTAINS, (False, True): PREFIX, (True, False): SUFFIX, (False, False): EQUALS}[ends]
        return [Pattern(leaf, kind, literal)]
    return [Pattern(leaf, GLOB, literal, tuple(tokens))]


def regex_parts(leaf: int, pattern: str) -> tuple[list[Pattern], bool]:
    """Return the fragments of which a regular expression needs one, and whether they are of folded texts."""
    literals, folded = required_literals(pattern)
    return [Pattern(leaf, REGEX, literal.encode()) for literal in literals or [""]], folded


class PatternTable:
    """The patterns of one column of texts; never changed once made."""

    __slots__ = ("_arrays", "_everywhere", "_windows", "leaf")

    def __init__(self, patterns: list[Pattern]) -> None:
        #: The leaf of each pattern.
        self.leaf = np.array([one.leaf for one in patterns], np.int64)
        literals = b"".join(one.literal for one in patterns)
        tokens = [token for one in patterns for token in one.tokens]
        self._arrays: Any = (
            np.array([one.kind for one in patterns], np.int8),
            np.cumsum([0, *(len(one.literal) for one in patterns)], dtype=np.int64),
            np.frombuffer(literals or b"\0", np.uint8),
            np.cumsum([0, *(len(one.tokens) for one in patterns)], dtype=np.int64),
            np.array(tokens or [0], np.int16),
        )
        self._everywhere = np.array([place for place, one in enumerate(patterns) if not one.literal], np.int64)
        self._windows: list[Any] = [
            _window_table(width, mine, patterns)
            for width in range(1, WIDEST + 1)
            if (mine := [n for n, one in enumerate(patterns) if min(len(one.literal), WIDEST) == width])
        ]

    @property
    def nbytes(self) -> int:
        arrays = [*self._arrays, *(array for _, *rest in self._windows for array in rest)]
        return self.leaf.nbytes + sum(one.nbytes for one in arrays if isinstance(one, np.ndarray))

    def addresses(self) -> list[list[int]]:
        """Return where its arrays lie, a line a table, as `find_in_event` takes them; the table must be kept."""
        kind, literal_first, literals, token_first, tokens = (one.ctypes.data for one in self._arrays)
        rest = [kind, literal_first, literals, token_first, tokens, self.leaf.ctypes.data]
        lines = [
            [width, len(entries), words.ctypes.data, shift, first.ctypes.data, bucket_shift, entries.ctypes.data, *rest]
            for width, words, shift, first, bucket_shift, entries in self._windows
        ]
        if len(self._everywhere):
            lines.append([0, len(self._everywhere), self._everywhere.ctypes.data, 0, 0, 0, 0, *rest])
        return lines

    def find(self, data: Array, offsets: Array, valid: Array) -> Array:
        """Return the pairs `event << 32 | pattern` that hold, those of regular expressions perhaps; some may repeat."""
        kind, _, _, token_first, tokens = self._arrays
        found: list[Array] = [find_grams(data, offsets, valid, *window, *self._arrays) for window in self._windows]
        if len(self._everywhere):
            found.append(find_everywhere(data, offsets, valid, self._everywhere, kind, token_first, tokens))
        return np.concatenate(found) if found else np.empty(0, np.int64)


def _window_table(width: int, mine: list[int], patterns: list[Pattern]) -> tuple[Any, ...]:
    """Return the windows that some patterns are filed under, as the kernel takes them.

    An entry has the eight bytes that end with the window and a mask of those that the literal has; the pattern, with
    how far the window's end is from the literal's start above it; the literal's length, with the kind below it and a
    bit that says whether there is more to compare than those eight.
    """
    shared = Counter(
        window
        for place in mine
        for window in {
            patterns[place].literal[at : at + width] for at in range(len(patterns[place].literal) - width + 1)
        }
    )
    rows = np.empty((len(mine), 4), np.uint64)
    for row, place in zip(rows, mine, strict=True):
        literal = patterns[place].literal
        end = _end_of_window(literal, width, shared)
        known = literal[max(0, end - WORD) : end]
        unknown = 8 * (WORD - len(known))
        row[0] = int.from_bytes(known, "little") << unknown
        row[1] = (_WHOLE >> unknown) << unknown
        row[2] = place | end << 32
        row[3] = len(literal) << 8 | (len(known) < len(literal)) << 7 | patterns[place].kind
    gram = (rows[:, 0] >> np.uint64(64 - 8 * width)).astype(np.uint32)
    spread = gram * np.uint32(HASH)
    bits = (len(mine) - 1).bit_length()
    filter_bits = min(max(bits + 5, _LEAST_FILTER_BITS), _MOST_FILTER_BITS)
    bucket_bits = max(1, bits + 1)
    words = np.zeros(1 << (filter_bits - 6), np.uint64)
    set_bits = (spread >> np.uint32(32 - filter_bits)).astype(np.int64)
    np.bitwise_or.at(words, set_bits >> 6, np.uint64(1) << (set_bits & 63).astype(np.uint64))
    buckets = (spread >> np.uint32(32 - bucket_bits)).astype(np.int64)
    order = np.argsort(buckets, kind="stable")
    first = np.searchsorted(buckets[order], np.arange((1 << bucket_bits) + 1)).astype(np.int32)
    return width, words, 32 - filter_bits, first, 32 - bucket_bits, rows[order]


def _end_of_window(literal: bytes, width: int, shared: Counter[bytes]) -> int:
    """Return where the window ends that a literal is filed under: the last of those that few others share."""
    counts = [shared[literal[at : at + width]] for at in range(len(literal) - width + 1)]
    most = 2 * min(counts) + _SHARED
    return width + max(at for at, count in enumerate(counts) if count <= most)
