"""`rookery diff OLD NEW`: which matches a change of the rules adds, removes and changes."""

from __future__ import annotations

import logging
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from rookery.cli.notations import read_schema
from rookery.cli.options import IdType, Json, Master, SchemaText, note_quarantined, write, write_json

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery diff rules-today.csv rules-tomorrow.csv --events last-week/ --time ts",
    "rookery diff old.csv new.csv --events last-week/ --out differences/",
]


def command(
    old: Annotated[Path, typer.Argument(help="The rules as they are.")],
    new: Annotated[Path, typer.Argument(help="The rules as they would be.")],
    events: Annotated[Path, typer.Option("--events", "-e", help="Events: CSV, JSON lines or Parquet, file or folder.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A folder for all differences.")] = None,
    event_id: Annotated[str | None, typer.Option(help="The column that names an event.")] = None,
    time: Annotated[str | None, typer.Option(help="The column of the event's time, for dated rules.")] = None,
    topic: Annotated[str | None, typer.Option(help="One topic for all events.")] = None,
    as_of: Annotated[datetime | None, typer.Option(help="Judge all events by the rules of this moment (UTC).")] = None,
    top: Annotated[int, typer.Option(help="How many subscriptions to show.")] = 10,
    schema: SchemaText = None,
    id_type: IdType = None,
    engine: Annotated[
        str, typer.Option(help="What matches in the workers: bitmap, matrix, index or counting.")
    ] = "bitmap",
    master: Master = None,
    json: Json = False,
) -> int:
    """Judge the same events by two sets of rules, and tell what is added, removed and changed."""
    from rookery.spark.events import read_events
    from rookery.spark.failures import plain_failure
    from rookery.spark.files import write_frame
    from rookery.spark.history import diff
    from rookery.spark.pipeline import validate
    from rookery.spark.rules import ddl_of, describe
    from rookery.spark.sessions import session
    from rookery.spark.staging import StagedOutput
    from rookery.spark.subscriptions import Subscriptions

    before, after = (Subscriptions.files(path, id_type=id_type) for path in (old, new))
    columns = None if schema is None else ddl_of(read_schema(schema))
    spark = session(master=master)
    logging.getLogger("rookery.spark").setLevel(logging.ERROR)  # the result names what was quarantined
    try:
        frame, name = read_events(spark, events, schema=columns, event_id=event_id)
        found = diff(frame, before, after, event_id=name, time=time, topic=topic, as_of=as_of, engine=engine)
        if out is not None:
            write_frame(found, StagedOutput(str(out.absolute())))
            found = spark.read.parquet(str(out.absolute()))
        quarantined = {
            side: [describe(error) for error in validate(frame, rules)]
            for side, rules in (("old", before), ("new", after))
        }
        by_rule = found.groupBy("subscription_id", "change").count().collect()
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
