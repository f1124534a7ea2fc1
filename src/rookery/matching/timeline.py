"""Effective dating: which version of a subscription judges an event at its time.

The rule of the specification: at event time t the highest version with valid_from ≤ t < valid_to decides; a version
without valid_to ends where the next one begins. Here it becomes, per version, the set of times at which that version
decides, and the engines see that set as one more predicate. A version without valid_from holds from the moment it is
seen, that is for every event that is matched after it was added.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rookery.matching.codes import HIGHEST_CODE, LOWEST_CODE, TIME
from rookery.model.values import Intervals, complement, intersect, union

__all__ = ["Dating", "deciding_times"]


class Dating(NamedTuple):
    """A version and its dates, in microseconds since the epoch."""

    version: int
    valid_from: int | None
    valid_to: int | None


_ALWAYS: Intervals = ((LOWEST_CODE, HIGHEST_CODE),)


def deciding_times(versions: Sequence[Dating]) -> dict[int, Intervals | None]:
    """Return for each version the times at which it decides; None means always, an event without a time included."""
    decided: dict[int, Intervals | None] = {}
    taken: Intervals = ()
    following: Dating | None = None
    for dating in sorted(versions, reverse=True):
        first = LOWEST_CODE if dating.valid_from is None else dating.valid_from
        if dating.valid_to is not None:
            last = dating.valid_to - 1
        elif following is not None:
            last = LOWEST_CODE - 1 if following.valid_from is None else following.valid_from - 1
        else:
            last = HIGHEST_CODE
        held: Intervals = ((first, last),) if first <= last else ()
        mine = intersect(held, complement(taken, TIME.type)) if taken else held
        decided[dating.version] = None if mine == _ALWAYS else mine
        taken = union(taken, held)
        following = dating
    return decided
