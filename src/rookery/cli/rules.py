"""What `validate` and `explain` read: subscriptions, a schema and an event, from files or from the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rookery.errors import EventError, SchemaError, SpaceError, SubscriptionError
from rookery.model.arrow_types import schema_document
from rookery.model.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["read_cuts", "read_event", "read_schema", "read_subscriptions"]


def read_subscriptions(path: Path) -> pa.Table:
    """Read subscriptions from CSV, JSON lines or Parquet, as text where the format has no types of its own."""
    import pyarrow as pa

    if not path.is_file():
        raise SubscriptionError(f"{path}: no such file", hint="give a .csv, .jsonl or .parquet file of subscriptions")
    suffix = path.suffix.lower()
    try:
        if suffix in (".parquet", ".pq"):
            import pyarrow.parquet

            return pyarrow.parquet.read_table(path)
        if suffix in (".jsonl", ".ndjson", ".json"):
            import pyarrow.json

            return pyarrow.json.read_json(path)
        if suffix in (".csv", ".tsv", ".txt"):
            return _read_csv(path, "\t" if suffix == ".tsv" else ",")
    except (pa.ArrowException, OSError) as error:
        raise SubscriptionError(f"{path}: cannot read the subscriptions: {error}") from None
    raise SubscriptionError(f"{path}: {suffix or 'no suffix'} is not one of .csv, .tsv, .jsonl, .parquet")


def _read_csv(path: Path, delimiter: str) -> pa.Table:
    import pyarrow as pa
    import pyarrow.csv

    # Dates stay text: the record reads ISO 8601, and what it cannot read it reports with the rule's id.
    texts = ("where", "topic", "parameters", "subscriber", "valid_from", "valid_to")
    return pyarrow.csv.read_csv(
        path,
        parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(texts, pa.string())),
    )


def read_schema(given: str) -> Schema:
    """Read a schema: a JSON file of names and types, a data file to infer it from, or `price:float64,symbol:string`."""
    path = Path(given)
    if path.suffix.lower() == ".json" and path.is_file():
        return Schema.from_dict(schema_document(path))
    if path.exists():
        return Schema.infer(path)
    if ":" not in given:
        raise SchemaError(
            f"{given}: no such file, and no list of attributes; a schema is a JSON file, a file of events, "
            "or text such as 'price:float64,symbol:string'"
        )
    types: dict[str, str] = {}
    for part in given.split(","):
        name, _, kind = part.partition(":")
        if name.strip() in types:
            raise SchemaError(f"the schema repeats {name.strip()!r}")
        types[name.strip()] = kind.strip()
    return Schema.from_dict(types)


def read_cuts(given: str) -> str | dict[str, Any]:
    """Return how a space is cut, for `space/notation.py`: the text itself, or the document in a JSON file."""
    path = Path(given)
    if path.suffix.lower() != ".json":
        return given
    try:
        cuts = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise SpaceError(f"{given}: cannot read the space: {error}") from None
    if not isinstance(cuts, dict):
        raise SpaceError(f'{given}: a space is an object of lists, such as {{"price": [0, 10, 20]}}')
    return cuts


def read_event(given: str) -> dict[str, Any]:
    """Read one event: JSON, `@file` with JSON in it, or `-` for standard input."""
    try:
        if given == "-":
            text = sys.stdin.read()
        elif given.startswith("@"):
            text = Path(given[1:]).read_text("utf-8")
        else:
            text = given
        event = json.loads(text)
    except (OSError, ValueError) as error:
        raise EventError(f"cannot read the event: {error}; an event is JSON, as '{{\"price\": 9.5}}'") from None
    if not isinstance(event, dict):
        raise EventError("an event is a JSON object of attributes and values")
    return event
