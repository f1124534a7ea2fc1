r"""JMS selectors (Jakarta Messaging, message selector syntax): SQL's WHERE as of 1992, with Java's names and numbers.

Rule 1: what JMS and the language have in common means the same: AND, OR, NOT in three values, =, <>, <, BETWEEN, LIKE
with ESCAPE, IN, IS NULL. So the tokens are brought to those of the language, and its own parser reads them.
Rule 2: numbers are Java's: `0x1F`, `017` (octal), `57L`, `7.`, `6.2f`, `1_000`. Names are Java's too: `JMS_$kind`.
Rule 3: what the language has and JMS has not is refused: functions, ILIKE, `!=`, quoted names. So is what JMS forbids:
texts and booleans in an order, IN and LIKE of numbers.
Rule 4: `/` of whole numbers is cut off in Java and is not here, so one side must be written with a point.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rookery.errors import SubscriptionError
from rookery.model.dialects.translation import Translation
from rookery.model.expressions import (
    And,
    Between,
    Call,
    Comparison,
    Expression,
    In,
    Like,
    Literal,
    Not,
    Operand,
    Or,
    to_text,
)
from rookery.model.parser import parse

__all__ = ["read_jms"]

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>'(?:[^']|'')*')
      | (?P<number>0[xX][0-9a-fA-F_]+[lL]? | (?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?[lLfFdD]?)(?![\w$])
      | (?P<name>[^\W\d][\w$]*|\$[\w$]*)
      | (?P<sign><>|<=|>=|[=<>+\-*/(),])
    )""",
    re.VERBOSE,
)
_WORDS = frozenset(("AND", "OR", "NOT", "BETWEEN", "LIKE", "IN", "IS", "NULL", "TRUE", "FALSE", "ESCAPE"))
#: What may stand before a parenthesis.
_OPENING = frozenset(("AND", "OR", "NOT", "IN", "BETWEEN"))
_ORDERS = frozenset(("<", "<=", ">", ">="))


def read_jms(text: str) -> Translation:
    """Return a selector as a condition; an empty one asks for every message."""
    if not text.strip():
        return Translation("TRUE")
    condition = parse(" ".join(_tokens(text)))
    _check(condition)
    return Translation(to_text(condition))


def _tokens(text: str) -> Iterator[str]:
    """Yield the tokens of a selector as the language writes them."""
    at, before = 0, ""
    end = len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None:
            near = text[at:].lstrip()
            place = f"column {len(text) - len(near) + 1}"
            raise SubscriptionError(f"{place}: {near.split()[0]!r} is no part of a JMS selector")
        kind, token = found.lastgroup, found[found.lastgroup or 0]
        place = f"column {found.start(found.lastgroup or 0) + 1}"
        if kind == "number":
            token = _number(token, place)
        elif kind == "name":
            word = token.upper() if token.isascii() else token
            token = word if word in _WORDS else f'"{token}"'
        elif token == "(" and before.startswith('"'):
            raise SubscriptionError(f"{place}: JMS selectors have no functions: {before[1:-1]}(…)")
        yield token
        at, before = found.end(), token


def _number(token: str, place: str) -> str:
    plain = token.replace("_", "")
    if plain[:2].lower() == "0x":
        return str(int(plain.rstrip("lL"), 16))
    if plain.rstrip("lL").isdigit():
        digits = plain.rstrip("lL")
        if len(digits) > 1 and digits[0] == "0":
            if set(digits) - set("01234567"):
                raise SubscriptionError(f"{place}: {token} begins with 0 and is not octal")
            return str(int(digits, 8))
        return digits
    digits, _, exponent = plain.rstrip("fFdD").lower().partition("e")
    whole, _, part = digits.partition(".")
    return f"{whole or '0'}.{part or '0'}" + (f"e{exponent}" if exponent else "")


def _check(node: Expression) -> None:
    """Refuse what the language allows and JMS does not."""
    match node:
        case And(parts) | Or(parts):
            for part in parts:
                _check(part)
        case Not(operand):
            _check(operand)
        case Comparison(sign, left, right):
            if sign in _ORDERS and isinstance(right, Literal) and isinstance(right.value, str | bool):
                raise SubscriptionError(f"{to_text(node)}: JMS gives texts and booleans no order, only = and <>")
            _operand(left)
            _operand(right)
        case Between(field, low, high):
            if any(isinstance(one, Literal) and isinstance(one.value, str | bool) for one in (low, high)):
                raise SubscriptionError(f"{to_text(node)}: JMS gives texts no order, and BETWEEN takes numbers")
            _operand(field)
        case In(field, values):
            if any(not (isinstance(one, Literal) and isinstance(one.value, str)) for one in values):
                raise SubscriptionError(f"{to_text(node)}: IN takes texts")
            if isinstance(field, Call):
                raise SubscriptionError(f"{to_text(node)}: IN takes a property")
        case Like(field) if isinstance(field, Call):
            raise SubscriptionError(f"{to_text(node)}: LIKE takes a property")


def _operand(node: Operand) -> None:
    if not isinstance(node, Call):
        return
    if node.name == "/" and not any(_is_approximate(one) for one in node.arguments):
        raise SubscriptionError(
            "division of whole numbers is cut off in Java: write one side with a point, as in x / 2.0"
        )
    for one in node.arguments:
        _operand(one)


def _is_approximate(node: Operand) -> bool:
    if isinstance(node, Call):
        return any(_is_approximate(one) for one in node.arguments)
    return isinstance(node, Literal) and not isinstance(node.value, int | str | bool)
