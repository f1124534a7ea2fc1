"""The columns of a table of subscriptions: each brought to its own type, what does not fit noted by row.

Rule: an Arrow column of a type that is as good as its own (a wider integer, a view, a dictionary) is cast as a whole;
everything else is read value by value (`cells.py`), so that a bad value is the fault of one subscription. A column of a
type that can never fit is an error of the table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from rookery.errors import SubscriptionError
from rookery.model.cells import CELLS, integer, microseconds, text
from rookery.model.files import Columns
from rookery.model.instants import FIRST_INSTANT, LAST_INSTANT, MICROSECONDS
from rookery.model.parameters import parameter_values
from rookery.model.subscriptions import INSTANT

__all__ = ["RECORD", "Faults", "extra_column", "id_column", "typed_column"]

#: The columns of a subscription beside its id, which is a string or an int64.
RECORD: dict[str, pa.DataType] = {
    "where": pa.string(),
    "topic": pa.string(),
    "parameters": pa.list_(pa.string()),
    "subscriber": pa.string(),
    "version": pa.int64(),
    "valid_from": INSTANT,
    "valid_to": INSTANT,
    "key": pa.string(),
    "trigger": pa.string(),
    "cooldown": pa.float64(),
}
_NAMES = {"where": "the condition", "parameters": "parameters"}
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}

#: What is wrong, by row: message and hint.
Faults = dict[int, tuple[str, str | None]]
Column: TypeAlias = pa.ChunkedArray | list[Any]


def id_column(found: Columns, id_type: str | None, faults: Faults) -> tuple[Any, dict[int, str]]:
    """Return the ids, and the texts of those that are none; a missing one is a fault named by its place."""
    column = found.columns["subscription_id"]
    if isinstance(column, pa.ChunkedArray):
        column = _decoded(column)
        kind = column.type
        if pa.types.is_integer(kind):
            id_type = id_type or "int"
        elif _is_text(kind):
            id_type = id_type or "string"
        else:
            raise SubscriptionError(f"subscription_id is a string or an integer, not {kind}")
        wanted = pa.int64() if id_type == "int" else pa.string()
        if pa.types.is_integer(kind) or id_type == "string":
            try:
                ids = column.cast(wanted)
            except pa.ArrowInvalid:
                pass
            else:
                empty = pc.is_null(ids)
                if id_type == "string":
                    empty = pc.or_kleene(empty, pc.equal(pc.utf8_trim_whitespace(ids), ""))
                if not pc.any(empty).as_py():
                    return ids, {}
        column = column.to_pylist()
    if id_type is None:
        kinds = {type(one) for one in column if isinstance(one, str | int) and not isinstance(one, bool)}
        id_type = "int" if kinds == {int} else "string"
    ids, texts = [], {}
    for row, value in enumerate(column):
        read: str | int | None = None
        if value is None or (isinstance(value, str) and not value.strip()):
            faults.setdefault(row, (f"{found.place(row)} has no subscription_id", None))
        elif isinstance(value, bool) or not isinstance(value, str | int):
            texts[row] = json.dumps(_floats(value), default=str)
            faults.setdefault(row, ("the subscription_id is a string or an integer", None))
        else:
            try:
                read = integer(value) if id_type == "int" else text(str(value))
            except ValueError as error:
                texts[row] = str(value).encode(errors="replace").decode()
                faults[row] = (
                    f"the subscription_id {error}",
                    "all ids are read as integers" if id_type == "int" else None,
                )
        ids.append(read)
    return pa.array(ids, pa.int64() if id_type == "int" else pa.string()), texts


def typed_column(name: str, found: Columns, faults: Faults) -> Any:
    """Return a column in its own type; what cannot be read is null there, and a fault."""
    column, wanted = found.columns[name], RECORD[name]
    made = _cast(name, column) if isinstance(column, pa.ChunkedArray) else None
    if made is None:
        values: list[Any] = []
        cells, read = _cells(name, column)
        for row, value in enumerate(cells):
            try:
                known = None if value is None else read(value)
                values.append(list(_by_name(found, row, known)) if isinstance(known, dict) else known)
            except SubscriptionError as error:
                values.append(None)
                faults.setdefault(row, (error.message, error.hint))
            except (ValueError, TypeError) as error:
                values.append(None)
                faults.setdefault(row, (f"{_NAMES.get(name, f'the {name}')} {error}", None))
        made = pa.array(values, wanted)
    if name == "version":
        return pc.fill_null(made, 1)
    if name == "where":
        missing = pc.is_null(made)
        if found.is_text:
            missing = pc.or_kleene(missing, pc.equal(pc.utf8_trim_whitespace(made), ""))
        if pc.any(missing).as_py():
            for row in pc.indices_nonzero(missing).to_pylist():
                faults.setdefault(row, ("the condition is missing", "to match every event write TRUE"))
    return made


def _by_name(found: Columns, row: int, given: dict[str, Any]) -> tuple[Any, ...]:
    """Return the parameters of a row that gives them by name, in the order of its text's."""
    where = found.columns["where"][row]
    where = where.as_py() if isinstance(where, pa.Scalar) else where
    return parameter_values(where if isinstance(where, str) else "", given)


def _cast(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return an Arrow column in the type of its name, or None where its values must be read one by one."""
    column, wanted = _decoded(column), RECORD[name]
    kind = column.type
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), wanted)])
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    is_date = pa.types.is_timestamp(kind) or pa.types.is_date(kind)
    expected, fits = "text", _is_text(kind)
    if name in ("version", "cooldown"):
        expected, fits = "a number", fits or is_number
    elif wanted == INSTANT:
        expected, fits = "a timestamp or ISO 8601 text", fits or is_date
    elif name == "parameters":
        is_named = pa.types.is_map(kind) or pa.types.is_struct(kind)
        expected, fits = "a list of strings, or a map", fits or is_list or is_named or "list_view" in str(kind)
    if not fits:
        raise SubscriptionError(f"the column {name!r} of the subscriptions is {expected}, and here it is {kind}")
    try:
        if wanted == pa.string() and name != "trigger":
            return column.cast(wanted)
        if name == "version" and pa.types.is_integer(kind):
            return column.cast(wanted)
        if name == "parameters" and is_list and _is_text(kind.value_type):
            return column.cast(wanted)
        if wanted == INSTANT and is_date:
            zone = kind.tz if pa.types.is_timestamp(kind) else None
            instants = column.cast(pa.timestamp("us", tz=zone)).cast(pa.int64())
            ends = pc.min_max(instants).as_py()
            if ends["min"] * MICROSECONDS >= FIRST_INSTANT and ends["max"] * MICROSECONDS <= LAST_INSTANT:
                return instants.cast(INSTANT)
    except pa.ArrowException:
        return None
    return None


def _cells(name: str, column: Column) -> tuple[Iterable[Any], Callable[[Any], Any]]:
    """Return the values of a column one by one, and how each is read; a timestamp comes in nanoseconds."""
    if not isinstance(column, pa.ChunkedArray):
        return column, CELLS[name]
    column = _decoded(column)
    if pa.types.is_map(column.type):
        return [None if one is None else dict(one) for one in column.to_pylist()], CELLS[name]
    if pa.types.is_struct(column.type):  # a field that is NULL was not given
        rows = column.to_pylist()
        given = [
            None if one is None else {key: value for key, value in one.items() if value is not None} for one in rows
        ]
        return given, CELLS[name]
    if not pa.types.is_timestamp(column.type):
        return column.to_pylist(), CELLS[name]
    scale = _NANOSECONDS[column.type.unit]
    return [None if one is None else one * scale for one in column.cast(pa.int64()).to_pylist()], microseconds


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_null(kind)
    )


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without its encoding: a dictionary's and a run's values are what counts."""
    if pa.types.is_run_end_encoded(column.type):
        column = pa.chunked_array([pc.run_end_decode(chunk) for chunk in column.chunks], column.type.value_type)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column


def extra_column(column: Column) -> Any:
    """Return a column that a subscription does not have: as it is, or as JSON where its values are of many types."""
    if isinstance(column, pa.ChunkedArray):
        return column
    values = [_floats(one) for one in column]
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return pa.array([None if one is None else json.dumps(one, default=str) for one in values], pa.string())


def _floats(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {name: _floats(one) for name, one in value.items()}
    return [_floats(one) for one in value] if isinstance(value, list) else value
