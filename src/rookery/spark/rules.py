"""Rules, compiled against the events' schema: what a Spark job carries to its workers.

A bad rule never stops a job: it is quarantined with its reason and the good ones are matched (spec, spark 10, promise
4). What no job could do right is refused before it starts: a missing column, dated rules without an event time.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from rookery.errors import PipelineError, SchemaError, SubscriptionError
from rookery.model.tables import FAULT
from rookery.spark.names import actual_name, with_actual_names
from rookery.spark.types import spark_schema_of, widened

if TYPE_CHECKING:
    from rookery import CompiledSet, Schema

__all__ = [
    "CompiledRules",
    "OnError",
    "Reading",
    "check_dates",
    "check_quarantined",
    "compile_rules",
    "ddl_of",
    "describe",
    "require_all",
    "require_columns",
    "schema_of",
]


OnError = Literal["quarantine", "raise"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How events are read: the column of the id, the column of the time, one topic for all, the day of the rules.

    `engine` is what matches them in the workers. `folded`: names that differ in case alone are one, as in Spark.
    """

    event_id: str = "event_id"
    time: str | None = None
    topic: str | None = None
    as_of: datetime | None = None
    engine: str = "bitmap"
    folded: bool = False
    #: What `now()` is: one wall time for a job, of a stream one for each micro-batch, which is recorded.
    now: datetime = field(default_factory=lambda: datetime.now(UTC), compare=False)

    def __post_init__(self) -> None:
        from rookery.matching import INDEXES

        if self.engine not in INDEXES:
            reason = "scan is the oracle and matches one event at a time" if self.engine == "scan" else "no such engine"
            raise PipelineError(f"engine={self.engine!r}: {reason}; on Spark there are {', '.join(INDEXES)}")

    def named(self, available: Iterable[str]) -> Reading:
        """Return the reading with the columns' own names."""
        if not self.folded:
            return self
        known = list(available)
        time = None if self.time is None else actual_name(self.time, known)
        return replace(self, event_id=actual_name(self.event_id, known), time=time)

    def carried(self, columns: Sequence[str], available: Iterable[str]) -> list[str]:
        """Return columns to carry by their own names."""
        known = list(available)
        return [actual_name(name, known) for name in columns] if self.folded else list(columns)

    def columns(self, needed: Iterable[str], available: Iterable[str]) -> list[str]:
        """Return the columns that a worker must see, in the events' order: fewer columns cross to Python faster."""
        wanted = {self.event_id, self.time, "topic" if self.topic is None else None, *needed}
        return [name for name in available if name in wanted]


@dataclass(frozen=True, slots=True)
class CompiledRules:
    """A compiled set, the rules that were set aside, and the records that both come from."""

    compiled: CompiledSet
    quarantined: tuple[SubscriptionError, ...]
    records: pa.Table

    @property
    def id_type(self) -> pa.DataType:
        """The type of a subscription's id: string or int64."""
        return self.compiled.subscriptions.schema.field("subscription_id").type

    @property
    def columns(self) -> list[str]:
        """The columns of the events that the rules read."""
        return self.compiled.columns


def schema_of(arrow: pa.Schema) -> Schema:
    """Make the events' schema; a rule that names a column that no condition can compare is refused."""
    from rookery import Schema

    try:
        return Schema.from_arrow(arrow)
    except SchemaError as error:
        raise PipelineError(f"the events: {error}") from error


def ddl_of(schema: Schema) -> str:
    """Return the events' columns as Spark writes them (`x double, s string`), in types that hold every value."""
    fields = spark_schema_of(pa.schema([(one.name, widened(one.type)) for one in schema.to_arrow()]))
    return ", ".join(f"`{one.name}` {one.dataType.simpleString()}" for one in fields)


def compile_rules(records: pa.Table, schema: Schema, *, reading: Reading | None = None) -> CompiledRules:
    """Compile the records; with `reading`, also refuse what the events cannot answer."""
    from rookery.matching import matcher as make_matcher

    if reading is not None:
        check_dates(records, reading)
    matcher = make_matcher(schema, on_error="quarantine")
    matcher.add_many(records)
    if matcher.quarantined and reading is not None and reading.folded:
        meant = with_actual_names(records, [error.text for error in matcher.quarantined], schema.to_arrow())
        if meant is not None:
            return compile_rules(meant, schema)
    return CompiledRules(matcher.compile(), tuple(matcher.quarantined), records)


def require_columns(available: Iterable[str], **named: str | None) -> None:
    """Refuse a column name that the events do not have, with the nearest one that they do."""
    known = list(available)
    for role, name in named.items():
        if name is not None and name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; they have {', '.join(known)}"
            option = "--" + role.replace("_", "-")
            raise PipelineError(f"the events have no column {name!r} ({role}=, {option}){hint}")


def require_all(available: Iterable[str], columns: Iterable[str]) -> None:
    """Refuse a column to carry that the events do not have."""
    known = list(available)
    for name in columns:
        require_columns(known, columns=name)


def check_quarantined(rules: CompiledRules, on_error: OnError) -> None:
    """Refuse what nobody can want: bad rules where they are to raise, and rules of which none compiles."""
    if on_error not in ("quarantine", "raise"):
        raise PipelineError(f"on_error is 'quarantine' or 'raise', not {on_error!r}")
    if rules.quarantined and on_error == "raise":
        raise rules.quarantined[0]
    if rules.quarantined and not len(rules.compiled):
        first = rules.quarantined[0]
        raise PipelineError(
            f"none of the {len(rules.quarantined)} rules compiles, so nothing could match; the first: {first}"
        ) from first


def check_dates(rules: pa.Table, reading: Reading) -> None:
    """Refuse dated rules where the events have no time to judge by."""
    if reading.time is not None or reading.as_of is not None:
        return
    if FAULT in rules.column_names:
        rules = rules.filter(pc.is_null(rules[FAULT]))  # what is set aside needs no time
    for name in ("valid_from", "valid_to"):
        if name in rules.column_names and pc.count(rules[name]).as_py():
            raise PipelineError(
                "some rules are dated (valid_from, valid_to) and the events have no time: name their time column "
                "(time=, --time) or judge all by one day's rules (as_of=, --as-of)"
            )


def describe(error: Any) -> dict[str, Any]:
    """Return one quarantined rule as plain data: for a log, for JSON, for a table."""
    return {
        "subscription_id": error.subscription_id,
        "reason": error.message,
        "where": error.text,
        "position": error.position,
        "hint": error.hint,
    }
