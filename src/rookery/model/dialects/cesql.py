r"""CESQL, the CloudEvents SQL expression language 1.0: its grammar, read straight into values (`cesql_values.py`).

Rule 1: precedence is CESQL's own: NOT and `-` bind before LIKE and IN, these before arithmetic; AND, OR and XOR bind
alike. Its text groups them from the left, its grammar from the right: mixed without parentheses they are refused.
Rule 2: a string stands in either quotes; only the backslash before its own quote is special, and in a pattern the one
before `%` and `_`. A sign just before a digit belongs to the number. Keywords and attribute names have no case.
Rule 3: a filter whose value is no Boolean never holds.
"""

from __future__ import annotations

import re

from rookery.errors import SubscriptionError
from rookery.model.dialects.cesql_functions import among, arithmetic, called, comparison
from rookery.model.dialects.cesql_values import (
    ERROR,
    FIRST,
    LAST,
    Known,
    Node,
    Referred,
    Truth,
    all_of,
    any_of,
    as_text,
    as_truth,
    exclusive,
    guards_of,
    negation,
    operand_of,
    predicate,
)
from rookery.model.dialects.translation import Translation
from rookery.model.expressions import Call, Field, IsNull, Like, Literal, to_text

__all__ = ["read_cesql"]

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")
      | (?P<number>[+-]?\d+)(?![A-Za-z])
      | (?P<name>[A-Za-z][A-Za-z_]*(?=\s*\()|[A-Za-z0-9]+)
      | (?P<sign>!=|<>|<=|>=|[=<>+\-*/%(),])
    )""",
    re.VERBOSE | re.DOTALL,
)
_WORDS = frozenset(("AND", "OR", "XOR", "NOT", "LIKE", "EXISTS", "IN", "TRUE", "FALSE"))
_COMPARISONS = frozenset(("=", "!=", "<>", "<", "<=", ">", ">="))
#: Levels of parentheses, calls and signs that are followed.
_DEPTH = 100


def read_cesql(text: str) -> Translation:
    """Return an expression as a condition that is TRUE where the expression is true without an error."""
    reader = _Reader(text)
    node = reader.logic()
    if reader.token is not None:
        reader.fail(f"{reader.token!r} is not expected here")
    if isinstance(node, Truth | Referred) or (isinstance(node, Known) and isinstance(node.value, bool)):
        return Translation(to_text(as_truth(node).true))
    return Translation("FALSE")


class _Reader:
    """A text with the token that comes next."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.begin, self.depth = text, 0, 0, 0
        self.kind: str | None = None
        self.token: str | None = None
        self.next()

    def fail(self, what: str, hint: str | None = None) -> None:
        raise SubscriptionError(f"column {self.begin + 1}: {what}", hint=hint)

    def next(self) -> str | None:
        """Go on to the next token; return the one before."""
        before = self.token
        rest = self.text[self.at :]
        if not rest.strip():
            self.kind = self.token = None
            self.begin = len(self.text)
            return before
        found = _TOKEN.match(self.text, self.at)
        if found is None:
            self.begin = len(self.text) - len(rest.lstrip())
            self.fail(f"{rest.split()[0]!r} is no part of a CESQL expression")
        assert found is not None
        assert found.lastgroup is not None
        self.kind, self.token = found.lastgroup, found[found.lastgroup]
        self.begin, self.at = found.start(found.lastgroup), found.end()
        if self.kind == "name" and self.token.upper() in _WORDS:
            self.kind, self.token = "word", self.token.upper()
        return before

    def take(self, token: str) -> None:
        """Pass a token that must be there."""
        if self.token != token:
            self.fail(f"{token!r} is expected" + ("" if self.token is None else f", not {self.token!r}"))
        self.next()

    def logic(self) -> Node:
        """Read AND, OR and XOR, of one kind until parentheses."""
        self.depth += 1
        if self.depth > _DEPTH:
            self.fail(f"more than {_DEPTH} levels")
        first = self.compared()
        word = self.token if self.token in ("AND", "OR", "XOR") else None
        if word is None:
            self.depth -= 1
            return first
        parts = [as_truth(first)]
        while self.token in ("AND", "OR", "XOR"):
            if self.token != word:
                self.fail(
                    f"{word} and {self.token} without parentheses",
                    "CESQL's text groups them from the left and its grammar from the right: say which you mean",
                )
            self.next()
            parts.append(as_truth(self.compared()))
        made = parts.pop()
        while parts:  # from the right: what is on the left decides first
            made = _joined(word, parts.pop(), made)
        self.depth -= 1
        return made

    def compared(self) -> Node:
        node = self.sum()
        while self.token in _COMPARISONS:
            sign = self.next()
            assert sign is not None
            other = self.sum()
            node = ERROR if node == ERROR or other == ERROR else comparison(sign, node, other)
        return node

    def sum(self) -> Node:
        node = self.product()
        while self.token in ("+", "-"):
            sign = self.next()
            node = _calculated(str(sign), node, self.product())
        return node

    def product(self) -> Node:
        node = self.matched()
        while self.token in ("*", "/", "%"):
            sign = self.next()
            node = _calculated(str(sign), node, self.matched())
        return node

    def matched(self) -> Node:
        """Read LIKE and IN after a value."""
        node = self.unary()
        while self.token in ("LIKE", "IN", "NOT"):
            negated = self.token == "NOT"
            if negated:
                self.next()
            if self.token == "LIKE":
                self.next()
                if self.kind != "text":
                    self.fail("LIKE takes a pattern that is written out")
                made = _like(node, _unquoted(str(self.next())))
            else:
                self.take("IN")
                self.take("(")
                values = self.values()
                if not values:
                    self.fail("IN takes a value")
                made = ERROR if node == ERROR else among(node, values)
            node = negation(made) if negated else made
        return node

    def unary(self) -> Node:
        self.depth += 1
        if self.depth > _DEPTH:
            self.fail(f"more than {_DEPTH} levels")
        if self.token == "NOT":
            self.next()
            node: Node = negation(as_truth(self.unary()))
        elif self.token == "-":
            self.next()
            node = _calculated("-", Known(0), self.unary())
        else:
            node = self.atom()
        self.depth -= 1
        return node

    def atom(self) -> Node:
        kind, token = self.kind, self.token
        if token is None:
            self.fail("the expression ends too early")
        assert token is not None
        if token == "(":
            self.next()
            node = self.logic()
            self.take(")")
            return node
        if kind == "number":
            if not FIRST <= int(token) <= LAST:
                self.fail(f"{token} has more than 32 bits")
            self.next()
            return Known(int(token))
        if kind == "text":
            return Known(_unquoted(str(self.next())))
        if token in ("TRUE", "FALSE"):
            return Known(self.next() == "TRUE")
        if token == "EXISTS":
            self.next()
            if self.kind != "name":
                self.fail("EXISTS takes the name of an attribute")
            field = Field((str(self.next()).lower(),))
            return Truth(IsNull(field, negated=True), IsNull(field))
        if kind != "name":
            self.fail(f"{token!r} is not expected here")
        self.next()
        if self.token == "(":
            self.next()
            return called(token.upper(), self.values())
        return Referred(Field((token.lower(),)))

    def values(self) -> list[Node]:
        """Read values up to the closing parenthesis."""
        found: list[Node] = []
        while self.token != ")":
            if found:
                self.take(",")
            found.append(self.logic())
        self.next()
        return found


def _joined(word: str, left: Truth, right: Truth) -> Truth:
    if word == "XOR":
        return exclusive(left, right)
    if word == "AND":
        return Truth(all_of(left.true, right.true), any_of(left.false, all_of(left.true, right.false)))
    return Truth(any_of(left.true, all_of(left.false, right.true)), all_of(left.false, right.false))


def _calculated(sign: str, left: Node, right: Node) -> Node:
    return ERROR if left == ERROR or right == ERROR else arithmetic(sign, left, right)


def _unquoted(token: str) -> str:
    return token[1:-1].replace("\\" + token[0], token[0])


def _like(node: Node, written: str) -> Truth:
    """Return `node LIKE pattern`."""
    if node == ERROR:
        return ERROR
    pattern = re.sub(r"\\(?![%_])", r"\\\\", written)
    one = as_text(node)
    operand = operand_of(one)
    if isinstance(one, Known):
        operand = Call("||", (operand, Literal("")))
    assert isinstance(operand, Field | Call)
    escape = "\\" if "\\" in pattern else None
    return predicate(Like(operand, Literal(pattern), escape=escape), *guards_of(one))
