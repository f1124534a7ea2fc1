r"""JMS selectors (Jakarta Messaging, message selector syntax): SQL's WHERE as of 1992, with Java's names and numbers.

Rule 1: what JMS and the language have in common means the same: AND, OR, NOT in three values, =, <>, <, BETWEEN, LIKE
with ESCAPE, IN, IS NULL. So the tokens are brought to those of the language, and its own parser reads them.
Rule 2: numbers are Java's: `0x1F`, `017` (octal), `57L`, `7.`, `6.2f`, `1_000`. Names are Java's too: `JMS_$kind`.
Rule 3: what the language has and JMS has not is refused: functions, ILIKE, `!=`, quoted names. So is what JMS forbids:
texts and booleans in an order, IN and LIKE of numbers.
Rule 4: `/` of whole numbers is cut off in Java and is not here, so one side must be written with a point; and what is
divided by zero is infinite in Java and NULL here, so the divisor is a number that is written out.
Rule 5: a literal with a point or an exponent is a double of Java's. In arithmetic, and past 2^53, where whole numbers
are rounded on their way to a double, the clause says so by `/ 1`, which makes a double of anything.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from decimal import Decimal

from rookery.errors import SubscriptionError
from rookery.model.dialects.translation import Translation
from rookery.model.expressions import (
    And,
    Between,
    Call,
    Comparison,
    Expression,
    Field,
    In,
    Like,
    Literal,
    Not,
    Operand,
    Or,
    Placeholder,
    to_text,
    value_text,
)
from rookery.model.parser import parse

__all__ = ["read_jms"]

_DIGITS = r"\d(?:[\d_]*\d)?"
_HEX = r"[0-9a-fA-F](?:[0-9a-fA-F_]*[0-9a-fA-F])?"
_TOKEN = re.compile(
    rf"""\s*(?:
        (?P<text>'(?:[^']|'')*')
      | (?P<number>(?:0[xX]{_HEX}[lL]?
          | (?:{_DIGITS}\.?(?:{_DIGITS})?|\.{_DIGITS})(?:[eE][+-]?\d+)?[lLfFdD]?)(?![\w$]))
      | (?P<name>[^\W\d][\w$]*|\$[\w$]*)
      | (?P<sign><>|<=|>=|[=<>+\-*/(),])
    )""",
    re.VERBOSE,
)
_WORDS = frozenset(("AND", "OR", "NOT", "BETWEEN", "LIKE", "IN", "IS", "NULL", "TRUE", "FALSE", "ESCAPE"))
#: What may stand before a parenthesis.
_OPENING = frozenset(("AND", "OR", "NOT", "IN", "BETWEEN"))
#: Whole numbers below this are those of Java's long; the least of all is one further away.
_LONG = 1 << 63
_ORDERS = frozenset(("<", "<=", ">", ">="))


def read_jms(text: str) -> Translation:
    """Return a selector as a condition; an empty one asks for every message."""
    if not text.strip():
        return Translation("TRUE")
    condition = parse(" ".join(_tokens(text)))
    _check(condition)
    return Translation(to_text(_doubled(condition)))


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
            token = _number(token, place, negative=before == "-")
        elif kind == "name":
            word = token.upper() if token.isascii() else token
            token = word if word in _WORDS else f'"{token}"'
        elif token == "(" and before.startswith('"'):
            raise SubscriptionError(f"{place}: JMS selectors have no functions: {before[1:-1]}(…)")
        yield token
        at, before = found.end(), token


def _number(token: str, place: str, *, negative: bool) -> str:
    plain = token.replace("_", "").lower()
    digits = plain.rstrip("l")
    based = digits[:2] == "0x" or (len(digits) > 1 and digits[0] == "0" and digits.isdigit())
    if digits.isdigit() or digits[:2] == "0x":
        if based and digits[:2] != "0x" and set(digits) - set("01234567"):
            raise SubscriptionError(f"{place}: {token} begins with 0 and is not octal")
        value = int(digits, 16 if digits[:2] == "0x" else 8 if based else 10)
        # In Java the upper half of what is written in hexadecimal or octal is negative.
        limit = _LONG + negative if not based else _LONG if plain != digits else 1 << 31
        if value >= limit:
            raise SubscriptionError(f"{place}: {token} is past the end of {'int' if limit == 1 << 31 else 'long'}")
        return str(value)
    double = float(plain.rstrip("fd"))
    if plain.endswith("f"):  # the float, as the double that it is widened to
        double = _float(double)
    if math.isinf(double):
        raise SubscriptionError(f"{place}: {token} is past the largest number")
    text = repr(double)
    return text if "." in text else text.replace("e", ".0e")


def _float(value: float) -> float:
    try:
        widened: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.inf
    return widened


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
            listed = () if isinstance(values, Placeholder) else values
            if not listed or any(not (isinstance(one, Literal) and isinstance(one.value, str)) for one in listed):
                raise SubscriptionError(f"{to_text(node)}: IN takes texts")
            if isinstance(field, Call):
                raise SubscriptionError(f"{to_text(node)}: IN takes a property")
        case Like(field) if isinstance(field, Call):
            raise SubscriptionError(f"{to_text(node)}: LIKE takes a property")


def _operand(node: Operand) -> None:
    if not isinstance(node, Call):
        return
    if node.name == "/" and not (isinstance(node.arguments[1], Literal) and node.arguments[1].value):
        raise SubscriptionError(
            f"{value_text(node.arguments[1])} may be zero: what is divided by zero is infinite in Java and NULL here",
            hint="multiply instead, as in x > 2.0 * y",
        )
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


def _doubled(node: Expression) -> Expression:
    """Return a condition that computes with doubles where Java does."""
    match node:
        case And(parts) | Or(parts):
            return type(node)(tuple(map(_doubled, parts)))
        case Not(operand):
            return Not(_doubled(operand))
        case Comparison(sign, left, right):
            wide = any(_is_wide(one) or (isinstance(one, Call) and _is_approximate(one)) for one in (left, right))
            made = _computed(left, wide=wide)
            assert isinstance(made, Field | Call)
            return Comparison(sign, made, _computed(right, wide=wide))
        case Between(field, low, high, negated) if _is_wide(low) or _is_wide(high):
            return Between(Call("/", (field, Literal(1))), low, high, negated)
        case Between(Call() as call, low, high, negated):
            return Between(_call(call), low, high, negated)
    return node


def _is_wide(node: Operand) -> bool:
    """Say whether a literal is a double past which not every whole number has a double of its own."""
    return isinstance(node, Literal) and isinstance(node.value, Decimal) and abs(node.value) >= 1 << 53


def _computed(node: Operand, *, wide: bool) -> Operand:
    """Return one side of a comparison with its doubles written as such; `wide` makes a double of the whole."""
    if isinstance(node, Call):
        node = _call(node)
    return node if _is_approximate(node) or not wide else Call("/", (node, Literal(1)))


def _call(node: Call) -> Call:
    arguments: list[Operand] = []
    for one in node.arguments:
        if isinstance(one, Call):
            one = _call(one)
        elif (
            node.name != "/" and isinstance(one, Literal) and isinstance(one.value, Decimal)
        ):  # `/` itself makes doubles
            one = Call("/", (one, Literal(1)))
        arguments.append(one)
    return Call(node.name, tuple(arguments))
