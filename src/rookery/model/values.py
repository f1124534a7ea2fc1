"""Sets of values of one attribute: sorted, disjoint, closed intervals of keys.

Theory. `types.py` gives every value a key such that comparisons become closed intervals. A set of values is a tuple of
such intervals, and `<>`, IN, NOT BETWEEN and prefix patterns are sets like any other. Whether NULL belongs to a set
is kept beside the intervals, since NULL has no key.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from rookery.model.types import Key, LeafType, StringType

__all__ = ["TOP", "Intervals", "after", "before", "complement", "everything", "intersect", "is_subset", "union"]

Interval: TypeAlias = tuple[Key, Key]
Intervals: TypeAlias = tuple[Interval, ...]


class _Last(str):
    """A text after every text: the upper end of a string interval that has none."""

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return False

    def __le__(self, other: object) -> bool:
        return isinstance(other, _Last)

    def __gt__(self, other: object) -> bool:
        return not isinstance(other, _Last)

    def __ge__(self, other: object) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Last)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "TOP"


#: The key after every string's key.
TOP: Any = (_Last("TOP"), 0)


def after(key: Key) -> Key:
    """Return the next key."""
    return (key[0], key[1] + 1) if isinstance(key, tuple) else key + 1


def before(key: Key) -> Key:
    """Return the previous key."""
    return (key[0], key[1] - 1) if isinstance(key, tuple) else key - 1


def everything(kind: LeafType) -> Intervals:
    """Return the set of all values of a type, NULL apart."""
    return ((kind.lowest, TOP if isinstance(kind, StringType) else kind.highest),)


def intersect(one: Intervals, other: Intervals) -> Intervals:
    """Return what both sets hold."""
    if len(one) == 1 and len(other) == 1:
        (a, b), (c, d) = one[0], other[0]
        low, high = max(a, c), min(b, d)
        return ((low, high),) if low <= high else ()
    found: list[Interval] = []
    i = j = 0
    while i < len(one) and j < len(other):
        low, high = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if low <= high:
            found.append((low, high))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return tuple(found)


def union(one: Intervals, other: Intervals) -> Intervals:
    """Return what either set holds, neighbouring intervals joined."""
    merged: list[Interval] = []
    for low, high in sorted(one + other):
        if merged and low <= after(merged[-1][1]):
            if high > merged[-1][1]:
                merged[-1] = (merged[-1][0], high)
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(intervals: Intervals, kind: LeafType) -> Intervals:
    """Return the values of the type that the set does not hold."""
    (lowest, highest) = everything(kind)[0]
    found: list[Interval] = []
    start = lowest
    for low, high in intervals:
        if start < low:
            found.append((start, before(low)))
        start = after(high)
    if start <= highest:
        found.append((start, highest))
    return tuple(found)


def is_subset(inner: Intervals, outer: Intervals) -> bool:
    """Say whether `outer` holds all that `inner` holds."""
    return intersect(inner, outer) == inner
