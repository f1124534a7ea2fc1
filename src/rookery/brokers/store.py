"""The subscriptions of one zone, and which of them want an event.

The box of a subscription decided that it is stored here; whether an event satisfies it is decided by the compiled
conditions (`conditions.py`). Subscriptions without a condition stay out of those: they want every event.

A batch is matched without a Python object per pair: conditions are known by number, and their names and access brokers
stand in arrays by that number. Of a batch's columns only those are read that some condition names.

The conditions are lent to whoever matches them, who may take long (`lend`, `give_back`). What is stored and removed
meanwhile they learn when they are lent again; a match of what was removed meanwhile is none, and that of a client that
has moved meanwhile goes where it is now. No number is used again before the conditions have forgotten it.

What was taken back is remembered for a while, by its version: an earlier message of it that was held up on a longer way
would place it again, and nobody would take it back once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rookery.brokers.conditions import Array, CompiledConditions, Loan, Pairs
from rookery.brokers.messages import PlacedSubscription, Rank
from rookery.model.schema import Schema
from rookery.space.zones import ZoneBox, meets

__all__ = ["Matches", "ZoneStore"]


#: Subscriptions that were taken back and are remembered, at most; the oldest are forgotten first.
MOST_TAKEN_BACK = 4096


class Matches(NamedTuple):
    """The pairs of a batch in the order of its rows: row, name of the subscription, its access broker."""

    rows: Array
    names: Array
    access_brokers: Array


class ZoneStore:
    """Subscriptions by id, each with the time at which its lease ends."""

    __slots__ = (
        "_access_brokers",
        "_conditions",
        "_count",
        "_edits",
        "_engine",
        "_every",
        "_fields",
        "_free",
        "_freed",
        "_is_lent",
        "_names",
        "_numbers",
        "_schema",
        "_stored",
        "_taken_back",
        "_unread",
    )

    def __init__(self, schema: Schema, *, engine: str = "bitmap") -> None:
        self._schema = schema
        self._engine = engine
        self._stored: dict[str, tuple[PlacedSubscription, int]] = {}
        self._every: dict[str, None] = {}
        #: By name, what was taken back and until when that is remembered, the latest last.
        self._taken_back: dict[str, tuple[Rank, int]] = {}
        #: Made at the first event, from all subscriptions at once; None before.
        self._conditions: CompiledConditions | None = None
        self._is_lent = False
        self._reset()

    def _reset(self) -> None:
        self._conditions = None
        #: By name the number of a condition, by number its name and access broker.
        self._numbers: dict[str, int] = {}
        self._names: Array = np.empty(0, np.object_)
        self._access_brokers: Array = np.empty(0, np.int64)
        self._count = 0
        #: Numbers that the conditions do not know, and those that they will have forgotten when they are lent again.
        self._free: list[int] = []
        self._freed: list[int] = []
        #: What the conditions do not know yet: by number what it stands for now, None for nothing.
        self._edits: dict[int, PlacedSubscription | None] = {}
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
        if name in self._taken_back and self._taken_back[name][0] >= subscription.rank:
            return False
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
            elif self._conditions is not None:
                self._number(subscription)
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

    def take_back(self, subscription_id: str, rank: Rank, until: int) -> bool:
        """Forget a subscription, and remember until a time that it was taken back; say whether it was here."""
        before = self._taken_back.pop(subscription_id, (rank, until))
        self._taken_back[subscription_id] = (max(rank, before[0]), max(until, before[1]))
        if len(self._taken_back) > MOST_TAKEN_BACK:
            del self._taken_back[next(iter(self._taken_back))]
        known = self._stored.get(subscription_id)
        return known is not None and known[0].rank <= rank and self.remove(subscription_id)

    def taken_back(self) -> Iterator[tuple[str, Rank, int]]:
        """Return what was taken back: name, rank, until when that is remembered."""
        return ((name, rank, until) for name, (rank, until) in self._taken_back.items())

    def version(self, subscription_id: str) -> int:
        """Return the greatest version of a subscription that was here, taken back or not; 0 if none is known."""
        known, gone = self._stored.get(subscription_id), self._taken_back.get(subscription_id)
        return max(0 if known is None else known[0].version, 0 if gone is None else gone[0][0])

    def _leave(self, subscription_id: str) -> None:
        self._every.pop(subscription_id, None)
        number = self._numbers.pop(subscription_id, None)
        if number is None:
            return
        if self._edits.pop(number, None) is not None:  # the conditions have never heard of it
            self._free.append(number)
        else:
            self._edits[number] = None
            self._freed.append(number)

    def _number(self, subscription: PlacedSubscription) -> None:
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
        self._edits[number] = subscription
        self._numbers[subscription.subscription_id] = number
        self._names[number] = subscription.subscription_id
        self._access_brokers[number] = subscription.access_broker
        if self._unread:
            # A name inside a word or a text counts as well: one column too many is read, never one too few.
            found = [name for name in self._unread if name in subscription.where]
            if found:
                self._fields.update(found)
                self._unread = tuple(name for name in self._unread if name not in self._fields)

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
        if self._taken_back:
            self._taken_back = {name: gone for name, gone in self._taken_back.items() if gone[1] > now}
        over = [name for name, (_, expires) in self._stored.items() if expires <= now]
        for name in over:
            self.remove(name)
        return over

    def prolong(self, microseconds: int) -> None:
        """Let all leases end so much later."""
        self._stored = {name: (one, expires + microseconds) for name, (one, expires) in self._stored.items()}

    @property
    def has_conditions(self) -> bool:
        """Whether there is anything to match."""
        return len(self._stored) > len(self._every)

    def every(self) -> list[PlacedSubscription]:
        """Return the subscriptions that want every event."""
        return [self._stored[name][0] for name in self._every]

    # ---- matching ------------------------------------------------------------------------------------------------

    def lend(self) -> Loan:
        """Hand the conditions to who matches them, once, and gives them back with what was found."""
        assert not self._is_lent, "whoever has the conditions gives them back first"
        self._is_lent = True
        if self._conditions is None:
            self._conditions = CompiledConditions(self._schema, self._engine)
            self._unread = tuple(self._schema.to_arrow().names)
            for one, _ in self:
                if one.subscription_id not in self._every:
                    self._number(one)
        edits, self._edits = self._edits, {}
        for number in self._freed:
            self._names[number] = None
        self._free += self._freed
        self._freed.clear()
        return Loan(self._conditions, edits, frozenset(self._fields))

    def give_back(self, found: Pairs) -> Matches:
        """Take the conditions back; return who wants what of a batch, as of now."""
        self._is_lent = False
        rows, numbers = found
        if self._freed:
            for number in self._freed:
                name = self._names[number]  # of one that was replaced meanwhile, or is gone
                if name in self._stored:
                    self._access_brokers[number] = self._stored[name][0].access_broker
                else:
                    self._names[number] = None
            stays = np.array([name is not None for name in self._names[numbers]], np.bool_)
            rows, numbers = rows[stays], numbers[stays]
        return Matches(rows, self._names[numbers], self._access_brokers[numbers])

    def abandon(self) -> None:
        """Forget the conditions: who had them failed. They are made anew when they are next lent."""
        self._is_lent = False
        self._reset()

    def match(self, event: Mapping[str, Any]) -> list[PlacedSubscription]:
        """Return the subscriptions that an event satisfies; one that the schema cannot read satisfies no condition."""
        found = self.every()
        if self.has_conditions:
            numbers = self.lend().match(event)
            self._is_lent = False
            found += [self._stored[self._names[number]][0] for number in numbers]
        return found

    def match_columns(self, columns: Mapping[str, Sequence[Any]], count: int) -> Matches:
        """Return the pairs of a batch, by row; those that want every event are not among them."""
        return self.give_back(self.lend().match_columns(columns, count))


def _grown(array: Array, room: int) -> Array:
    grown = np.zeros(room, array.dtype)
    grown[: len(array)] = array
    return grown
