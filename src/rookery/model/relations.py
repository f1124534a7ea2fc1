"""Relations between subscriptions: does one cover another, and what box covers several?

Decided on the terms of `lower.py`, per attribute, on sets of values. `covers` is exact for conjunctions of
comparisons with values; for the rest it may say no where a proof would need more than boxes, and never says yes
wrongly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import isfinite
from typing import Any

from rookery.errors import SubscriptionError
from rookery.model.check import COMPUTED, Parameters, checking
from rookery.model.expressions import (
    And,
    Between,
    Comparison,
    Constant,
    Expression,
    Field,
    In,
    IsNull,
    Literal,
    Or,
    Timestamp,
    to_text,
)
from rookery.model.instants import FIRST_INSTANT, LAST_INSTANT
from rookery.model.lower import Term, lower
from rookery.model.parser import parse
from rookery.model.schema import Schema
from rookery.model.types import (
    BooleanType,
    DecimalType,
    EnumType,
    FloatType,
    LeafType,
    StringType,
    TimestampType,
    key_float,
)
from rookery.model.values import TOP, everything, is_subset, union

__all__ = ["covers", "merge"]


def _terms(text: str, schema: Schema, parameters: Parameters | None) -> tuple[Expression, list[Term]]:
    expression = parse(text)
    terms = checking(text, expression, lambda tree: lower(tree, schema, parameters))
    for term in terms:
        for path, (null, _) in list(term.constraints.items()):
            compared: Any = parse(str(path[1])) if path[0] == COMPUTED and not null else None
            # A comparison of two fields says something only where neither is NULL.
            for field in (compared.left, compared.right) if isinstance(compared, Comparison) else ():
                if isinstance(field, Field):
                    kind = schema.attribute(field.path).type
                    term.constraints.setdefault(field.path, (False, everything(kind)))
    return expression, terms


def covers(
    wide: str,
    narrow: str,
    schema: Schema,
    *,
    wide_parameters: Parameters | None = None,
    narrow_parameters: Parameters | None = None,
) -> bool:
    """Say whether every event that satisfies `narrow` surely satisfies `wide`."""
    wide_tree, wide_terms = _terms(wide, schema, wide_parameters)
    narrow_tree, narrow_terms = _terms(narrow, schema, narrow_parameters)
    # As texts, since Python takes 1 and 1.0 for equal, and past 2⁵³ they are not the same condition on a float.
    if to_text(wide_tree) == to_text(narrow_tree) and _texts(wide_parameters) == _texts(narrow_parameters):
        return True
    exact = [term for term in wide_terms if term.exact]
    return all(any(_holds(outer, inner) for outer in exact) for inner in narrow_terms)


def _texts(parameters: Parameters | None) -> list[str]:
    given = parameters or ()
    return (
        sorted(f"{name}={value}" for name, value in given.items())
        if isinstance(given, Mapping)
        else list(map(str, given))
    )


def _holds(outer: Term, inner: Term) -> bool:
    """Say whether the box `inner` lies in the box `outer`. The inner box may be larger than the truth; that is safe."""
    if not outer.texts <= inner.texts:
        return False
    for path, (null, intervals) in outer.constraints.items():
        mine = inner.constraints.get(path)
        if mine is None:
            return False  # a constraint never allows all values and NULL together, so an open side is not inside
        if (mine[0] and not null) or not is_subset(mine[1], intervals):
            return False
    return True


def merge(filters: Sequence[str], schema: Schema, *, parameters: Sequence[Parameters | None] | None = None) -> str:
    """Return the smallest box that covers all the filters, as a filter."""
    if not filters:
        raise SubscriptionError("merge needs at least one filter")
    given = parameters or [None] * len(filters)
    terms = [term for text, values in zip(filters, given, strict=True) for term in _terms(text, schema, values)[1]]
    if not terms:
        return to_text(Constant(False))
    shared = [
        path for path in terms[0].constraints if path[0] != COMPUTED and all(path in term.constraints for term in terms)
    ]
    conditions: list[Expression] = []
    for path in shared:
        kind = schema.attribute(path).type
        null = any(term.constraints[path][0] for term in terms)
        values = union(tuple(one for term in terms for one in term.constraints[path][1]), ())
        if isinstance(kind, EnumType):
            conditions += _enum_condition(Field(path), kind, values, null)
        else:
            conditions += _condition(Field(path), kind, (values[0][0], values[-1][1]) if values else None, null)
    if not conditions:
        return to_text(Constant(True))
    return to_text(conditions[0] if len(conditions) == 1 else And(tuple(conditions)))


def _enum_condition(field: Field, kind: EnumType, values: Any, null: bool) -> list[Expression]:
    labels = [label for key, label in enumerate(kind.labels) if any(low <= key <= high for low, high in values)]
    beyond = any(high == kind.highest for _, high in values)
    if beyond and len(labels) == len(kind.labels):
        return [] if null else [IsNull(field, True)]
    if beyond:  # it includes labels that the enum does not list: say what it leaves out
        rest = tuple(Literal(label) for label in kind.labels if label not in labels)
        return _or_null(field, In(field, rest, True), null)
    return _or_null(field, In(field, tuple(map(Literal, labels))), null) if labels else [IsNull(field)]


def _or_null(field: Field, condition: Expression, null: bool) -> list[Expression]:
    return [Or((condition, IsNull(field)))] if null else [condition]


def _condition(field: Field, kind: LeafType, span: tuple[Any, Any] | None, null: bool) -> list[Expression]:
    if span is None:
        return [IsNull(field)]
    (lowest, highest) = everything(kind)[0]
    low, high = span
    has_low, has_high = low != lowest, high != highest
    if isinstance(kind, TimestampType):
        # Past the calendar there is no text for an instant: the box ends at its last one, or has no end there.
        first, last = kind.enclose(FIRST_INSTANT)[1], kind.enclose(LAST_INSTANT)[0]
        has_low, has_high = has_low and low >= first, has_high and high <= last
        low, high = min(low, last), max(high, first)
    if not has_low and not has_high:
        return [] if null else [IsNull(field, True)]
    if isinstance(kind, StringType):
        parts: list[Expression] = []
        if has_low:
            parts.append(Comparison(">=" if low[1] == 0 else ">", field, Literal(low[0])))
        if high is not TOP:
            parts.append(Comparison("<=" if high[1] == 0 else "<", field, Literal(high[0])))
    elif has_low and has_high:
        parts = [Between(field, _literal(kind, low), _literal(kind, high))]
    elif has_low:
        parts = [Comparison(">=", field, _literal(kind, low))]
    else:
        parts = [Comparison("<=", field, _literal(kind, high))]
    whole: Expression = parts[0] if len(parts) == 1 else And(tuple(parts))
    return _or_null(field, whole, null) if null else parts


def _literal(kind: LeafType, key: Any) -> Literal:
    if isinstance(kind, FloatType):
        value = key_float(key)
        # The language has no word for infinity, and a number past the largest double is one.
        return Literal(Decimal(repr(value)) if isfinite(value) else Decimal("1E+400").copy_sign(Decimal(value)))
    if isinstance(kind, DecimalType):
        return Literal(Decimal(f"{key}e{-kind.scale}"))  # not scaleb(), which rounds to 28 digits
    if isinstance(kind, TimestampType):
        return Literal(Timestamp(key * kind.nanoseconds))
    if isinstance(kind, BooleanType):
        return Literal(bool(key))
    return Literal(key)
