"""Witnesses: an event that a condition is true of, made from its terms.

A term says which values each attribute may have and which texts must and must not hold; one value of each is an event.
A value is a guess where patterns meet on one attribute, so the caller asks the matcher whether the event does match;
where it does not, or where a term speaks of a computed attribute, there is no witness, which proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import isfinite
from typing import Any

from rookery.model.check import COMPUTED
from rookery.model.expressions import timestamp_text
from rookery.model.lower import Term
from rookery.model.schema import Schema
from rookery.model.texts import pattern_tokens, text_leaves
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
from rookery.model.values import everything

__all__ = ["witness"]

Path = tuple[str | int, ...]


def witness(terms: Sequence[Term], schema: Schema) -> dict[str, Any] | None:
    """Return an event of the first term that one can be guessed for."""
    for term in terms:
        values = _values(term, schema)
        if values is not None:
            return _nested(values)
    return None


def _values(term: Term, schema: Schema) -> dict[Path, Any] | None:
    patterns: dict[Path, list[str]] = {}
    for key, wanted in sorted(term.texts):
        if not wanted:
            continue
        leaf = text_leaves(key)[0]
        if leaf.kind == "regex":
            return None
        patterns.setdefault(leaf.path, []).append(leaf.pattern)
    found: dict[Path, Any] = {}
    for path in {**term.constraints, **patterns}:
        if path[0] == COMPUTED or any(isinstance(step, int) for step in path):
            return None
        kind = schema.attribute(path).type
        null, intervals = term.constraints.get(path, (False, everything(kind)))
        if path in patterns:
            begins = intervals[0][0] if intervals else None
            found[path] = (begins[0] if isinstance(begins, tuple) and begins[1] == 0 else "") + _text(patterns[path])
        elif intervals:
            value = _value(kind, *intervals[0])
            if value is None:
                return None
            found[path] = value
        elif not null:
            return None
    return found


def _text(patterns: list[str]) -> str:
    """Return a text for several patterns: what begins first, then what stands anywhere, then what ends."""
    made = []
    for pattern in patterns:
        tokens = pattern_tokens(pattern)
        text = "".join("a" if wild and one == "_" else "" if wild else one for wild, one in tokens)
        made.append((tokens[:1] == [(True, "%")], tokens[-1:] != [(True, "%")], text))
    return "".join(text for _, _, text in sorted(made, key=lambda one: one[:2]))


def _value(kind: LeafType, low: Any, high: Any) -> Any:
    if isinstance(kind, StringType):
        text, side = low
        if side < 0:
            return text[:-1] + chr(max(ord(text[-1]) - 1, 1)) if text else None
        return text + ("\x01" if side > 0 else "")
    if isinstance(kind, BooleanType):
        return bool(low)
    if isinstance(kind, EnumType):
        return kind.labels[low] if low < len(kind.labels) else None
    if isinstance(kind, FloatType):
        value = next((one for one in map(key_float, (low, high)) if isfinite(one)), None)
        return 0.0 if value is None and low <= 0 <= high else value
    if low <= 0 <= high:
        low = 0
    if isinstance(kind, DecimalType):
        return Decimal(f"{low}e{-kind.scale}")
    if isinstance(kind, TimestampType):
        return timestamp_text(low * kind.nanoseconds)
    return low


def _nested(values: Mapping[Path, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for path, value in values.items():
        inside = made
        for step in path[:-1]:
            inside = inside.setdefault(str(step), {})
        inside[str(path[-1])] = value
    return made
