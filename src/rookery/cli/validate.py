"""`rookery validate`: what is wrong with these subscriptions? Every fault with its id, its place and a hint."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from rookery.cli.exit_codes import ExitCode
from rookery.cli.notations import read_schema
from rookery.cli.options import Dialect, IdType, Json, SchemaText, note, write, write_json
from rookery.errors import SettingsError

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery validate rules.csv --schema events.parquet",
    "rookery validate rules.jsonl --schema 'symbol:string,price:float64'",
    "rookery validate rules.parquet --schema schema.json --json",
    "rookery validate sigma/rules/ --dialect sigma",
]


def command(
    subscriptions: Annotated[
        str, typer.Argument(help="Subscriptions: CSV, TSV, JSON lines, Parquet or Arrow; a file or a folder.")
    ],
    schema: SchemaText = None,
    id_type: IdType = None,
    dialect: Dialect = None,
    json: Json = False,
) -> int:
    """Check subscriptions against a schema; exit with 1 if any is bad.

    Rules of a dialect need none: their fields are what they name.
    """
    from rookery.matching import Matcher, matcher
    from rookery.model import Schema, parse
    from rookery.model.lower import lower
    from rookery.model.never_true import never_true
    from rookery.model.tables import read_subscriptions

    table = read_subscriptions(subscriptions, id_type=id_type, dialect=dialect)
    if schema is None and "source" not in table.column_names and dialect is None:
        raise SettingsError("give --schema, the events' schema; only rules of a dialect say their fields themselves")
    events = Schema.from_subscriptions(table) if schema is None else read_schema(schema)
    note(f"{table.num_rows:,} subscriptions from {subscriptions}")
    checked = matcher(events, on_error="quarantine")
    assert isinstance(checked, Matcher)
    good = checked.add_many(table)
    records = checked.compile().subscriptions.select(["subscription_id", "where", "parameters"]).to_pylist()
    never = [
        one["subscription_id"] for one in records if not lower(parse(one["where"]), events, one["parameters"])
    ]  # a legal filter that no event can satisfy is worth a word
    warnings = [
        {"subscription_id": one["subscription_id"], "predicate": text, "reason": reason}
        for one in records
        for text, reason in never_true(one["where"], events, one["parameters"])
    ]
    if json:
        write_json({**_document(checked.quarantined, never, good, table.num_rows), "warnings": warnings})
    else:
        for fault in checked.quarantined:
            write(str(fault))
            write()
        for subscription_id in never:
            write(f"{subscription_id!r}: no event can satisfy this filter")
        for warning in warnings:
            write("{subscription_id!r}: {predicate} can never be true: {reason}".format(**warning))
        bad = len(checked.quarantined)
        write(f"{good:,} good, {bad:,} bad" + (f", {len(never):,} never true" if never else ""))
    return ExitCode.FAILED if checked.quarantined else ExitCode.DONE


def _document(faults: list[Any], never: list[Any], good: int, total: int) -> dict[str, Any]:
    return {
        "subscriptions": total,
        "good": good,
        "bad": [
            {
                "subscription_id": fault.subscription_id,
                "message": fault.message,
                "text": fault.text,
                "position": fault.position,
                "hint": fault.hint,
            }
            for fault in faults
        ],
        "never_true": never,
    }
