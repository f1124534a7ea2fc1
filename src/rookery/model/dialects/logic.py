"""Two-valued logic in three-valued conditions.

In most dialects a predicate on a missing field is false, and NOT makes it true. In SQL it is UNKNOWN, and so is its
negation. A `Node` is a formula of the first kind; `condition` writes it as a condition of the second that is TRUE for
exactly the same events: negations go down to the leaves, and a leaf under a NOT holds for a missing field as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rookery.model.expressions import And, Constant, Expression, Field, IsNull, Not, Or, fields_of

__all__ = ["All", "Any", "Leaf", "Negation", "Node", "condition"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A condition that is never TRUE where a field of it is missing; or, if `decided`, one that is never UNKNOWN."""

    expression: Expression
    decided: bool = False


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds."""

    parts: Sequence[Node]


@dataclass(frozen=True, slots=True)
class Any:
    """Some part holds."""

    parts: Sequence[Node]


@dataclass(frozen=True, slots=True)
class Negation:
    """The part does not hold."""

    part: Node


Node: TypeAlias = Leaf | All | Any | Negation


def condition(node: Node, *, negated: bool = False) -> Expression:
    """Return the condition that is TRUE where the formula holds (where it does not, if `negated`)."""
    match node:
        case Negation(part):
            return condition(part, negated=not negated)
        case All(parts) | Any(parts):
            conjunction = isinstance(node, All) != negated
            kind = And if conjunction else Or
            operands: list[Expression] = []
            for part in parts:
                one = condition(part, negated=negated)
                if isinstance(one, Constant) and one.value != conjunction:
                    return one
                if not isinstance(one, Constant):
                    operands += one.operands if isinstance(one, kind) else (one,)
            if len(operands) < 2:
                return operands[0] if operands else Constant(conjunction)
            return kind(tuple(operands))
        case Leaf(expression, decided):
            if not negated:
                return expression
            inner = expression.operand if isinstance(expression, Not) else Not(expression)
            if decided:
                return inner
            missing = tuple(IsNull(Field(path)) for path in dict.fromkeys(fields_of(expression)))
            return Or((inner, *missing))
    raise TypeError(f"not a formula: {node!r}")
