"""A second oracle: `scan`'s answer for millions of pairs, by NumPy.

A predicate is decided by Python on each *distinct* value of its column (exactly, as `scan` does), and the verdicts are
then spread over the events. Verdicts are 1 for TRUE, 0 for UNKNOWN, -1 for FALSE, so that AND is the minimum, OR the
maximum and NOT the negation: Kleene's logic. It knows no boxes, no codes, no index; LIKE is matched by hand, not by a
regular expression.
"""

from __future__ import annotations

import operator
from decimal import Decimal
from typing import Any

import numpy as np

from rookery.model.check import Checker
from rookery.model.events import comparable, step_into
from rookery.model.expressions import And, Between, Comparison, Constant, Expression, Field, In, IsNull, Like, Not, Or
from rookery.model.parser import parse
from rookery.model.schema import Attribute, Schema
from rookery.model.types import FloatType

__all__ = ["Oracle", "like"]

Array = np.ndarray[Any, Any]
_SIGNS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def like(text: str, pattern: str, escape: str | None) -> bool:
    """Match a LIKE pattern: the set of pattern places that are reachable after each character."""
    wild: list[tuple[str, str]] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            wild.append(("is", next(characters)))
        else:
            wild.append(({"%": "run", "_": "any"}.get(character, "is"), character))

    def closed(places: set[int]) -> set[int]:
        for place in sorted(places):
            while place < len(wild) and wild[place][0] == "run":
                place += 1
                places.add(place)
        return places

    places = closed({0})
    for character in text:
        following: set[int] = set()
        for place in places:
            if place < len(wild):
                kind, wanted = wild[place]
                if kind == "run":
                    following.add(place)
                elif kind == "any" or wanted == character:
                    following.add(place + 1)
        places = closed(following)
    return len(wild) in places


class Oracle:
    """A batch of dict events, column by column: the distinct values, and which of them each event has."""

    def __init__(self, schema: Schema, events: list[dict[str, Any]]) -> None:
        self.schema, self.events = schema, events
        self._columns: dict[tuple[str | int, ...], tuple[list[Any], Array]] = {}

    def _column(self, attribute: Attribute) -> tuple[list[Any], Array]:
        found = self._columns.get(attribute.path)
        if found is None:
            values: dict[Any, int] = {None: 0}
            places = [
                values.setdefault(comparable(attribute, step_into(event, attribute.path)), len(values))
                for event in self.events
            ]
            found = self._columns[attribute.path] = list(values)[1:], np.array(places, np.int64)
        return found

    def _spread(self, attribute: Attribute, decide: Any) -> Array:
        values, places = self._column(attribute)
        verdicts = np.array([0, *(1 if decide(value) else -1 for value in values)], np.int8)
        return verdicts[places]

    def matches(self, where: str, parameters: Any = None) -> Array:
        """Return the places of the events that satisfy a filter."""
        return np.flatnonzero(self._verdicts(parse(where), Checker(self.schema, parameters)) == 1)

    def _verdicts(self, node: Expression, checker: Checker) -> Array:
        match node:
            case Constant(value):
                return np.full(len(self.events), 1 if value else -1, np.int8)
            case Not(operand):
                return -self._verdicts(operand, checker)
            case And(operands):
                return np.minimum.reduce([self._verdicts(one, checker) for one in operands])
            case Or(operands):
                return np.maximum.reduce([self._verdicts(one, checker) for one in operands])
            case IsNull(field, negated):
                _, places = self._column(checker.attribute(field))
                return np.where((places == 0) != negated, 1, -1).astype(np.int8)
            case Comparison(sign, left, right) if isinstance(right, Field):
                return self._fields(_SIGNS[sign], checker.attribute(left), checker.attribute(right))
        attribute = checker.attribute(node.left if isinstance(node, Comparison) else node.field)  # type: ignore[union-attr]

        def literal(one: Any) -> Any:
            value = checker.value(attribute, one)
            return float(value) if isinstance(attribute.type, FloatType) and isinstance(value, Decimal) else value

        match node:
            case Comparison(sign, _, right):
                compare, other = _SIGNS[sign], literal(right)
                return self._spread(attribute, lambda value: compare(value, other))
            case Between(_, low, high, negated):
                bottom, top = literal(low), literal(high)
                return self._spread(attribute, lambda value: (value >= bottom and value <= top) != negated)
            case In(_, nodes, negated):
                values = [literal(one) for one in nodes]
                return self._spread(attribute, lambda value: any(value == one for one in values) != negated)
            case Like(_, pattern, escape, negated):
                wanted = literal(pattern)
                return self._spread(attribute, lambda value: like(value, wanted, escape) != negated)
        raise AssertionError(node)

    def _fields(self, compare: Any, left: Attribute, right: Attribute) -> Array:
        (ones, one_places), (others, other_places) = self._column(left), self._column(right)
        table = np.zeros((len(ones) + 1, len(others) + 1), np.int8)
        for row, one in enumerate(ones, 1):
            for place, other in enumerate(others, 1):
                table[row, place] = 1 if compare(one, other) else -1
        return table[one_places, other_places]
