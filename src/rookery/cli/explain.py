"""`rookery explain`: why does this event (not) match? Each predicate with the event's value and the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rookery.cli.options import Json, note, write, write_json
from rookery.cli.rules import read_event, read_schema, read_subscriptions

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery explain rules.csv --schema schema.json --id cheap --event '{\"price\": 9.5}'",
    "rookery explain rules.csv --schema schema.json --event @event.json",
    "rookery explain rules.csv --schema schema.json --id limit --event - --time 2026-05-01T12:00:00Z",
]


def command(
    subscriptions: Annotated[Path, typer.Argument(help="Subscriptions: CSV, JSON lines or Parquet.")],
    schema: Annotated[
        str, typer.Option("--schema", help="A JSON schema, a file of events, or text such as 'price:float64'.")
    ],
    event: Annotated[str, typer.Option("--event", help="The event: JSON, @FILE, or - for standard input.")],
    id: Annotated[str | None, typer.Option("--id", help="One subscription; without it, all of them.")] = None,
    topic: Annotated[str | None, typer.Option(help="The event's topic.")] = None,
    time: Annotated[str | None, typer.Option(help="The event's time, for dated subscriptions.")] = None,
    json: Json = False,
) -> int:
    """Say why an event does or does not match subscriptions."""
    from rookery.matching import Matcher, matcher

    rules = matcher(read_schema(schema), on_error="quarantine")
    assert isinstance(rules, Matcher)
    rules.add_many(read_subscriptions(subscriptions))
    if rules.quarantined:
        note(f"{len(rules.quarantined)} bad subscriptions are left out; `rookery validate` lists them")
    values = read_event(event)
    known = dict.fromkeys(rules.compile().subscriptions["subscription_id"].to_pylist())
    chosen = list(known) if id is None else [int(id) if id not in known and id.lstrip("-").isdigit() else id]
    explanations = [rules.explain(one, values, topic=topic, time=time) for one in chosen]
    if json:
        write_json([one.to_dict() for one in explanations] if id is None else explanations[0].to_dict())
    else:
        for explanation in explanations:
            write(str(explanation))
    return 0
