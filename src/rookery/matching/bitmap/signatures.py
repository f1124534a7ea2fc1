"""Signatures: which equality predicates a row is filed under.

Rows that test the same attributes for equality share a signature, and every event asks each signature's table once;
so there are few signatures. The most frequent ones are kept; a row whose own is not kept is filed under the kept one
that uses most of its equalities, and under the empty key if none does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rookery.arrays import distinct
from rookery.matching.kernels import SET_FLAG
from rookery.matching.rows import Rows

__all__ = ["MAXIMUM_SIGNATURES", "choose_signatures"]

Array = np.ndarray[Any, Any]

MAXIMUM_SIGNATURES = 12
#: Attributes in one key; the most distinct are taken.
KEY_ATTRIBUTES = 4
#: A signature of fewer rows is not worth a look-up per event.
LEAST_ROWS = 33
_BITS = 62
_MOST_MASKS = 10_000
_ROWS_AT_ONCE = 1 << 20


def choose_signatures(rows: Rows, attributes: int) -> tuple[Array, Array, Array]:
    """Return each row's signature, where each signature's attributes begin, and those; signature 0 is empty."""
    counts = np.zeros(attributes, np.int64)
    for _, numbers, _ in _points(rows):
        counts += np.bincount(numbers, minlength=attributes)
    candidates = [int(number) for number in np.argsort(-counts, kind="stable")[:_BITS] if counts[number] >= LEAST_ROWS]
    if not candidates:
        return np.zeros(len(rows), np.int64), np.zeros(2, np.int64), np.empty(0, np.int64)
    distinct = _distinct(rows, candidates)
    bit_of = np.zeros(attributes, np.int64)
    for bit, number in enumerate(candidates):
        bit_of[number] = 1 << bit
    masks = np.zeros(len(rows), np.int64)
    for row_of, numbers, _ in _points(rows):
        np.bitwise_or.at(masks, row_of, bit_of[numbers])
    kinds, inverse, sizes = np.unique(masks, return_inverse=True, return_counts=True)
    kept = _kept(kinds, sizes, candidates, distinct)
    choice = np.zeros(len(kinds), np.int64)
    if len(kinds) <= _MOST_MASKS:
        strength = [np.prod([float(distinct[candidates[bit]]) for bit in _bits(mask)]) for mask in kept]
        for place, mask in enumerate(kinds.tolist()):
            fitting = [(strength[index], index + 1) for index, one in enumerate(kept) if one & mask == one]
            choice[place] = max(fitting)[1] if fitting else 0
    signature = choice[inverse]
    lists = [[], *([candidates[bit] for bit in _bits(mask)] for mask in kept)]
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(one) for one in lists])]).astype(np.int64)
    return signature, first, np.array([number for one in lists for number in one], np.int64)


def _points(rows: Rows) -> Iterator[tuple[Array, Array, Array]]:
    """Yield row, attribute and value of the equality predicates, some rows at a time."""
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        last = min(len(rows), first + _ROWS_AT_ONCE)
        part = slice(rows.start[first], rows.start[last])
        bounds, attribute = rows.bounds[part], rows.attribute[part]
        points = (bounds[:, 0] == bounds[:, 1]) & ((attribute & SET_FLAG) == 0)
        row_of = np.repeat(np.arange(first, last), np.diff(rows.start[first : last + 1]))
        yield row_of[points], attribute[points].astype(np.int64), bounds[points, 0]


def _distinct(rows: Rows, candidates: list[int]) -> dict[int, int]:
    """Return how many values each attribute is compared with, by the first rows: enough to rank attributes."""
    _, numbers, values = next(_points(rows))
    return {number: len(distinct(values[numbers == number])) for number in candidates}


def _bits(mask: int) -> list[int]:
    return [bit for bit in range(_BITS + 1) if mask >> bit & 1]


def _kept(kinds: Array, sizes: Array, candidates: list[int], distinct: dict[int, int]) -> list[int]:
    """Return the masks that get a signature: the most frequent combinations, and single attributes as a fall-back."""
    kept: dict[int, None] = {}
    for place in np.argsort(-sizes, kind="stable")[: MAXIMUM_SIGNATURES - 4]:
        if sizes[place] < LEAST_ROWS:
            break
        mask = int(kinds[place])
        bits = sorted(_bits(mask), key=lambda bit: -distinct[candidates[bit]])[:KEY_ATTRIBUTES]
        if bits:
            kept[sum(1 << bit for bit in bits)] = None
    single = sorted(range(len(candidates)), key=lambda bit: -distinct[candidates[bit]])
    # Single keys are only worth a look-up when some combination did not find a place of its own.
    covered = sum(
        int(size) for mask, size in zip(kinds.tolist(), sizes, strict=True) if any(one & mask == one for one in kept)
    )
    if covered < int(sizes[kinds != 0].sum()):
        for bit in single[: MAXIMUM_SIGNATURES - len(kept)]:
            kept[1 << bit] = None
    return list(kept)
