"""`rookery backtest`: what would these rules have fired on?"""

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
    SubscriptionsPath,
    TableTime,
    TableVersion,
    note_quarantined,
    write,
    write_json,
)

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery backtest --subscriptions rules.csv --events last-month/ --time ts",
    "rookery backtest -s rules.csv -e last-month/ --key device --top 20 --json",
]


def command(
    subscriptions: SubscriptionsPath,
    events: EventsPath,
    table_version: TableVersion = None,
    table_time: TableTime = None,
    event_id: Annotated[str | None, typer.Option(help="The column that names an event.")] = None,
    time: Annotated[str | None, typer.Option(help="The column of the event's time, for dated rules.")] = None,
    topic: Annotated[str | None, typer.Option(help="One topic for all events.")] = None,
    as_of: Annotated[datetime | None, typer.Option(help="Judge all events by the rules of this moment (UTC).")] = None,
    key: Annotated[str | None, typer.Option(help="Count by this event column too.")] = None,
    top: Annotated[int, typer.Option(help="How many subscriptions and keys to show.")] = 10,
    samples: Annotated[int, typer.Option(help="How many matched events to show of each subscription.")] = 3,
    schema: SchemaText = None,
    id_type: IdType = None,
    dialect: Dialect = None,
    engine: Annotated[
        str, typer.Option(help="What matches in the workers: bitmap, matrix, index or counting.")
    ] = "bitmap",
    master: Master = None,
    json: Json = False,
) -> int:
    """Count what the rules would have fired on, by subscription and key, and name those that never fired."""
    from rookery.cli.inputs import look_for
    from rookery.spark.documents import are_documents, documents_schema, read_documents
    from rookery.spark.events import read_events
    from rookery.spark.failures import plain_failure
    from rookery.spark.history import backtest
    from rookery.spark.jobs import job_description
    from rookery.spark.pipeline import validate
    from rookery.spark.rules import ddl_of, describe
    from rookery.spark.sessions import session
    from rookery.spark.subscriptions import Subscriptions

    columns = None if schema is None else ddl_of(read_schema(schema))
    look_for(subscriptions, events)
    spark = session(master=master)
    rules = Subscriptions.named(spark, subscriptions, id_type=id_type, dialect=dialect)
    logging.getLogger("rookery.spark").setLevel(logging.ERROR)  # the result names what was quarantined
    try:
        with job_description(spark, f"backtest of {subscriptions} over {events}"):
            frame: Any
            if columns is None and are_documents(events, rules):
                wanted = documents_schema(rules.records(), columns=[] if key is None else [key], time=time, topic=topic)
                frame, name = read_documents(spark, events, wanted, event_id=event_id)
            else:
                frame, name = read_events(
                    spark, events, schema=columns, event_id=event_id, version=table_version, at=table_time
                )
            found = backtest(
                frame, rules, event_id=name, time=time, topic=topic, as_of=as_of, engine=engine, key=key,
                samples=samples,
            )  # fmt: skip
            counts = rows(found.counts.limit(top))
            shown = [row["subscription_id"] for row in counts[:3]]
            result: dict[str, Any] = {
                "matches": found.counts.groupBy().sum("matches").collect()[0][0] or 0,
                "counts": counts,
                "keys": [] if found.keys is None else rows(found.keys.limit(top)),
                "samples": rows(found.samples.where(found.samples["subscription_id"].isin(shown))) if shown else [],
                "silent_count": found.silent.count(),
                "silent": [row["subscription_id"] for row in rows(found.silent.limit(top))],
                "quarantined": [describe(error) for error in validate(frame, rules)],
            }
    except Exception as error:
        raise plain_failure(error) from error
    write_json(result) if json else _print(result)
    return 0


def rows(frame: Any) -> list[dict[str, Any]]:
    """Collect a small DataFrame as dictionaries."""
    return [row.asDict() for row in frame.collect()]


def _print(result: dict[str, Any]) -> None:
    write(f"matches  {result['matches']:,}")
    for title in ("counts", "keys", "samples"):
        if result[title]:
            write(f"\n{title}")
            for row in result[title]:
                write("  " + "  ".join(f"{name}={value}" for name, value in row.items()))
    write(f"\nnever fired  {result['silent_count']:,}  {', '.join(map(str, result['silent']))}")
    note_quarantined(result["quarantined"])
