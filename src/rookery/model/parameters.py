"""Parameters: values that stand beside a text, by number (`%0`) or by name (`:limit`).

Rule: a record, a file and the wire hold the values as one list: first those of `%0`, `%1`, … up to the highest that the
text names, then those of its names in alphabetical order. Who gives them by name gives a mapping, and gets that list.
A value more than the text names is left out, one less is an error at its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from rookery.errors import SubscriptionError
from rookery.model.tokens import parameters_of

__all__ = ["parameter_values"]


def parameter_values(where: str, given: Iterable[object] | Mapping[Any, object]) -> tuple[object, ...]:
    """Return the values of a text's parameters in order; a mapping names them, by name or by number."""
    if not isinstance(given, Mapping):
        return tuple(given)
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
    return tuple(known.get(name) for name in wanted)
