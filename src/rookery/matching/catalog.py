"""Catalog: which ids are in a set, and which topics and dates; what an edit asks before it changes anything.

Rule 1: it belongs to the one who edits. Readers never see it: what they need of it is in the view (`Topics`).
Rule 2: it follows the live subscriptions, so it changes with each edit, in time that does not grow with the set; only
the look-up by id is made from the whole set, once, at the first edit that asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from sys import getsizeof
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rookery.errors import DuplicateSubscriptionError, SubscriptionError, UnknownSubscriptionError
from rookery.matching.records import Records
from rookery.model.subscriptions import Record

__all__ = ["SHOWN_TOPICS", "Catalog", "Topics"]

#: Topics that a message names.
SHOWN_TOPICS = 5
#: Records that the look-up by id follows one by one at any rate.
FEW = 2048


#: A number by itself, not a tuple of one: a million ids are then a million objects fewer for the collector to visit.
SlotsById = dict[str | int, int | tuple[int, ...]]


def _put(slots: SlotsById, subscription_id: str | int, slot: int) -> None:
    found = slots.setdefault(subscription_id, slot)
    if found is not slot:
        slots[subscription_id] = (*(found if isinstance(found, tuple) else (found,)), slot)


class Topics(NamedTuple):
    """How many topics the subscriptions of a set name, and the first few of them."""

    total: int
    first: tuple[str, ...]


class Catalog:
    """The live subscriptions of a set by id, and how many name each topic and a date."""

    __slots__ = ("_topics", "dated", "live", "slots")

    def __init__(self, records: Records) -> None:
        """Catalog records of which all are alive."""
        table = records.slim_table()
        #: The live slot of each id, or its slots where it has several; None until they are asked for.
        self.slots: SlotsById | None = None if len(records) else {}
        self._topics: dict[str, int] = {}
        #: How many live subscriptions have effective dates.
        self.dated = 0
        #: How many subscriptions are alive, each version once.
        self.live = len(records)
        self._count_table(table)

    def _count_table(self, table: pa.Table) -> None:
        if "topic" in table.schema.names:
            for one in pc.value_counts(table["topic"]).to_pylist():
                if one["values"] is not None:
                    self._topics[one["values"]] = self._topics.get(one["values"], 0) + one["counts"]
        dates = [pc.is_valid(table[name]) for name in ("valid_from", "valid_to") if name in table.schema.names]
        if dates:
            self.dated += pc.sum(dates[0] if len(dates) == 1 else pc.or_(*dates)).as_py() or 0

    @property
    def topics(self) -> Topics:
        return Topics(len(self._topics), tuple(islice(self._topics, SHOWN_TOPICS + 1)))

    @property
    def nbytes(self) -> int:
        """About what the catalog takes; the ids are shared with nobody, since the records keep theirs in a column."""
        if self.slots is None:
            return getsizeof(self._topics)
        some = list(islice(self.slots, 64))
        identity = sum(map(getsizeof, some)) // max(1, len(some))
        each = identity + 28  # the id, and its slot's number
        return getsizeof(self.slots) + each * len(self.slots) + getsizeof(self._topics)

    # ---- look-up -------------------------------------------------------------------------------------------------

    def prepare(self, records: Records, alive: np.ndarray[Any, Any]) -> SlotsById:
        """Make the look-up by id, if it is not there: from then on it follows each edit."""
        if self.slots is not None:
            return self.slots
        slots: SlotsById = {}
        kept = alive[: len(records)].tolist()
        for slot, one in enumerate(records.slim_table()["subscription_id"].to_pylist()):
            if kept[slot]:
                _put(slots, one, slot)
        self.slots = slots
        return slots

    def find(self, subscription_id: str | int) -> tuple[int, ...]:
        """Return the live slots of an id, none if there is none. The look-up must have been made."""
        assert self.slots is not None
        found = self.slots.get(subscription_id, ())
        return found if isinstance(found, tuple) else (found,)

    def slots_of(self, subscription_id: str | int) -> tuple[int, ...]:
        """Return the live slots of an id; UnknownSubscriptionError if there is none."""
        slots = self.find(subscription_id)
        if not slots:
            raise UnknownSubscriptionError(f"no subscription {subscription_id!r} is in the set")
        return slots

    def check_new(self, record: Record, records: Records, *, replacing: bool = False) -> None:
        """Refuse a record whose id is of the wrong type or is taken."""
        wanted = pa.string() if isinstance(record.subscription_id, str) else pa.int64()
        if records.id_type is not None and wanted != records.id_type and self.live:
            raise SubscriptionError(
                f"the ids of this set are {records.id_type}, and this one is {wanted}",
                subscription_id=record.subscription_id,
                hint="use one type for all ids",
            )
        if replacing:
            return
        for slot in self.find(record.subscription_id):
            if records[slot].version == record.version:
                raise DuplicateSubscriptionError(
                    f"version {record.version} is in the set already",
                    subscription_id=record.subscription_id,
                    hint="use replace(), or a higher version",
                )

    def check_bulk(self, ids: pa.ChunkedArray, records: Records) -> None:
        """Refuse a column of ids that holds one twice, or one that the set has.

        Without the look-up by id, which millions of boxes never need, no record may be dead.
        """
        if self.live and ids.type != records.id_type:
            raise SubscriptionError(f"the ids of this set are {records.id_type}, and these are {ids.type}")
        if pc.count_distinct(ids).as_py() != len(ids):
            counts = pc.value_counts(ids)
            twice = counts.filter(pc.greater(pc.struct_field(counts, "counts"), 1))[0]["values"].as_py()
            raise DuplicateSubscriptionError("the id is given twice", subscription_id=twice)
        if not self.live:
            return
        if self.slots is None:
            taken = ids.filter(pc.is_in(ids, value_set=records.slim_table()["subscription_id"])).to_pylist()
        else:
            taken = [one for one in ids.to_pylist() if one in self.slots]
        if taken:
            raise DuplicateSubscriptionError("the id is in the set already", subscription_id=taken[0])

    # ---- edits ---------------------------------------------------------------------------------------------------

    def discard(self, slots: Iterable[int], records: Records) -> None:
        """Take slots out."""
        assert self.slots is not None
        for slot in slots:
            record = records[slot]
            left = tuple(one for one in self.find(record.subscription_id) if one != slot)
            del self.slots[record.subscription_id]
            for one in left:
                _put(self.slots, record.subscription_id, one)
            self._count(record, -1)

    def append(self, records: Sequence[Record], first: int) -> None:
        """Put records in, whose slots begin at `first`. Many at once cost the look-up, which is then made anew."""
        if len(records) > max(FEW, self.live // 4):
            self.slots = None
        for slot, record in enumerate(records, first):
            if self.slots is not None:
                _put(self.slots, record.subscription_id, slot)
            self._count(record, 1)

    def extend(self, table: pa.Table) -> None:
        """Put a table of records in; the look-up is made anew when it is next asked."""
        self.slots = None
        self._count_table(table)
        self.live += table.num_rows

    def _count(self, record: Record, step: int) -> None:
        self.live += step
        self.dated += step * record.dated
        if record.topic is not None:
            count = self._topics.get(record.topic, 0) + step
            if count:
                self._topics[record.topic] = count
            else:
                del self._topics[record.topic]
