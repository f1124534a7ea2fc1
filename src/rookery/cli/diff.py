"""`rookery diff OLD NEW`: which matches a change of the rules adds, removes and changes."""

from __future__ import annotations

import logging
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
    TableTime,
    TableVersion,
    note_quarantined,
    write,
    write_json,
)

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery diff rules-today.csv rules-tomorrow.csv --events last-week/ --time ts",
    "rookery diff old.csv new.csv --events last-week/ --out differences/",
]


def command(
    old: Annotated[str, typer.Argument(metavar="OLD", help="The rules as they are.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The rules as they would be.")],
    events: EventsPath,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="PATH", help="A folder for all differences.")
    ] = None,
    table_version: TableVersion = None,
    table_time: TableTime = None,
    event_id: Annotated[str | None, typer.Option(help="The column that names an event.")] = None,
    time: Annotated[str | None, typer.Option(help="The column of the event's time, for dated rules.")] = None,
    topic: Annotated[str | None, typer.Option(help="One topic for all events.")] = None,
    as_of: Annotated[datetime | None, typer.Option(help="Judge all events by the rules of this moment (UTC).")] = None,
    top: Annotated[int, typer.Option(help="How many subscriptions to show.")] = 10,
    schema: SchemaText = None,
    id_type: IdType = None,
    dialect: Dialect = None,
    engine: Annotated[
        str, typer.Option(help="What matches in the workers: bitmap, matrix, index or counting.")
    ] = "bitmap",
    master: Master = None,
    json: Json = False,
) -> int:
    """Judge the same events by two sets of rules, and tell what is added, removed and changed."""
    from rookery.cli.inputs import look_for
    from rookery.spark.documents import are_documents, documents_schema, read_documents
    from rookery.spark.events import read_events
    from rookery.spark.failures import plain_failure
    from rookery.spark.history import diff
    from rookery.spark.jobs import job_description
    from rookery.spark.pipeline import validate
    from rookery.spark.rules import ddl_of, describe
    from rookery.spark.sessions import session
    from rookery.spark.subscriptions import Subscriptions

    columns = None if schema is None else ddl_of(read_schema(schema))
    look_for(old, new, events)
    spark = session(master=master)
    before, after = (Subscriptions.named(spark, text, id_type=id_type, dialect=dialect) for text in (old, new))
    logging.getLogger("rookery.spark").setLevel(logging.ERROR)  # the result names what was quarantined
    try:
        with job_description(spark, f"diff of {old} and {new} over {events}"):
            frame: Any
            if columns is None and are_documents(events, after):
                wanted = documents_schema(_both(before, after), time=time, topic=topic)
                frame, name = read_documents(spark, events, wanted, event_id=event_id)
            else:
                frame, name = read_events(
                    spark, events, schema=columns, event_id=event_id, version=table_version, at=table_time
                )
            found = diff(frame, before, after, event_id=name, time=time, topic=topic, as_of=as_of, engine=engine)
            by_rule = _by_rule(found, out)
            quarantined = {
                side: [describe(error) for error in validate(frame, rules)]
                for side, rules in (("old", before), ("new", after))
            }
    except Exception as error:
        raise plain_failure(error) from error
    totals = dict.fromkeys(("added", "removed", "changed"), 0)
    rules: dict[Any, dict[str, int]] = {}
    for row in by_rule:
        totals[row["change"]] += row["count"]
        rules.setdefault(row["subscription_id"], {})[row["change"]] = row["count"]
    most = sorted(rules.items(), key=lambda item: (-sum(item[1].values()), str(item[0])))[:top]
    result = {
        **totals,
        "subscriptions": [{"subscription_id": name, **changes} for name, changes in most],
        "quarantined": quarantined,
    }
    if json:
        write_json(result)
        return 0
    write("  ".join(f"{change} {count:,}" for change, count in totals.items()))
    for name, changes in most:
        write(f"  {name}  " + "  ".join(f"{change} {count:,}" for change, count in sorted(changes.items())))
    note_quarantined(quarantined["new"])
    return 0


def _both(before: Any, after: Any) -> Any:
    """Return both sets of rules as one table, each rule under a name of its own."""
    import pyarrow as pa

    tables = []
    for side, rules in (("old", before), ("new", after)):
        records = rules.records()
        kept = [name for name in ("where", "topic") if name in records.column_names]
        names = [f"{side} {one}" for one in records["subscription_id"].to_pylist()]
        tables.append(records.select(kept).add_column(0, "subscription_id", [names]))
    return pa.concat_tables(tables, promote_options="permissive")


def _by_rule(found: Any, out: str | None) -> list[Any]:
    """Count the differences by rule and change; with `out` they are written first, and counted there."""
    if out is None:
        return list(found.groupBy("subscription_id", "change").count().collect())
    from rookery.spark.manifests import output_of
    from rookery.spark.outputs import read_published, write_frame

    write_frame(found, output_of(out))
    counts = read_published(out, ["subscription_id", "change"]).group_by(["subscription_id", "change"])
    named = counts.aggregate([([], "count_all")]).rename_columns(["subscription_id", "change", "count"])
    return list(named.to_pylist())
