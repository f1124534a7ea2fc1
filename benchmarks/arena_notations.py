"""A subscription of the arena in each peer's own notation, or None where the peer has no words for a predicate."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

__all__ = ["NOTATIONS"]

Predicates = list[list[Any]]


def _bounds(field: str, low: float | None, high: float | None, *, digits: int | None = None) -> list[str]:
    """Return `field >= low` and `field <= high`, each where there is such an end."""
    ends = ((">=", low), ("<=", high))
    return [
        f"{field} {sign} {end!r}" if digits is None else f"{field} {sign} {end:.{digits}f}"
        for sign, end in ends
        if end is not None
    ]


def _quoted(value: Any, quote: str = "'") -> str:
    return f"{quote}{value}{quote}" if isinstance(value, str) else repr(value)


def _sql(predicates: Predicates) -> str:
    parts = []
    for field, operator, value, *rest in predicates:
        if operator == "between":
            parts += _bounds(field, value, rest[0])
        elif operator == "=":
            parts.append(f"{field} = {_quoted(value)}")
        elif operator == "in":
            parts.append(f"{field} IN ({', '.join(map(_quoted, value))})")
        else:
            words = {"prefix": "starts_with", "suffix": "ends_with", "contains": "contains"}
            parts.append(f"{words[operator]}({field}, {_quoted(value)})")
    return " AND ".join(parts)


def _cel(predicates: Predicates) -> str:
    parts = []
    for field, operator, value, *rest in predicates:
        if operator == "between":
            parts += _bounds(field, value, rest[0])
        elif operator == "=":
            parts.append(f"{field} == {json.dumps(value)}")
        elif operator == "in":
            parts.append(f"{field} in {json.dumps(value)}")
        else:
            word = {"prefix": "startsWith", "suffix": "endsWith", "contains": "contains"}[operator]
            parts.append(f"{field}.{word}({json.dumps(value)})")
    return " && ".join(parts)


def _rule_engine(predicates: Predicates) -> str:
    parts = []
    for field, operator, value, *rest in predicates:
        text = str(value).replace("\\", "\\\\")
        if operator == "between":
            parts += _bounds(field, value, rest[0])
        elif operator == "=":
            parts.append(f"{field} == {_quoted(value)}")
        elif operator == "in":
            parts.append(f"{field} in [{', '.join(map(_quoted, value))}]")
        elif operator == "contains":
            parts.append(f"'{text}' in {field}")
        else:
            word = {"prefix": "starts_with", "suffix": "ends_with"}[operator]
            parts.append(f"{field}.{word}('{text}')")
    return " and ".join(parts)


def _a_tree(predicates: Predicates) -> str | None:
    parts = []
    for field, operator, value, *rest in predicates:
        if operator == "between":
            parts += _bounds(field, value, rest[0], digits=2)
        elif operator == "=":
            parts.append(f"{field} = {_quoted(value, chr(34))}")
        elif operator == "in":
            parts.append(f"{field} in [{', '.join(_quoted(one, chr(34)) for one in value)}]")
        else:
            return None
    return " and ".join(f"({part})" for part in parts)


def _event_ruler(predicates: Predicates) -> str | None:
    pattern: dict[str, list[Any]] = {}
    for field, operator, value, *rest in predicates:
        if operator == "between":
            bounds = [">=", value] * (value is not None) + ["<=", rest[0]] * (rest[0] is not None)
            pattern[field] = [{"numeric": bounds}]
        elif operator == "=":
            pattern[field] = [value]
        elif operator == "in":
            pattern[field] = list(value)
        elif operator == "contains":
            pattern[field] = [{"wildcard": f"*{value}*".replace("\\", "\\\\")}]
        else:
            pattern[field] = [{operator: value}]
    return json.dumps(pattern)


def _quamina(predicates: Predicates) -> str | None:
    pattern: dict[str, list[Any]] = {}
    for field, operator, value, *_ in predicates:
        escaped = str(value).replace("\\", "\\\\")
        if operator == "between":
            return None
        if operator == "=":
            pattern[field] = [value]
        elif operator == "in":
            pattern[field] = list(value)
        elif operator == "prefix":
            pattern[field] = [{"prefix": value}]
        else:
            pattern[field] = [{"wildcard": f"*{escaped}*" if operator == "contains" else f"*{escaped}"}]
    return json.dumps(pattern)


def _rsigma(predicates: Predicates) -> str:
    modifiers = {"prefix": "|startswith", "suffix": "|endswith", "contains": "|contains", "=": "", "in": ""}
    lines = []
    for field, operator, value, *rest in predicates:
        if operator == "between":
            ends = {"gte": value, "lte": rest[0]}
            lines += [f"    {field}|{sign}: {end!r}" for sign, end in ends.items() if end is not None]
            continue
        modifier = modifiers[operator]
        values = value if isinstance(value, list) else [value]
        texts = [one.replace("\\", "\\\\") if isinstance(one, str) else one for one in values]
        lines.append(f"    {field}{modifier}: {json.dumps(texts)}")
    return "title: one\nlogsource: {product: any}\ndetection:\n  s:\n" + "\n".join(lines) + "\n  condition: s\n"


#: By peer. The text workload of Lucene is its own query objects, made from the predicates.
NOTATIONS: dict[str, Callable[[Predicates], str | None]] = {
    "rookery": _sql, "duckdb": _sql, "polars": _sql, "cel": _cel, "rule-engine": _rule_engine, "a_tree": _a_tree,
    "event_ruler": _event_ruler, "quamina": _quamina, "rsigma": _rsigma, "lucene_monitor": json.dumps,
}  # fmt: skip
