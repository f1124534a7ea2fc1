"""What goes out with a match besides its names: columns of the event, and columns of the rule.

An alert that says only `17, hot` sends its reader looking. `columns` names what to take from the event (device, value),
`subscription_columns` what to take from the rule: any column of its table, also those that are nobody's but the user's
(severity, team). Both are taken where the match is found, from the row and the rule that made it: an id may repeat, so
a join by id would give a match as often as its id is there, and a stream's rules change while it runs.

A column whose name the match itself has is called `event_…` or `subscription_…` in the output.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rookery.errors import PipelineError
from rookery.model.tables import FAULT
from rookery.spark.carriers import RecentValues

if TYPE_CHECKING:
    from rookery import CompiledSet

__all__ = [
    "EVENT",
    "RULE",
    "Carried",
    "RuleColumns",
    "carried_name",
    "rule_columns_as",
    "rule_columns_of",
    "rule_name",
    "shown_names",
]

log = logging.getLogger("rookery.spark")

#: How columns of the event and of the rule are named while they cross, so that they hide none of the match's own.
EVENT, RULE = "_rookery_event_", "_rookery_rule_"

#: The match's own columns.
OWN = ("event_id", "subscription_id", "version", "zone", "explain")

#: Which row of the table belongs to which slot of a set; found once for a set in each process.
_rows: RecentValues[Any] = RecentValues()


def carried_name(name: str) -> str:
    """Return how a column of the event is named beside its matches."""
    return EVENT + name


def rule_name(name: str) -> str:
    """Return how a column of the rule is named beside its matches."""
    return RULE + name


def shown_names(columns: Sequence[str], subscription_columns: Sequence[str]) -> dict[str, str]:
    """Return, for each name of the crossing, the name in the output."""
    shown: dict[str, str] = {}
    for name in columns:
        shown[carried_name(name)] = f"event_{name}" if name in OWN else name
    taken = {*OWN, *shown.values()}
    for name in subscription_columns:
        shown[rule_name(name)] = f"subscription_{name}" if name in taken else name
    twice = {name for name in shown.values() if list(shown.values()).count(name) > 1 or name in OWN}
    if twice:
        raise PipelineError(f"two columns of the output would be called {min(twice)!r}: rename one of them")
    return shown


@dataclass(frozen=True, slots=True)
class RuleColumns:
    """The records of the rules with the columns that go out; `key` tells one such table from another."""

    key: str
    table: pa.Table
    names: tuple[str, ...]

    @property
    def fields(self) -> list[pa.Field]:
        """What the columns are."""
        return [pa.field(name, self.table.schema.field(name).type) for name in self.names]

    def of(self, compiled: CompiledSet, slots: Any) -> dict[str, pa.Array]:
        """Return the columns of the rules in these slots, by their names in the crossing."""
        found = _rows((self.key, compiled.content_hash), lambda: _align(self.table, compiled))
        rows = pa.array(found[slots])
        return {rule_name(name): self.table[name].chunk(0).take(rows) for name in self.names}


@dataclass(frozen=True, slots=True)
class Carried:
    """What the matches of the files plan carry: columns of the event, and of the rules; false where there are none."""

    columns: tuple[str, ...] = ()
    rules: RuleColumns | None = None

    def __bool__(self) -> bool:
        return bool(self.columns) or self.rules is not None

    def schema(self, plain: pa.Schema, events: pa.Schema) -> pa.Schema:
        """Return the columns of the output: the match's own, then the rule's, then the event's."""
        names = shown_names(self.columns, () if self.rules is None else self.rules.names)
        fields = [] if self.rules is None else [(rule_name(one.name), one.type) for one in self.rules.fields]
        fields += [(carried_name(name), events.field(name).type) for name in self.columns]
        return pa.schema([*plain, *(pa.field(names[name], kind) for name, kind in fields)])


def rule_columns_of(records: pa.Table, names: Sequence[str]) -> RuleColumns | None:
    """Return the named columns of a table of rules; None where none is asked for."""
    from rookery.spark.subscriptions import MemoryRules

    if not names:
        return None
    for name in names:
        if name not in records.column_names:
            known = ", ".join(one for one in records.column_names if one != FAULT)
            raise PipelineError(f"the rules have no column {name!r} (subscription_columns=); they have {known}")
    keys = [name for name in ("subscription_id", "version", "where", FAULT) if name in records.column_names]
    kept = records.select(list(dict.fromkeys([*keys, *names])))
    whole = pa.Table.from_batches(kept.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], kept.schema)])
    return RuleColumns(MemoryRules(kept).fingerprint(), whole, tuple(names))


def rule_columns_as(records: pa.Table, fields: Sequence[pa.Field]) -> RuleColumns | None:
    """Return the columns of a later set as the stream has them from its first one: what is not there is NULL."""
    for field in fields:
        values = pa.nulls(records.num_rows, field.type)
        if field.name in records.column_names:
            try:
                values = records[field.name].cast(field.type)
            except pa.ArrowException as error:
                log.warning("the rules' column %s is no %s any more, and is NULL: %s", field.name, field.type, error)
            records = records.drop_columns([field.name])
        records = records.append_column(field.name, values)
    return rule_columns_of(records, [field.name for field in fields])


def _align(table: pa.Table, compiled: CompiledSet) -> Any:
    """Find each rule of the set among the records: of two that say the same the first is in the set."""
    count = table.num_rows
    versions = table["version"].to_pylist() if "version" in table.column_names else [None] * count
    faults = table[FAULT].to_pylist() if FAULT in table.column_names else [None] * count
    rows: dict[tuple[Any, ...], int] = {}
    texts = zip(table["subscription_id"].to_pylist(), versions, table["where"].to_pylist(), faults, strict=True)
    for row, (name, version, where, fault) in enumerate(texts):
        if fault is None:
            rows.setdefault((name, 1 if version is None else version, where), row)
    named = compiled.subscriptions
    pairs = zip(*(named[name].to_pylist() for name in ("subscription_id", "version", "where")), strict=True)
    return np.array([rows[pair] for pair in pairs], np.int64)
