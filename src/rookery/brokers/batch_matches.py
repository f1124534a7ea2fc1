"""Who wants what of a batch: the matches (event, subscription) of one access broker's clients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rookery.brokers.batches import DeliverBatch, EventBatch
from rookery.brokers.messages import PlacedSubscription
from rookery.brokers.row_cuts import RowCuts
from rookery.brokers.store import Matches

__all__ = ["BatchMatches", "sorted_by_broker", "sorted_matches"]


@dataclass(frozen=True, slots=True)
class BatchMatches:
    """Matches: every event for the names in `every`, and row by row for the others."""

    every: tuple[str, ...] = ()
    rows: tuple[int, ...] = ()
    names: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.every or self.rows)

    def each(self, count: int) -> Iterator[tuple[int, str]]:
        """Return them one by one, for a batch of so many events."""
        for name in self.every:
            for row in range(count):
                yield row, name
        yield from zip(self.rows, self.names, strict=True)

    def size(self, count: int) -> int:
        """Return how many they are, for a batch of so many events."""
        return len(self.every) * count + len(self.rows)

    def all_names(self) -> set[str]:
        """Return the subscriptions."""
        return {*self.every, *self.names}

    def counts(self, count: int) -> dict[str, int]:
        """Return how many events each subscription wants."""
        return {**Counter(self.names), **dict.fromkeys(self.every, count)}

    def concerns(self, names: Collection[str]) -> bool:
        """Tell whether one of some subscriptions is among them."""
        return any(name in names for name in self.every) or any(name in names for name in self.names)

    def only(self, names: Collection[str]) -> BatchMatches:
        """Return the matches of some subscriptions."""
        kept = [(row, name) for row, name in zip(self.rows, self.names, strict=True) if name in names]
        return BatchMatches(
            tuple(name for name in self.every if name in names),
            tuple(row for row, _ in kept),
            tuple(name for _, name in kept),
        )

    def divided(self, owners: Mapping[str, int]) -> dict[int, BatchMatches]:
        """Return the matches by who has the subscription, in one pass; those that nobody has are in no part."""
        every: dict[int, list[str]] = {}
        rows: dict[int, list[int]] = {}
        names: dict[int, list[str]] = {}
        for name in self.every:
            if name in owners:
                every.setdefault(owners[name], []).append(name)
        for row, name, owner in zip(self.rows, self.names, map(owners.get, self.names), strict=True):
            if owner is None:
                continue
            mine = rows.get(owner)
            if mine is None:
                mine, names[owner] = rows.setdefault(owner, []), []
            mine.append(row)
            names[owner].append(name)
        return {
            owner: BatchMatches(tuple(every.get(owner, ())), tuple(rows.get(owner, ())), tuple(names.get(owner, ())))
            for owner in {**every, **rows}
        }

    def without(self, names: Collection[str]) -> BatchMatches:
        """Return the matches of all other subscriptions."""
        return self.only(self.all_names().difference(names)) if names and self.concerns(names) else self

    def without_rows(self, gone: Collection[int], count: int) -> BatchMatches:
        """Return the matches of the other events of a batch of so many."""
        if not self.every and not any(row in gone for row in self.rows):
            return self
        kept = [(row, name) for row, name in self.each(count) if row not in gone]
        return BatchMatches((), tuple(row for row, _ in kept), tuple(name for _, name in kept))

    def beside(self, known: Collection[tuple[int, str]], count: int) -> BatchMatches:
        """Return those that are not known yet, of a batch of so many."""
        if not known:
            return self
        fresh = [match for match in self.each(count) if match not in known]
        if len(fresh) == self.size(count):
            return self
        return BatchMatches((), tuple(row for row, _ in fresh), tuple(name for _, name in fresh))

    def joined(self, other: BatchMatches) -> BatchMatches:
        """Return the matches of both, each once."""
        own = set(zip(self.rows, self.names, strict=True))
        new = [pair for pair in zip(other.rows, other.names, strict=True) if pair not in own]
        return BatchMatches(
            tuple(dict.fromkeys((*self.every, *other.every))),
            (*self.rows, *(row for row, _ in new)),
            (*self.names, *(name for _, name in new)),
        )

    def delivery(self, number: int, batch: EventBatch, cuts: RowCuts) -> DeliverBatch:
        """Return the message that delivers them to a broker, with no more events than it needs."""
        if not self.every:
            different = set(self.rows)
            if len(different) < batch.count:
                used = sorted(different)
                place = {row: number for number, row in enumerate(used)}
                rows = tuple(place[row] for row in self.rows)
                return DeliverBatch(number, cuts.part(used), (), rows, self.names)
        return DeliverBatch(number, batch, self.every, self.rows, self.names)


def sorted_by_broker(
    rows: Sequence[int], wanting: Sequence[PlacedSubscription], every: Iterable[PlacedSubscription] = ()
) -> dict[int, BatchMatches]:
    """Sort matches by access broker."""
    access_brokers = {one.access_broker for one in wanting}
    if not access_brokers and not every:
        return {}
    if len(access_brokers) == 1 and not every:
        return {access_brokers.pop(): BatchMatches((), tuple(rows), tuple([one.subscription_id for one in wanting]))}
    sorted_rows: dict[int, tuple[list[str], list[int], list[str]]] = {}
    for one in every:
        sorted_rows.setdefault(one.access_broker, ([], [], []))[0].append(one.subscription_id)
    for row, one in zip(rows, wanting, strict=True):
        entry = sorted_rows.get(one.access_broker)
        if entry is None:
            entry = sorted_rows[one.access_broker] = ([], [], [])
        entry[1].append(row)
        entry[2].append(one.subscription_id)
    return {
        access_broker: BatchMatches(tuple(all_), tuple(some), tuple(names))
        for access_broker, (all_, some, names) in sorted_rows.items()
    }


def sorted_matches(found: Matches, first: int, every: Sequence[PlacedSubscription]) -> dict[int, BatchMatches]:
    """Sort the matches of one batch, whose events begin at row `first`, by access broker."""
    rows, names, access_brokers = found
    if first:
        rows = rows - first
    every_of: dict[int, list[str]] = {}
    for one in every:
        every_of.setdefault(one.access_broker, []).append(one.subscription_id)
    one_access_broker = len(access_brokers) > 0 and bool((access_brokers == access_brokers[0]).all())
    different = dict.fromkeys((access_brokers[:1] if one_access_broker else access_brokers).tolist())
    by_broker = {
        access_broker: BatchMatches(tuple(all_))
        for access_broker, all_ in every_of.items()
        if access_broker not in different
    }
    for access_broker in different:
        mine = slice(None) if len(different) == 1 else access_brokers == access_broker
        some = tuple(rows[mine].tolist()), tuple(names[mine].tolist())
        by_broker[access_broker] = BatchMatches(tuple(every_of.get(access_broker, ())), *some)
    return by_broker
