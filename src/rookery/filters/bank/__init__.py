"""One topic against the summaries of thousands of participants at once (Flat-Bloofi; spec 5).

Rule: `bank.matching(key)` is exactly the participants whose own filter says yes; the bank only asks them together.
    Bloom filters that share size, hash count and hash function are bit-sliced: k word-ANDs for 64 participants.
    Ribbons are laid out in one array and probed by one kernel; those with a delta are also asked for it.
    Observers always match. Every other filter is asked by itself, with a hash that is taken once.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rookery.filters.bank import kernels
from rookery.filters.bank.slices import SlicedGroup
from rookery.filters.bloom import BloomFilter
from rookery.filters.hashing import KeyHasher, fmix64
from rookery.filters.observer import ObserverFilter
from rookery.filters.protocol import Filter
from rookery.filters.ribbon import RibbonFilter
from rookery.filters.tree import BloomTree

__all__ = ["FilterBank"]


class _RibbonGroup:
    """The ribbons of one hash function, packed when first asked after a change."""

    __slots__ = ("_found", "_packed", "members")

    def __init__(self) -> None:
        self.members: dict[Hashable, RibbonFilter] = {}
        self._packed: tuple[Any, ...] | None = None

    def put(self, participant: Hashable, summary: RibbonFilter) -> None:
        self.members[participant] = summary
        self._packed = None

    def drop(self, participant: Hashable) -> None:
        del self.members[participant]
        self._packed = None

    def _pack(self) -> tuple[Any, ...]:
        snapshots = [summary.snapshot for summary in self.members.values()]
        sizes = np.array([snapshot.words.size for snapshot in snapshots], dtype=np.int64)
        self._found = np.empty(len(snapshots), dtype=np.bool_)
        return (
            list(self.members),
            [index for index, summary in enumerate(self.members.values()) if summary.delta_count],
            np.array([fmix64(snapshot.seed + 1) for snapshot in snapshots], dtype=np.uint64),
            np.array([snapshot.columns for snapshot in snapshots], dtype=np.uint64),
            np.array([snapshot.layers for snapshot in snapshots], dtype=np.int64),
            np.cumsum(sizes) - sizes,
            np.concatenate([snapshot.words for snapshot in snapshots] + [np.zeros(1, dtype=np.uint64)]),
        )

    def matching(self, value: int) -> list[Hashable]:
        if self._packed is None:
            self._packed = self._pack()
        names, with_delta, salts, columns, layers, offsets, words = self._packed
        kernels.match_ribbons(np.uint64(value), salts, columns, layers, offsets, words, self._found)
        for index in with_delta:
            if not self._found[index]:
                self._found[index] = self.members[names[index]].contains_hash(value)
        return [names[index] for index in np.flatnonzero(self._found)]


class FilterBank:
    """The summaries of many participants, asked together."""

    __slots__ = ("_others", "_place", "_ribbons", "_sliced")

    def __init__(self) -> None:
        self._place: dict[Hashable, SlicedGroup | _RibbonGroup | dict[Hashable, Any]] = {}
        self._sliced: dict[tuple[int, int, KeyHasher], SlicedGroup] = {}
        self._ribbons: dict[KeyHasher, _RibbonGroup] = {}
        self._others: dict[Hashable, Filter | ObserverFilter] = {}

    def __len__(self) -> int:
        return len(self._place)

    def __contains__(self, participant: object) -> bool:
        return participant in self._place

    def put(self, participant: Hashable, summary: Filter | ObserverFilter) -> None:
        """Set the summary of a participant, in place of an earlier one; later changes to it are not seen."""
        self.discard(participant)
        if isinstance(summary, BloomFilter):
            shape = summary.bit_count, summary.hash_count, summary.hasher
            if shape not in self._sliced:
                self._sliced[shape] = SlicedGroup(bit_count=summary.bit_count, hash_count=summary.hash_count)
            self._sliced[shape].put(participant, summary.bits)
            self._place[participant] = self._sliced[shape]
        elif isinstance(summary, RibbonFilter):
            group = self._ribbons.setdefault(summary.hasher, _RibbonGroup())
            group.put(participant, summary)
            self._place[participant] = group
        else:
            self._others[participant] = summary
            self._place[participant] = self._others

    def discard(self, participant: Hashable) -> None:
        """Forget a participant; nothing happens if it is unknown."""
        place = self._place.pop(participant, None)
        if isinstance(place, dict):
            del place[participant]
        elif place is not None:
            place.drop(participant)

    def matching(self, key: str) -> list[Hashable]:
        """Return the participants whose summary has `key`."""
        matched: list[Hashable] = []
        for (_, _, hasher), sliced in self._sliced.items():
            matched += sliced.matching(hasher(key))
        for hasher, ribbons in self._ribbons.items():
            matched += ribbons.matching(hasher(key)) if ribbons.members else []
        hashes: dict[KeyHasher, int] = {}
        for participant, summary in self._others.items():
            if isinstance(summary, (ObserverFilter, BloomTree)):
                hit = key in summary
            else:
                if summary.hasher not in hashes:
                    hashes[summary.hasher] = summary.hasher(key)
                hit = summary.contains_hash(hashes[summary.hasher])
            if hit:
                matched.append(participant)
        return matched

    def matching_slices(self, value: int) -> list[tuple[tuple[Hashable | None, ...], NDArray[np.uint64]]]:
        """Return, for each bit-sliced group, who sits at which bit and the word-ANDs for a hash: the bare speed."""
        return [(group.seats, group.match(value).copy()) for group in self._sliced.values()]
