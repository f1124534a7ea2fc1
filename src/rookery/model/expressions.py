"""The condition of a subscription as a tree, and the tree as text again.

Rule 1: a tree holds what was written and nothing else: no types, no positions, no schema. Equal trees mean equal
conditions.
Rule 2: `to_text(tree)` parses back to an equal tree.
Rule 3: the field stands on the left: `5 < x` is kept as `x > 5`.

The nodes are msgspec structs because a set of a million subscriptions makes tens of millions of them: they are built
several times faster than frozen dataclasses, and are as immutable. A tree has no cycles, so the collector may leave
them out.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TypeAlias

import msgspec

__all__ = [
    "And",
    "Between",
    "Comparison",
    "Constant",
    "Expression",
    "Field",
    "In",
    "IsNull",
    "Like",
    "Literal",
    "Not",
    "Or",
    "Placeholder",
    "Timestamp",
    "Value",
    "field_text",
    "to_text",
]


class Timestamp(msgspec.Struct, frozen=True, order=True, gc=False):
    """An instant, in nanoseconds since 1970-01-01T00:00:00Z."""

    nanoseconds: int


class Field(msgspec.Struct, frozen=True, gc=False):
    """An attribute of the event: `("a", "b", 3, "c")` is `a.b[3].c`."""

    path: tuple[str | int, ...]


class Literal(msgspec.Struct, frozen=True, gc=False):
    """A value as written. A number with a point or an exponent is a Decimal: no digit is lost before its type."""

    value: int | Decimal | str | bool | Timestamp


class Placeholder(msgspec.Struct, frozen=True, gc=False):
    """`%n`: a value given beside the text, which may change without a new text."""

    index: int


Value: TypeAlias = Literal | Placeholder


class Comparison(msgspec.Struct, frozen=True, gc=False):
    """`field operator value` or `field operator field`; the operator is one of = <> < <= > >=."""

    operator: str
    left: Field
    right: Field | Literal | Placeholder


class Between(msgspec.Struct, frozen=True, gc=False):
    """`field [NOT] BETWEEN low AND high`, inclusive at both ends."""

    field: Field
    low: Literal | Placeholder
    high: Literal | Placeholder
    negated: bool = False


class Like(msgspec.Struct, frozen=True, gc=False):
    """`field [NOT] LIKE pattern [ESCAPE character]`."""

    field: Field
    pattern: Literal | Placeholder
    escape: str | None = None
    negated: bool = False


class In(msgspec.Struct, frozen=True, gc=False):
    """`field [NOT] IN (value, …)`."""

    field: Field
    values: tuple[Literal | Placeholder, ...]
    negated: bool = False


class IsNull(msgspec.Struct, frozen=True, gc=False):
    """`field IS [NOT] NULL`."""

    field: Field
    negated: bool = False


class Constant(msgspec.Struct, frozen=True, gc=False):
    """`TRUE` or `FALSE`; an empty text is TRUE."""

    value: bool


class Not(msgspec.Struct, frozen=True, gc=False):
    """`NOT operand`."""

    operand: Expression


class And(msgspec.Struct, frozen=True, gc=False):
    """`operand AND operand AND …`, two or more."""

    operands: tuple[Expression, ...]


class Or(msgspec.Struct, frozen=True, gc=False):
    """`operand OR operand OR …`, two or more."""

    operands: tuple[Expression, ...]


Expression: TypeAlias = Comparison | Between | Like | In | IsNull | Constant | Not | And | Or

_PRECEDENCE = {Or: 1, And: 2, Not: 3}


def field_text(path: tuple[str | int, ...]) -> str:
    """Return a path as the language writes it: `a.b[3].c`."""
    parts = [str(path[0])]
    parts += [f"[{step}]" if isinstance(step, int) else f".{step}" for step in path[1:]]
    return "".join(parts)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def value_text(value: Field | Literal | Placeholder) -> str:
    """Return a field, a literal or a parameter as the language writes it."""
    if isinstance(value, Field):
        return field_text(value.path)
    if isinstance(value, Placeholder):
        return f"%{value.index}"
    content = value.value
    if isinstance(content, bool):
        return "TRUE" if content else "FALSE"
    if isinstance(content, str):
        return _quoted(content)
    if isinstance(content, Timestamp):
        return f"TIMESTAMP {_quoted(timestamp_text(content.nanoseconds))}"
    if isinstance(content, Decimal):
        text = str(content)
        return text if "." in text or "E" in text else text + ".0"
    return str(content)


def timestamp_text(nanoseconds: int) -> str:
    """Return an instant as ISO 8601 in UTC, with as many decimals as it needs."""
    # Imported here: only printing needs the calendar.
    from datetime import UTC, datetime, timedelta

    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    text = moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    return f"{text}{f'.{fraction:09d}'.rstrip('0') if fraction else ''}Z"


def to_text(expression: Expression) -> str:
    """Return the expression as text that parses to an equal tree."""
    match expression:
        case Comparison(operator, left, right):
            return f"{value_text(left)} {operator} {value_text(right)}"
        case Between(field, low, high, negated):
            return f"{value_text(field)} {_not(negated)}BETWEEN {value_text(low)} AND {value_text(high)}"
        case Like(field, pattern, escape, negated):
            tail = "" if escape is None else f" ESCAPE {_quoted(escape)}"
            return f"{value_text(field)} {_not(negated)}LIKE {value_text(pattern)}{tail}"
        case In(field, values, negated):
            return f"{value_text(field)} {_not(negated)}IN ({', '.join(map(value_text, values))})"
        case IsNull(field, negated):
            return f"{value_text(field)} IS {_not(negated)}NULL"
        case Constant(value):
            return "TRUE" if value else "FALSE"
        case Not(operand):
            return f"NOT {_wrapped(operand, _PRECEDENCE[Not] - 1)}"
        case And(operands):
            return " AND ".join(_wrapped(operand, _PRECEDENCE[And]) for operand in operands)
        case Or(operands):
            return " OR ".join(_wrapped(operand, _PRECEDENCE[Or]) for operand in operands)
    raise TypeError(f"not an expression: {expression!r}")


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


def _wrapped(operand: Expression, precedence: int) -> str:
    """Return the operand, in parentheses where it binds no tighter than `precedence`.

    An AND inside an AND keeps its parentheses too: the tree is what was written.
    """
    text = to_text(operand)
    return f"({text})" if _PRECEDENCE.get(type(operand), 9) <= precedence else text
