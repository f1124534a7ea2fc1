"""Rows of a table whose conditions are written in a dialect: each brought to a WHERE clause before anything reads it.

The dialect is that of the column `dialect`, else the one given for the whole table. What a rule says of itself becomes
columns (title, level, …) unless the table has them, its id the `subscription_id` where the table has none; `source` is
the place in the rule's file, or its row in a table. What cannot be said is a fault of that row.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pyarrow as pa

from rookery.errors import SubscriptionError
from rookery.model.dialects import DIALECTS, translate
from rookery.model.files import Columns

__all__ = ["DIALECT", "sources", "translated"]

#: The column that names a row's dialect.
DIALECT = "dialect"


def translated(found: Columns, dialect: str | None) -> Columns:
    """Return the rows with their conditions in the one language; as they are where no dialect is named."""
    if dialect is not None and dialect not in DIALECTS:
        translate(dialect, "")
    if (dialect in (None, "where") and DIALECT not in found.columns) or "where" not in found.columns:
        return found
    columns = {name: _values(column) for name, column in found.columns.items()}
    named = columns.pop(DIALECT, None) or [None] * found.count
    faults = dict(found.faults)
    ids = columns.get("subscription_id") or [None] * found.count
    places = columns.get("source") or [None] * found.count
    made: dict[str, list[Any]] = {}
    rows: list[int] = []
    for row in range(found.count):
        own = named[row] or dialect or "where"
        text = columns["where"][row]
        if row in faults or text is None or own == "where":
            continue
        try:
            rule = translate(str(own), str(text))
        except SubscriptionError as error:
            faults[row] = error.message if places[row] is None else f"{places[row]}: {error.message}", error.hint
            ids[row] = places[row] if ids[row] is None else ids[row]
            continue
        columns["where"][row] = rule.where
        rows.append(row)
        if ids[row] is None:
            ids[row] = rule.subscription_id if rule.subscription_id is not None else places[row]
        if places[row] is not None and rule.line is not None:
            places[row] = f"{places[row]}:{rule.line}"
        for name, value in rule.columns.items():
            if name not in columns:
                made.setdefault(name, [None] * found.count)[row] = value
    columns |= {"subscription_id": ids, **made}
    for row in rows:
        places[row] = places[row] or f"row {row + 1}"
    if any(place is not None for place in places):
        columns["source"] = places
    return dataclasses.replace(found, columns=columns, faults=faults, is_text=False)


def sources(table: pa.Table) -> dict[Any, str]:
    """Return where the rules of a table of subscriptions stand, by their ids; nothing where they have no place."""
    if "source" not in table.column_names:
        return {}
    return dict(zip(table["subscription_id"].to_pylist(), table["source"].to_pylist(), strict=True))


def _values(column: Any) -> list[Any]:
    return column.to_pylist() if isinstance(column, pa.ChunkedArray) else list(column)
