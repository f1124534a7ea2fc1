"""Matching of batches: all that wait are matched together, zone by zone.

The fixed cost of a call of `rookery.matching` is that of thirty events, so many events a call are what makes a broker
fast. Subscriptions without a condition are not matched at all; they want every event.

Rule 1: `BatchMatching` borrows the conditions of the zones, `run` is pure work on what it has: it may run in any thread
and as late as it likes, and knows nothing of the broker. `matches` gives the conditions back.
Rule 2: a batch is judged by the conditions as they were when its matching began; whoever has unsubscribed since then
gets nothing, and who has moved gets it where he is (`store.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from rookery.brokers.batch_matches import BatchMatches, sorted_by_broker, sorted_matches
from rookery.brokers.batches import Columns, columns_of
from rookery.brokers.conditions import Loan, Pairs
from rookery.brokers.in_flight import InFlightBatch
from rookery.brokers.messages import PlacedSubscription
from rookery.brokers.owned_zone import OwnedZone
from rookery.brokers.store import Matches

__all__ = ["BatchMatching", "Incoming"]

#: A batch in one of the own zones.
Incoming = tuple[OwnedZone, InFlightBatch]
#: To compile a condition takes as long as to match so many events.
COMPILING = 32


class BatchMatching:
    """The matching of some batches, from when it begins until it is done."""

    def __init__(self, incoming: Sequence[Incoming]) -> None:
        by_zone: dict[int, list[Incoming]] = {}
        for one in incoming:
            by_zone.setdefault(id(one[0]), []).append(one)
        self._zones = [_ZoneBatches(group) for group in by_zone.values()]

    @property
    def size(self) -> int:
        """How long it takes, in events to be matched."""
        return sum(zone.size for zone in self._zones)

    @property
    def entries(self) -> list[InFlightBatch]:
        """The batches."""
        return [entry for zone in self._zones for entry in zone.entries]

    def run(self) -> list[Pairs | None]:
        """Match: the long work."""
        return [zone.run() for zone in self._zones]

    def matches(
        self, found: Sequence[Pairs | None]
    ) -> Iterator[tuple[OwnedZone, InFlightBatch, dict[int, BatchMatches]]]:
        """Return of each batch who wants what, given what `run` has found."""
        for zone, pairs in zip(self._zones, found, strict=True):
            yield from zone.matches(pairs)

    def abandon(self) -> None:
        """Give up: `run` has failed."""
        for zone in self._zones:
            if zone.loan is not None:
                zone.owned.store.abandon()


class _ZoneBatches:
    """The batches in one zone."""

    def __init__(self, group: Sequence[Incoming]) -> None:
        self.owned = group[0][0]
        self.entries = [entry for _, entry in group]
        store = self.owned.store
        self.loan: Loan | None = store.lend() if store.has_conditions else None
        self._counts = [entry.batch.count for entry in self.entries]
        self._every = [one.subscription_id for one in store.every()]

    @property
    def size(self) -> int:
        return 0 if self.loan is None else sum(self._counts) + COMPILING * len(self.loan.edits)

    def run(self) -> Pairs | None:
        if self.loan is None:
            return None
        tables = [columns_of(entry.batch, self.loan.fields) for entry in self.entries]
        return self.loan.match_columns(_stacked(tables, self._counts), sum(self._counts))

    def matches(self, pairs: Pairs | None) -> Iterator[tuple[OwnedZone, InFlightBatch, dict[int, BatchMatches]]]:
        every = self._present()
        if pairs is None:
            by_broker = sorted_by_broker((), (), every)
            yield from ((self.owned, entry, dict(by_broker)) for entry in self.entries)
            return
        found = self.owned.store.give_back(pairs)
        starts = list(accumulate(self._counts, initial=0))
        places = np.searchsorted(found.rows, starts).tolist()
        for number, entry in enumerate(self.entries):
            mine = Matches(*(part[places[number] : places[number + 1]] for part in found))
            yield self.owned, entry, sorted_matches(mine, starts[number], every)

    def _present(self) -> list[PlacedSubscription]:
        """Return those that want every event, as they are now, but for those that are gone."""
        return [one for name in self._every if (one := self.owned.store.get(name)) is not None]


def _stacked(tables: Sequence[Columns], counts: Sequence[int]) -> Columns:
    """Put the columns of several batches under each other."""
    if len(tables) == 1:
        return tables[0]
    stacked: dict[str, list[Any]] = {name: [] for table in tables for name in table}
    for table, count in zip(tables, counts, strict=True):
        for name, column in stacked.items():
            column += table[name] if name in table else [None] * count
    return stacked
