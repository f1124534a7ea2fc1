"""The dynamic s × m matrix of one node: rows of four-bit counters, a new row when the last is full (spec 1.3).

Rule 1: all rows but the last are full, so s = ⌈n / c⌉ however elements come and go. An element goes into the last row,
or a new one; the hole that a removal leaves is filled with an element of the last row, which ends when it is empty: so
two rows merge as soon as their elements fit into one. Capacity 0 means one row without bound (the paper's Figure 1).
Rule 2: a row with stuck counters is counted anew from its elements before anything is taken out of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rookery.filters.bloom.counting import CounterRow
from rookery.filters.tree.geometry import TreeGeometry

__all__ = ["RowMatrix"]


class RowMatrix:
    """s rows of m counters."""

    __slots__ = ("_elements", "_geometry", "_places", "rows")

    def __init__(self, geometry: TreeGeometry) -> None:
        self._geometry = geometry
        self.rows: list[CounterRow] = []
        self._elements: list[int] = []
        self._places: dict[int, list[int]] = {}  # of each element; a list, because two keys may share a hash

    def __len__(self) -> int:
        return len(self._elements)

    def _row_of(self, place: int) -> int:
        return place // self._geometry.row_capacity if self._geometry.row_capacity else 0

    def add(self, value: int) -> None:
        """Add the hash of an element."""
        place = len(self._elements)
        row = self._row_of(place)
        if row == len(self.rows):
            self.rows.append(self._empty_row())
        self.rows[row].add_hash(value)
        self._elements.append(value)
        self._places.setdefault(value, []).append(place)

    def remove(self, value: int) -> None:
        """Remove the hash of an element that is in the matrix; the last element takes its place."""
        places = self._places[value]
        place = places.pop()
        if not places:
            del self._places[value]
        end = len(self._elements) - 1
        last = self._elements.pop()
        hole, final = self._row_of(place), self._row_of(end)
        if place != end:
            self._elements[place] = last
            self._places[last][self._places[last].index(end)] = place
        if hole == final:
            self._change(hole, gone=value)
        else:
            self._change(hole, gone=value, come=last)
            self._change(final, gone=last)
        if end == 0 or self._row_of(end - 1) < final:
            self.rows.pop()

    def _change(self, row: int, *, gone: int, come: int | None = None) -> None:
        """Count an element out of a row and another in; `_elements` is as it is to be."""
        if self.rows[row].stuck:
            self.rows[row] = fresh = self._empty_row()
            for place, value in enumerate(self._elements):
                if self._row_of(place) == row:
                    fresh.add_hash(value)
        else:
            self.rows[row].remove_hash(gone)
            if come is not None:
                self.rows[row].add_hash(come)

    def _empty_row(self) -> CounterRow:
        return CounterRow(
            bit_count=self._geometry.bit_count,
            hash_count=self._geometry.hash_count,
            positions=self._geometry.positions,
        )

    def contains_hash(self, value: int) -> bool:
        """Return whether some row has all bits of the hash."""
        return any(row.contains_hash(value) for row in self.rows)

    def bits(self) -> NDArray[np.uint8]:
        """Return the bits of each row, MSB first."""
        return np.packbits(self.counters() != 0, axis=1)

    def counters(self) -> NDArray[np.uint8]:
        """Return the counters of each row."""
        return np.array([row.counters for row in self.rows], dtype=np.uint8).reshape(-1, self._geometry.bit_count)
