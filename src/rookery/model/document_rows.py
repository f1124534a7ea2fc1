"""One document as events for `match`: what `documents.py` lays out in columns, as dicts of what the document has.

Rule 1: a dict has the columns that are not NULL, with the values that the columns would hold; so an event that has few
of hundreds of columns is small, and `match` looks at no other.
Rule 2: a document whose arrays are chosen from (`choices.py`) is several events, and matches what one of them matches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rookery.model.choices import Choices, asked_paths
from rookery.model.documents import (
    EVERY_VALUE,
    SEPARATOR,
    document_of,
    every_value,
    fitting,
    leaves_of,
    other_field,
)
from rookery.model.expressions import Timestamp
from rookery.model.schema import Schema
from rookery.model.types import FloatType, StringType, StructType, TimestampType, Type

__all__ = ["DocumentRows"]


class DocumentRows:
    """What makes events of documents for one schema; made once, called for each document or line of JSON."""

    __slots__ = ("_choices", "_columns", "_keywords", "_structs")

    def __init__(self, schema: Schema) -> None:
        self._choices = Choices(schema)
        chosen = {path + suffix for path, suffixes in asked_paths(schema).items() for suffix in suffixes}
        self._keywords = EVERY_VALUE in schema
        self._structs = {name: kind for name, kind in schema.types.items() if isinstance(kind, StructType)}
        #: The columns that are made of a field, each with its type.
        self._columns: dict[str, list[tuple[str, Type]]] = {}
        for name, kind in schema.types.items():
            if name not in chosen and name != EVERY_VALUE and name not in self._structs:
                self._columns.setdefault(other_field(name), []).append((name, kind))

    def __call__(self, document: Mapping[str, Any] | bytes | str) -> list[dict[str, Any]]:
        """Return the events of a document, none of a blank line; EventError where a line is none."""
        if isinstance(document, bytes | str):
            read = document_of(document, 1)
            if read is None:
                return []
            document = read
        event: dict[str, Any] = {}
        if self._columns:
            for name, value in leaves_of(document):
                for column, kind in self._columns.get(name, ()):
                    if value is not None and event.get(column) is None:
                        event[column] = value if type(value) is str and type(kind) is StringType else (kind, value)
        event = {name: value if type(value) is str else _held(value[1], value[0]) for name, value in event.items()}
        for name, struct in self._structs.items():
            event[name] = _held(document.get(name), struct)
        if self._keywords:
            event[EVERY_VALUE] = SEPARATOR.join(every_value(document))
        return [event | one for one in self._choices(document)] if self._choices.asked else [event]


def _held(value: Any, kind: Type) -> Any:
    """Return a value as `match` reads what a column of this type holds."""
    held = fitting(value, kind)
    if held is None:
        return None
    if isinstance(kind, TimestampType):
        return Timestamp(held * kind.nanoseconds)
    if isinstance(kind, StructType):
        return {name: _held(value.get(name), one) for name, one in kind.fields}
    if isinstance(kind, FloatType) and kind.bits == 32:
        with np.errstate(over="ignore"):
            return float(np.float32(held))
    return held
