"""Matcher: a set of subscriptions that may change at any time, and what it matches.

Rule 1: an edit is whole or not at all. Everything that can fail (parse, types, ids, dates) is done before anything
changes.
Rule 2: a bad subscription is reported with its id, its text and the place; with `on_error="quarantine"` it is put aside
in `quarantined` and the good ones still compile. None is ever dropped or altered in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from rookery.errors import SubscriptionError, UnknownSubscriptionError
from rookery.matching.bulk import (
    Boxes,
    boxes_to_rows,
    boxes_to_table,
    collector_paused,
    read_records,
    records_to_table,
)
from rookery.matching.codes import CodeSpace
from rookery.matching.compiled import CompiledSet
from rookery.matching.explain import Explanation, explain
from rookery.matching.output import match_table
from rookery.matching.records import Record, Records, make_record
from rookery.matching.staging import Entry, Stage, family_entries, lower_record, sort_out
from rookery.matching.view import Engine, View
from rookery.model.batches import Events
from rookery.model.schema import Schema
from rookery.model.shapes import Shapes

__all__ = ["Matcher"]

#: Subscriptions lowered before their rows are made, in a bulk: their trees need not be in memory together.
BULK = 20_000
#: Dead subscriptions that are kept before the set is packed without them.
MOST_DEAD = 4096


class Matcher:
    """A set of subscriptions over one schema; see `rookery.matcher`."""

    __slots__ = ("_dead", "_make_engine", "_on_error", "_set_version", "_shapes", "_view", "quarantined", "schema")

    def __init__(self, schema: Schema, make_engine: Callable[[], Engine], *, on_error: str = "raise") -> None:
        if on_error not in ("raise", "quarantine"):
            raise ValueError(f"on_error is 'raise' or 'quarantine', got {on_error!r}")
        self.schema = schema
        self._shapes = Shapes(schema)
        #: The subscriptions that could not be compiled, with the reason and the place.
        self.quarantined: list[SubscriptionError] = []
        self._on_error = on_error
        self._make_engine = make_engine
        self._view = View(CodeSpace(schema), make_engine(), Records(), np.ones(0, np.uint8), set(), {})
        self._dead = 0
        self._set_version = 0

    @classmethod
    def resume(cls, compiled: CompiledSet, make_engine: Callable[[], Engine], *, on_error: str = "raise") -> Matcher:
        """Go on editing a compiled set."""
        matcher = cls(compiled.schema, make_engine, on_error=on_error)
        matcher._view = compiled.fresh_view()
        if matcher._view.engine.name != make_engine().name:
            engine = make_engine()
            engine.replace(matcher._view.engine.rows(), len(matcher._view.space))
            matcher._view.engine = engine
        return matcher

    # ---- the set -------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Count the subscriptions, each version once."""
        return len(self._view.records) - self._dead

    def __contains__(self, subscription_id: object) -> bool:
        return isinstance(subscription_id, str | int) and bool(self._view.records.find(subscription_id))

    @property
    def engine(self) -> str:
        """The name of the engine."""
        return self._view.engine.name

    @property
    def nbytes(self) -> int:
        """The bytes that the set takes: its index and its records, texts included."""
        return self._view.engine.nbytes + self._view.records.nbytes + self._view.alive.nbytes

    @property
    def set_version(self) -> int:
        """A counter that moves with every edit of the set."""
        return self._set_version

    def add(
        self,
        subscription_id: str | int,
        where: str = "",
        *,
        topic: str | None = None,
        parameters: Sequence[object] | None = None,
        subscriber: str | None = None,
        version: int = 1,
        valid_from: object = None,
        valid_to: object = None,
    ) -> None:
        """Add a subscription, or a further version of one."""
        self._edit(
            subscription_id,
            where,
            {
                "topic": topic,
                "parameters": parameters,
                "subscriber": subscriber,
                "version": version,
                "valid_from": valid_from,
                "valid_to": valid_to,
            },
            replacing=False,
        )

    def replace(
        self,
        subscription_id: str | int,
        where: str = "",
        *,
        topic: str | None = None,
        parameters: Sequence[object] | None = None,
        subscriber: str | None = None,
        version: int | None = None,
        valid_from: object = None,
        valid_to: object = None,
    ) -> None:
        """Put this in the place of all versions of a subscription, as version highest plus one if none is given."""
        if version is None:
            slots = self._view.records.slots_of(subscription_id)
            version = max(self._view.records[slot].version for slot in slots) + 1
        self._edit(
            subscription_id,
            where,
            {
                "topic": topic,
                "parameters": parameters,
                "subscriber": subscriber,
                "version": version,
                "valid_from": valid_from,
                "valid_to": valid_to,
            },
            replacing=True,
        )

    def set_parameters(
        self, subscription_id: str | int, parameters: Sequence[object], *, version: int | None = None
    ) -> None:
        """Change the values of `%0`, `%1`, … of a subscription (of its highest version if not said); its text stays."""
        records = self._view.records
        slots = records.slots_of(subscription_id)
        family = [records[slot] for slot in slots]
        wanted = max(record.version for record in family) if version is None else version
        if all(record.version != wanted for record in family):
            raise UnknownSubscriptionError(f"subscription {subscription_id!r} has no version {version}")
        values = make_record(subscription_id, "", parameters=parameters).parameters
        family = [msgspec.structs.replace(one, parameters=values) if one.version == wanted else one for one in family]
        self._install(family_entries(family, self._shapes), list(slots))

    def remove(self, subscription_id: str | int, *, version: int | None = None) -> None:
        """Remove a subscription, or one version of it."""
        records = self._view.records
        slots = list(records.slots_of(subscription_id))
        family = [records[slot] for slot in slots]
        left = [] if version is None else [record for record in family if record.version != version]
        if len(left) == len(family):
            raise UnknownSubscriptionError(f"subscription {subscription_id!r} has no version {version}")
        self._install(family_entries(left, self._shapes), slots)

    def _edit(self, subscription_id: object, where: object, details: dict[str, Any], *, replacing: bool) -> None:
        """Add or replace one subscription."""
        records = self._view.records
        try:
            record = make_record(subscription_id, where, **details)
            records.check_new(record, replacing=replacing)
            slots = list(records.find(record.subscription_id))
            family = [] if replacing else [records[slot] for slot in slots]
            entries = family_entries([*family, record], self._shapes)
        except SubscriptionError as error:
            if self._on_error == "raise":
                raise
            self.quarantined.append(error)
            return
        self._install(entries, slots)

    def add_many(self, table: pa.Table) -> int:
        """Add subscriptions from a table (columns `subscription_id` and `where` at least); return how many.

        With `on_error="raise"` nothing is added if any is bad: the error is that of the first, and says how many
        there are.
        """
        faults: list[SubscriptionError] = []
        candidates: list[Record] = []
        with collector_paused():
            for one in read_records(table):
                if isinstance(one, SubscriptionError):
                    faults.append(one)
                else:
                    candidates.append(one)
        self.compact()
        candidates, families, dead = sort_out(candidates, self._view.records, faults)
        stage = Stage(self._view.space.copy())
        plain: list[Record] = []
        first = len(self._view.records)
        for begin in range(0, len(candidates), BULK):
            entries: list[Entry] = []
            with collector_paused():
                for record in candidates[begin : begin + BULK]:
                    try:
                        entries.append((record, lower_record(record, self._shapes), None))
                    except SubscriptionError as error:
                        faults.append(error)
                stage.add(entries, first + len(plain))
            plain += [entry[0] for entry in entries]
        entries = [entry for family in families for entry in family_entries(family, self._shapes, faults)]
        if faults and self._on_error == "raise":
            first_fault = faults[0]
            if len(faults) > 1:
                first_fault.hint = f"{len(faults)} subscriptions are bad: `rookery validate` lists them all"
            raise first_fault
        self.quarantined += faults
        self._extend(stage, records_to_table(plain, self._view.records.id_type))
        if entries:
            self._install(entries, dead)
        return len(plain) + len(entries) - len(dead)

    def add_boxes(
        self,
        subscription_id: Any,
        *,
        equals: Mapping[str, Any] | None = None,
        lower: Mapping[str, Any] | None = None,
        upper: Mapping[str, Any] | None = None,
        topic: str | None = None,
    ) -> int:
        """Add subscriptions given as columns instead of text: the fastest way in, for millions of them.

        Each mapping names attributes and gives one value per subscription: what the attribute must equal, the least
        and the greatest value it may have (both inclusive). A null leaves that side open. Returns how many were
        added.
        """
        self.compact()
        table = boxes_to_table(subscription_id, topic)
        self._view.records.check_bulk(table["subscription_id"])
        stage = Stage(self._view.space.copy())
        boxes = Boxes(equals or {}, lower or {}, upper or {}, topic)
        stage.add_rows(boxes_to_rows(stage, boxes, first=len(self._view.records), count=table.num_rows))
        self._extend(stage, table)
        return int(table.num_rows)

    # ---- how an edit is carried out ------------------------------------------------------------------------------

    def _install(self, entries: list[Entry], dead: list[int]) -> None:
        """Take `dead` out and put `entries` in: the one place where a single edit changes the set."""
        view = self._view
        stage = Stage(view.space)
        stage.add(entries, len(view.records))
        for slot in dead:
            view.records.discard(slot)
            view.alive[slot] = 0
            view.inexact.discard(slot)
            view.conditions.pop(slot, None)
        self._dead += len(dead)
        for record, _, _ in entries:
            view.records.append(record)
        self._take_over(stage)
        if self._dead > max(MOST_DEAD, len(self)):
            self.compact()

    def _extend(self, stage: Stage, table: pa.Table) -> None:
        """Put many subscriptions in at once."""
        if table.num_rows:
            self._view.records.extend(table)
            self._take_over(stage)

    def _take_over(self, stage: Stage) -> None:
        """Make the stage's space and rows those of the set, whose records are there already."""
        view = self._view
        view.space = stage.space
        for moves in stage.moves:
            view.engine.replace(view.engine.rows().relabeled(moves), len(view.space))
        self._grow(len(view.records))
        view.inexact |= stage.inexact
        rows = stage.take_rows()
        if len(rows):
            view.engine.insert(rows, len(view.space))
        self._set_version += 1

    def _grow(self, slots: int) -> None:
        alive = self._view.alive
        if slots > len(alive):
            grown = np.ones(max(slots, 2 * len(alive), 64), np.uint8)
            grown[: len(alive)] = alive
            self._view.alive = grown

    def compact(self) -> None:
        """Pack the set: forget removed subscriptions. Done by itself when there are many."""
        if not self._dead:
            return
        view = self._view
        kept = np.flatnonzero(view.alive[: len(view.records)])
        number = np.full(len(view.records), -1, np.int64)
        number[kept] = np.arange(len(kept))
        rows = view.engine.rows()
        rows = rows.take(np.flatnonzero(view.alive[rows.slot]))
        view.engine.replace(rows.with_slots(number[rows.slot]), len(view.space))
        view.records = Records(view.records.slim_table().take(pa.array(kept)))
        view.alive = np.ones(max(len(kept), 64), np.uint8)
        view.inexact = {int(number[slot]) for slot in view.inexact}
        view.conditions = {}
        self._dead = 0

    # ---- matching ------------------------------------------------------------------------------------------------

    def match(
        self,
        event: Mapping[str, Any],
        *,
        topic: str | None = None,
        time: object = None,
        on_error: str = "raise",
    ) -> list[str | int]:
        """Return the ids of the subscriptions that one event satisfies, in the order they were added."""
        slots = self._view.match_event(event, topic=topic, time=time, on_error=on_error)
        return self._view.records.ids(slots)

    def match_many(
        self,
        events: Events,
        *,
        event_id: str = "event_id",
        time: str | None = None,
        topic: str | None = None,
        as_of: object = None,
        missing: str = "error",
        on_error: str = "raise",
    ) -> pa.Table:
        """Return the matches of a batch: event_id, subscription_id, version, by event and then by subscription.

        `missing="null"` takes a column that the batch does not have for NULL; by default it is an error.
        """
        return match_table(
            self._view,
            events,
            event_id=event_id,
            time=time,
            topic=topic,
            as_of=as_of,
            missing=missing,
            on_error=on_error,
        )

    def explain(
        self,
        subscription_id: str | int,
        event: Mapping[str, Any],
        *,
        topic: str | None = None,
        time: object = None,
        version: int | None = None,
        on_error: str = "raise",
    ) -> Explanation:
        """Say why an event does or does not match a subscription: each predicate with the event's value."""
        return explain(self._view, subscription_id, event, topic=topic, time=time, version=version, on_error=on_error)

    def compile(self) -> CompiledSet:
        """Return the set as it stands, immutable, ready to be saved, sent and mapped into memory."""
        self.compact()
        return CompiledSet.of(self._view)
