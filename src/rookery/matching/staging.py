"""Staging: an edit is prepared beside the set, and the set changes only when nothing can fail any more.

A stage holds the rows of the subscriptions to come and the code space that they need, beside the set's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from rookery.errors import DuplicateSubscriptionError, SubscriptionError
from rookery.matching.catalog import Catalog
from rookery.matching.codes import HIGHEST_CODE, TIME, TOPIC, CodeSpace
from rookery.matching.kernels import NULL_CODE
from rookery.matching.labels import Moves
from rookery.matching.programs import Programs, ProgramsBuilder
from rookery.matching.records import Records
from rookery.matching.rows import Rows, RowsBuilder
from rookery.matching.texts.index import NO_TEXT, TEXT
from rookery.matching.timeline import Dating, deciding_times
from rookery.model.lower import Decision, Term, decision
from rookery.model.parser import parse
from rookery.model.shapes import Shapes
from rookery.model.subscriptions import Record
from rookery.model.values import Intervals

__all__ = ["Entry", "Stage", "family_entries", "lower_record", "sort_out"]

#: A subscription to install: its record, its boxes, and the times at which it decides (None: always).
Entry: TypeAlias = tuple[Record, list[Term], Intervals | None]


class Stage:
    """Rows to come, in the codes of a space that may have grown for them."""

    __slots__ = ("_parts", "inexact", "moves", "programs", "space")

    def __init__(self, space: CodeSpace) -> None:
        self.space = space.edited()
        #: The slots that are verified by value, and the programs that decide others.
        self.inexact: set[int] = set()
        self.programs = Programs()
        #: Labels that had to move, oldest first: what the rows of the set must follow when the stage is taken over.
        self.moves: list[dict[int, Moves]] = []
        self._parts: list[Rows] = []

    def add(self, entries: Iterable[Entry], slots: Iterable[int]) -> None:
        """Make the rows of entries for their slots; `slots` may go on without an end."""
        builder = RowsBuilder(self.space)
        for (record, terms, times), slot in zip(entries, slots, strict=False):
            builder.add(
                slot,
                [_constrained(term, record, times) for term in terms],
                None if all(term.exact for term in terms) else self._decision(record, times),
            )
        self.label(builder.texts())
        rows, inexact, trees = builder.build()
        self.add_rows(rows)
        self.inexact |= inexact
        writer = ProgramsBuilder()
        for slot, tree in trees.items():
            writer.add(slot, tree, (0, [(NULL_CODE, HIGHEST_CODE)]))
        self.programs = self.programs.extended(writer.build())

    def _decision(self, record: Record, times: Intervals | None) -> Decision:
        """Return what decides a record whose terms are larger than the truth."""
        whole = decision(parse(record.where or ""), self.space.schema, record.parameters)
        return "and", [_constrained(Term({}), record, times), whole]

    def add_rows(self, rows: Rows) -> None:
        """Add rows that are in this space's codes."""
        self._parts.append(rows)

    def label(self, texts: Mapping[int, Iterable[str]]) -> None:
        """Give labels to texts; where labels had to move, move the rows of this stage with them."""
        moves = self.space.insert_texts(texts)
        if moves:
            self.moves.append(moves)
            self._parts = [rows.relabeled(moves) for rows in self._parts]
            self.programs = self.programs.relabeled(moves)

    @property
    def has_rows(self) -> bool:
        """Whether any row is to come."""
        return any(map(len, self._parts))

    def take_rows(self) -> Rows:
        """Hand over all rows of the stage by slot; it keeps none, so that a large bulk is not in memory twice."""
        parts, self._parts = self._parts, []
        rows = Rows.concatenate(parts)
        if (rows.slot[1:] < rows.slot[:-1]).any():
            rows = rows.take(np.argsort(rows.slot, kind="stable"))
        return self.with_text(rows)

    def with_text(self, rows: Rows) -> Rows:
        """Return rows as they are in a set in which some ask for texts: those that ask for none say so."""
        number = self.space.known(TEXT.path)
        return rows if number is None else rows.without_text(number, self.space.labels[number][NO_TEXT])


def _constrained(term: Term, record: Record, times: Intervals | None) -> Term:
    """Return a term with the topic and the times of its subscription as two more constraints."""
    if record.topic is None and times is None:
        return term
    constraints = dict(term.constraints)
    if record.topic is not None:
        constraints[TOPIC.path] = (False, (((record.topic, 0), (record.topic, 0)),))
    if times is not None:
        constraints[TIME.path] = (False, times)
    return Term(constraints, term.exact, term.texts)


def lower_record(record: Record, shapes: Shapes) -> list[Term]:
    """Parse, check and lower a record's filter; a fault carries the subscription's id."""
    if record.where is None:
        raise SubscriptionError(
            "a subscription given as a box has no text, no parameters and no versions",
            subscription_id=record.subscription_id,
            hint="use replace()",
        )
    try:
        return shapes.lower(record.where, record.parameters)
    except SubscriptionError as error:
        error.subscription_id = record.subscription_id
        raise


def family_entries(family: list[Record], shapes: Shapes, faults: list[SubscriptionError] | None = None) -> list[Entry]:
    """Return all versions of one id as entries; with `faults`, a bad one is reported there and left out."""
    good: list[tuple[Record, list[Term]]] = []
    for record in family:
        try:
            good.append((record, lower_record(record, shapes)))
        except SubscriptionError as error:
            if faults is None:
                raise
            faults.append(error)
    times = deciding_times([Dating(one.version, one.valid_from, one.valid_to) for one, _ in good])
    return [(record, terms, times[record.version]) for record, terms in good]


def sort_out(
    candidates: list[Record], records: Records, catalog: Catalog, faults: list[SubscriptionError]
) -> tuple[list[Record], list[list[Record]], list[int]]:
    """Part new records into plain ones, and families that need all their versions at hand.

    A family is what is dated, has several versions, or is in the set already; the slots that it has there are returned
    too, since they will be taken out and put in anew.
    """
    by_id: dict[str | int, list[Record]] = {}
    for record in candidates:
        try:
            _check(record, records, catalog, by_id)
        except SubscriptionError as error:
            faults.append(error)
        else:
            by_id.setdefault(record.subscription_id, []).append(record)
    plain: list[Record] = []
    families: list[list[Record]] = []
    dead: list[int] = []
    for subscription_id, mine in by_id.items():
        slots = catalog.find(subscription_id)
        if not slots and len(mine) == 1 and not mine[0].dated:
            plain += mine
        elif any(records[slot].where is None for slot in slots):
            faults += [DuplicateSubscriptionError("is in the set already, as a box", subscription_id=subscription_id)]
        else:
            families.append([*(records[slot] for slot in slots), *mine])
            dead += slots
    return plain, families, dead


def _check(record: Record, records: Records, catalog: Catalog, by_id: Mapping[Any, list[Record]]) -> None:
    catalog.check_new(record, records)
    if any(other.version == record.version for other in by_id.get(record.subscription_id, ())):
        raise DuplicateSubscriptionError(
            f"version {record.version} is given twice",
            subscription_id=record.subscription_id,
            hint="give each version a number of its own",
        )
    if by_id and type(record.subscription_id) is not type(next(iter(by_id))):
        raise SubscriptionError(
            "the ids are partly strings and partly integers", subscription_id=record.subscription_id
        )
