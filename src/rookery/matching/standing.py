"""A matcher's set as it stands, for those who only match: taken in a moment, whatever the size of the set.

`Matcher.compile` packs, and packing takes time that grows with the set. Here nothing is packed: the state of the set is
shared as it is, its segments, its newest rows and the flags of what was removed. Slots of removed subscriptions are
never reported. Whoever asks for bytes or for a part of the set gets those of the packed set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.matching.compiled import CompiledSet
from rookery.matching.ranges import RangeRows
from rookery.matching.view import View
from rookery.space.axes import EventSpace
from rookery.space.boxes import Boxes

__all__ = ["StandingSet"]

Array = np.ndarray[Any, Any]


class StandingSet(CompiledSet):
    """A set that is not packed; `subscriptions` has a row for each slot, removed ones too."""

    __slots__ = ()

    def __len__(self) -> int:
        return self._view.live

    def packed(self) -> CompiledSet:
        """Return the same set without what was removed, its slots numbered anew."""
        return CompiledSet.of(self._view.packed())

    def fresh_view(self) -> View:
        """Return a view for a matcher that will edit the set."""
        return self.packed().fresh_view()

    def boxes(self, space: EventSpace) -> Boxes:
        """Return the box of each subscription of the packed set."""
        return self.packed().boxes(space)

    def ranges(self) -> RangeRows:
        """Return the rows of the packed set as ranges of values."""
        return self.packed().ranges()

    def take(self, slots: Array) -> CompiledSet:
        """Return the set of some subscriptions, by slots of the packed set."""
        return self.packed().take(slots)

    def _parts(self) -> tuple[dict[str, Any], dict[str, Array]]:
        return self.packed()._parts()
