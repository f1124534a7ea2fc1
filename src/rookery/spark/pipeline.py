"""`match`: events in, matches out, as DataFrames; batch or streaming, classic or Connect.

The one entry of the pipeline. It compiles the rules against the events' schema, chooses a plan and returns a lazy
DataFrame `event_id, subscription_id, version, zone [, explain]`. Every plan gives the same pairs (`plans.py`), and in
those whose events cross to Python what no rule can want is left out before (`prune.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pyarrow as pa

from rookery.errors import PipelineError
from rookery.model.choices import asks_choices
from rookery.spark.carried import RuleColumns, rule_columns_of, shown_names
from rookery.spark.carriers import carry
from rookery.spark.columns import map_batches
from rookery.spark.crossing import shown, spark_schema, unfold
from rookery.spark.documents import Documents
from rookery.spark.joins import match_join
from rookery.spark.names import folds_names
from rookery.spark.native import match_expressions, offers
from rookery.spark.plans import Plan, PlanName, PlanOffer, choose
from rookery.spark.projection import Ahead
from rookery.spark.prune import pruned
from rookery.spark.row_masks import row_masks
from rookery.spark.rules import (
    CompiledRules,
    OnError,
    Reading,
    check_quarantined,
    require_all,
    require_columns,
    schema_of,
)
from rookery.spark.scans import MatchScan, Scan, bare_scan
from rookery.spark.sql_rows import SqlRows, sql_rows
from rookery.spark.subscriptions import Subscriptions
from rookery.spark.types import arrow_schema_of
from rookery.spark.worker import MatchRows, crossing_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from rookery.space import KdTree
    from rookery.spark.documents import Events

#: What a match is told apart by.
PAIR = ("event_id", "subscription_id", "version")

__all__ = [
    "ChosenPlan",
    "arrow_schema",
    "choose_plan",
    "explain_plan",
    "match",
    "match_compiled",
    "matching",
    "prepare",
    "validate",
]

log = logging.getLogger("rookery.spark")


def match(
    events: Events,
    rules: Any,
    *,
    event_id: str = "event_id",
    time: str | None = None,
    topic: str | None = None,
    as_of: datetime | None = None,
    explain: bool = False,
    plan: PlanName = "auto",
    share: Literal["auto", "broadcast", "file"] = "auto",
    zones: int | None = None,
    tree: KdTree | None = None,
    key: str | None = None,
    checkpoint: str | None = None,
    engine: str = "bitmap",
    columns: Sequence[str] = (),
    subscription_columns: Sequence[str] = (),
    on_error: OnError = "quarantine",
    now: datetime | None = None,
    ahead: Ahead = (),
) -> DataFrame:
    """Return which subscriptions want which events, a DataFrame or `read_documents`' documents.

    `rules` are `Subscriptions`, a path, an Arrow table or a DataFrame. `time` names the event-time column that dated
    rules need; `topic` states one topic for all events. A streaming DataFrame needs the `checkpoint` that its query
    will have: the set of rules that judged each micro-batch is recorded there. `engine` matches in the workers:
    bitmap, matrix, index or counting, with the same pairs. The zoned plan cuts `zones` zones, or takes those of `tree`.
    The plan of keys goes by the values of `key`, or of the column that the most rules name, in about `zones` parts.

    A stream of more than 16 columns hands those to its workers that the rules read when it starts; `ahead` are columns
    that rules to come may read, or "*" for all.

    `columns` of the event and `subscription_columns` of the rule go out with each match. A rule that does not compile
    is quarantined, with a warning; with `on_error="raise"` the first such rule raises instead. `now` is what `now()` is
    in the rules, the time of this call if it is not given; a stream has one for each micro-batch, which is recorded.
    """
    if tree is not None and plan != "zoned":
        raise PipelineError("a tree is for plan='zoned'")
    if key is not None and plan != "keys":
        raise PipelineError("key= is for plan='keys'")
    folded = folds_names(events.sparkSession)
    if now is not None and events.isStreaming:
        raise PipelineError("now= is for a batch: a stream has one for each micro-batch, and records it")
    reading = Reading(
        event_id=event_id, time=time, topic=topic, as_of=as_of, engine=engine, folded=folded,
        now=now or datetime.now(UTC),
    )  # fmt: skip
    reading, columns = reading.named(events.columns), reading.carried(columns, events.columns)
    if events.isStreaming:
        from rookery.spark.stream import match_stream

        if plan not in ("auto", "broadcast", "keys"):
            raise PipelineError(
                f"a stream is matched with plan='broadcast' (or 'auto') or 'keys', not {plan!r}: its rules may change"
            )
        if checkpoint is None:
            raise PipelineError("matching a stream needs checkpoint=, the checkpointLocation that its query will have")
        if plan == "keys":
            from rookery.spark.key_streams import match_key_stream

            if explain or subscription_columns or share != "auto" or engine != "bitmap" or ahead:
                raise PipelineError(
                    "a stream in the plan 'keys' has the engine bitmap, and no explanations, columns of the rules or "
                    "columns ahead"
                )
            if isinstance(events, Documents):
                raise PipelineError("a stream in the plan 'keys' needs events of one schema")
            key = None if key is None else reading.carried([key], events.columns)[0]
            require_all(events.columns, columns)
            found = match_key_stream(
                events, Subscriptions.of(rules), reading, checkpoint=checkpoint, key=key, parts=zones, columns=columns,
                on_error=on_error,
            )  # fmt: skip
            return shown(found, shown_names(columns, ()))
        return match_stream(
            events, Subscriptions.of(rules), reading, checkpoint=checkpoint, explain=explain,
            columns=columns, subscription_columns=subscription_columns, on_error=on_error, ahead=ahead,
        )  # fmt: skip
    if ahead:
        raise PipelineError("ahead= is for streams: the rules of a batch are known")
    require_all(events.columns, columns)
    if plan == "keys":
        from rookery.spark.keys import match_keys

        if subscription_columns or share != "auto" or engine != "bitmap" or isinstance(events, Documents):
            raise PipelineError(
                "the plan 'keys' is for events of one schema and the engine bitmap, without columns of the rules"
            )
        key = None if key is None else reading.carried([key], events.columns)[0]
        found = match_keys(
            events, rules, reading, key=key, parts=zones, explain=explain, columns=columns, on_error=on_error
        )
        return shown(found, shown_names(columns, ()))
    compiled = prepare(events, rules, reading, on_error=on_error)
    choice = choose_plan(
        events, compiled, reading, plan=plan, columns=columns, subscription_columns=subscription_columns,
        in_workers=explain or share != "auto",
    )  # fmt: skip
    log.info("plan %s: %s", choice.plan.name, choice.plan.reason)
    found = match_compiled(
        events, compiled, reading, choice.plan, share=share, zones=zones, tree=tree, explain=explain, columns=columns,
        rule_columns=rule_columns_of(compiled.records, subscription_columns), rows=choice.rows, scan=choice.scan,
    )  # fmt: skip
    return shown(found, shown_names(columns, subscription_columns))


def matching(rules: Any, **options: Any) -> Callable[[DataFrame], DataFrame]:
    """Return `match` with these rules and options as a step: `events.transform(matching(rules, event_id="id"))`."""
    return lambda events: match(events, rules, **options)


class ChosenPlan(NamedTuple):
    """A plan, and what it needs: the rows of the set as Spark can judge them, the files of a bare scan."""

    plan: Plan
    rows: SqlRows | None
    scan: Scan | None


def choose_plan(
    events: Events,
    rules: CompiledRules,
    reading: Reading,
    *,
    plan: str = "auto",
    columns: Sequence[str] = (),
    subscription_columns: Sequence[str] = (),
    in_workers: bool = False,
) -> ChosenPlan:
    """Choose the plan of a batch by what each would cost; `in_workers`: what is asked for is done by workers alone.

    Documents are read by the workers that match them, so there is nothing that Spark could judge.
    """
    if isinstance(events, Documents):
        return ChosenPlan(choose(rules.compiled, plan=plan), None, None)
    rows = sql_rows(rules.compiled, events.schema, reading)
    offered = offers(rows)
    if in_workers or reading.engine != "bitmap":
        offered = dict.fromkeys(
            offered, PlanOffer(reason="explanations, another engine and a shared file are for workers")
        )
    elif subscription_columns:
        offered["expressions"] = PlanOffer(reason="columns of the rules go out with the matches")
    needed = reading.columns([*rules.columns, *columns], events.columns)
    scan = bare_scan(events, needed) if plan in ("auto", "files") else PlanOffer()
    offered["files"] = scan.offer if isinstance(scan, Scan) else scan
    masks = None if rows is None else row_masks(rows)
    chosen = choose(rules.compiled, plan=plan, offered=offered, columns=len(needed), masks=masks)
    return ChosenPlan(chosen, rows, scan if isinstance(scan, Scan) else None)


def match_compiled(
    events: Events,
    rules: CompiledRules,
    reading: Reading,
    plan: Plan,
    *,
    share: Literal["auto", "broadcast", "file"] = "auto",
    zones: int | None = None,
    tree: KdTree | None = None,
    explain: bool = False,
    columns: Sequence[str] = (),
    rule_columns: RuleColumns | None = None,
    most: int | None = None,
    rows: SqlRows | None = None,
    scan: Scan | None = None,
) -> DataFrame:
    """Match a batch with rules that are compiled and a plan that is chosen.

    `columns` of the events and `rule_columns` cross with the matches, under the names that `carried` gives them. `most`
    is how many matches of a subscription a task need give of each of its batches: the ones whose ids are the least.
    Where documents with arrays have several rows (`model/choices.py`), a match is given once.
    """
    if isinstance(events, Documents):
        rows, events = None, events.frame() if plan.name == "zoned" else events
    else:
        rows = rows or sql_rows(rules.compiled, events.schema, reading)
        if rows is not None and plan.name == "expressions":
            return match_expressions(events, rules, reading, rows, columns)
        if rows is not None and plan.name == "join":
            return match_join(events, rules, reading, rows, columns, rule_columns)
        if plan.name != "files":
            events, scan = pruned(events, rows), None
    several = asks_choices(rules.columns) and not isinstance(events, Documents)
    if several:
        most = None
    if plan.name == "zoned":
        from rookery.spark.zones import match_zoned

        found = match_zoned(
            events, rules, reading, zones=zones, tree=tree, explain=explain, columns=columns,
            rule_columns=rule_columns, most=most,
        )  # fmt: skip
    else:
        found = match_broadcast(
            events, rules, reading, share=share, explain=explain, columns=columns, rule_columns=rule_columns, most=most,
            scan=scan,
        )  # fmt: skip
    return found.dropDuplicates(list(PAIR)) if several else found


def match_broadcast(
    events: Events,
    rules: CompiledRules,
    reading: Reading,
    *,
    share: Literal["auto", "broadcast", "file"] = "auto",
    explain: bool = False,
    columns: Sequence[str] = (),
    rule_columns: RuleColumns | None = None,
    most: int | None = None,
    scan: Scan | None = None,
) -> DataFrame:
    """Match with the whole set in every worker; those of a scan read the events themselves."""
    arrow = arrow_schema(events)
    version = rules.compiled.version
    output = crossing_schema(
        arrow.field(reading.event_id).type, rules.id_type, explain=explain, versions=version is None,
        columns=[arrow.field(name) for name in columns], rule_columns=rule_columns,
    )  # fmt: skip
    needed = reading.columns([*rules.columns, *columns], events.columns)
    carrier = carry(events.sparkSession, rules.compiled, share=share)
    task = MatchRows(carrier, reading, output, most, rule_columns)
    if scan is not None:
        numbers = events.sparkSession.range(0, len(scan.shares), 1, len(scan.shares))
        return unfold(numbers.mapInArrow(MatchScan(scan, task), spark_schema(output, events)), version=version)
    found = map_batches(events.select(*(f"`{name}`" for name in needed)), task, spark_schema(output, events))
    return unfold(found, version=version)


def prepare(events: Events, rules: Any, reading: Reading, *, on_error: OnError = "quarantine") -> CompiledRules:
    """Check the columns, compile the rules against the events' schema, and log or raise what was set aside."""
    require_columns(events.columns, event_id=reading.event_id, time=reading.time)
    compiled = Subscriptions.of(rules).compiled(schema_of(arrow_schema(events)), reading)
    check_quarantined(compiled, on_error)
    for error in compiled.quarantined:
        log.warning("quarantined %s", error)
    return compiled


def validate(events: Events | pa.Schema, rules: Any) -> list[Any]:
    """Return what is wrong with the rules, one `SubscriptionError` each; empty when all of them compile."""
    arrow = events if isinstance(events, pa.Schema) else arrow_schema(events)
    return list(Subscriptions.of(rules).compiled(schema_of(arrow)).quarantined)


def arrow_schema(events: Events) -> pa.Schema:
    """Return the Arrow schema in which Spark hands these events to Python."""
    return arrow_schema_of(events.schema)


def explain_plan(
    events: Events,
    rules: Any,
    *,
    plan: PlanName = "auto",
    event_id: str = "event_id",
    time: str | None = None,
    topic: str | None = None,
    as_of: datetime | None = None,
) -> Plan:
    """Return the plan that `match` would choose, why, and what an event costs by estimate."""
    reading = Reading(
        event_id=event_id, time=time, topic=topic, as_of=as_of, folded=folds_names(events.sparkSession)
    ).named(events.columns)
    return choose_plan(events, prepare(events, rules, reading), reading, plan=plan).plan
