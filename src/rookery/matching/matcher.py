"""Matcher: a set of subscriptions that may change at any time, and what it matches.

Rule 1: an edit is whole or not at all. Everything that can fail (parse, types, ids, dates) is done before anything
changes.
Rule 2: many may read while one edits. What a match reads is a view, one state of the set, which never changes; an edit
makes the next view beside it and puts it in place by one assignment. So every answer is that of one state, which the
set had at some time between the call and its return. Edits wait for each other; readers wait for nobody. What grows
with the set, an edit leaves to a thread (`upkeep.py`).
Rule 3: a bad subscription is reported with its id, its text and the place; with `on_error="quarantine"` it is put aside
in `quarantined` and the good ones still compile. None is ever dropped or altered in silence.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from threading import Lock, Thread
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from rookery.errors import SubscriptionError, UnknownSubscriptionError
from rookery.matching.bulk import SubscriptionColumns, boxes_to_rows, boxes_to_table, collector_paused
from rookery.matching.catalog import FEW, Catalog
from rookery.matching.codes import CodeSpace
from rookery.matching.compiled import CompiledSet
from rookery.matching.explain import Explanation, explain
from rookery.matching.output import match_numbers, match_table
from rookery.matching.programs import Programs
from rookery.matching.records import Records
from rookery.matching.shaped import is_plain, stage_table
from rookery.matching.staging import Entry, Stage, family_entries, lower_record, sort_out
from rookery.matching.standing import StandingSet
from rookery.matching.texts.index import TEXT
from rookery.matching.upkeep import Chore, Filing, Merging, keep
from rookery.matching.view import BY_VALUE, PROGRAM, Engine, View
from rookery.model.batches import Events
from rookery.model.check import Parameters
from rookery.model.schema import Schema
from rookery.model.shapes import Shapes
from rookery.model.subscriptions import Record, make_record, record_schema
from rookery.model.tables import checked_subscriptions, read_subscriptions

__all__ = ["Matcher"]

Array = np.ndarray[Any, Any]

#: Subscriptions lowered before their rows are made, in a bulk: their trees need not be in memory together.
BULK = 20_000
#: Ids that are sought by looking at all, before they are filed at once.
FEW_LOOKUPS = 16
#: Dead subscriptions that are kept before the set is packed without them.
MOST_DEAD = 4096


class Matcher:
    """A set of subscriptions over one schema; see `rookery.matcher`."""

    __slots__ = (
        "__weakref__", "_catalog", "_keeper", "_on_error", "_shapes", "_view", "lock", "quarantined", "schema",
    )  # fmt: skip

    def __init__(
        self, schema: Schema, make_engine: Callable[[], Engine], *, on_error: str = "raise", wall_time: bool = True
    ) -> None:
        if on_error not in ("raise", "quarantine"):
            raise ValueError(f"on_error is 'raise' or 'quarantine', got {on_error!r}")
        self.schema = schema
        #: The subscriptions that could not be compiled, with the reason and the place.
        self.quarantined: list[SubscriptionError] = []
        self._on_error = on_error
        #: Held by the one who edits; the shapes and the catalog are its own.
        self.lock = Lock()
        self._keeper: Thread | None = None
        self._shapes = Shapes(schema, wall_time=wall_time)
        self._view = View.of(CodeSpace(schema), make_engine(), Records(), [], Programs())
        self._catalog = Catalog(self._view.records)

    @classmethod
    def resume(cls, compiled: CompiledSet, make_engine: Callable[[], Engine], *, on_error: str = "raise") -> Matcher:
        """Go on editing a compiled set."""
        matcher = cls(compiled.schema, make_engine, on_error=on_error)
        view = compiled.fresh_view()
        engine = make_engine()
        if view.engine.name != engine.name:
            view = dataclasses.replace(view, engine=engine.packed(view.engine.rows(), view.space))
        matcher._view, matcher._catalog = view, Catalog(view.records)
        return matcher

    # ---- the set -------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Count the subscriptions, each version once."""
        return self._view.live

    def __contains__(self, subscription_id: object) -> bool:
        if not isinstance(subscription_id, str | int):
            return False
        if self.lock.acquire(blocking=False):
            try:
                return bool(self._catalog.find(subscription_id))
            finally:
                self.lock.release()
        view = self._view  # somebody edits, perhaps for long
        return any(view.alive[slot] for slot in view.records.find(subscription_id))

    @property
    def engine(self) -> str:
        """The name of the engine."""
        return self._view.engine.name

    @property
    def nbytes(self) -> int:
        """The bytes that the set takes: its index, its records and texts, and what finds a subscription by its id."""
        return self._view.nbytes + self._catalog.nbytes

    @property
    def set_version(self) -> int:
        """A counter that moves with every edit of the set."""
        return self._view.set_version

    def add(
        self,
        subscription_id: str | int,
        where: str = "",
        *,
        topic: str | None = None,
        parameters: Parameters | None = None,
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
        parameters: Parameters | None = None,
        subscriber: str | None = None,
        version: int | None = None,
        valid_from: object = None,
        valid_to: object = None,
    ) -> None:
        """Put this in the place of all versions of a subscription, as version highest plus one if none is given."""
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

    def set_parameters(self, subscription_id: str | int, parameters: Parameters, *, version: int | None = None) -> None:
        """Change the values of `%0` … or, by name, of `:limit` … (of its highest version if not said)."""
        with self._editing() as (view, catalog):
            slots = list(catalog.slots_of(subscription_id))
            family = [view.records[slot] for slot in slots]
            wanted = max(record.version for record in family) if version is None else version
            if all(record.version != wanted for record in family):
                raise UnknownSubscriptionError(f"subscription {subscription_id!r} has no version {version}")
            family = [
                msgspec.structs.replace(
                    one, parameters=make_record(subscription_id, one.where, parameters=parameters).parameters
                )
                if one.version == wanted
                else one
                for one in family
            ]
            self._install(family_entries(family, self._shapes), slots)

    def remove(self, subscription_id: str | int, *, version: int | None = None) -> None:
        """Remove a subscription, or one version of it."""
        with self._editing() as (view, catalog):
            slots = list(catalog.slots_of(subscription_id))
            family = [view.records[slot] for slot in slots]
            left = [] if version is None else [record for record in family if record.version != version]
            if len(left) == len(family):
                raise UnknownSubscriptionError(f"subscription {subscription_id!r} has no version {version}")
            self._install(family_entries(left, self._shapes), slots)

    def replace_many(self, ids: Iterable[str | int], table: Any) -> None:
        """Put the subscriptions of a table in the place of all that the set holds of some ids, in one step.

        The ids of the table are among those given; of one that it does not have, nothing stays.
        """
        named = dict.fromkeys(ids)
        families: dict[str | int, list[Record]] = {}
        for one in checked_subscriptions(read_subscriptions(table)):
            if isinstance(one, SubscriptionError):
                raise one
            family = families.setdefault(one.subscription_id, [])
            if one.subscription_id not in named or any(other.version == one.version for other in family):
                raise SubscriptionError("is given twice, or is not replaced", subscription_id=one.subscription_id)
            family.append(one)
        with self._editing() as (view, catalog):
            dead = catalog.find_many(list(named))
            for family in families.values():
                catalog.check_new(family[0], view.records, replacing=True)
            entries = [entry for family in families.values() for entry in family_entries(family, self._shapes)]
            if entries or dead:
                self._install(entries, dead)

    def _edit(self, subscription_id: object, where: object, details: dict[str, Any], *, replacing: bool) -> None:
        """Add or replace one subscription."""
        with self._editing() as (view, catalog):
            records = view.records
            if replacing and details["version"] is None:
                held = catalog.slots_of(subscription_id)  # type: ignore[arg-type]
                details["version"] = max(records[slot].version for slot in held) + 1
            try:
                record = make_record(subscription_id, where, **details)
                catalog.check_new(record, records, replacing=replacing)
                slots = list(catalog.find(record.subscription_id))
                family = [] if replacing else [records[slot] for slot in slots]
                entries = family_entries([*family, record], self._shapes)
            except SubscriptionError as error:
                if self._on_error == "raise":
                    raise
                self.quarantined.append(error)
                return
            self._install(entries, slots)

    def add_many(self, table: Any) -> int:
        """Add subscriptions from a table (columns `subscription_id` and `where` at least); return how many.

        `table` is what `read_subscriptions` takes: an Arrow table, a pandas or Polars frame, a list of dicts, a path.
        With `on_error="raise"` nothing is added if any is bad: the error is that of the first, and says how many
        there are.
        """
        faults: list[SubscriptionError] = []
        candidates: list[Record] = []
        table = read_subscriptions(table)
        with self._editing() as (view, _):
            if not len(view.records) and is_plain(table):
                stage = Stage(view.space)
                records = stage_table(stage, table, self._shapes, faults)
                self._set_aside(faults)
                self._swap(stage, records, [])
                return int(records.num_rows)
        with collector_paused():
            for one in checked_subscriptions(table):
                if isinstance(one, SubscriptionError):
                    faults.append(one)
                else:
                    candidates.append(one)
        with self._editing() as (view, catalog):
            if len(candidates) > FEW_LOOKUPS and catalog.unfiled:
                view = self._file()
            candidates, families, dead = sort_out(candidates, view.records, catalog, faults)
            stage = Stage(view.space)
            plain: list[Record] = []
            first = len(view.records)
            for begin in range(0, len(candidates), BULK):
                entries: list[Entry] = []
                with collector_paused():
                    for record in candidates[begin : begin + BULK]:
                        try:
                            entries.append((record, lower_record(record, self._shapes), None))
                        except SubscriptionError as error:
                            faults.append(error)
                    stage.add(entries, count(first + len(plain)))
                plain += [entry[0] for entry in entries]
            entries = [entry for family in families for entry in family_entries(family, self._shapes, faults)]
            self._set_aside(faults)
            if not first:
                # An empty set has ids of a type too: what it is matched beside has to fit.
                none = record_schema(table.schema.field("subscription_id").type).empty_table()
                self._view = dataclasses.replace(view, records=Records(none))
            stage.add(entries, count(first + len(plain)))
            added = plain + [entry[0] for entry in entries]
            if added:
                self._swap(stage, added, dead)
        return len(added) - len(dead)

    def _set_aside(self, faults: list[SubscriptionError]) -> None:
        """Quarantine the bad ones of a bulk, or raise the first."""
        if faults and self._on_error == "raise":
            first_fault = faults[0]
            if len(faults) > 1:
                first_fault.hint = f"{len(faults)} subscriptions are bad: `rookery validate` lists them all"
            raise first_fault
        self.quarantined += faults

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
        table = boxes_to_table(subscription_id, topic)
        with self._editing() as (view, catalog):
            catalog.check_bulk(table["subscription_id"], view.records)
            stage = Stage(view.space)
            boxes = SubscriptionColumns(equals or {}, lower or {}, upper or {}, topic)
            stage.add_rows(boxes_to_rows(stage, boxes, first=len(view.records), count=table.num_rows))
            if table.num_rows:
                self._swap(stage, table, [])
        return int(table.num_rows)

    # ---- how an edit is carried out ------------------------------------------------------------------------------

    @contextmanager
    def _editing(self) -> Iterator[tuple[View, Catalog]]:
        """Be the only one who edits; give the view and the catalog."""
        with self.lock:
            if not self._view.live:
                self._pack()
            yield self._view, self._catalog

    def _install(self, entries: list[Entry], dead: list[int]) -> None:
        """Take `dead` out and put `entries` in."""
        stage = Stage(self._view.space)
        stage.add(entries, count(len(self._view.records)))
        self._swap(stage, [record for record, _, _ in entries], dead)

    def _swap(self, stage: Stage, added: list[Record] | pa.Table, dead: list[int]) -> None:
        """Put the next view in place: the one where the set changes, and the last step of an edit."""
        view, catalog = self._view, self._catalog
        first = len(view.records)
        engine = view.engine
        programs = view.programs
        for moves in stage.moves:
            engine = engine.packed(engine.rows().relabeled(moves), stage.space)
            programs = programs.relabeled(moves)
        if view.space.known(TEXT.path) is None and stage.space.known(TEXT.path) is not None and first:
            engine = engine.packed(stage.with_text(engine.rows()), stage.space)
        if stage.has_rows:
            engine = engine.extended(stage.take_rows(), stage.space)  # and no name for them: the engine drops them
        by_one = isinstance(added, list)
        records = view.records.appended(added) if by_one else view.records.extended(added)
        alive, inexact = _with_room(view.alive, len(records), 1), _with_room(view.inexact, len(records), 0)
        inexact[stage.programs.slots()] = PROGRAM
        inexact[list(stage.inexact)] = BY_VALUE
        if dead:
            alive = alive.copy()
            alive[dead] = 0
        catalog.discard(dead, view.records)
        if by_one:
            catalog.append(added, first)
        else:
            catalog.extend(added, first)
        catalog.follow(records, alive)
        for slot in dead:
            view.conditions.pop(slot, None)
        self._view = View(
            space=stage.space,
            engine=engine,
            records=records,
            alive=alive,
            inexact=inexact,
            inexact_count=view.inexact_count
            + len(stage.inexact)
            + len(stage.programs)
            - int(np.count_nonzero(view.inexact[dead])),
            programs=programs.extended(stage.programs),
            topics=catalog.topics,
            dated=catalog.dated,
            conditions=view.conditions,
            live=catalog.live,
            set_version=view.set_version + 1,
        )
        if len(records) - catalog.live > max(MOST_DEAD, catalog.live):
            self._pack()
        if 0 < self._catalog.unfiled <= FEW:
            self._file()
        if (self._keeper is None or not self._keeper.is_alive()) and self._is_behind():
            self._keeper = keep(self)

    def _is_behind(self) -> bool:
        return self._catalog.unfiled > 0 or self._view.records.is_long or self._view.engine.merge_due() is not None

    def next_chore(self) -> Chore | None:
        """Return what the thread beside the edits is to do next."""
        view = self._view
        if self._catalog.unfiled or view.records.is_long:
            return Filing(view, self._catalog)
        merge = view.engine.merge_due()
        if merge is not None:
            return Merging(view, merge)
        self._keeper = None
        return None

    def finish(self, chore: Chore) -> None:
        """Put in place what the thread has done."""
        self._view = chore.finish(self._view, self._catalog) or self._view

    def _file(self) -> View:
        """File the ids at once."""
        chore = Filing(self._view, self._catalog)
        chore.run()
        self.finish(chore)
        return self._view

    def compact(self) -> None:
        """Pack the set: forget removed subscriptions. Done by itself when there are many."""
        with self.lock:
            self._pack()

    def _pack(self) -> None:
        view = self._view
        packed = view.packed()
        if packed is not view:
            self._view, self._catalog = packed, Catalog(packed.records)

    # ---- matching ------------------------------------------------------------------------------------------------

    def match(
        self,
        event: Mapping[str, Any],
        *,
        topic: str | None = None,
        time: object = None,
        on_error: str = "raise",
        now: object = None,
    ) -> list[str | int]:
        """Return the ids of the subscriptions that one event satisfies, in the order they were added."""
        view = self._view
        return view.records.ids(view.match_event(event, topic=topic, time=time, on_error=on_error, now=now))

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
        now: object = None,
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
            now=now,
        )

    def match_numbers(self, events: Events, *, missing: str = "error") -> tuple[Array, Array]:
        """Return the same pairs without a table, by row and id, of a set whose ids are numbers: a third of the cost."""
        return match_numbers(self._view, events, missing=missing)

    def explain(
        self,
        subscription_id: str | int,
        event: Mapping[str, Any],
        *,
        topic: str | None = None,
        time: object = None,
        version: int | None = None,
        on_error: str = "raise",
        now: object = None,
    ) -> Explanation:
        """Say why an event does or does not match a subscription: each predicate with the event's value."""
        event = self._view.with_now(event, now)
        return explain(self._view, subscription_id, event, topic=topic, time=time, version=version, on_error=on_error)

    def compile(self) -> CompiledSet:
        """Return the set as it stands, immutable, ready to be saved, sent and mapped into memory.

        Whatever the engine, it holds the index of `bitmap`, the one form that is saved and sent; `matched_by` and
        `matcher(compiled, engine=)` build another engine's structure from it where it is used.
        """
        return CompiledSet.of(self._view.packed())

    def standing(self, content_hash: str | None = None) -> StandingSet:
        """Return the set as it stands, immutable, not packed, so at once: for matching. `content_hash` names it."""
        return StandingSet(self._view, content_hash)


def _with_room(flags: Array, slots: int, default: int) -> Array:
    """Return flags for so many slots: these, or a longer copy."""
    if slots <= len(flags):
        return flags
    longer = np.full(max(slots, 2 * len(flags), 64), default, np.uint8)
    longer[: len(flags)] = flags
    return longer
