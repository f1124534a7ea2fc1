"""Parameters: values that stand beside a text, by number (`%0`) or by name (`:limit`).

Rule: a record, a file and the wire hold the values as one list: first those of `%0`, `%1`, … up to the highest that the
text names, then those of its names in alphabetical order. Who gives them by name gives a mapping, and gets that list.
A value more than the text names is left out, one less is an error at its place.

NULL, NaN, NaT and pandas' NA are no values. A NumPy float32 stands for the double that it is, as an event's does.

What stands after IN without parentheses, `code IN :codes`, is a list. Its value is a text as any other, a JSON list, so
that files, Arrow and the wire have one type for it; who calls gives a list, a NumPy or an Arrow array.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import date
from difflib import get_close_matches
from typing import Any

import numpy as np
import pyarrow as pa

from rookery.errors import SubscriptionError
from rookery.model.events import plain_value
from rookery.model.tokens import keyword, numbering, offsets_of, parameters_of, tokens_of

__all__ = ["list_items", "parameter_value", "parameter_values"]

_LISTS = (list, tuple, set, frozenset, np.ndarray, pa.Array, pa.ChunkedArray)
_BYTES = (bytes, bytearray, memoryview)


def parameter_values(where: str, given: Iterable[object] | Mapping[Any, object]) -> tuple[object, ...]:
    """Return the values of a text's parameters in order; a mapping names them, by name or by number."""
    if not isinstance(given, Mapping):
        values = tuple(given)
        for index, value in enumerate(values):
            if isinstance(value, _LISTS):
                _check_list(where, index)
        return tuple(parameter_value(one) if isinstance(one, _LISTS) else one for one in values)
    known = {str(key).lstrip("%:"): value for key, value in given.items()}
    count, names = parameters_of(where)
    wanted = [*map(str, range(count)), *names]
    for name in wanted:
        if name not in known and (name in names or f"%{name}" in where):
            spelling = f":{name}" if name in names else f"%{name}"
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"give one: parameters={{{name!r}: …}}"
            raise SubscriptionError(
                f"parameter {spelling} has no value", text=where, position=max(0, where.find(spelling)), hint=hint
            )
    return parameter_values(where, [known.get(name) for name in wanted])


def _check_list(where: str, index: int) -> None:
    """Refuse a list where the text asks for one value: it would be compared with the list's JSON."""
    tokens = tokens_of(where)
    count, names = numbering(tokens)
    if index >= count + len(names):
        return
    spelling = f"%{index}" if index < count else f":{names[index - count]}"
    for place, token in enumerate(tokens):
        if token == spelling and (not place or keyword(tokens[place - 1]) != "IN"):
            raise SubscriptionError(
                f"parameter {spelling} is a list, and stands here for one value",
                text=where,
                position=offsets_of(where)[place],
                hint=f"a list stands after IN, without parentheses: IN {spelling}",
            )


def parameter_value(value: object) -> str:
    """Return a value as the text that stands for it; of a list, its JSON."""
    if isinstance(value, _LISTS):
        items = value.to_pylist() if isinstance(value, pa.Array | pa.ChunkedArray) else value
        # A list in a list stays one, for `list_items` to refuse.
        texts: list[object] = [
            [] if isinstance(one, _LISTS) else None if plain_value(one) is None else parameter_value(one)
            for one in items
        ]
        return json.dumps(texts, ensure_ascii=False)
    if isinstance(value, bool | np.bool_):
        return "TRUE" if value else "FALSE"
    if isinstance(value, _BYTES):
        raise SubscriptionError(f"a parameter is no bytes, got {value!r:.80}", hint="decode it to a text")
    if isinstance(value, np.floating):
        value = value.item()
    return value.isoformat() if isinstance(value, date) else str(value)


def list_items(value: object) -> list[str]:
    """Return the texts of a list that is given for a parameter; ValueError with the reason for what is none."""
    if isinstance(value, _LISTS):
        value = parameter_value(value)
    try:  # numbers stay as they are written
        items = json.loads(value, parse_int=str, parse_float=str) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        items = None
    if not isinstance(items, list):
        raise ValueError("is no list")
    if not items:
        raise ValueError("is an empty list")
    if any(one is None or isinstance(one, list | dict) for one in items):
        raise ValueError("holds what is no value")
    return [one if isinstance(one, str) else parameter_value(one) for one in items]
