"""CESQL straight from its specification: an expression is read into a tree, and worked out for one event.

Values are int, str and bool, cast when they are asked for; every fault is an error, after which nothing more is looked
at, since a filter with an error does not hold.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["CesqlError", "holds"]

_TOKENS = re.compile(
    r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|([+-]?\d+)(?![A-Za-z])|([A-Za-z_0-9]+)|(!=|<>|<=|>=|\S)"""
)
_LEVELS = [("AND", "OR", "XOR"), ("=", "!=", "<>", "<", "<=", ">", ">="), ("+", "-"), ("*", "/", "%")]


class CesqlError(Exception):
    """Something that CESQL calls an error of the evaluation."""


def holds(expression: str, event: dict[str, Any]) -> bool:
    """Say whether a filter holds of an event: its value is true, without an error."""
    tokens = [found.group() for found in _TOKENS.finditer(expression)]
    tree = _binary(tokens, 0)
    assert not tokens, expression
    try:
        return _value(tree, event) is True
    except CesqlError:
        return False


def _binary(tokens: list[str], level: int) -> Any:
    if level == len(_LEVELS):
        return _postfix(tokens)
    left = _binary(tokens, level + 1)
    while tokens and tokens[0].upper() in _LEVELS[level]:
        left = (tokens.pop(0).upper(), left, _binary(tokens, level + 1))
    return left


def _postfix(tokens: list[str]) -> Any:
    left = _unary(tokens)
    while tokens and tokens[0].upper() in ("LIKE", "IN", "NOT"):
        word = tokens.pop(0).upper()
        negated = word == "NOT"
        if negated:
            word = tokens.pop(0).upper()
        right = tokens.pop(0) if word == "LIKE" else _list(tokens)
        left = (word, left, right)
        if negated:
            left = ("NOT", left)
    return left


def _unary(tokens: list[str]) -> Any:
    token = tokens.pop(0)
    word = token.upper()
    if word == "NOT" or token == "-":
        return (word, _unary(tokens))
    if token == "(":
        inner = _binary(tokens, 0)
        assert tokens.pop(0) == ")"
        return inner
    if word == "EXISTS":
        return ("EXISTS", tokens.pop(0).lower())
    if token[0] in "'\"":
        return ("value", _text(token))
    if word in ("TRUE", "FALSE"):
        return ("value", word == "TRUE")
    if re.fullmatch(r"[+-]?\d+", token):
        return ("value", int(token))
    if tokens and tokens[0] == "(":
        return ("call", word, _list(tokens))
    return ("attribute", token.lower())


def _list(tokens: list[str]) -> list[Any]:
    assert tokens.pop(0) == "("
    found = []
    while tokens[0] != ")":
        if tokens[0] == ",":
            tokens.pop(0)
        found.append(_binary(tokens, 0))
    tokens.pop(0)
    return found


def _text(token: str) -> str:
    return token[1:-1].replace("\\" + token[0], token[0])


def _value(tree: Any, event: dict[str, Any]) -> Any:
    kind, *parts = tree
    if kind == "value":
        return parts[0]
    if kind == "attribute":
        if event.get(parts[0]) is None:
            raise CesqlError("missing")
        return event[parts[0]]
    if kind == "EXISTS":
        return event.get(parts[0]) is not None
    if kind == "NOT":
        return not _truth(_value(parts[0], event))
    if kind == "-" and len(parts) == 1:
        return -_integer(_value(parts[0], event))
    if kind == "call":
        return _call(parts[0], [_value(one, event) for one in parts[1]])
    left = _value(parts[0], event)
    if kind == "LIKE":
        return _like(_string(left), _text(parts[1]))
    if kind == "IN":
        return any([left == _like_type(_value(one, event), left) for one in parts[1]])  # noqa: C419 - all are looked at
    if kind in ("AND", "OR"):
        if _truth(left) is (kind == "OR"):
            return kind == "OR"
        return _truth(_value(parts[1], event))
    right = _value(parts[1], event)
    if kind == "XOR":
        return _truth(left) != _truth(right)
    if kind in ("=", "!=", "<>"):
        return (_like_type(left, right) == right) is (kind == "=")
    a, b = _integer(left), _integer(right)
    if kind in ("<", "<=", ">", ">="):
        return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[kind]
    if kind in ("/", "%"):
        if b == 0:
            raise CesqlError("by zero")
        quotient = int(a / b)
        return quotient if kind == "/" else a - b * quotient
    return {"+": a + b, "-": a - b, "*": a * b}[kind]


def _like_type(value: Any, like: Any) -> Any:
    if isinstance(like, bool):
        return value != 0 if type(value) is int else _truth(value)
    return _integer(value) if isinstance(like, int) else _string(value)


def _truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise CesqlError("no Boolean")


def _integer(value: Any) -> int:
    if isinstance(value, str) and not re.fullmatch(r"[+-]?[0-9]+", value):
        raise CesqlError("no Integer")
    if not -(2**31) <= int(value) < 2**31:
        raise CesqlError("no Integer")
    return int(value)


def _string(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _like(text: str, pattern: str) -> bool:
    parts = re.findall(r"\\[%_]|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    regex = "".join(wild.get(one) or re.escape(one[-1]) for one in parts)
    return re.fullmatch(regex, text, re.DOTALL) is not None


def _call(name: str, given: list[Any]) -> Any:
    match name, given:
        case "INT", [one]:
            return _integer(one)
        case "STRING", [one]:
            return _string(one)
        case "BOOL", [one]:
            return one != 0 if type(one) is int else _truth(one)
        case "LENGTH", [one]:
            return len(_string(one))
        case "LOWER", [one]:
            return _string(one).lower()
        case "UPPER", [one]:
            return _string(one).upper()
        case "TRIM", [one]:
            return _string(one).strip()
        case "CONCAT", texts:
            return "".join(map(_string, texts))
        case "CONCAT_WS", [gap, *texts]:
            return _string(gap).join(map(_string, texts))
        case "ABS", [one]:
            if _integer(one) == -(2**31):
                raise CesqlError("no Integer")
            return abs(_integer(one))
        case (("LEFT" | "RIGHT"), [text, count]):
            text, count = _string(text), _integer(count)
            if count < 0:
                raise CesqlError(name)
            return text[:count] if name == "LEFT" else text[max(len(text) - count, 0) :]
        case "SUBSTRING", [text, start, *length]:
            text, start = _string(text), _integer(start)
            if abs(start) > len(text) or (length and _integer(length[0]) < 0):
                raise CesqlError(name)
            begin = start - 1 if start > 0 else len(text) + start
            return "" if start == 0 else text[begin : begin + _integer(length[0]) if length else None]
    raise AssertionError(name)
