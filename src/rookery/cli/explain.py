"""`rookery explain`: why does this event (not) match? Each predicate with the event's value and the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rookery.cli.notations import read_event, read_schema
from rookery.cli.options import IdType, Json, NeededSchema, note, write, write_json

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery explain rules.csv --schema schema.json --id cheap --event '{\"price\": 9.5}'",
    "rookery explain rules.csv --schema schema.json --event @event.json",
    "rookery explain rules.csv --schema schema.json --id limit --event - --time 2026-05-01T12:00:00Z",
]


def command(
    subscriptions: Annotated[
        Path, typer.Argument(help="Subscriptions: CSV, TSV, JSON lines, Parquet or Arrow; a file or a folder.")
    ],
    schema: NeededSchema,
    event: Annotated[str, typer.Option("--event", help="The event: JSON, @FILE, or - for standard input.")],
    id: Annotated[str | None, typer.Option("--id", help="One subscription; without it, all of them.")] = None,
    topic: Annotated[str | None, typer.Option(help="The event's topic.")] = None,
    time: Annotated[str | None, typer.Option(help="The event's time, for dated subscriptions.")] = None,
    id_type: IdType = None,
    json: Json = False,
) -> int:
    """Say why an event does or does not match subscriptions."""
    from rookery.matching import Matcher, matcher
    from rookery.model.tables import read_subscriptions

    rules = matcher(read_schema(schema), on_error="quarantine")
    assert isinstance(rules, Matcher)
    rules.add_many(read_subscriptions(subscriptions, id_type=id_type))
    if rules.quarantined:
        note(f"{len(rules.quarantined)} bad subscriptions are left out; `rookery validate` lists them")
    values = read_event(event)
    known = {str(one): one for one in rules.compile().subscriptions["subscription_id"].to_pylist()}
    chosen = list(known.values()) if id is None else [known.get(id, id)]
    explanations = [rules.explain(one, values, topic=topic, time=time) for one in chosen]
    if json:
        write_json([one.to_dict() for one in explanations] if id is None else explanations[0].to_dict())
    else:
        for explanation in explanations:
            write(str(explanation))
    return 0
