"""`rookery lint`: what is wrong with a whole set of rules? Each finding with its proof or an event that shows it."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict
from typing import Annotated

import typer

from rookery.cli.exit_codes import ExitCode
from rookery.cli.notations import read_schema
from rookery.cli.options import Dialect, IdType, Json, SchemaText, note, write, write_json
from rookery.errors import SettingsError

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery lint rules.csv --schema events.parquet",
    "rookery lint sigma/rules/ --events events.jsonl",
    "rookery lint rules.csv --schema schema.json --only duplicate,covered --json",
]


def command(
    subscriptions: Annotated[
        str, typer.Argument(help="Rules: CSV, TSV, JSON lines, Parquet, Arrow or Sigma's YAML; a file or a folder.")
    ],
    schema: SchemaText = None,
    events: Annotated[
        str | None, typer.Option(help="JSON lines: name the fields of rules that none of these events has.")
    ] = None,
    only: Annotated[str | None, typer.Option(help="Kinds of findings, with commas between.")] = None,
    id_type: IdType = None,
    dialect: Dialect = None,
    json: Json = False,
) -> int:
    """Find duplicates, rules that others cover, contradictions, what is always true, and what costs.

    Exit with 1 if there is a finding.
    """
    from rookery.matching.lint import KINDS, lint
    from rookery.model import Schema
    from rookery.model.dialects.rows import sources
    from rookery.model.documents import documents_of, field_names
    from rookery.model.storage import path_of
    from rookery.model.tables import read_subscriptions

    wanted = set(KINDS) if only is None else {one.strip() for one in only.split(",")}
    if not wanted <= set(KINDS):
        raise SettingsError(f"--only takes kinds of findings: {', '.join(KINDS)}")
    table = read_subscriptions(subscriptions, id_type=id_type, dialect=dialect)
    if schema is None and "source" not in table.column_names and dialect is None:
        raise SettingsError("give --schema, the events' schema; only rules of a dialect say their fields themselves")
    known = Schema.from_subscriptions(table) if schema is None else read_schema(schema)
    fields = None
    if events is not None:
        with path_of(events).open(encoding="utf-8") as lines:
            fields = {name for document in documents_of(lines) for name in field_names(document)}
    note(f"{table.num_rows:,} subscriptions from {subscriptions}")
    findings = [one for one in lint(table, known, fields=fields, clock=time.process_time) if one.kind in wanted]
    counts = Counter(one.kind for one in findings)
    places = sources(table)
    if json:
        counted = {kind: counts.get(kind, 0) for kind in KINDS}
        told = [asdict(one) | {"source": places.get(one.subscription_id)} for one in findings]
        write_json({"subscriptions": table.num_rows, "counts": counted, "findings": told})
    else:
        for one in findings:
            shown = f"  e.g. {one.witness}" if one.witness else ""
            place = f"  from {places[one.subscription_id]}" if places.get(one.subscription_id) else ""
            write(f"{one.kind:<10} {one.subscription_id!r}: {one.message}{shown}{place}")
        write(", ".join(f"{counts[kind]:,} {kind}" for kind in KINDS if counts[kind]) or "nothing found")
    return ExitCode.FAILED if findings else ExitCode.DONE
