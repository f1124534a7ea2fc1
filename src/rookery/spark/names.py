"""Spark's rule of names: `Temp` and `temp` are one column, unless `spark.sql.caseSensitive` says otherwise.

Rookery's own names are exact. So where Spark's are not, a name that the events do not have as it is written is taken
for the one column that has it in other cases: in `event_id=`, `time=` and `columns=` before anything else, and in a
rule's condition when it would otherwise be set aside. Where two columns differ in case alone, neither is guessed.

Where a path may stand, `table:ops.events` names a table of Spark's catalog.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rookery.errors import SubscriptionError
from rookery.model.expressions import Field, field_text
from rookery.model.parser import parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["TABLE", "actual_name", "catalog_name", "default_event_id", "folds_names", "with_actual_names"]


#: What the name of a table in Spark's catalog begins with, where a path may stand.
TABLE = "table:"


def catalog_name(text: Any) -> str | None:
    """Return the name of a table of Spark's catalog, None for a path."""
    return text[len(TABLE) :] if isinstance(text, str) and text.startswith(TABLE) else None


def folds_names(spark: SparkSession) -> bool:
    """Say whether this session takes names that differ in case for one."""
    return str(spark.conf.get("spark.sql.caseSensitive", "false")).lower() != "true"


def actual_name(name: str, columns: Iterable[str]) -> str:
    """Return the column that a name means: itself, or the only one that differs in case alone."""
    known = list(columns)
    alike = [one for one in known if one.lower() == name.lower()]
    return alike[0] if name not in known and len(alike) == 1 else name


def default_event_id(columns: Iterable[str], event_id: str | None, *, folded: bool) -> str | None:
    """Return the id column: the named one, else `event_id` where there is one; None where an event has none."""
    known = list(columns)
    name = event_id or "event_id"
    actual = actual_name(name, known) if folded else name
    return actual if event_id is not None or actual in known else None


def with_actual_names(records: pa.Table, texts: Iterable[str | None], events: pa.Schema) -> pa.Table | None:
    """Return the rules with the events' own names in those conditions; None where none of them changes."""
    changed = {text: _renamed(text, events) for text in texts if text is not None}
    if all(text == now for text, now in changed.items()):
        return None
    column = [changed.get(text, text) for text in records["where"].to_pylist()]
    place = records.column_names.index("where")
    return records.set_column(place, "where", pa.array(column, records.schema.field("where").type))


def _renamed(text: str, events: pa.Schema) -> str:
    positions: dict[int, int] = {}
    try:
        tree = parse(text, positions=positions)
    except SubscriptionError:
        return text
    found = {(positions.get(id(field), -1), field.path) for field in _fields(tree)}
    for start, path in sorted(found, reverse=True):  # from the end, so that earlier places stay
        written, meant = field_text(path), field_text(_actual_path(path, events))
        if start >= 0 and text.startswith(written, start):
            text = text[:start] + meant + text[start + len(written) :]
    return text


def _fields(node: Any) -> Iterator[Field]:
    if isinstance(node, Field):
        yield node
    elif isinstance(node, tuple | list):
        for one in node:
            yield from _fields(one)
    elif hasattr(node, "__struct_fields__"):
        for name in node.__struct_fields__:
            yield from _fields(getattr(node, name))


def _actual_path(path: tuple[str | int, ...], events: pa.Schema) -> tuple[str | int, ...]:
    found: list[str | int] = []
    fields: Any = events
    for step in path:
        if isinstance(step, int):
            found.append(step)
            fields = fields.value_type if pa.types.is_list(fields) else pa.struct([])
        else:
            names = [] if not hasattr(fields, "__iter__") else [one.name for one in fields]
            name = actual_name(step, names)
            found.append(name)
            fields = fields.field(name).type if name in names else pa.struct([])
    return tuple(found)
