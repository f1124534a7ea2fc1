"""Matches in order, in pieces: events by some hundreds to thousands, so that what is in work stays near the processor.

Rule 1: a piece holds all matches of its events; pieces follow each other as the events do, so one behind the other they
are in order.
Rule 2: a piece is given out as soon as it is whole, and nobody keeps it who has named its matches: memory that was used
is used again.
Rule 3: how many events are matched at a time follows the matches that they have. Where each has thousands, fewer are
taken, since memory that was never touched costs more than the matches that are written to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from rookery.matching.kernels import ascends, order_pairs, split_pairs, write_ordered

__all__ = ["LARGE_PIECE", "Piece", "events_at_once", "in_order", "joined", "ordered_pieces"]

Array = np.ndarray[Any, Any]
#: Events and slots of matches, by event and then by slot.
Piece = tuple[Array, Array]

#: Events matched at a time: at first, and at least and at most later on.
FIRST_EVENTS, LEAST_EVENTS, MOST_EVENTS = 256, 128, 2048
#: Codes of events that stay near the processor; of few attributes, more events are matched at a time, of many, fewer.
CACHED_CODES, MOST_FACTOR = 1 << 15, 8
MOST_CODES, WIDE_EVENTS = 1 << 17, 512
#: Pairs that are wanted of the events that are matched at a time. A large set is read once for all of these events:
#: with half as many pairs 1,000,000 ranges took 1.27 times as long.
WANTED_PAIRS = 1 << 21
#: Pairs from which on they are ordered in arrays of NumPy: from 4 MiB on it asks for huge pages.
MANY_PAIRS = 1 << 19
#: Matches from which on a piece is left as it is; smaller ones are joined.
LARGE_PIECE = 1 << 14


def ordered_pieces(probe: Callable[[Array], Array], codes: Array) -> Iterator[Piece]:
    """Yield the matches of coded events, by what finds the pairs `event << 32 | slot` of some of them."""
    return merged(_pieces(probe, codes))


def events_at_once(attributes: int) -> int:
    """Return how many events are matched at a time at most."""
    few = min(MOST_EVENTS, max(WIDE_EVENTS, MOST_CODES // max(1, attributes)))
    return max(few, min(MOST_FACTOR * MOST_EVENTS, CACHED_CODES // max(1, attributes)))


def _pieces(probe: Callable[[Array], Array], codes: Array) -> Iterator[Piece]:
    first, size, most = 0, FIRST_EVENTS, events_at_once(codes.shape[1])
    while first < len(codes):
        mine = codes[first : first + size]
        pairs = probe(mine)
        events, slots = in_order(pairs, len(mine), first)
        first += len(mine)
        size = min(most, max(LEAST_EVENTS, WANTED_PAIRS * len(mine) // max(1, len(pairs))))
        yield events, slots


def in_order(pairs: Array, event_count: int, first: int = 0) -> Piece:
    """Return the events, counted from `first` on, and the slots of pairs `event << 32 | slot`, in order, each once.

    The pairs may be written over. Many go to arrays of NumPy, which asks for huge pages: memory that was not touched
    before costs a fault a page.
    """
    total = len(pairs)
    if total < MANY_PAIRS:
        few: Piece = order_pairs(pairs, event_count, first)
        return few
    events = np.empty(total, np.int64)
    if ascends(pairs):
        split_pairs(pairs, first, events)
        return events, pairs
    slots = np.empty(total, np.int64)
    count = write_ordered(pairs, event_count, first, np.empty(total, np.int32), events, slots)
    return events[:count], slots[:count]


def merged(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the same matches in fewer pieces, one at least: none is small but the last."""
    waiting: list[Piece] = []
    count, some = 0, False
    for piece in pieces:
        waiting.append(piece)
        count += len(piece[0])
        if count >= LARGE_PIECE:
            yield joined(waiting)
            waiting, count, some = [], 0, True
    if count or not some:
        yield joined(waiting)


def joined(pieces: list[Piece]) -> Piece:
    """Return all matches of some pieces as one."""
    if len(pieces) == 1:
        return pieces[0]
    if not pieces:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate([events for events, _ in pieces]), np.concatenate([slots for _, slots in pieces])
