"""Bulks: what is said many at a time, subscriptions above all, goes in messages of a bounded size.

Rule: a bulk has some hundred items, so that what a message costs by itself is shared, and not much more than a mebibyte
of text, so that it fits into a frame and is handled in one short turn of a loop. An item larger than that goes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

__all__ = ["MOST_ITEMS", "bulks"]

Item = TypeVar("Item")

#: Items of one bulk.
MOST_ITEMS = 512
#: Characters of one, of more than one item.
MOST_TEXT = 1 << 20


def bulks(items: Iterable[Item], length: Callable[[Item], int]) -> Iterator[tuple[Item, ...]]:
    """Divide items, in their order; `length` gives the characters that an item has."""
    bulk: list[Item] = []
    left = MOST_TEXT
    for item in items:
        characters = length(item)
        if bulk and (len(bulk) == MOST_ITEMS or characters > left):
            yield tuple(bulk)
            bulk, left = [], MOST_TEXT
        bulk.append(item)
        left -= characters
    if bulk:
        yield tuple(bulk)
