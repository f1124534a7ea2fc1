"""The golden cases as events: dicts for `match`, Arrow columns for `match_many`.

In a case's JSON a decimal and an instant are strings, and a float may be "NaN", "Infinity", "-Infinity" or "-0.0".
"""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from rookery.model.arrow_types import type_to_arrow
from rookery.model.instants import parse_instant
from rookery.model.schema import Schema
from rookery.model.types import DecimalType, FloatType, ListType, StructType, TimestampType, Type

__all__ = ["CASES", "column", "dict_event", "events_table", "load"]

CASES = Path(__file__).parents[1] / "cases" / "matching"


def load(kind: str) -> list[tuple[str, Schema, dict[str, Any]]]:
    """Return every case of all files: its name, its schema, its content. `kind` is "cases" or "sets"."""
    found = []
    for file in sorted(CASES.glob("*.json")):
        content = json.loads(file.read_text("utf-8"))
        schema = Schema.from_dict(content["schema"])
        found += [(f"{file.stem}: {case['name']}", schema, case) for case in content.get(kind, [])]
    return found


def value_of(kind: Type, value: Any) -> Any:
    """Return a JSON value as a Python value of a type."""
    if value is None:
        return None
    match kind:
        case StructType(fields):
            types = dict(fields)
            return {name: value_of(types[name], one) for name, one in value.items()}
        case ListType(item):
            return [value_of(item, one) for one in value]
        case FloatType():
            return float(value)
        case DecimalType():
            return Decimal(value)
    return value


def dict_event(schema: Schema, event: dict[str, Any]) -> dict[str, Any]:
    """Return an event of a case as a dict."""
    return {name: value_of(schema.types[name], value) for name, value in event.items()}


def arrow_value(kind: Type, value: Any) -> Any:
    """Return a JSON value as what `pa.array` takes for the type's storage: instants as whole numbers."""
    if value is None:
        return None
    match kind:
        case StructType(fields):
            return {name: arrow_value(inner, value.get(name)) for name, inner in fields}
        case ListType(item):
            return [arrow_value(item, one) for one in value]
        case TimestampType():
            return parse_instant(value) // kind.nanoseconds
    return value_of(kind, value)


def column(kind: Type, values: list[Any]) -> pa.Array:
    """Return JSON values as an Arrow column."""
    if isinstance(kind, TimestampType):
        return pa.array([arrow_value(kind, one) for one in values], pa.int64()).cast(type_to_arrow(kind))
    return pa.array([arrow_value(kind, one) for one in values], type_to_arrow(kind))


def events_table(schema: Schema, events: list[dict[str, Any]]) -> pa.Table:
    """Return events of a case as a table, `event_id` being the place in the list."""
    columns = {name: column(kind, [event.get(name) for event in events]) for name, kind in schema.types.items()}
    return pa.table({"event_id": pa.array(range(len(events)), pa.int64()), **columns})
