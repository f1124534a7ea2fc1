"""How people write an event space: one notation for brokers, which need ranges, and the overlay, which needs cells.

Attributes stand with commas between them; in a document they are the names of lists of edges or values:

    price:0:1000          a number from 0 to 1000, cut into 16 buckets
    price:0:1000/32       the same, cut into 32
    price:0|10|100|1000   the edges of its buckets, and with them its range
    symbol                a text, cut at every other letter that it may begin with
    symbol:ACME|EMCA      the values that have a bucket of their own; all others share one

Rule: both readings take the same text, so that the way events are routed can change and the space stay. A number out
of its range goes to the edge; brokers, who cut the space by load, have no use for buckets, and spread the listed values
of a text evenly. Brokers also take the axes of a tree (`KdTree.to_json`), with the codes that it has learned.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_letters
from typing import Any

from rookery.errors import SpaceError
from rookery.model.schema import Schema
from rookery.space.axes import Axis, EventSpace
from rookery.space.grid import CategoricalAxis, Grid, GridAxis, NumericAxis, TextAxis
from rookery.space.texts import TextCode
from rookery.space.tree import FORMAT, KdTree

__all__ = ["read_grid", "read_space"]

BUCKETS = 16
#: Where texts are cut that nothing is known of: 0, then A, C, E … a, c, e.
LETTERS = ("0", *sorted(ascii_letters)[::2])
_FORMS = "write price:0:1000 or price:0:1000/32, price:0|10|20, symbol or symbol:A|B, with commas between attributes"


@dataclass(frozen=True, slots=True)
class _Cut:
    """One attribute as it was written: its edges or values, none where only its name was given."""

    name: str
    values: tuple[Any, ...] = ()

    def edges(self) -> tuple[float, ...]:
        try:
            return tuple(float(value) for value in self.values)
        except (TypeError, ValueError):
            raise SpaceError(f"{self.name} is a number, and one of {list(self.values)} is no edge of it") from None


def read_space(given: str | Mapping[str, Sequence[Any]], schema: Schema) -> EventSpace:
    """Read the space that brokers divide among themselves."""
    if not isinstance(given, str) and given.get("format") == FORMAT:
        return EventSpace(schema, KdTree.from_json(json.dumps(given)).axes)
    axes = []
    for cut in _read(given):
        if cut.values and _is_number(cut, schema):
            edges = cut.edges()
            axes.append(Axis(cut.name, edges[0], edges[-1]))
        else:
            axes.append(Axis(cut.name, code=TextCode.of_values(map(str, cut.values))))
    return EventSpace(schema, axes)


def read_grid(given: str | Mapping[str, Sequence[Any]], schema: Schema) -> Grid:
    """Read the grid whose cells the peers of an overlay are interested in."""
    axes: list[GridAxis] = []
    for cut in _read(given):
        if cut.name not in schema:
            raise SpaceError(f"the space cuts {cut.name!r}, which the schema does not have")
        kind = schema.attribute((cut.name,)).type
        if kind.family == "number":
            axes.append(NumericAxis(cut.name, cut.edges()))
        elif kind.family != "string":
            raise SpaceError(f"{cut.name} is {kind.name}: the overlay cuts text and numbers")
        elif cut.values:
            axes.append(CategoricalAxis(cut.name, tuple(sorted({str(value) for value in cut.values}))))
        else:
            axes.append(TextAxis(cut.name, LETTERS))
    return Grid(axes)


def _is_number(cut: _Cut, schema: Schema) -> bool:
    return cut.name in schema and schema.attribute((cut.name,)).type.family == "number"


def _read(given: str | Mapping[str, Sequence[Any]]) -> list[_Cut]:
    if isinstance(given, str):
        return [_read_one(part.strip()) for part in given.split(",")]
    if not all(isinstance(values, list | tuple) for values in given.values()):
        raise SpaceError('a space is an object of lists, such as {"price": [0, 10, 20]}')
    return [_Cut(name, tuple(values)) for name, values in given.items()]


def _read_one(part: str) -> _Cut:
    name, colon, text = (piece.strip() for piece in part.partition(":"))
    if not name or "=" in name or bool(colon) != bool(text):
        raise SpaceError(f"{part!r} does not cut an attribute; {_FORMS}")
    if ":" in text and "|" not in text:
        low, _, rest = text.partition(":")
        high, _, count = rest.partition("/")
        return _Cut(name, _evenly(part, low, high, count or str(BUCKETS)))
    values = tuple(one.strip() for one in text.split("|")) if text else ()
    if not all(values):
        raise SpaceError(f"{part!r} has an empty edge or value; {_FORMS}")
    return _Cut(name, values)


def _evenly(part: str, low: str, high: str, count: str) -> tuple[float, ...]:
    try:
        first, last, buckets = float(low), float(high), int(count)
    except ValueError:
        raise SpaceError(f"{part!r} is no range; {_FORMS}") from None
    if buckets < 1 or not first < last:
        raise SpaceError(f"{part!r}: a range needs a lower and a higher end, and at least one bucket")
    return (*(first + (last - first) * place / buckets for place in range(buckets)), last)
