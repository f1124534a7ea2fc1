"""Shapes: filters that differ only in their values are checked once.

A million rules are rarely a million different sentences: `symbol = 'A' AND price < 10` and `symbol = 'B' AND price <
12` have one shape. A text is cut at its values; the pieces between them and the kinds of the values are the shape's
key. The first text of a shape goes the long way (`parser`, `check`, `lower`); if it is a conjunction of comparisons
of fields with values, the shape remembers which field and operator each value belongs to, and the next text of that
shape needs only its values read.

Rule 1: a shape decides nothing by itself. Whatever it does not know for certain (parameters, OR, IN, LIKE, dates,
enums, exponents, long numbers, comments, quoted names, text that is not ASCII) goes the long way, and so does every
text in which something fails: the error comes from the one place that explains errors.
Rule 2: the cut finds a value only where the parser's tokens have one, whole: then texts with the same pieces have the
same tokens but for the values. What might be a part of another token (`a1`, `0x1F`, `1e+5`, `%0`) stays in a piece.
Rule 3: both ways give equal terms; a property test holds them together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from rookery.errors import SubscriptionError
from rookery.model.check import checking
from rookery.model.expressions import NOW_PATH, And, Comparison, Expression, Field, Literal, fields_of
from rookery.model.lower import Constraint, Term, allowed, lower
from rookery.model.parser import parse
from rookery.model.schema import Schema
from rookery.model.types import FloatType, Key, LeafType, float_key
from rookery.model.values import complement, everything, intersect

__all__ = ["LONGEST_TEXT", "ShapeStep", "Shapes", "refuse_wall_time"]

#: A string, or a plain number of at most 41 characters: a longer one goes the long way, where its range is checked.
_VALUE = re.compile(
    r"('(?:[^']|'')*'|(?<![\w.%])(?<![eE][+-])(?:[0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})(?![\w.]))"
)
#: What opens a comment or a quoted name, in which a digit is no value: such texts go the long way.
_APART = ("--", "/*", '"', "`")
LONGEST_TEXT = 4096
#: Shapes that are remembered; past it a set is a set of different sentences, and remembering does not pay.
_MOST_SHAPES = 10_000


class ShapeStep(NamedTuple):
    """One comparison of a shape: its field, its type with its bounds, its operator, and the sign before its value."""

    path: tuple[str | int, ...]
    kind: LeafType
    lowest: Key
    highest: Key
    operator: str
    negative: bool


class Shapes:
    """The shapes of filters over one schema."""

    __slots__ = ("_schema", "_shapes", "_wall_time")

    def __init__(self, schema: Schema, *, wall_time: bool = True) -> None:
        self._schema = schema
        self._wall_time = wall_time
        self._shapes: dict[tuple[str | bool, ...], list[ShapeStep] | None] = {}

    def lower(self, text: str, parameters: Sequence[object] | None = None) -> list[Term]:
        """Parse, check and lower a filter, by its shape where that is known."""
        if parameters is None and len(text) <= LONGEST_TEXT and text.isascii() and not _is_apart(text):
            parts, key = _cut(text)
            steps = self._shapes.get(key)
            if steps is not None:
                return _fill(steps, parts[1::2])
            if key not in self._shapes and len(self._shapes) < _MOST_SHAPES:
                terms, expression = self._lower(text, parameters)
                self._shapes[key] = _steps(expression, parts, self._schema)
                return terms
        return self._lower(text, parameters)[0]

    def comparisons(self, text: str) -> tuple[list[str], list[ShapeStep]] | None:
        """Return a text cut at its values and the comparisons of its shape; None if it must go the long way."""
        if len(text) > LONGEST_TEXT or not text.isascii() or _is_apart(text):
            return None
        parts, key = _cut(text)
        if key not in self._shapes:
            try:
                self.lower(text)
            except SubscriptionError:
                return None
        steps = self._shapes.get(key)
        return None if steps is None else (parts, steps)

    def _lower(self, text: str, parameters: Sequence[object] | None) -> tuple[list[Term], Expression]:
        expression = parse(text)
        if not self._wall_time:
            refuse_wall_time(text, expression)
        return checking(text, expression, lambda tree: lower(tree, self._schema, parameters)), expression


def refuse_wall_time(text: str, expression: Expression) -> None:
    """Refuse a condition that asks for now(): nodes of a network have a clock each, and would not give one answer."""
    if NOW_PATH in fields_of(expression):
        raise SubscriptionError(
            "now() is the time of a batch, and a network has no one clock",
            text=text,
            position=max(0, re.sub(r"'[^']*'", lambda one: "'" * len(one[0]), text.lower()).find("now")),
            hint="compare with a parameter, and set it anew",
        )


def _cut(text: str) -> tuple[list[str], tuple[str | bool, ...]]:
    """Return a text cut at its values, every second part a value, and the key of its shape."""
    parts: list[str] = _VALUE.split(text)
    return parts, (*parts[::2], *["'" if value[0] == "'" else value.isdigit() for value in parts[1::2]])


def _is_apart(text: str) -> bool:
    return any(mark in text for mark in _APART)


def _steps(expression: Expression, parts: list[str], schema: Schema) -> list[ShapeStep] | None:
    """Return the comparisons of a conjunction in the order of their values, None if it is anything else."""
    operands = expression.operands if isinstance(expression, And) else (expression,)
    values = parts[1::2]
    if len(operands) != len(values):
        return None
    steps = []
    for operand, before, value in zip(operands, parts[::2], values, strict=False):
        if not isinstance(operand, Comparison) or not isinstance(operand.left, Field) or len(operand.left.path) != 1:
            return None
        kind = schema.attribute(operand.left.path).type
        if not isinstance(operand.right, Literal) or kind.family not in ("number", "string"):
            return None
        before = "".join(before.split())
        negative = before.endswith("-")
        if "-" in before[len(before.rstrip("-+(")) : -1]:  # of -(0) the value does not tell the sign
            return None
        if _value(value, negative) != operand.right.value:
            return None
        ((lowest, highest),) = everything(kind)
        steps.append(ShapeStep(operand.left.path, kind, lowest, highest, operand.operator, negative))
    return steps


def _value(token: str, negative: bool) -> Any:
    """Return a whole number, a decimal or a text: what the field's type takes, for the first text was checked."""
    if token[0] == "'":
        return token[1:-1].replace("''", "'")
    number: int | Decimal = int(token) if token.isdigit() else Decimal(token)
    return number.copy_negate() if negative and isinstance(number, Decimal) else -number if negative else number


def _fill(steps: list[ShapeStep], values: list[str]) -> list[Term]:
    """Return the terms of a text of a known shape."""
    box: dict[tuple[str | int, ...], Constraint] = {}
    for (path, kind, lowest, highest, operator, negative), value in zip(steps, values, strict=True):
        if (
            type(kind) is FloatType and kind.bits == 64 and not value.isdigit()
        ):  # the nearest double, without the way over a decimal
            floor = ceiling = float_key(-float(value) if negative else float(value))
        else:
            floor, ceiling = kind.enclose(_value(value, negative))
        intervals = allowed(operator, floor, ceiling, lowest, highest)
        if operator == "<>":
            intervals = complement(intervals, kind)
        mine = box.get(path)
        if mine is not None:
            intervals = intersect(intervals, mine[1])
        if not intervals:
            return []
        box[path] = (False, intervals)
    return [Term(box)]
