"""`rookery explain`: why does this event (not) match? Each predicate with the event's value and the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rookery.cli.notations import read_event, read_schema
from rookery.cli.options import Dialect, IdType, Json, SchemaText, note, write, write_json
from rookery.errors import SettingsError

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
    event: Annotated[str, typer.Option("--event", help="The event: JSON, @FILE, or - for standard input.")],
    id: Annotated[str | None, typer.Option("--id", help="One subscription; without it, all of them.")] = None,
    topic: Annotated[str | None, typer.Option(help="The event's topic.")] = None,
    time: Annotated[str | None, typer.Option(help="The event's time, for dated subscriptions.")] = None,
    schema: SchemaText = None,
    id_type: IdType = None,
    dialect: Dialect = None,
    json: Json = False,
) -> int:
    """Say why an event does or does not match subscriptions."""
    from rookery.matching import Matcher, matcher
    from rookery.model import Schema
    from rookery.model.dialects.rows import sources
    from rookery.model.document_rows import DocumentRows
    from rookery.model.tables import read_subscriptions

    table = read_subscriptions(subscriptions, id_type=id_type, dialect=dialect)
    is_dialect = "source" in table.column_names or dialect is not None
    if schema is None and not is_dialect:
        raise SettingsError("give --schema, the events' schema; only rules of a dialect say their fields themselves")
    events = Schema.from_subscriptions(table) if schema is None else read_schema(schema)
    rules = matcher(events, on_error="quarantine")
    assert isinstance(rules, Matcher)
    rules.add_many(table)
    if rules.quarantined:
        note(f"{len(rules.quarantined)} bad subscriptions are left out; `rookery validate` lists them")
    values = read_event(event)
    several = [values] if schema is not None else DocumentRows(events)(values)
    known = {str(one): one for one in rules.compile().subscriptions["subscription_id"].to_pylist()}
    chosen = list(known.values()) if id is None else [known.get(id, id)]
    explanations = [_explained(rules, one, several, topic=topic, time=time) for one in chosen]
    places = sources(table)
    if json:
        told = [
            one.to_dict() | ({"source": places[name]} if places.get(name) else {})
            for name, one in zip(chosen, explanations, strict=True)
        ]
        write_json(told if id is None else told[0])
    else:
        for one, explanation in zip(chosen, explanations, strict=True):
            write(str(explanation))
            if places.get(one):
                write(f"  from {places[one]}")
    return 0


def _explained(rules: Any, one: Any, several: list[Any], **beside: Any) -> Any:
    """Explain a document's row that matches, else its first."""
    told = [rules.explain(one, values, **beside) for values in several]
    return next((explanation for explanation in told if explanation.matched), told[0])
