r"""What a CESQL expression is worth: values whose errors are known, and the conditions that they become.

Rule 1: a filter holds where its expression is true *and no error occurred* (CloudEvents Subscriptions, `sql`). So a
truth is two conditions: where it is true, and where it is false, both without an error. Where neither is TRUE there
was one: a missing attribute is NULL, and what NULL touches is UNKNOWN in both.
Rule 2: AND and OR look at their right side only where the left one does not decide. `a OR b` is true where a is, or
where a is false, *not missing*, and b is true.
Rule 3: what is known is cast as CESQL casts it. An attribute has the type that the schema gives it; a comparison that
would cast it says so by its types, and is refused when the subscription is added.
Rule 4: a function that fails on some arguments (`SUBSTRING` past the end) has a guard: the condition that it does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from rookery.errors import SubscriptionError
from rookery.model.expressions import (
    And,
    Call,
    Comparison,
    Constant,
    Expression,
    Field,
    Literal,
    Not,
    Operand,
    Or,
)

__all__ = [
    "ERROR",
    "FIRST",
    "LAST",
    "Computed",
    "Known",
    "Node",
    "Referred",
    "Truth",
    "all_of",
    "any_of",
    "as_integer",
    "as_text",
    "as_truth",
    "exclusive",
    "guards_of",
    "negation",
    "number_of",
    "operand_of",
    "predicate",
]  # fmt: skip

#: An Integer has 32 bits.
FIRST, LAST = -(2**31), 2**31 - 1


@dataclass(frozen=True, slots=True)
class Known:
    """A literal, or what literals alone give."""

    value: int | str | bool


@dataclass(frozen=True, slots=True)
class Referred:
    """An attribute of the event."""

    field: Field


@dataclass(frozen=True, slots=True)
class Computed:
    """An Integer or a String that is computed from attributes, without an error where all guards are TRUE."""

    operand: Operand
    is_text: bool
    guards: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Truth:
    """A Boolean: where it is true and where it is false, each without an error."""

    true: Expression
    false: Expression


Node: TypeAlias = Known | Referred | Computed | Truth
_YES, _NO = Constant(True), Constant(False)
#: What is an error for every event.
ERROR = Truth(_NO, _NO)


def all_of(*parts: Expression) -> Expression:
    """Return the conjunction of conditions."""
    return _joined(And, parts, neutral=_YES, deciding=_NO)


def any_of(*parts: Expression) -> Expression:
    """Return the disjunction of conditions."""
    return _joined(Or, parts, neutral=_NO, deciding=_YES)


def _joined(
    kind: type[And | Or], parts: tuple[Expression, ...], *, neutral: Constant, deciding: Constant
) -> Expression:
    if deciding in parts:
        return deciding
    flat: list[Expression] = []
    for part in parts:
        if part != neutral:
            flat += part.operands if isinstance(part, kind) else (part,)
    if len(flat) < 2:
        return flat[0] if flat else neutral
    return kind(tuple(flat))


def predicate(condition: Expression, *guards: Expression) -> Truth:
    """Return the truth of a condition of the language, UNKNOWN being an error."""
    return Truth(all_of(condition, *guards), all_of(Not(condition), *guards))


def negation(node: Truth) -> Truth:
    """Return what is true where another is false."""
    return Truth(node.false, node.true)


def exclusive(left: Truth, right: Truth) -> Truth:
    """Return where two truths differ; both are looked at."""
    same = any_of(all_of(left.true, right.true), all_of(left.false, right.false))
    return Truth(any_of(all_of(left.true, right.false), all_of(left.false, right.true)), same)


def as_truth(node: Node) -> Truth:
    """Return a Boolean; an Integer is none (the suite calls it an error), a computed text is refused."""
    match node:
        case Truth():
            return node
        case Known(value):
            word = value.lower() if isinstance(value, str) else str(value).lower()
            return {"true": Truth(_YES, _NO), "false": Truth(_NO, _YES)}.get(word, ERROR)
        case Referred(field):
            return predicate(Comparison("=", field, Literal(True)))
    raise SubscriptionError("a computed text or number is no Boolean here: compare it with something")


def as_integer(node: Node) -> Known | Referred | Computed | None:
    """Return an Integer, None where the cast is an error."""
    match node:
        case Known(value):
            return _integer(value)
        case Computed(_, True) | Truth():
            raise SubscriptionError("what is computed is not cast: a text or a Boolean stands where a number must")
    return node


def _integer(value: int | str | bool) -> Known | None:
    if isinstance(value, str):
        digits = value[1:] if value[:1] in ("+", "-") else value
        if not (digits.isascii() and digits.isdigit()):
            return None
    number = int(value)
    return Known(number) if FIRST <= number <= LAST else None


def as_text(node: Node) -> Known | Referred | Computed:
    """Return a String."""
    match node:
        case Known(bool(value)):
            return Known("true" if value else "false")
        case Known(value):
            return Known(str(value))
        case Computed(_, False) | Truth():
            raise SubscriptionError("what is computed is not cast: a number or a Boolean stands where a text must")
    return node


def operand_of(node: Known | Referred | Computed) -> Operand:
    """Return a value as the language writes it."""
    match node:
        case Known(value):
            return Literal(value)
        case Referred(field):
            return field
    return node.operand


def guards_of(*nodes: Node) -> tuple[Expression, ...]:
    """Return all that must be TRUE for no error."""
    return tuple(guard for node in nodes if isinstance(node, Computed) for guard in node.guards)


def number_of(node: Known | Referred | Computed) -> Operand:
    """Return an Integer as an operand that no text can stand for."""
    if isinstance(node, Referred):
        return Call("+", (node.field, Literal(0)))
    return operand_of(node)
