"""The subscriptions of one zone, and which of them want an event.

The box of a subscription decided that it is stored here; the matcher of `rookery.matching` decides whether an event
satisfies it. It is made at the first event after a change of many, and edited where a single one changes.
Subscriptions without a condition stay out of it: they want every event.

A batch is matched without a Python object per pair: the matcher knows subscriptions by number, and their names and
access brokers stand in arrays by that number. Of a batch's columns only those are read that some condition names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rookery.brokers.messages import PlacedSubscription
from rookery.errors import EventError, SubscriptionError
from rookery.matching import Matcher, ScanMatcher, matcher
from rookery.model.schema import Schema
from rookery.space.zones import ZoneBox, meets

__all__ = ["Matches", "ZoneStore"]

Array = np.ndarray[Any, Any]

#: The column of row numbers; no attribute of a schema can be called so.
ROW = "#"
#: Up to so many events are matched one by one: a batch has a fixed cost.
FEW = 12


class Matches(NamedTuple):
    """The pairs of a batch in the order of its rows: row, name of the subscription, its access broker."""

    rows: Array
    names: Array
    access_brokers: Array


class ZoneStore:
    """Subscriptions by id, each with the time at which its lease ends."""

    __slots__ = (
        "_access_brokers",
        "_arrow",
        "_count",
        "_engine",
        "_every",
        "_fields",
        "_free",
        "_matcher",
        "_names",
        "_numbers",
        "_schema",
        "_stored",
        "_unread",
    )

    def __init__(self, schema: Schema, *, engine: str = "bitmap") -> None:
        self._schema = schema
        self._engine = engine
        self._stored: dict[str, tuple[PlacedSubscription, int]] = {}
        self._every: dict[str, None] = {}
        self._matcher: Matcher | ScanMatcher | None = None
        #: The matcher knows subscriptions by number: by name their number, by number their name and access broker.
        self._numbers: dict[str, int] = {}
        self._names: Array = np.empty(0, np.object_)
        self._access_brokers: Array = np.empty(0, np.int64)
        self._count = 0
        self._free: list[int] = []
        self._arrow: pa.Schema | None = None
        #: Attributes that some condition names, perhaps one that is gone, and those that none has named so far.
        self._fields: set[str] = set()
        self._unread: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self._stored)

    def __iter__(self) -> Iterator[tuple[PlacedSubscription, int]]:
        return iter(self._stored.values())

    def __contains__(self, subscription_id: str) -> bool:
        return subscription_id in self._stored

    def add(self, subscription: PlacedSubscription, expires: int) -> bool:
        """Store a subscription or prolong its lease, and say so; what a later one has replaced changes nothing."""
        name = subscription.subscription_id
        known = self._stored.get(name)
        if known is not None and known[0].rank >= subscription.rank:
            if not known[0].is_same(subscription):
                return False
            self._stored[name] = (known[0], max(expires, known[1]))
            return True
        self._stored[name] = (subscription, expires)
        if known is None or (known[0].where, known[0].parameters) != (subscription.where, subscription.parameters):
            self._leave(name)
            if not subscription.where.strip():
                self._every[name] = None
            elif self._matcher is not None:
                _compile(self._matcher, subscription, self._number(subscription))
        elif name in self._numbers:
            self._access_brokers[self._numbers[name]] = subscription.access_broker
        return True

    def get(self, subscription_id: str) -> PlacedSubscription | None:
        """Return a subscription as it is stored, None if it is not here."""
        stored = self._stored.get(subscription_id)
        return None if stored is None else stored[0]

    def remove(self, subscription_id: str) -> bool:
        """Forget a subscription; say whether it was here."""
        if self._stored.pop(subscription_id, None) is None:
            return False
        self._leave(subscription_id)
        return True

    def _leave(self, subscription_id: str) -> None:
        self._every.pop(subscription_id, None)
        number = self._numbers.pop(subscription_id, None)
        if number is not None:
            self._names[number] = None
            self._free.append(number)
            if self._matcher is not None and number in self._matcher:
                self._matcher.remove(number)

    def _number(self, subscription: PlacedSubscription) -> int:
        """Give a subscription a number, and note which attributes its condition names."""
        if self._free:
            number = self._free.pop()
        else:
            number = self._count
            self._count += 1
            if number >= len(self._names):
                room = max(64, 2 * number)
                self._names = _grown(self._names, room)
                self._access_brokers = _grown(self._access_brokers, room)
        self._numbers[subscription.subscription_id] = number
        self._names[number] = subscription.subscription_id
        self._access_brokers[number] = subscription.access_broker
        if self._unread:
            # A name inside a word or a text counts as well: one column too many is read, never one too few.
            found = [name for name in self._unread if name in subscription.where]
            if found:
                self._fields.update(found)
                self._unread = tuple(name for name in self._unread if name not in self._fields)
        return number

    def keep(self, box: ZoneBox) -> None:
        """Forget what does not meet a zone any more: it was split."""
        for subscription, _ in list(self._stored.values()):
            if not meets(box, subscription.lower, subscription.upper):
                self.remove(subscription.subscription_id)

    def part(self, box: ZoneBox) -> tuple[tuple[PlacedSubscription, int], ...]:
        """Return what meets a zone, in the order in which it came."""
        return tuple(entry for entry in self if meets(box, entry[0].lower, entry[0].upper))

    def expire(self, now: int) -> list[str]:
        """Forget the subscriptions whose lease has ended; return their ids."""
        over = [name for name, (_, expires) in self._stored.items() if expires <= now]
        for name in over:
            self.remove(name)
        return over

    @property
    def has_conditions(self) -> bool:
        """Whether there is anything to match."""
        return len(self._stored) > len(self._every)

    def every(self) -> list[PlacedSubscription]:
        """Return the subscriptions that want every event."""
        return [self._stored[name][0] for name in self._every]

    def match(self, event: Mapping[str, Any]) -> list[PlacedSubscription]:
        """Return the subscriptions that an event satisfies; one that the schema cannot read satisfies no condition."""
        found = self.every()
        if self.has_conditions:
            try:
                numbers = self._compiled().match(event)
            except EventError:
                return found
            found += [self._stored[self._names[int(number)]][0] for number in numbers]
        return found

    @property
    def fields(self) -> set[str]:
        """The attributes that conditions name: whoever matches a batch needs no others."""
        self._compiled()
        return self._fields

    def match_columns(self, columns: Mapping[str, Sequence[Any]], count: int) -> Matches:
        """Return the pairs of a batch, by row; those that want every event are not among them."""
        matcher = self._compiled()
        if count <= FEW:
            return self._match_rows(columns, count)
        try:
            found = matcher.match_many(self._table(columns, count), event_id=ROW, missing="null")
        except (EventError, pa.ArrowException, TypeError, OverflowError, UnicodeError):
            return self._match_rows(columns, count)  # some value is odd: look at each event by itself
        return self._matches(found["event_id"].to_numpy(), found["subscription_id"].to_numpy())

    def _match_rows(self, columns: Mapping[str, Sequence[Any]], count: int) -> Matches:
        rows: list[int] = []
        found: list[str | int] = []
        for row in range(count):
            try:
                numbers = self._compiled().match({name: column[row] for name, column in columns.items()})
            except EventError:
                continue
            rows += [row] * len(numbers)
            found += numbers
        return self._matches(np.array(rows, np.int64), np.array(found, np.int64))

    def _matches(self, rows: Array, numbers: Array) -> Matches:
        numbers = numbers.astype(np.int64, copy=False)  # an empty set has ids of no type
        return Matches(rows, self._names[numbers], self._access_brokers[numbers])

    def _table(self, columns: Mapping[str, Sequence[Any]], count: int) -> pa.Table:
        assert self._arrow is not None
        arrays, names = [pa.array(np.arange(count))], [ROW]
        for field in self._arrow:
            if field.name in columns and field.name in self._fields:
                arrays.append(pa.array(columns[field.name], field.type))
                names.append(field.name)
        return pa.table(arrays, names=names)

    def _compiled(self) -> Matcher | ScanMatcher:
        """Return the matcher; the first time it is made from all subscriptions at once, which is what bulks are for.

        One that cannot be compiled is put aside: a peer's mistake matches nothing and harms nobody.
        """
        if self._matcher is None:
            self._matcher = matcher(self._schema, engine=self._engine, on_error="quarantine")
            self._arrow = self._schema.to_arrow()
            self._unread = tuple(self._arrow.names)
            stored = [one for one, _ in self if one.subscription_id not in self._every]
            numbers = {self._number(one): one for one in stored}
            plain = {number: one.where for number, one in numbers.items() if not one.parameters}
            self._matcher.add_many(
                pa.table(
                    {
                        "subscription_id": pa.array(plain.keys(), pa.int64()),
                        "where": pa.array(plain.values(), pa.string()),
                    }
                )
            )
            for number, one in numbers.items():
                if one.parameters:
                    _compile(self._matcher, one, number)
        return self._matcher


def _compile(into: Matcher | ScanMatcher, subscription: PlacedSubscription, number: int) -> None:
    """Compile a subscription; a peer's that cannot be compiled matches nothing and harms nobody."""
    try:
        into.add(number, subscription.where, parameters=subscription.parameters or None)
    except SubscriptionError:
        return


def _grown(array: Array, room: int) -> Array:
    grown = np.zeros(room, array.dtype)
    grown[: len(array)] = array
    return grown
