"""Edge trigger and cooldown: the one stateful operator of the pipeline.

A subscription may say when a match is worth reporting: `trigger` = every | edge, `cooldown` in seconds of event time,
`key` = the event attribute that tells one thing from another. *edge* fires when a key's event matches and the key's
event before it did not. A cooldown keeps a (subscription, key) silent for so long after it fired.

An edge needs the events that do *not* match as well, and events times rules would be far too many rows. So each event
is one row per key attribute in use, with the list of the trigger subscriptions that it matches: what is not in the
list did not match. State is held per key attribute and value: for each subscription whether it holds now and when it
fired last. It expires by the watermark, and it lives in Spark's state store, so after a crash it is what it was
before the batch.

Order: a micro-batch is taken in the order of event time. An event older than the newest one that its key has seen in an
earlier batch fires nothing and changes nothing; without this, the answer would depend on when a late event arrives.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from rookery.errors import PipelineError
from rookery.model.tables import FAULT
from rookery.spark.live_rules import LiveRules
from rookery.spark.stream import MatchStream, batch_number
from rookery.spark.types import spark_schema_of
from rookery.spark.worker import loaded, match_schema, matches

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

__all__ = ["Fire", "MatchKeys", "Moment", "match_triggers", "step"]

#: How late an event may be before its state is gone.
LATENESS = "10 minutes"
LATENESS_MICROSECONDS = 600_000_000


@dataclass(frozen=True, slots=True)
class Moment:
    """One event as a key sees it: its id, its time, and the trigger subscriptions that it matches.

    A match is (subscription id as text, version, edge, cooldown in microseconds).
    """

    event_id: Any
    time: int
    matched: list[tuple[str, int, bool, int]]


@dataclass(frozen=True, slots=True)
class Fire:
    """A match that is reported."""

    event_id: Any
    subscription_id: str
    version: int


def step(state: dict[str, Any], moments: list[Moment]) -> list[Fire]:
    """Take one key through its events of a micro-batch, in the order of their time; changes `state` in place.

    State: `newest`, the time of the newest event seen, and for each subscription [holds now, time of the last firing].
    """
    fired: list[Fire] = []
    rules: dict[str, list[Any]] = state.setdefault("rules", {})
    for moment in sorted(moments, key=lambda one: (one.time, str(one.event_id))):
        if moment.time < state.get("newest", moment.time):
            continue
        state["newest"] = moment.time
        matched = {subscription for subscription, *_ in moment.matched}
        for subscription, known in rules.items():
            if subscription not in matched:
                known[0] = False
        for subscription, version, edge, cooldown in moment.matched:
            known = rules.setdefault(subscription, [False, None])
            rises = not edge or not known[0]
            cool = known[1] is None or moment.time - known[1] >= cooldown
            known[0] = True
            if rises and cool:
                known[1] = moment.time
                fired.append(Fire(moment.event_id, subscription, version))
    return fired


@dataclass(frozen=True, slots=True)
class MatchKeys:
    """The task that turns events into one row per key attribute: who it is, and which trigger rules it matches."""

    rules: LiveRules
    output: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match the task's rows against the set of their micro-batch."""
        compiled, plans = None, {}
        reading = self.rules.reading
        for batch in batches:
            if not batch.num_rows:
                continue
            if compiled is None:
                version, reading = self.rules.judged(batch_number())
                compiled = loaded(self.rules.log.carrier(version), reading)
                plans = trigger_plans(self.rules.log.records(version))
            numbered = batch.append_column("_row", pa.array(range(batch.num_rows), pa.int64()))
            found = matches(compiled, numbered, _by_row(reading))
            by_row: dict[int, list[tuple[str, int, bool, int, str]]] = {}
            for row, subscription, version_number in zip(
                *(column.to_pylist() for column in found.columns), strict=True
            ):
                plan = plans.get(subscription)
                if plan is not None:
                    by_row.setdefault(row, []).append((str(subscription), version_number, *plan))
            attributes = sorted({plan[2] for plan in plans.values()})
            yield from self._rows(batch, attributes, by_row)

    def _rows(
        self, batch: pa.RecordBatch, attributes: list[str], by_row: dict[int, list[tuple[str, int, bool, int, str]]]
    ) -> Iterator[pa.RecordBatch]:
        reading = self.rules.reading
        assert reading.time is not None
        ids, times = batch.column(reading.event_id), batch.column(reading.time)
        for attribute in attributes:
            if attribute and attribute not in batch.schema.names:
                raise PipelineError(f"a rule has the key {attribute!r} and the events have no such column")
            keys = batch.column(attribute).cast(pa.string()) if attribute else pa.array([""] * batch.num_rows)
            lists = [
                json.dumps([entry[:4] for entry in by_row.get(row, ()) if entry[4] == attribute])
                for row in range(batch.num_rows)
            ]
            columns = [pa.array([attribute] * batch.num_rows), pc.fill_null(keys, ""), ids, times, pa.array(lists)]
            yield pa.record_batch(
                [c.cast(f.type) for c, f in zip(columns, self.output, strict=True)], schema=self.output
            )


def _by_row(reading: Any) -> Any:
    from dataclasses import replace

    return replace(reading, event_id="_row")


def trigger_plans(records: pa.Table) -> dict[Any, tuple[bool, int, str]]:
    """Return (edge, cooldown in microseconds, key attribute) of each subscription that has a trigger."""
    if FAULT in records.column_names:
        records = records.filter(pc.is_null(records[FAULT]))
    empty = [None] * records.num_rows
    columns = {
        n: records[n].to_pylist() if n in records.column_names else empty for n in ("key", "trigger", "cooldown")
    }
    found = {}
    for number, subscription in enumerate(records["subscription_id"].to_pylist()):
        kind, cooldown = columns["trigger"][number] or "every", columns["cooldown"][number] or 0.0
        if kind == "edge" or cooldown:
            found[subscription] = (kind == "edge", round(cooldown * 1e6), columns["key"][number] or "")
    return found


@dataclass(frozen=True, slots=True)
class MatchUntriggered:
    """The task for the rules without a trigger: every match goes straight through."""

    stream: MatchStream

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match, and leave out what the stateful operator decides."""
        triggered: pa.Array | None = None
        for found in self.stream(batches):
            if triggered is None:
                records = self.stream.rules.log.records(self.stream.rules.judge(batch_number()))
                triggered = pa.array(list(trigger_plans(records)), found.schema.field("subscription_id").type)
            yield found.filter(pc.invert(pc.is_in(found.column("subscription_id"), value_set=triggered)))


def match_triggers(events: DataFrame, rules: LiveRules, records: pa.Table, *, lateness: str = LATENESS) -> DataFrame:
    """Return the matches that fire: those of plain rules at once, those of trigger rules by their state."""
    from pyspark.sql.functions import lit
    from pyspark.sql.streaming.state import GroupStateTimeout

    reading = rules.reading
    if reading.time is None:
        raise PipelineError("triggers and cooldowns go by event time: name the time column (time=, --time)")
    id_type = rules.events.field(reading.event_id).type
    plain = match_schema(id_type, records.schema.field("subscription_id").type)
    instant = pa.timestamp("us", tz="UTC")
    names = ("_attribute", "_key", "event_id", "ts", "matched")
    keyed = pa.schema(list(zip(names, (pa.string(), pa.string(), id_type, instant, pa.string()), strict=True)))
    straight = events.mapInArrow(MatchUntriggered(MatchStream(rules, plain)), spark_schema_of(plain))
    moments = events.mapInArrow(MatchKeys(rules, keyed), spark_schema_of(keyed))
    numeric = pa.types.is_integer(plain.field("subscription_id").type)
    fired = (
        moments.withWatermark("ts", lateness)
        .groupBy("_attribute", "_key")
        .applyInPandasWithState(
            Advance(numeric),
            spark_schema_of(plain),
            "state string",
            "append",
            GroupStateTimeout.EventTimeTimeout,
        )
    )
    return straight.union(fired).withColumn("zone", lit(0))


@dataclass(frozen=True, slots=True)
class Advance:
    """The stateful function: one call a key and micro-batch."""

    numeric: bool

    def __call__(self, key: tuple[Any, ...], frames: Iterator[pd.DataFrame], state: Any) -> Iterator[pd.DataFrame]:
        """Take the key through its events, or forget it when the watermark has passed its state."""
        import pandas as pd

        if state.hasTimedOut:
            state.remove()
            return
        known: dict[str, Any] = json.loads(state.get[0]) if state.exists else {}
        moments, longest = [], 0
        for frame in frames:
            times = frame["ts"].astype("int64") // _per_microsecond(frame["ts"])
            for event, time, text in zip(frame["event_id"], times, frame["matched"], strict=True):
                matched = [tuple(entry) for entry in json.loads(text)]
                longest = max([longest, *(entry[3] for entry in matched)])
                moments.append(Moment(event, int(time), matched))
        fired = step(known, moments)
        known["longest"] = max(longest, known.get("longest", 0))
        state.update((json.dumps(known),))
        # Kept until no event that the watermark lets through could still meet it.
        keep = known.get("newest", 0) + known["longest"] + LATENESS_MICROSECONDS
        state.setTimeoutTimestamp(max(keep // 1000, state.getCurrentWatermarkMs() + 1))
        if fired:
            ids = [int(one.subscription_id) if self.numeric else one.subscription_id for one in fired]
            yield pd.DataFrame(
                {
                    "event_id": [one.event_id for one in fired],
                    "subscription_id": ids,
                    "version": [one.version for one in fired],
                }
            )


def _per_microsecond(column: pd.Series) -> int:
    """Return how many of a timestamp column's units make a microsecond."""
    return {"ns": 1000, "us": 1}[getattr(column.dtype, "unit", "ns")]
