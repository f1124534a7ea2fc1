"""Bloom filters of one size, sliced by bit across participants.

Rule: participant s is bit s mod 64 of word s div 64 in every row. A free seat holds no bits, so it never matches. Rows
double in width when the seats run out.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from rookery.filters.bank import kernels

__all__ = ["SlicedGroup"]


class SlicedGroup:
    """`bit_count` rows of one bit per participant."""

    __slots__ = ("_free", "_matched", "_names", "_seat_of", "_slices", "bit_count", "hash_count")

    def __init__(self, *, bit_count: int, hash_count: int) -> None:
        self.bit_count = bit_count
        self.hash_count = hash_count
        self._slices: NDArray[np.uint64] = np.zeros((bit_count, 1), dtype=np.uint64)
        self._matched: NDArray[np.uint64] = np.zeros(1, dtype=np.uint64)
        self._names: list[Hashable | None] = [None] * 64
        self._free = list(range(63, -1, -1))
        self._seat_of: dict[Hashable, int] = {}

    @property
    def seats(self) -> tuple[Hashable | None, ...]:
        """Who sits at which bit; None where nobody does."""
        return tuple(self._names)

    def put(self, participant: Hashable, bits: NDArray[np.uint8]) -> None:
        """Give a participant a seat and write its bits."""
        if not self._free:
            seats = len(self._names)
            self._slices = np.concatenate([self._slices, np.zeros_like(self._slices)], axis=1)
            self._matched = np.zeros(self._slices.shape[1], dtype=np.uint64)
            self._names += [None] * seats
            self._free = list(range(2 * seats - 1, seats - 1, -1))
        seat = self._free.pop()
        self._seat_of[participant], self._names[seat] = seat, participant
        positions = np.flatnonzero(np.unpackbits(bits)[: self.bit_count])
        self._slices[positions, seat >> 6] |= np.uint64(1 << (seat & 63))

    def drop(self, participant: Hashable) -> None:
        """Clear a participant's bits and free its seat."""
        seat = self._seat_of.pop(participant)
        self._slices[:, seat >> 6] &= ~np.uint64(1 << (seat & 63))
        self._names[seat] = None
        self._free.append(seat)

    def match(self, value: int) -> NDArray[np.uint64]:
        """Return one bit per seat; the array is overwritten by the next question."""
        kernels.match_slices(np.uint64(value), self._slices.reshape(-1), self.bit_count, self.hash_count, self._matched)
        return self._matched

    def matching(self, value: int) -> list[Hashable]:
        """Return the participants whose filter has all bits of the hash."""
        bits = np.unpackbits(self.match(value).astype("<u8").view(np.uint8), bitorder="little")
        names = (self._names[seat] for seat in np.flatnonzero(bits).tolist())
        return [name for name in names if name is not None]
