"""A schema drawn from conditions: the fields that they name, each of the type that they compare it as.

Rule 1: a field compared with a text, or by LIKE, is a string; with a number, a float64 (every literal of a rule is
exact there or between two doubles, as for any float64); with a boolean, a boolean; with an instant, a timestamp.
Rule 2: a field that is only asked for NULL, or compared with fields of which nothing is known, is a string.
Rule 3: a field that conditions compare as two types has none: the error names both conditions.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from rookery.errors import SchemaError
from rookery.model.expressions import (
    NOW_PATH,
    And,
    AnyElement,
    Between,
    Call,
    Comparison,
    Expression,
    Field,
    In,
    InCidr,
    Interval,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    Placeholder,
    Timestamp,
    field_text,
    fields_of,
)
from rookery.model.functions import ARITHMETIC

__all__ = ["drawn_types"]

_TEXTS = frozenset(("lower", "upper", "trim", "length", "starts_with", "ends_with", "contains", "substring", "||"))
_NUMBERS = frozenset((*ARITHMETIC, "abs", "floor", "ceil", "mod", "round"))
_INSTANTS = frozenset(("year", "month", "day", "hour", "minute", "second", "date_trunc"))

Path = tuple[str | int, ...]


def drawn_types(conditions: Iterable[tuple[object, Expression]]) -> dict[str, Any]:
    """Return names and types, as `Schema.from_dict` takes them, of the fields of named conditions."""
    found: dict[Path, tuple[str | None, object]] = {}
    for name, expression in conditions:
        for path, kind in _uses(expression):
            known, first = found.get(path, (None, name))
            if known is not None and kind is not None and known != kind:
                raise SchemaError(
                    f"{field_text(path)} is compared as {known} in {first!r} and as {kind} in {name!r}: give a schema"
                )
            if known is None:
                found[path] = kind, name
    return _nested({path: kind or "string" for path, (kind, _) in found.items()})


def _uses(node: Expression) -> Iterable[tuple[Path, str | None]]:
    match node:
        case And(parts) | Or(parts):
            for part in parts:
                yield from _uses(part)
        case Not(operand):
            yield from _uses(operand)
        case Comparison(_, left, right):
            kind = _kind_of(left) or _kind_of(right)
            yield from _operand(left, kind)
            yield from _operand(right, kind)
        case Between(field, low, high):
            yield from _operand(field, _kind_of(low) or _kind_of(high))
        case In(field, values):
            nodes = () if isinstance(values, Placeholder) else values
            yield from _operand(field, next((kind for one in nodes if (kind := _kind_of(one))), None))
        case Like(field):
            yield from _operand(field, "string")
        case IsNull(field):
            yield from _operand(field, None)
        case InCidr(field):
            yield from _operand(field, "string")
        case AnyElement(path):
            raise SchemaError(f"{field_text(path)} is a list: give a schema")
        case _:
            for path in fields_of(node):
                yield path, None


def _operand(operand: Any, kind: str | None) -> Iterable[tuple[Path, str | None]]:
    if isinstance(operand, Field):
        if operand.path != NOW_PATH:
            yield operand.path, kind
    elif isinstance(operand, Call):
        inner = "timestamp[us]" if _moves(operand) else _argument_kind(operand.name) or kind
        for argument in operand.arguments:
            yield from _operand(argument, inner)


def _moves(operand: Any) -> bool:
    """Say whether an expression is of instants and lengths of time."""
    if isinstance(operand, Call):
        return operand.name in ("+", "-") and any(_moves(one) for one in operand.arguments)
    if isinstance(operand, Field):
        return operand.path == NOW_PATH
    return isinstance(operand, Literal) and isinstance(operand.value, Timestamp | Interval)


def _argument_kind(name: str) -> str | None:
    for names, kind in ((_TEXTS, "string"), (_NUMBERS, "float64"), (_INSTANTS, "timestamp[us]")):
        if name in names:
            return kind
    return None


def _kind_of(operand: Any) -> str | None:
    """Return the type of a literal, or of a call that says it."""
    if isinstance(operand, Field) and operand.path == NOW_PATH:
        return "timestamp[us]"
    if isinstance(operand, Call) and _moves(operand):
        return "timestamp[us]"
    if isinstance(operand, Literal):
        value = operand.value
        if isinstance(value, Interval):
            return None
        if isinstance(value, bool):
            return "bool"
        if isinstance(value, int | Decimal):
            return "float64"
        return "timestamp[us]" if isinstance(value, Timestamp) else "string"
    if isinstance(operand, Call) and operand.name in _NUMBERS | _INSTANTS | {"length"}:
        return "float64"
    return None


def _nested(types: dict[Path, str]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for path, kind in types.items():
        if any(isinstance(step, int) for step in path):
            raise SchemaError(f"{field_text(path)} is an item of a list: give a schema")
        inside = made
        for step in path[:-1]:
            inside = inside.setdefault(str(step), {})
            if not isinstance(inside, dict):
                raise SchemaError(f"{field_text(path)} lies inside a field that is compared itself: give a schema")
        if isinstance(inside.get(str(path[-1])), dict):
            raise SchemaError(f"{field_text(path)} is compared itself and has fields: give a schema")
        inside[str(path[-1])] = kind
    return made
