"""Events as they come: nested JSON, one document an event, laid out in the columns of a schema.

Rule 1: a missing field is NULL, and so is a JSON null. A column `a.b` takes the value at that key, else the value `b`
inside `a`; where the schema has structs, their fields are found in the same way.
Rule 2: a text column takes any value: a number and a boolean as JSON writes them, a list or an object as its JSON. A
column of another type takes what fits it, and a number also from a text that is one; what does not fit is NULL.
Rule 3: a Windows event as its viewers export it (`{"Event": {"System": …, "EventData": …}}`) has its fields by their
own names: `EventID`, `Channel`, `Provider_Name`, and all that stands in EventData or UserData.
Rule 4: a schema that asks for choices (`choices.py`: `a#text`, `a#leaf`, …) has a row for each choice of items of a
document's arrays; the document matches what one of its rows matches.
Rule 5: `_event` is all values of a document in their order, U+001E between them: what keywords are sought in;
`a#number` is `a` as a number, `a#instant` as an instant.

This is what columns of documents mean, value by value; `document_lines.py` reads lines of JSON to the same columns, and
`document_rows.py` makes events of one document.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec
import pyarrow as pa

from rookery.errors import EventError
from rookery.model.arrow_types import type_to_arrow
from rookery.model.choices import ABSENT, LEAF, TEXT, VALUE, Choices
from rookery.model.schema import Schema
from rookery.model.types import (
    BooleanType,
    DecimalType,
    FloatType,
    IntegerType,
    StringType,
    StructType,
    TimestampType,
    Type,
)

__all__ = [
    "EVERY_VALUE", "SEPARATOR", "document_of", "documents_of", "every_value", "field_names", "fitting", "laid_out",
    "layout", "leaves_of", "other_field", "text_of",
]  # fmt: skip

#: The column of all values of a document.
EVERY_VALUE = "_event"
#: What stands between them: ASCII's record separator, which texts of events do not have, as they may have line ends.
SEPARATOR = "\x1e"
#: What a field is as another type: as a number, as an instant.
_OTHERWISE = ("#number", "#instant")
#: The objects of a Windows event whose fields go by their own names, in the order in which they are asked.
_WINDOWS = (("Event", "EventData"), ("Event", "UserData"), ("Event", "System"))
#: Fields of a Windows event that stand deeper.
_ALIASES = {"Event.System.Provider.#attributes.Name": "Provider_Name", "Event.System.EventID.#text": "EventID"}

#: A whole number as a text; what has more digits fits no column.
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,40}\s*", re.ASCII)

_render = msgspec.json.encode


def document_of(line: bytes | str, number: int) -> dict[str, Any] | None:
    """Return the document of a line, None of a blank one; EventError names the line that is none."""
    if not line.strip():
        return None
    try:
        document = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise EventError(f"line {number} is no JSON: {error}") from None
    if not isinstance(document, dict):
        raise EventError(f"line {number} is no JSON object")
    return document


def documents_of(lines: Iterable[bytes | str]) -> Iterator[Mapping[str, Any]]:
    """Yield the documents of JSON lines; EventError names the line that is none."""
    for number, line in enumerate(lines, 1):
        document = document_of(line, number)
        if document is not None:
            yield document


def other_field(name: str) -> str:
    """Return the field of which a column is made: of `a#number` and `a#instant` it is `a`."""
    field, mark, suffix = name.rpartition("#")
    return field if mark + suffix in _OTHERWISE else name


def field_names(document: Mapping[str, Any]) -> set[str]:
    """Return the names by which conditions may reach the fields of a document."""
    return {name for name, _ in leaves_of(document)} | {EVERY_VALUE}


def layout(documents: Iterable[Mapping[str, Any]], schema: Schema) -> pa.Table:
    """Return documents as a table with the columns of a schema."""
    return laid_out(documents, schema)[0]


def laid_out(documents: Iterable[Mapping[str, Any]], schema: Schema) -> tuple[pa.Table, list[int] | None]:
    """Return documents as a table, and the document of each row where a document may have several."""
    choices = Choices(schema)
    if not choices.asked:
        return _table(list(documents), schema, None), None
    rows: list[Mapping[str, Any]] = []
    chosen: list[dict[str, Any]] = []
    origins: list[int] = []
    for number, document in enumerate(documents):
        made = choices(document)
        chosen += made
        rows += [document] * len(made)
        origins += [number] * len(made)
    return _table(rows, schema, chosen), origins


def _table(rows: list[Mapping[str, Any]], schema: Schema, chosen: list[dict[str, Any]] | None) -> pa.Table:
    columns: dict[str, list[Any]] = {name: [None] * len(rows) for name in schema}
    made_of: dict[str, list[list[Any]]] = {}
    structs = {name: kind for name, kind in schema.types.items() if isinstance(kind, StructType)}
    for name, column in columns.items():
        of_choice = chosen is not None and name.endswith((TEXT, VALUE, LEAF, ABSENT))
        if not of_choice and name != EVERY_VALUE and name not in structs:
            made_of.setdefault(other_field(name), []).append(column)
    keywords = columns.get(EVERY_VALUE)
    for row, made in enumerate(chosen or ()):
        for name, value in made.items():
            columns[name][row] = value
    for row, document in enumerate(rows if made_of else ()):
        for name, value in leaves_of(document):
            for column in made_of.get(name, ()):
                if column[row] is None:
                    column[row] = value
    for row, document in enumerate(rows):
        for name, struct in structs.items():
            columns[name][row] = fitting(document.get(name), struct)
        if keywords is not None:
            keywords[row] = SEPARATOR.join(every_value(document))
    arrays = []
    for name, kind in schema.types.items():
        values = columns[name]
        if name not in structs:
            values = [None if value is None else fitting(value, kind) for value in values]
        arrays.append(pa.array(values, type_to_arrow(kind)))
    return pa.table(arrays, names=list(schema))


def every_value(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of all values of a document, in their order."""
    for value in document.values():
        if isinstance(value, dict):
            yield from every_value(value)
        elif value is not None:
            yield text_of(value)


def leaves_of(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield names and values: of every field by its path, of a Windows event's fields by their own names too."""
    windows = document.get("Event")
    if isinstance(windows, dict):
        yield from _windows(document)
    stack = [("", document)]
    while stack:
        prefix, inside = stack.pop()
        for key, value in inside.items():
            if value is None:
                continue
            name = prefix + key
            yield name, value
            if isinstance(value, dict):
                stack.append((name + ".", value))


def _windows(document: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for home in _WINDOWS:
        inside: Any = document
        for step in home:
            inside = inside.get(step) if isinstance(inside, dict) else None
        if not isinstance(inside, dict):
            continue
        for key, value in inside.items():
            if isinstance(value, dict):
                if home[-1] == "UserData":  # its fields stand one object deeper, under a name of the provider's
                    yield from ((name, one) for name, one in value.items() if one is not None)
                for name, one in value.items():
                    inner = f"{'.'.join(home)}.{key}.{name}"
                    if inner in _ALIASES:
                        yield _ALIASES[inner], one
                    elif isinstance(one, dict):
                        yield from (
                            (_ALIASES[f"{inner}.{deep}"], last)
                            for deep, last in one.items()
                            if f"{inner}.{deep}" in _ALIASES
                        )
            elif value is not None:
                yield key, value


def text_of(value: Any) -> str:
    """Return a value as a text: a text itself, of anything else its JSON."""
    return value if isinstance(value, str) else _render(value).decode()


def fitting(value: Any, kind: Type) -> Any:
    """Return a value as a column of this type holds it; None where it does not fit."""
    if value is None:
        return None
    if isinstance(kind, StringType):
        return text_of(value)
    if isinstance(kind, StructType):
        return {name: fitting(value.get(name), one) for name, one in kind.fields} if isinstance(value, dict) else None
    if isinstance(kind, BooleanType):
        return value if isinstance(value, bool) else None
    if isinstance(kind, TimestampType):
        from rookery.model.instants import instant_of

        try:
            return instant_of(value) // kind.nanoseconds if isinstance(value, str) else None
        except ValueError:
            return None
    if isinstance(value, str):
        try:
            # What is exact is not read by way of a double: programs that have none but doubles write int64 as texts.
            whole = isinstance(kind, IntegerType) and _WHOLE.fullmatch(value)
            value = int(value) if whole else Decimal(value) if isinstance(kind, DecimalType) else float(value)
        except (ValueError, InvalidOperation):
            return None
        if isinstance(value, Decimal) and not value.is_finite():
            return None
    if isinstance(kind, DecimalType) and isinstance(value, float) and math.isfinite(value):
        value = Decimal(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    try:
        if isinstance(kind, FloatType):
            return float(value)
        if isinstance(kind, IntegerType) and isinstance(value, float):
            if not value.is_integer():
                return None
            value = int(value)
        return pa.scalar(value, type_to_arrow(kind)).as_py()
    except OverflowError:
        return (math.inf if value > 0 else -math.inf) if isinstance(kind, FloatType) else None
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return None
