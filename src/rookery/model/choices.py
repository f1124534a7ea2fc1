"""A document with arrays as rows: one row for each choice of one item from every array.

Theory. A pattern on a document asks that each field that it names has a fitting value, and that no two of these values
lie in different items of the same array. Choose an item of every array (inside the chosen item, of the arrays that
are there): the fields that are left have at most one value each, and are a row. A pattern holds of the document if and
only if it holds of a row, and what finds rows in an index finds documents.

Items that are no object and no array themselves are chosen apart from those that are: they are values of the array's
own path, and lie in no item. A path that is reached in two ways (`{"a.b": 1, "a": {"b": 2}}`) has rows with either.

An attribute of a row is a path with what is asked of its value: `a.b#text` is a text, `a.b#value` a number (the nearest
double), `a.b#leaf` which kind it is: text, number, true, false, null. `a.b#absent` is TRUE in every row if the document
has no such leaf at all. Only paths that the schema asks for are looked at; rows that are equal are one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

from rookery.errors import EventError

__all__ = ["ABSENT", "LEAF", "NUMBER", "TEXT", "VALUE", "Choices", "asks_choices"]

TEXT, VALUE, LEAF, ABSENT = "#text", "#value", "#leaf", "#absent"
#: The column that numbers the documents of a batch whose rows are choices.
NUMBER = "_document"
#: Rows that one document may stand for.
MOST_ROWS = 65_536

Row = dict[str, Any]
Container = Mapping[str, Any]
_EMPTY: list[Row] = [{}]


def asked_paths(names: Iterable[str]) -> dict[str, list[str]]:
    """Return the paths that attributes of a schema ask of rows, each with the suffixes."""
    found: dict[str, list[str]] = {}
    for name in names:
        path, mark, suffix = name.rpartition("#")
        if mark + suffix in (TEXT, VALUE, LEAF, ABSENT):
            found.setdefault(path, []).append(mark + suffix)
    return found


def asks_choices(names: Iterable[str]) -> bool:
    """Say whether attributes are those of rows, so that a document may have several."""
    return any(name.endswith((TEXT, VALUE, LEAF, ABSENT)) for name in names)


class Choices:
    """What a schema asks of rows; calling it gives the attributes of a document's rows."""

    def __init__(self, names: Iterable[str]) -> None:
        self.asked: dict[str, tuple[bool, bool, bool, bool]] = {}
        found: dict[str, set[str]] = {}
        for name in names:
            path, mark, suffix = name.rpartition("#")
            if mark + suffix in (TEXT, VALUE, LEAF, ABSENT):
                found.setdefault(path, set()).add(mark + suffix)
        for path, suffixes in found.items():
            text, value, leaf, absent = (one in suffixes for one in (TEXT, VALUE, LEAF, ABSENT))
            self.asked[path] = text, value, leaf, absent
        self._inside = {path[: place + 1] for path in found for place, one in enumerate(path) if one == "."}
        self._never = [path for path, (_, _, _, absent) in self.asked.items() if absent]

    def __call__(self, document: Mapping[str, Any]) -> list[Row]:
        """Return the rows of a document; EventError where there are too many."""
        rows = _object(document, "", self.asked, self._inside)
        made = [self._attributes(row) for row in rows]
        if self._never:
            here = set().union(*rows)
            missing = {path + ABSENT: True for path in self._never if path not in here}
            for one in made:
                one.update(missing)
        return made

    def _attributes(self, row: Row) -> Row:
        found: Row = {}
        for path, value in row.items():
            text, number, leaf, _ = self.asked[path]
            if isinstance(value, str):
                kind = "text"
                if text:
                    found[path + TEXT] = value
            elif value is None:
                kind = "null"
            elif isinstance(value, bool):
                kind = "true" if value else "false"
            else:
                kind = "number"
                if number:
                    found[path + VALUE] = _double(value)
            if leaf:
                found[path + LEAF] = kind
        return found


def _double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _object(given: Mapping[str, Any], prefix: str, wanted: Container, inside: set[str]) -> list[Row]:
    single: Row = {}
    rows = _EMPTY
    for name, value in given.items():
        path = prefix + name
        if isinstance(value, dict):
            if path + "." in inside:
                rows = _product(rows, _object(value, path + ".", wanted, inside))
        elif isinstance(value, list):
            if path in wanted or path + "." in inside:
                rows = _product(rows, _array(value, path, wanted, inside))
        elif path in wanted:
            single[path] = value
    return _product([single], rows) if single else rows


def _array(given: list[Any], path: str, wanted: Container, inside: set[str]) -> list[Row]:
    nested: list[Row] = []
    plain: list[Row] = []
    for item in given:
        if isinstance(item, dict):
            nested += _object(item, path + ".", wanted, inside)
        elif isinstance(item, list):
            nested += _array(item, path, wanted, inside)
        elif path in wanted:
            plain.append({path: item})
    return _product(_distinct(nested) or _EMPTY, _distinct(plain) or _EMPTY)


def _distinct(rows: list[Row]) -> list[Row]:
    if len(rows) < 2:
        return rows
    return list({tuple(sorted((path, repr(value)) for path, value in row.items())): row for row in rows}.values())


def _product(left: list[Row], right: list[Row]) -> list[Row]:
    if left == _EMPTY:
        return right
    if right == _EMPTY:
        return left
    if len(left) * len(right) > MOST_ROWS:
        raise EventError(f"a document's arrays make more than {MOST_ROWS:,} choices of items")
    made: list[Row] = []
    for one in left:
        for other in right:
            both = [path for path in other if path in one]
            for chosen in product((one, other), repeat=len(both)):
                made.append(one | other | {path: row[path] for path, row in zip(both, chosen, strict=True)})
    return made if len(made) == len(left) * len(right) else _distinct(made)
