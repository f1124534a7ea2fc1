"""Catalog: which ids are in a set, and which topics and dates; what an edit asks before it changes anything.

Rule 1: it belongs to the one who edits. Readers never see it: what they need of it is in the view (`Topics`).
Rule 2: it follows the live subscriptions, so it changes with each edit, in time that does not grow with the set. An id
is looked up in three places: the first records, many, in a table of hashes (`ids.py`); the newest in dicts; and those
between, until the table is made anew beside the catalog (`begin_filing`, `file`), by looking at their column.
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
from rookery.matching.ids import IdTable
from rookery.matching.records import Records
from rookery.model.subscriptions import Record

__all__ = ["FEW", "SHOWN_TOPICS", "Catalog", "Topics"]

Array = np.ndarray[Any, Any]

#: Topics that a message names.
SHOWN_TOPICS = 5
#: Records at once that are kept by id one by one at any rate.
FEW = 2048
#: Ids that are looked for one by one where they are not filed.
FEW_IDS = 4
#: How much smaller than the set a bulk is whose ids are looked up one by one.
BULK_PART = 64

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

    __slots__ = ("_alive", "_filed", "_newer", "_records", "_topics", "dated", "live")

    def __init__(self, records: Records) -> None:
        """Catalog records of which all are alive."""
        self._records, self._alive = records, np.ones(len(records), np.uint8)
        self._filed: IdTable | None = None
        #: Ids by their live slots: from which slot on each of these holds them all, and what it holds.
        self._newer: list[tuple[int, SlotsById]] = [(len(records), {})]
        self._topics: dict[str, int] = {}
        #: How many live subscriptions have effective dates.
        self.dated = 0
        #: How many subscriptions are alive, each version once.
        self.live = len(records)
        self._count_table(records.slim_table())

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
        """About what the catalog takes; the ids in its dicts are shared with the records."""
        newer = sum(getsizeof(one) + 28 * len(one) for _, one in self._newer)
        return newer + getsizeof(self._topics) + (0 if self._filed is None else self._filed.nbytes)

    # ---- look-up -------------------------------------------------------------------------------------------------

    def follow(self, records: Records, alive: Array) -> None:
        """Take over the records and the flags of the set's next state."""
        self._records, self._alive = records, alive

    @property
    def unfiled(self) -> int:
        """How many records an id is sought among by looking at each."""
        return self._newer[0][0] - (0 if self._filed is None else self._filed.count)

    def find(self, subscription_id: str | int) -> tuple[int, ...]:
        """Return the live slots of an id, none if there is none."""
        slots: list[int] = [] if self._filed is None else self._filed.find(subscription_id)
        if self.unfiled:
            begin = 0 if self._filed is None else self._filed.count
            slots += self._records.find(subscription_id, begin, self._newer[0][0])
        for _, newer in self._newer:
            found = newer.get(subscription_id, ())
            slots += found if isinstance(found, tuple) else (found,)
        return tuple(slot for slot in slots if self._alive[slot])

    def find_many(self, ids: list[str | int]) -> list[int]:
        """Return the live slots of some ids; those that are not filed are looked through once for all."""
        if not self.unfiled or len(ids) < FEW_IDS:
            return [slot for one in ids for slot in self.find(one)]
        begin = 0 if self._filed is None else self._filed.count
        slots = self._records.find_many(ids, begin, self._newer[0][0])
        for one in ids:
            slots += [] if self._filed is None else self._filed.find(one)
            for _, newer in self._newer:
                found = newer.get(one, ())
                slots += found if isinstance(found, tuple) else (found,)
        return [slot for slot in slots if self._alive[slot]]

    def begin_filing(self) -> int:
        """Return how many records a table is to hold; those to come are kept apart from now on."""
        count = len(self._records)
        if self._newer[-1][0] < count:
            self._newer.append((count, {}))
        return count

    def file(self, table: IdTable) -> None:
        """Find the first records by a table from now on."""
        self._filed = table
        self._newer = [one for one in self._newer if one[0] >= table.count]

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
        """Refuse a column of ids that holds one twice, or one that the set has."""
        if self.live and ids.type != records.id_type:
            raise SubscriptionError(f"the ids of this set are {records.id_type}, and these are {ids.type}")
        twice = _given_twice(ids)
        if twice is not None:
            raise DuplicateSubscriptionError("the id is given twice", subscription_id=twice)
        if not self.live:
            return
        if BULK_PART * len(ids) < self.live and not self.unfiled:
            taken = [one for one in ids.to_pylist() if self.find(one)]
        else:
            held = records.slim_table()["subscription_id"]
            if self.live < len(records):
                held = held.filter(pa.array(self._alive[: len(records)] != 0))
            taken = ids.filter(pc.is_in(ids, value_set=held)).to_pylist()
        if taken:
            raise DuplicateSubscriptionError("the id is in the set already", subscription_id=taken[0])

    # ---- edits ---------------------------------------------------------------------------------------------------

    def discard(self, slots: Iterable[int], records: Records) -> None:
        """Take slots out; the flags that say so follow (`follow`)."""
        for slot in slots:
            record = records[slot]
            for _, newer in self._newer:
                found = newer.get(record.subscription_id, ())
                left = tuple(one for one in (found if isinstance(found, tuple) else (found,)) if one != slot)
                newer.pop(record.subscription_id, None)
                for one in left:
                    _put(newer, record.subscription_id, one)
            self._count(record, -1)

    def append(self, records: Sequence[Record], first: int) -> None:
        """Put records in, whose slots begin at `first`. Many at once are found by their column until they are filed."""
        many = len(records) > max(FEW, self.live // 4)
        if many:
            self._newer = [(first + len(records), {})]
        for slot, record in enumerate(records, first):
            if not many:
                _put(self._newer[-1][1], record.subscription_id, slot)
            self._count(record, 1)

    def extend(self, table: pa.Table, first: int) -> None:
        """Put a table of records in, whose slots begin at `first`."""
        self._newer = [(first + table.num_rows, {})]
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


def _given_twice(ids: pa.ChunkedArray) -> str | int | None:
    """Return an id that a column holds more than once, None if there is none."""
    if pa.types.is_integer(ids.type):  # in order they take a tenth of the memory that a table of hashes does
        numbers = ids.to_numpy()
        if (numbers[1:] > numbers[:-1]).all():
            return None
        numbers = np.sort(numbers)
        same = np.flatnonzero(numbers[1:] == numbers[:-1])
        return int(numbers[same[0]]) if len(same) else None
    if pc.count_distinct(ids).as_py() == len(ids):
        return None
    counts = pc.value_counts(ids)
    twice: str = counts.filter(pc.greater(pc.struct_field(counts, "counts"), 1))[0]["values"].as_py()
    return twice
