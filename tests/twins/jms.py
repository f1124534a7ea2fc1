"""A slow judge of JMS selectors: straight from the Jakarta Messaging specification, nothing shared with the reader.

A selector is cut into tokens, climbed through by precedence and evaluated at once over one message. Truth has three
values, None is unknown. A value is (kind, value): a text, a boolean, a long or a double; numbers of two kinds meet as
doubles, as Java promotes them, and values of unlike kinds are unlike: their comparison is false.
"""

from __future__ import annotations

import ctypes
import operator
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["accepts"]

_PIECES = re.compile(
    r"'(?:''|[^'])*'|<>|<=|>=|[-+*/=<>(),]|0[xX][0-9a-fA-F_]+[lL]?|[0-9.][0-9_.]*(?:[eE][-+]?[0-9]+)?[a-zA-Z]?|[^\W\d][\w$]*|\S"
)
_SIGNS = {"=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}

Value = tuple[str, Any] | None


def accepts(selector: str, message: Mapping[str, Any]) -> bool:
    """Say whether a message is delivered: only where the selector is true, not where it is unknown."""
    if not selector.strip():
        return True
    judge = _Judge(_PIECES.findall(selector), message)
    verdict = judge.either()
    assert judge.at == len(judge.pieces), selector
    return verdict is True


class _Judge:
    def __init__(self, pieces: list[str], message: Mapping[str, Any]) -> None:
        self.pieces, self.message, self.at = pieces, message, 0

    def next(self, *words: str) -> bool:
        """Take the next token if it is one of these."""
        if self.at < len(self.pieces) and self.pieces[self.at].upper() in words:
            self.at += 1
            return True
        return False

    def either(self) -> bool | None:
        verdict = self.both()
        while self.next("OR"):
            other = self.both()
            verdict = True if True in (verdict, other) else None if None in (verdict, other) else False
        return verdict

    def both(self) -> bool | None:
        verdict = self.negation()
        while self.next("AND"):
            other = self.negation()
            verdict = False if False in (verdict, other) else None if None in (verdict, other) else True
        return verdict

    def negation(self) -> bool | None:
        if self.next("NOT"):
            verdict = self.negation()
            return None if verdict is None else not verdict
        return self.predicate()

    def predicate(self) -> bool | None:
        start = self.at
        if self.next("("):  # of a condition, or of a sum: whatever follows decides
            verdict = self.either()
            assert self.next(")")
            if self.at == len(self.pieces) or self.pieces[self.at].upper() in ("AND", "OR", ")"):
                return verdict
            self.at = start
        left = self.sum()
        negated = self.next("NOT")
        verdict: bool | None
        if self.next("IS"):
            negated = self.next("NOT")
            assert self.next("NULL")
            verdict = left is None
        elif self.next("BETWEEN"):
            low = self.sum()
            assert self.next("AND")
            high = self.sum()
            parts = (_compared(">=", left, low), _compared("<=", left, high))
            verdict = False if False in parts else None if None in parts else True
        elif self.next("IN"):
            assert self.next("(")
            names = [self.sum()]
            while self.next(","):
                names.append(self.sum())
            assert self.next(")")
            verdict = None if left is None else left in names
        elif self.next("LIKE"):
            pattern, escape = self.sum(), None
            if self.next("ESCAPE"):
                escape = self.sum()
            verdict = None if left is None else _like(left[1], pattern, escape)
        elif self.at < len(self.pieces) and self.pieces[self.at] in _SIGNS:
            self.at += 1
            return _compared(self.pieces[self.at - 1], left, self.sum())
        else:
            return None if left is None else left == ("boolean", True)
        return verdict if not negated or verdict is None else not verdict

    def sum(self) -> Value:
        value = self.product()
        while self.at < len(self.pieces) and self.pieces[self.at] in "+-":
            self.at += 1
            value = _computed(self.pieces[self.at - 1], value, self.product())
        return value

    def product(self) -> Value:
        value = self.factor()
        while self.at < len(self.pieces) and self.pieces[self.at] in "*/":
            self.at += 1
            value = _computed(self.pieces[self.at - 1], value, self.factor())
        return value

    def factor(self) -> Value:
        if self.next("+"):
            return self.factor()
        if self.next("-"):
            value = self.factor()
            return None if value is None else (value[0], -value[1])
        if self.next("("):
            value = self.sum()
            assert self.next(")")
            return value
        piece = self.pieces[self.at]
        self.at += 1
        if piece[0] == "'":
            return "text", piece[1:-1].replace("''", "'")
        if piece.upper() in ("TRUE", "FALSE"):
            return "boolean", piece.upper() == "TRUE"
        if piece[0] in "0123456789.":
            return _number(piece.replace("_", ""))
        return _property(self.message.get(piece))


def _number(piece: str) -> Value:
    if piece[:2].lower() == "0x":
        return "long", int(piece.rstrip("lL"), 16)
    if re.fullmatch("[0-9]+[lL]?", piece):
        digits = piece.rstrip("lL")
        return "long", int(digits, 8 if len(digits) > 1 and digits[0] == "0" else 10)
    if piece[-1] in "fF":
        return "double", float(ctypes.c_float(float(piece[:-1])).value)
    return "double", float(piece.rstrip("dD"))


def _property(value: Any) -> Value:
    if value is None:
        return None
    kinds = {str: "text", bool: "boolean", int: "long", float: "double"}
    return kinds[type(value)], value


def _met(left: Any, right: Any) -> tuple[str, Any, Any]:
    """Return two numbers as the kind in which Java lets them meet."""
    if left[0] == right[0]:
        return left[0], left[1], right[1]
    return "double", float(left[1]), float(right[1])


def _computed(sign: str, left: Value, right: Value) -> Value:
    if left is None or right is None:
        return None
    kind, one, other = _met(left, right)
    return kind, {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}[sign](one, other)


def _compared(sign: str, left: Value, right: Value) -> bool | None:
    if left is None or right is None:
        return None
    numbers = ("long", "double")
    if left[0] != right[0] and not (left[0] in numbers and right[0] in numbers):
        return False
    _, one, other = _met(left, right)
    return bool(_SIGNS[sign](one, other))


def _like(text: str, pattern: Value, escape: Value) -> bool:
    """Match by trying every length for each `%`."""
    assert pattern is not None
    shape: list[tuple[bool, str]] = []
    characters = iter(pattern[1])
    for one in characters:
        special = one in "%_" and not (escape is not None and one == escape[1])
        if escape is not None and one == escape[1]:
            one, special = next(characters), False
        shape.append((special, one))

    def fits(at: int, place: int) -> bool:
        if place == len(shape):
            return at == len(text)
        special, one = shape[place]
        if special and one == "%":
            return any(fits(end, place + 1) for end in range(at, len(text) + 1))
        return at < len(text) and (special or text[at] == one) and fits(at + 1, place + 1)

    return fits(0, 0)
