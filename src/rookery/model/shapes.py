"""Shapes: filters that differ only in their values are checked once.

A million rules are rarely a million different sentences: `symbol = 'A' AND price < 10` and `symbol = 'B' AND price <
12` have one shape. The tokens of a text with every value replaced by its kind are the shape's key. The first text of
a shape goes the long way (`parser`, `check`, `lower`); if it is a conjunction of comparisons of fields with values,
the shape remembers which field and operator each value belongs to, and the next text of that shape needs only its
values read.

Rule 1: a shape decides nothing by itself. Whatever it does not know for certain (parameters, OR, IN, LIKE, dates,
enums, exponents, long numbers, text that is not ASCII) goes the long way, and so does every text in which something
fails: the error comes from the one place that explains errors.
Rule 2: both ways give equal terms; a property test holds them together.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from rookery.model.check import checking
from rookery.model.expressions import And, Comparison, Expression, Field, Literal
from rookery.model.lower import Term, comparison_values, lower, meet_all
from rookery.model.parser import parse, tokens_of
from rookery.model.schema import Schema
from rookery.model.types import LeafType
from rookery.model.values import complement

__all__ = ["Shapes"]

#: A longer number goes the long way, where its range is checked.
_LONGEST_NUMBER = 40
_LONGEST_TEXT = 4096
#: Shapes that are remembered; past it a set is a set of different sentences, and remembering does not pay.
_MOST_SHAPES = 10_000


class _Step(NamedTuple):
    """One comparison of a shape: its field, its type, its operator, and where its value stands among the tokens."""

    path: tuple[str | int, ...]
    kind: LeafType
    operator: str
    token: int
    negative: bool


class Shapes:
    """The shapes of filters over one schema."""

    __slots__ = ("_schema", "_shapes")

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._shapes: dict[tuple[str, ...], list[_Step] | None] = {}

    def lower(self, text: str, parameters: Sequence[object] | None = None) -> list[Term]:
        """Parse, check and lower a filter, by its shape where that is known."""
        if parameters is None and len(text) <= _LONGEST_TEXT and text.isascii():
            tokens: list[str] = tokens_of(text)
            key = tuple([_kind(token) for token in tokens])
            steps = self._shapes.get(key)
            if steps is not None:
                return _fill(steps, tokens)
            if key not in self._shapes and len(self._shapes) < _MOST_SHAPES:
                terms, expression = self._lower(text, parameters)
                self._shapes[key] = _steps(expression, tokens, self._schema)
                return terms
        return self._lower(text, parameters)[0]

    def _lower(self, text: str, parameters: Sequence[object] | None) -> tuple[list[Term], Expression]:
        expression = parse(text)
        return checking(text, expression, lambda tree: lower(tree, self._schema, parameters)), expression


def _kind(token: str) -> str:
    """Return what stands for a token in a shape's key: the kind of a value, the token itself otherwise."""
    first = token[0]
    if first == "'":
        return "''" if len(token) > 1 else token
    if first.isdigit() or (first == "." and len(token) > 1):
        if token.isdigit():
            return "0" if len(token) <= _LONGEST_NUMBER else token
        plain = len(token) <= _LONGEST_NUMBER and token.replace(".", "", 1).isdigit()
        return "0.0" if plain else token  # hex and exponents stay themselves, so no other text has this key
    return token


def _steps(expression: Expression, tokens: list[str], schema: Schema) -> list[_Step] | None:
    """Return the comparisons of a conjunction with their values' places, None if it is anything else."""
    operands = expression.operands if isinstance(expression, And) else (expression,)
    places = [place for place, token in enumerate(tokens) if _kind(token) in ("''", "0", "0.0")]
    if len(operands) != len(places):
        return None
    steps = []
    for operand, place in zip(operands, places, strict=True):
        if not isinstance(operand, Comparison) or isinstance(operand.right, Field) or len(operand.left.path) != 1:
            return None
        kind = schema.attribute(operand.left.path).type
        if not isinstance(operand.right, Literal) or kind.family not in ("number", "string"):
            return None
        negative = place > 0 and tokens[place - 1] == "-"
        if _value(tokens[place], negative) != operand.right.value:
            return None
        steps.append(_Step(operand.left.path, kind, operand.operator, place, negative))
    return steps


def _value(token: str, negative: bool) -> int | Decimal | str:
    if token[0] == "'":
        return token[1:-1].replace("''", "'")
    number: int | Decimal = int(token) if token.isdigit() else Decimal(token)
    return number.copy_negate() if negative and isinstance(number, Decimal) else -number if negative else number


def _fill(steps: list[_Step], tokens: list[str]) -> list[Term]:
    """Return the terms of a text of a known shape."""
    terms = []
    for path, kind, operator, token, negative in steps:
        values = comparison_values(kind, operator, _value(tokens[token], negative))
        if operator == "<>":
            values = complement(values, kind)
        if not values:
            return []
        terms.append(Term({path: (False, values)}))
    whole = terms[0] if len(terms) == 1 else meet_all(terms)
    return [] if whole is None else [whole]
