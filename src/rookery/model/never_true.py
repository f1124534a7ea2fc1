"""Predicates that can never be TRUE: legal, exact, and hardly what was meant.

`f = 3.14159` on a float32 asks for a double that no float32 is; `i = 2.5` on an integer, `d = 0.105` on two decimals
and `x BETWEEN 3 AND 1` ask for nothing either. The language keeps its meaning, and whoever checks rules is told.
"""

from __future__ import annotations

from collections.abc import Iterator

from rookery.model.check import Checker, ComputedAttribute, Parameters
from rookery.model.expressions import (
    And,
    Between,
    Comparison,
    Constant,
    Expression,
    Field,
    In,
    Literal,
    Not,
    Or,
    Placeholder,
    to_text,
)
from rookery.model.lower import lower
from rookery.model.parser import parse
from rookery.model.schema import Schema
from rookery.model.types import DecimalType, FloatType, IntegerType, key_float

__all__ = ["never_true"]


def never_true(where: str, schema: Schema, parameters: Parameters | None = None) -> list[tuple[str, str]]:
    """Return the predicates of a filter that no value satisfies, as text, each with the reason."""
    checker = Checker(schema, parameters)
    return [
        (to_text(node), _reason(node, checker))
        for node in _predicates(parse(where))
        if not isinstance(node, Constant) and not lower(node, schema, parameters)
    ]


def _predicates(node: Expression) -> Iterator[Expression]:
    if isinstance(node, And | Or):
        for operand in node.operands:
            yield from _predicates(operand)
    elif isinstance(node, Not):
        yield from _predicates(node.operand)
    elif isinstance(node, In) and not node.negated and not isinstance(node.values, Placeholder):  # each by itself
        yield from (Comparison("=", node.field, value) for value in node.values)
    else:
        yield node


def _reason(node: Expression, checker: Checker) -> str:
    if isinstance(node, Between):
        return "its ends are the wrong way round, or no value lies between them"
    if isinstance(node, Comparison) and isinstance(node.right, Literal | Placeholder):
        attribute = checker.attribute(node.left)
        kind, value = attribute.type, checker.value(attribute, node.right)
        if isinstance(kind, FloatType) and kind.bits == 32:
            below, above = (key_float(key) for key in kind.enclose(value))
            return f"no float32 is {value}, the nearest are {below!r} and {above!r}; use BETWEEN, or a float64"
        if isinstance(kind, IntegerType | DecimalType) and node.operator == "=":
            return f"no {kind.name} is {value}"
        if isinstance(node.left, Field) and not isinstance(attribute, ComputedAttribute):
            return f"no {kind.name} is so"
    return "no value satisfies it"
