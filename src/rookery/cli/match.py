"""`rookery match`: the main job. Subscriptions and events from files in, a folder of matches out."""

from __future__ import annotations

import logging
import time as clock
from datetime import datetime
from typing import Annotated, Any

import typer

from rookery.cli.notations import read_schema
from rookery.cli.options import (
    Dialect,
    EventsPath,
    IdType,
    Json,
    Master,
    SchemaText,
    SubscriptionsPath,
    TableTime,
    TableVersion,
    note,
    note_quarantined,
    write,
    write_json,
)
from rookery.cli.unused import refuse_unused
from rookery.errors import SettingsError

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery match --subscriptions rules.csv --events events/ --out matches/ --time ts",
    "rookery match -s rules.jsonl -e events.parquet -o matches/ --as-of 2026-03-01",
    "rookery match -s rules.csv -e events.parquet -o matches/ --engine matrix",
    "rookery match -s rules.csv -e events/ -o alerts/ --columns device,value --subscription-columns severity",
    "rookery match -s sigma/rules/ -e events.jsonl -o alerts/ --subscription-columns title,level",
    "rookery match -s rules.csv -e s3://lake/events/ -o s3://lake/matches/",
    "rookery match -s table:ops.rules -e table:ops.events -o matches/ --master sc://head:15002",
    "rookery match -s rules/ -e incoming/ -o matches/ --stream --checkpoint state/",
    "rookery match -s rules.parquet --edits edits/ -e incoming/ -o matches/ --stream --checkpoint state/",
]

BATCH = "Of a batch"
STREAM = "Of a stream"


def command(
    subscriptions: SubscriptionsPath,
    events: EventsPath,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="PATH", help="The folder for the matches; needed unless --explain-plan."),
    ] = None,
    table_version: TableVersion = None,
    table_time: TableTime = None,
    event_id: Annotated[str | None, typer.Option(help="The column that names an event.")] = None,
    time: Annotated[str | None, typer.Option(help="The column of the event's time, for dated rules.")] = None,
    topic: Annotated[str | None, typer.Option(help="One topic for all events.")] = None,
    as_of: Annotated[datetime | None, typer.Option(help="Judge all events by the rules of this moment (UTC).")] = None,
    schema: SchemaText = None,
    id_type: IdType = None,
    dialect: Dialect = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say for each match why.", rich_help_panel=BATCH)] = False,
    plan: Annotated[
        str, typer.Option(help="auto, broadcast, zoned, files, expressions or join.", rich_help_panel=BATCH)
    ] = "auto",
    explain_plan: Annotated[
        bool, typer.Option("--explain-plan", help="Say which plan would run, and stop.", rich_help_panel=BATCH)
    ] = False,
    stream: Annotated[
        bool, typer.Option("--stream", help="Follow the folder of events.", rich_help_panel=STREAM)
    ] = False,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="PATH", help="Where a stream keeps its place.", rich_help_panel=STREAM)
    ] = None,
    edits: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="A folder of edits of the rules, taken in the order of their names.",
            rich_help_panel=STREAM,
        ),
    ] = None,
    drain: Annotated[
        bool, typer.Option("--drain", help="Stream what is there now, then stop.", rich_help_panel=STREAM)
    ] = False,
    format: Annotated[
        str, typer.Option(help="Of a stream's output: parquet, jsonl or delta.", rich_help_panel=STREAM)
    ] = "parquet",
    engine: Annotated[
        str, typer.Option(help="What matches in the workers: bitmap, matrix, index or counting.")
    ] = "bitmap",
    columns: Annotated[
        str | None, typer.Option(help="Columns of the event to write with each match, with commas between.")
    ] = None,
    subscription_columns: Annotated[
        str | None, typer.Option(help="Columns of the rule to write with each match: severity,team.")
    ] = None,
    fail_on_quarantine: Annotated[
        bool, typer.Option("--fail-on-quarantine", help="Stop before any matching if a rule does not compile.")
    ] = False,
    master: Master = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what the output folder holds.", rich_help_panel=BATCH)
    ] = False,
    json: Json = False,
) -> int:
    """Tell which subscriptions want which events, on Spark: a batch, or with --stream a folder that is followed."""
    from rookery.cli.inputs import look_for
    from rookery.cli.progress import task_progress
    from rookery.spark.failures import plain_failure
    from rookery.spark.rules import ddl_of
    from rookery.spark.sessions import session
    from rookery.spark.sql import register_sources
    from rookery.spark.subscriptions import Subscriptions

    following = stream or drain
    if following:
        refuse_unused(
            "explain", "plan", "explain_plan", "overwrite", "table_version", "table_time",
            where="on a stream", instead="run the batch without --stream and --drain",
        )  # fmt: skip
        if checkpoint is None:
            raise SettingsError("a stream needs --checkpoint, a folder where it keeps its place")
    else:
        refuse_unused("checkpoint", "format", "edits", where="on a batch", instead="give --stream or --drain")
    if out is None and (following or not explain_plan):
        raise SettingsError("give --out, the folder for the matches")
    ddl = None if schema is None else ddl_of(read_schema(schema))
    asked = {"event_id": event_id, "time": time, "topic": topic, "as_of": as_of, "engine": engine}
    carried = {"columns": _names(columns), "subscription_columns": _names(subscription_columns)}
    table = {"version": table_version, "at": table_time}
    on_error = "raise" if fail_on_quarantine else "quarantine"
    look_for(subscriptions, *([] if following else [events]))
    spark = session(master=master)
    rules = Subscriptions.named(spark, subscriptions, id_type=id_type, dialect=dialect, edits=edits)
    register_sources(spark)
    started = clock.perf_counter()
    try:
        if following and out is not None and checkpoint is not None:
            summary = _stream(
                spark,
                rules,
                events,
                out,
                {**asked, **carried, "on_error": on_error},
                schema=ddl,
                checkpoint=checkpoint,
                drain=drain,
                format=format,
            )
        else:
            logging.getLogger("rookery.spark").setLevel(logging.ERROR)  # the summary names what was quarantined
            with task_progress(spark):
                summary = _batch(
                    spark, rules, events, out, asked, carried, on_error, table, schema=ddl, plan=plan, explain=explain,
                    only_plan=explain_plan, overwrite=overwrite,
                )  # fmt: skip
    except Exception as error:
        raise plain_failure(error) from error
    if engine != "bitmap":
        summary["engine"] = engine
    seconds = clock.perf_counter() - started
    summary["seconds"] = round(seconds, 2)
    if summary.get("events"):
        summary["events_per_second"] = round(summary["events"] / seconds)
    write_json(summary) if json else _print(summary)
    return 0


def _batch(
    spark: Any, rules: Any, events: str, out: str | None, asked: dict[str, Any], carried: dict[str, list[str]],
    on_error: Any, table: dict[str, Any], *, schema: str | None, plan: str, explain: bool, only_plan: bool,
    overwrite: bool,
) -> dict[str, Any]:  # fmt: skip
    from pyspark.sql import Observation
    from pyspark.sql.functions import count, lit

    from rookery.model.datasets import find_dataset
    from rookery.spark.carried import rule_columns_of, shown_names
    from rookery.spark.crossing import shown
    from rookery.spark.documents import are_documents, documents_schema, read_documents
    from rookery.spark.events import events_format, read_events
    from rookery.spark.files import parquet_schema, run_files, session_zone
    from rookery.spark.manifests import output_of
    from rookery.spark.names import catalog_name, default_event_id, folds_names
    from rookery.spark.outputs import write_frame
    from rookery.spark.pipeline import choose_plan, match_compiled, prepare
    from rookery.spark.plans import choose
    from rookery.spark.rules import Reading, check_quarantined, describe, require_all, require_columns, schema_of

    folded = folds_names(spark)
    output = None if out is None else output_of(out)
    if output is not None:  # who asks for the plan hears of an occupied folder too
        output.check_free(overwrite=overwrite)
    data = None if catalog_name(events) else find_dataset(events, zone=session_zone(spark), **table)
    by_files = data is not None and events_format(data) == "parquet" and not explain and schema is None
    if data is not None and by_files and plan in ("auto", "files"):
        columns = parquet_schema(data)
        named = default_event_id(columns.names, asked["event_id"], folded=folded)
        reading = Reading(**{**asked, "event_id": named or "event_id", "folded": folded}).named(columns.names)
        carried["columns"] = reading.carried(carried["columns"], columns.names)
        require_columns(columns.names, event_id=named, time=reading.time)
        compiled = rules.compiled(schema_of(columns), reading)
        check_quarantined(compiled, on_error)
        chosen = choose(compiled.compiled, plan=plan, paths=True)
        if only_plan or output is None:
            return {"plan": chosen.name, "reason": chosen.reason}
        if chosen.name == "files":
            done = run_files(spark, data, columns, compiled, reading, output, named, **carried, overwrite=overwrite)
            return {
                "events": done.events, "matches": done.matches, "top": done.top,
                "quarantined": done.quarantined, "plan": done.plan, "reason": done.reason, "out": str(out),
            }  # fmt: skip
    frame: Any
    documents = schema is None and are_documents(events, rules)
    if documents:
        wanted = documents_schema(rules.records(), columns=carried["columns"], time=asked["time"], topic=asked["topic"])
        frame, name = read_documents(spark, events, wanted, event_id=asked["event_id"])
    else:
        frame, name = read_events(spark, events, schema=schema, event_id=asked["event_id"], **table)
    reading = Reading(**{**asked, "event_id": name, "folded": folds_names(spark)}).named(frame.columns)
    carried["columns"] = reading.carried(carried["columns"], frame.columns)
    compiled = prepare(frame, rules, reading, on_error=on_error)
    require_all(frame.columns, carried["columns"])
    choice = choose_plan(
        frame, compiled, reading, plan=plan, columns=carried["columns"], in_workers=explain,
        subscription_columns=carried["subscription_columns"],
    )  # fmt: skip
    chosen = choice.plan
    if only_plan or out is None or output is None:
        return {"plan": chosen.name, "reason": chosen.reason}
    seen = Observation("events")
    observed = frame if documents else frame.observe(seen, count(lit(1)).alias("events"))
    hits = match_compiled(
        observed, compiled, reading, chosen, explain=explain,
        columns=carried["columns"], rule_columns=rule_columns_of(compiled.records, carried["subscription_columns"]),
        rows=choice.rows,
    )  # fmt: skip
    hits = shown(hits, shown_names(carried["columns"], carried["subscription_columns"]))
    write_frame(hits.drop("zone"), output, overwrite=overwrite)
    matches, top = _count(out)
    return {
        "events": frame.count() if documents else seen.get["events"], "matches": matches, "top": top,
        "quarantined": [describe(error) for error in compiled.quarantined],
        "plan": chosen.name, "reason": chosen.reason, "out": str(out),
    }  # fmt: skip


def _names(text: str | None) -> list[str]:
    """Return the names of a list with commas."""
    return [] if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _count(out: str) -> tuple[int, list[tuple[Any, int]]]:
    """Count the matches in the published files, and the subscriptions with the most."""
    import pyarrow.compute as pc

    from rookery.spark.outputs import read_published

    column = read_published(out, ["subscription_id"])["subscription_id"]
    counts = sorted(pc.value_counts(column).to_pylist(), key=lambda one: (-one["counts"], str(one["values"])))
    return len(column), [(one["values"], one["counts"]) for one in counts[:10]]


def _stream(
    spark: Any, rules: Any, events: str, out: str, asked: dict[str, Any], *, schema: str | None,
    checkpoint: str, drain: bool, format: str,
) -> dict[str, Any]:  # fmt: skip
    from rookery.model.storage import absolute
    from rookery.spark.documents import are_documents, documents_schema, stream_documents
    from rookery.spark.events import stream_events
    from rookery.spark.pipeline import match
    from rookery.spark.progress import MatchProgress
    from rookery.spark.sinks import write_stream
    from rookery.spark.versions import VersionLog

    place = absolute(checkpoint)
    frame: Any
    if schema is None and are_documents(events, rules, stream=True):
        wanted = documents_schema(rules.records(), columns=asked["columns"], time=asked["time"], topic=asked["topic"])
        frame, name = stream_documents(spark, events, wanted, event_id=asked["event_id"])
    else:
        frame, name = stream_events(spark, events, schema=schema, event_id=asked["event_id"])
    hits = match(frame, rules, **{**asked, "event_id": name}, checkpoint=place)
    trigger = {"availableNow": True} if drain else {"processingTime": "1 second"}
    query = write_stream(hits, out, checkpoint=place, format=format, trigger=trigger)
    note(f"following {events}; matches go to {out}; Ctrl-C stops, and the next run goes on from there")
    seen = 0
    try:
        while not query.awaitTermination(1.0):
            last = query.lastProgress
            if last is not None and last.batchId != seen and last.numInputRows:
                seen = last.batchId
                told = MatchProgress.of(last)
                matched = "" if told is None else f", {told.matches} matches, set_version {told.set_version}"
                note(f"batch {seen}: {last.numInputRows} events{matched}")
    except KeyboardInterrupt:
        query.stop()
    log = VersionLog(place)
    head = log.head()
    return {
        "batches": len(log.batches()),
        "set_version": None if head is None else head.number,
        "quarantined": [] if head is None else list(head.quarantined),
        "out": str(out),
    }


def _print(summary: dict[str, Any]) -> None:
    for name in (
        "plan",
        "reason",
        "engine",
        "events",
        "matches",
        "events_per_second",
        "batches",
        "set_version",
        "seconds",
        "out",
    ):
        if summary.get(name) is not None:
            value = summary[name]
            write(f"{name.replace('_', ' '):<18} {value:,}" if isinstance(value, int) else f"{name:<18} {value}")
    for name, hits in summary.get("top", ()):
        write(f"  {hits:>12,}  {name}")
    note_quarantined(summary.get("quarantined", ()))
