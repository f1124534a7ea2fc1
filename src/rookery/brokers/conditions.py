"""The conditions of a zone's subscriptions, compiled: which of them does an event satisfy?

Subscriptions are known by number here. A task of a `Compute` works on these in a thread of its own, and to change them
is long work too: so they are changed when they are next matched, by whoever matches them (`Loan`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from rookery.brokers.messages import PlacedSubscription
from rookery.errors import EventError, SubscriptionError
from rookery.matching import matcher
from rookery.model.batches import Batch
from rookery.model.schema import Schema

__all__ = ["FEW", "CompiledConditions", "Loan", "Pairs"]

Array = np.ndarray[Any, Any]

#: Up to so many events are matched one by one, and so many subscriptions added: a bulk has a fixed cost.
FEW = 12


class Pairs(NamedTuple):
    """The matches of a batch in the order of its rows: row, number of the subscription."""

    rows: Array
    numbers: Array


class CompiledConditions:
    """A matcher of numbered subscriptions, which belongs to one thread at a time."""

    __slots__ = ("_matcher", "_types")

    def __init__(self, schema: Schema, engine: str) -> None:
        self._matcher = matcher(schema, engine=engine, on_error="quarantine", wall_time=False)
        self._types = {field.name: field.type for field in schema.to_arrow()}

    def edit(self, edits: Mapping[int, PlacedSubscription | None]) -> None:
        """Remove numbers that have no subscription any more, add those that have one.

        One that cannot be compiled is put aside: a peer's mistake matches nothing and harms nobody.
        """
        for number, one in edits.items():
            if one is None and number in self._matcher:
                self._matcher.remove(number)
        added = {number: one for number, one in edits.items() if one is not None}
        plain = {number: one.where for number, one in added.items() if not one.parameters}
        if len(plain) > FEW:
            numbers, conditions = pa.array(plain.keys(), pa.int64()), pa.array(plain.values(), pa.string())
            self._matcher.add_many(pa.table({"subscription_id": numbers, "where": conditions}))
            added = {number: one for number, one in added.items() if one.parameters}
        for number, one in added.items():
            try:
                self._matcher.add(number, one.where, parameters=one.parameters or None)
            except SubscriptionError:
                continue

    def match(self, event: Mapping[str, Any]) -> list[int]:
        """Return the numbers that an event satisfies; one that the schema cannot read satisfies none."""
        try:
            return [int(number) for number in self._matcher.match(event)]
        except EventError:
            return []

    def match_columns(self, columns: Mapping[str, Sequence[Any]], count: int) -> Pairs:
        """Return the pairs of a batch, by row."""
        if count > FEW:
            try:
                return Pairs(*self._matcher.match_numbers(self._batch(columns, count), missing="null"))
            except (EventError, pa.ArrowException, TypeError, OverflowError, UnicodeError):
                pass  # some value is odd: look at each event by itself
        rows: list[int] = []
        satisfied: list[int] = []
        for row in range(count):
            numbers = self.match({name: column[row] for name, column in columns.items()})
            rows += [row] * len(numbers)
            satisfied += numbers
        return Pairs(np.array(rows, np.int64), np.array(satisfied, np.int64))

    def _batch(self, columns: Mapping[str, Sequence[Any]], count: int) -> Batch:
        """Return columns as those of a batch, each in the type of the schema."""
        names = [name for name in columns if name in self._types]
        arrays = [pa.array(columns[name], self._types[name]) for name in names]
        return Batch(names, count, arrays.__getitem__)


class Loan(NamedTuple):
    """The conditions of a zone in the hands of whoever matches them, and how they have changed since the last time."""

    conditions: CompiledConditions
    edits: dict[int, PlacedSubscription | None]
    #: The attributes that conditions name: no others need be read.
    fields: frozenset[str]

    def match_columns(self, columns: Mapping[str, Sequence[Any]], count: int) -> Pairs:
        """Make the changes, and return the pairs of a batch."""
        self.conditions.edit(self.edits)
        return self.conditions.match_columns(
            {name: column for name, column in columns.items() if name in self.fields}, count
        )

    def match(self, event: Mapping[str, Any]) -> list[int]:
        """Make the changes, and return the numbers that an event satisfies."""
        self.conditions.edit(self.edits)
        return self.conditions.match(event)
