"""What a condition means: the obvious evaluator, one event and one tree at a time.

This is the oracle of everything else, so it shares nothing with the fast paths but the parser and the type check: no
keys, no intervals, no normal form. Three-valued logic with None for UNKNOWN; Python compares int, float and Decimal
with each other exactly, and strings by code point, which is what the specification asks.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from rookery.model.check import Checker, ComputedAttribute, Parameters, exact
from rookery.model.expressions import (
    And,
    AnyElement,
    Between,
    Comparison,
    Constant,
    Expression,
    In,
    InCidr,
    IsNull,
    Like,
    Not,
    Or,
)
from rookery.model.folding import folded
from rookery.model.patterns import folded_pattern, like_matcher
from rookery.model.regexes import regex_holds
from rookery.model.schema import Attribute, Schema
from rookery.model.types import EnumType

__all__ = ["Condition", "condition"]

Path: TypeAlias = tuple[str | int, ...]
#: Takes the comparable values of an event by path (None = NULL); says True, False or None = UNKNOWN.
Condition: TypeAlias = Callable[[Mapping[Path, Any]], bool | None]

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def condition(expression: Expression, schema: Schema, parameters: Parameters | None = None) -> Condition:
    """Return the expression as a function of an event."""
    return _build(expression, Checker(schema, parameters))


def _build(node: Expression, checker: Checker) -> Condition:
    match node:
        case Constant(value):
            return lambda row: value
        case Not(operand):
            inner = _build(operand, checker)
            return lambda row: None if (found := inner(row)) is None else not found
        case And(operands):
            parts = [_build(operand, checker) for operand in operands]
            return lambda row: _all(part(row) for part in parts)
        case Or(operands):
            parts = [_build(operand, checker) for operand in operands]
            return lambda row: _any(part(row) for part in parts)
        case IsNull(field, negated):
            read = _reader(checker.attribute(field))
            return lambda row: (read(row) is None) != negated
    return _predicate(node, checker)


def _predicate(node: Expression, checker: Checker) -> Condition:
    match node:
        case Comparison(sign, _, _):
            left, right, value = checker.comparison(node)
            ordered = sign not in ("=", "<>")
            compare, read = _OPERATORS[sign], _reader(left, ordered)
            if right is not None:
                return _between_values(compare, read, _reader(right, ordered))
            value = _ordered_value(left, value) if ordered else exact(left.type, value)
            return lambda row: None if (found := read(row)) is None else compare(found, value)
        case Between(field, low_node, high_node, negated):
            attribute = checker.attribute(field)
            read = _reader(attribute, True)
            low = _ordered_value(attribute, checker.value(attribute, low_node))
            high = _ordered_value(attribute, checker.value(attribute, high_node))
            return lambda row: None if (found := read(row)) is None else (low <= found <= high) != negated
        case In(field, nodes, negated):
            attribute = checker.attribute(field)
            read = _reader(attribute)
            values = frozenset(exact(attribute.type, one) for one in checker.values(attribute, nodes))
            return lambda row: None if (found := read(row)) is None else (found in values) != negated
        case AnyElement():
            return checker.each(node).value_of
        case InCidr(_, _, negated):
            attribute, ranges = checker.networks(node)
            read = _reader(attribute)
            return lambda row: (
                None if (found := read(row)) is None else any(low <= found <= high for low, high in ranges) != negated
            )
        case Like(_, _, escape, negated, word):
            attribute, pattern = checker.pattern(node)
            read, holds = _reader(attribute), _pattern(word, pattern, escape)
            return lambda row: None if (found := read(row)) is None else holds(found) != negated
    raise TypeError(f"not an expression: {node!r}")


def _ordered_value(attribute: Attribute, value: Any) -> Any:
    """Return a value to compare by order: of an enum's label its place."""
    return attribute.type.labels.index(value) if isinstance(attribute.type, EnumType) else exact(attribute.type, value)


def _reader(attribute: Attribute, ordered: bool = False) -> Callable[[Mapping[Path, Any]], Any]:
    """Return what reads an attribute's value, or computes it; by its order, a label that is not listed is NULL."""
    if ordered and isinstance(attribute.type, EnumType):
        read, places = _reader(attribute), {label: place for place, label in enumerate(attribute.type.labels)}
        return lambda row: places.get(read(row))
    if isinstance(attribute, ComputedAttribute):
        return attribute.value_of
    path = attribute.path
    return lambda row: row[path]


def _pattern(word: str, pattern: str, escape: str | None) -> Callable[[str], bool]:
    if word == "RLIKE":
        return lambda text: regex_holds(pattern, text)
    if word == "LIKE":
        matches = like_matcher(pattern, escape).fullmatch
        return lambda text: matches(text) is not None
    pieces = like_matcher(*folded_pattern(pattern, escape)).fullmatch
    return lambda text: pieces(folded(text)) is not None


def _between_values(
    compare: Callable[[Any, Any], bool],
    left: Callable[[Mapping[Path, Any]], Any],
    right: Callable[[Mapping[Path, Any]], Any],
) -> Condition:
    def decide(row: Mapping[Path, Any]) -> bool | None:
        one, other = left(row), right(row)
        return None if one is None or other is None else compare(one, other)

    return decide


def _all(results: Any) -> bool | None:
    verdict: bool | None = True
    for result in results:
        if result is False:
            return False
        if result is None:
            verdict = None
    return verdict


def _any(results: Any) -> bool | None:
    verdict: bool | None = False
    for result in results:
        if result is True:
            return True
        if result is None:
            verdict = None
    return verdict
