"""When a part is scanned for many events at once (`lane_kernels.py`), and not by lines.

Theory. Lines leave few rows to verify where conditions are selective. Where they are not, or where more attributes are
tested than a block has lines for, verifying what is left costs more than two comparisons of vectors for each predicate,
and putting the matches in order costs as much again. Which one is cheaper depends on the events too. So the rows that
were verified for an event are counted, and the next events are matched the way that costs less by that count. Now and
then some are matched by lines again, to see whether that is still so. Both ways are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rookery.matching.bitmap.build import BitmapIndex
from rookery.matching.bitmap.lane_kernels import LANES, match_lanes

__all__ = ["LaneChoice", "match_by_lanes"]

Array = np.ndarray[Any, Any]

#: Rows of a part at least.
LEAST_ROWS = 4096
#: Slots for each row at most: each has a word for 64 events.
SLOTS_A_ROW = 8
#: Slots at most: each takes 32 bytes while 128 events are matched.
MOST_SLOTS = 1 << 21
#: Comparisons of a predicate in four bytes, for 64 events, that take as long as verifying a row for each of them, and
#: what a row costs beside its predicates, in the same measure.
COMPARISONS_A_CHECK, COMPARISONS_A_ROW = 128, 2
#: Parts of a batch that are scanned until one is matched by lines again.
TURNS = 16


class LaneChoice:
    """What the events before had to verify, and so how the next ones are matched."""

    __slots__ = ("_checked", "_turns")

    def __init__(self) -> None:
        self._checked = 0.0  # rows that an event had to verify behind the lines
        self._turns = 0  # parts of a batch that were scanned since then

    def note(self, checked: int, events: int) -> None:
        """Take into account how many rows some events had to verify."""
        self._checked, self._turns = checked / max(1, events), 0

    def scans(self, part: BitmapIndex, events: int, slots: int) -> bool:
        """Say whether some events are to be scanned for; other threads may ask too, which costs time at the most."""
        rows = part.blocked_rows
        if not self._checked or events < LANES or rows < LEAST_ROWS or slots > min(MOST_SLOTS, SLOTS_A_ROW * rows):
            return False
        if len(part.partition_first) != 2:  # several keys: each has events of its own
            return False
        compared = (len(part.attribute) + 2 * len(part.pool)) * part.bounds.itemsize / 4
        if COMPARISONS_A_CHECK * self._checked < compared + COMPARISONS_A_ROW * rows or self._turns >= TURNS:
            return False
        self._turns += 1
        return True


def match_by_lanes(part: BitmapIndex, codes: Array, positions: Array, alive: Array, room: Array) -> Array:
    """Return the pairs `event << 32 | slot` of some events and a part with one partition, ascending, each once."""
    (signature,) = part.partition_signature().tolist()
    keyed = part.signature_numbers[part.signature_first[signature] : part.signature_first[signature + 1]]
    mine = (codes[:, keyed] == part.partition_key[0, : len(keyed)]).all(axis=1)
    pairs: Array = match_lanes(
        positions, np.flatnonzero(mine), alive, 0, part.blocked_rows, part.slot, part.start, part.attribute,
        part.bounds, part.pool, room,
    )  # fmt: skip
    return pairs
