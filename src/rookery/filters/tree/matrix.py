"""The dynamic s × m matrix of one node: rows of four-bit counters, a new row when the last is full (spec 1.3).

Rule 1: an element goes into the first row that holds fewer than c elements; the owner remembers which row, and a
removal counts down exactly that one. Capacity 0 means one row without bound (the paper's Figure 1).
Rule 2: a row with stuck counters is counted anew from its elements before anything is taken out of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rookery.filters.bloom.counting import LIMIT, CounterRow

__all__ = ["RowMatrix"]


class RowMatrix:
    """s rows of m counters."""

    __slots__ = ("_rows_of", "bit_count", "capacity", "counts", "hash_count", "rows")

    def __init__(self, *, bit_count: int, hash_count: int, capacity: int) -> None:
        self.bit_count = bit_count
        self.hash_count = hash_count
        self.capacity = capacity
        self.rows: list[CounterRow] = []
        self.counts: list[int] = []
        self._rows_of: dict[int, list[int]] = {}  # a list, because two keys may share a hash

    def __len__(self) -> int:
        return sum(self.counts)

    def add(self, value: int) -> None:
        """Add the hash of an element."""
        fitting = (row for row, count in enumerate(self.counts) if not self.capacity or count < self.capacity)
        row = next(fitting, len(self.rows))
        if row == len(self.rows):
            self.rows.append(CounterRow(bit_count=self.bit_count, hash_count=self.hash_count))
            self.counts.append(0)
        self.rows[row].add_hash(value)
        self.counts[row] += 1
        self._rows_of.setdefault(value, []).append(row)

    def remove(self, value: int) -> None:
        """Remove the hash of an element that is in the matrix; trailing empty rows are dropped."""
        places = self._rows_of[value]
        row = places.pop()
        if not places:
            del self._rows_of[value]
        self.counts[row] -= 1
        if self.rows[row].stuck:
            self._recount(row)
        else:
            self.rows[row].remove_hash(value)
        while self.counts and not self.counts[-1]:
            self.counts.pop()
            self.rows.pop()

    def _recount(self, row: int) -> None:
        fresh = CounterRow(bit_count=self.bit_count, hash_count=self.hash_count)
        for value, places in self._rows_of.items():
            for _ in range(places.count(row)):
                fresh.add_hash(value)
        self.rows[row] = fresh

    def merge(self) -> None:
        """Join rows whose elements fit into one: counters add up and stick at 15."""
        row = 0
        while row < len(self.rows):
            for other in range(len(self.rows) - 1, row, -1):
                if self.counts[row] + self.counts[other] <= self.capacity:
                    total = self.rows[row].counters + self.rows[other].counters
                    self.rows[row].counters = np.minimum(total, LIMIT).astype(np.uint8)
                    self.counts[row] += self.counts[other]
                    del self.rows[other], self.counts[other]
                    for places in self._rows_of.values():
                        places[:] = [row if place == other else place - (place > other) for place in places]
            row += 1

    def contains_hash(self, value: int) -> bool:
        """Return whether some row has all bits of the hash."""
        return any(row.contains_hash(value) for row in self.rows)

    def bits(self) -> list[NDArray[np.uint8]]:
        """Return the bits of each row, MSB first."""
        return [row.bits for row in self.rows]
