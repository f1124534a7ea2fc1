"""The WHERE language: text to tree.

A regular expression cuts the text into tokens and a recursive descent with the precedence NOT > AND > OR reads them
(the grammar stands in docs/subscriptions.md). Written by hand because it is on the path of every subscription: the
parser generators that were measured beside it are seven to fourteen times slower.

Rule 1: a token's position is not kept while parsing; a fault knows the number of its token, and only then are the
positions found. `parse(text, positions={})` does the same for the nodes of a tree that failed its type check.
Rule 2: nesting and length are bounded, so no text can exhaust the stack.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NoReturn

from rookery.errors import SubscriptionError
from rookery.model.expressions import (
    And,
    Between,
    Comparison,
    Constant,
    Expression,
    Field,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    Placeholder,
    Timestamp,
)
from rookery.model.instants import parse_instant

__all__ = ["MAXIMUM_DEPTH", "MAXIMUM_LENGTH", "parse", "tokens_of"]

#: Parentheses and NOTs inside one another. Spark stops at about 500 on its default stack; people write fewer than 10.
MAXIMUM_DEPTH = 100
#: Characters in one filter. A list of 20,000 short values fits; a megabyte of text is a mistake or an attack.
MAXIMUM_LENGTH = 262_144
#: A decimal exponent past this is no measurement (the largest double is 1.8e308).
_MAXIMUM_EXPONENT = 400

_TOKEN = re.compile(
    r"""'(?:[^']|'')*' | [^\W\d]\w* | 0[xX][0-9a-fA-F]+ | (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?
      | <= | >= | <> | != | %[0-9]+ | \S""",
    re.VERBOSE,
)
#: Cut a text into its tokens; what is no token is a token of one character, for the parser to refuse.
tokens_of = _TOKEN.findall

_OPERATORS = {"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_WORDS = ("AND", "OR", "NOT", "BETWEEN", "LIKE", "ESCAPE", "IN", "IS", "NULL", "TRUE", "FALSE")
#: The usual spellings of each keyword; any other mixture of cases is folded in `_keyword`.
_KEYWORDS = {spelling: word for word in _WORDS for spelling in (word, word.lower(), word.capitalize())}
_FOLDED = frozenset(_WORDS)
_LONGEST_KEYWORD = max(map(len, _WORDS))
#: Numbers are written with these; other scripts' digits are no part of the language.
_DIGITS = frozenset("0123456789")
_SURROGATE = re.compile("[\ud800-\udfff]")
_END = ""
_ARITHMETIC = "the language has no arithmetic: compare a field with a value"
_HINTS = {
    '"': "strings stand in single quotes: 'text'",
    "&": "write AND",
    "|": "write OR",
    **dict.fromkeys("+-*/", _ARITHMETIC),
}
_KEYWORD_HINTS = {"NULL": "NULL equals nothing: write IS NULL or IS NOT NULL"}


class _Fault(Exception):  # noqa: N818 - internal, it becomes a SubscriptionError
    """A fault at a token, before its position in the text is known."""

    def __init__(self, token: int, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.token, self.message, self.hint = token, message, hint


def parse(text: str, *, positions: dict[int, int] | None = None) -> Expression:
    """Parse a filter. An empty text is TRUE.

    `positions`, when given, is filled with the offset in `text` of each node, by the node's `id()`.
    """
    if len(text) > MAXIMUM_LENGTH:
        raise SubscriptionError(
            f"the filter has {len(text):,} characters, more than the {MAXIMUM_LENGTH:,} allowed",
            text=text,
            position=MAXIMUM_LENGTH,
            hint="split it into several subscriptions",
        )
    if not text.isascii() and (lone := _SURROGATE.search(text)):
        raise SubscriptionError(
            f"U+{ord(lone[0]):04X} is half a surrogate pair, which no UTF-8 text can hold",
            text=text,
            position=lone.start(),
        )
    tokens: list[str] = tokens_of(text)
    if not tokens:
        return Constant(True)
    tokens.append(_END)
    marks: dict[int, int] | None = None if positions is None else {}
    try:
        expression, index = _Parser(tokens, marks).disjunction(0, 0)
        if tokens[index] is not _END:
            _unexpected(tokens, index, "AND, OR or the end")
    except _Fault as fault:
        offset = _offsets(text)[fault.token]
        raise SubscriptionError(fault.message, text=text, position=offset, hint=fault.hint) from None
    if positions is not None and marks is not None:
        offsets = _offsets(text)
        positions.update({node: offsets[token] for node, token in marks.items()})
    return expression


def _offsets(text: str) -> list[int]:
    return [match.start() for match in _TOKEN.finditer(text)] + [len(text.rstrip())]


def _keyword(token: str) -> str | None:
    word = _KEYWORDS.get(token)
    if word is None and len(token) <= _LONGEST_KEYWORD:
        upper = token.upper()
        # ASCII only: the long s and the dotless i fold to S and I, and are no keyword's letters.
        return upper if upper in _FOLDED and token.isascii() else None
    return word


def _shown(token: str) -> str:
    if token is _END:
        return "the end"
    return repr(token) if len(token) <= 40 else repr(token[:37] + "…")


def _unexpected(tokens: list[str], index: int, expected: str) -> NoReturn:
    token = tokens[index]
    if token == "'":
        raise _Fault(index, "this string has no closing quote", "a quote inside a string is written twice: 'it''s'")
    hint = _KEYWORD_HINTS.get(_keyword(token) or "", _HINTS.get(token))
    raise _Fault(index, f"expected {expected}, found {_shown(token)}", hint)


class _Parser:
    """One text's tokens. Each method reads from a token on and returns its node and the next token's number."""

    __slots__ = ("marks", "tokens")

    def __init__(self, tokens: list[str], marks: dict[int, int] | None) -> None:
        self.tokens = tokens
        self.marks = marks

    def disjunction(self, index: int, depth: int) -> tuple[Expression, int]:
        tokens = self.tokens
        first, index = self.conjunction(index, depth)
        if _keyword(tokens[index]) != "OR":
            return first, index
        operands = [first]
        while _keyword(tokens[index]) == "OR":
            operand, index = self.conjunction(index + 1, depth)
            operands.append(operand)
        return Or(tuple(operands)), index

    def conjunction(self, index: int, depth: int) -> tuple[Expression, int]:
        tokens = self.tokens
        first, index = self.negation(index, depth)
        if _keyword(tokens[index]) != "AND":
            return first, index
        operands = [first]
        while _keyword(tokens[index]) == "AND":
            operand, index = self.negation(index + 1, depth)
            operands.append(operand)
        return And(tuple(operands)), index

    def negation(self, index: int, depth: int) -> tuple[Expression, int]:
        token = self.tokens[index]
        if token == "(":
            self.check_depth(index, depth)
            inner, after = self.disjunction(index + 1, depth + 1)
            if self.tokens[after] != ")":
                _unexpected(self.tokens, after, "')'")
            return inner, after + 1
        word = _keyword(token)
        if word is None:
            return self.predicate(index)
        if word == "NOT":
            self.check_depth(index, depth)
            operand, after = self.negation(index + 1, depth + 1)
            return Not(operand), after
        if word in ("TRUE", "FALSE"):
            if self.tokens[index + 1] in _OPERATORS:
                return self.mirrored(index)
            return Constant(word == "TRUE"), index + 1
        _unexpected(self.tokens, index, "a condition")

    def check_depth(self, index: int, depth: int) -> None:
        if depth >= MAXIMUM_DEPTH:
            raise _Fault(index, f"nested deeper than {MAXIMUM_DEPTH} levels", "remove parentheses, or split the filter")

    def predicate(self, index: int) -> tuple[Expression, int]:
        tokens = self.tokens
        token = tokens[index]
        if not (token[:1].isalpha() or token[:1] == "_") or self.starts_timestamp(index):
            return self.mirrored(index)
        field, after = self.field(index)
        operator = _OPERATORS.get(tokens[after])
        node: Expression
        if operator is not None:
            right, end = self.operand(after + 1)
            node = Comparison(operator, field, right)
        else:
            node, end = self.keyword_predicate(field, after)
        if self.marks is not None:
            self.marks[id(node)] = index
        return node, end

    def keyword_predicate(self, field: Field, index: int) -> tuple[Expression, int]:
        tokens = self.tokens
        word = _keyword(tokens[index])
        if word == "IS":
            negated = _keyword(tokens[index + 1]) == "NOT"
            end = index + 1 + negated
            if _keyword(tokens[end]) != "NULL":
                _unexpected(tokens, end, "NULL" if negated else "NULL or NOT NULL")
            return IsNull(field, negated), end + 1
        negated = word == "NOT"
        if negated:
            index += 1
            word = _keyword(tokens[index])
        if word == "BETWEEN":
            low, index = self.value(index + 1)
            if _keyword(tokens[index]) != "AND":
                _unexpected(tokens, index, "AND, as in BETWEEN low AND high")
            high, index = self.value(index + 1)
            return Between(field, low, high, negated), index
        if word == "LIKE":
            return self.like(field, index + 1, negated)
        if word == "IN":
            return self.membership(field, index + 1, negated)
        _unexpected(tokens, index, "BETWEEN, LIKE or IN" if negated else "a comparison after the field")

    def like(self, field: Field, index: int, negated: bool) -> tuple[Expression, int]:
        start = index
        pattern, index = self.value(index)
        if isinstance(pattern, Literal) and not isinstance(pattern.value, str):
            raise _Fault(start, "a LIKE pattern is a string", "quote it: LIKE 'abc%'")
        escape = None
        if _keyword(self.tokens[index]) == "ESCAPE":
            literal, after = self.value(index + 1)
            if not isinstance(literal, Literal) or not isinstance(literal.value, str) or len(literal.value) != 1:
                raise _Fault(index + 1, "ESCAPE takes a string of one character", "for example ESCAPE '!'")
            escape, index = literal.value, after
        return Like(field, pattern, escape, negated), index

    def membership(self, field: Field, index: int, negated: bool) -> tuple[Expression, int]:
        tokens = self.tokens
        if tokens[index] != "(":
            _unexpected(tokens, index, "'(' after IN")
        value, index = self.value(index + 1)
        values = [value]
        while tokens[index] == ",":
            value, index = self.value(index + 1)
            values.append(value)
        if tokens[index] != ")":
            _unexpected(tokens, index, "',' or ')'")
        return In(field, tuple(values), negated), index + 1

    def mirrored(self, index: int) -> tuple[Expression, int]:
        """Read `value relop field`, and turn it round."""
        tokens = self.tokens
        value, after = self.value(index, expected="a condition")
        operator = _OPERATORS.get(tokens[after])
        if operator is None:
            _unexpected(tokens, after, "a comparison after the value")
        name = tokens[after + 1]
        if not (name[:1].isalpha() or name[:1] == "_") or _keyword(name) or self.starts_timestamp(after + 1):
            _unexpected(tokens, after + 1, "a field: one side of a comparison must be a field")
        field, end = self.field(after + 1)
        node = Comparison(_MIRRORED[operator], field, value)
        if self.marks is not None:
            self.marks[id(node)] = index
            self.marks[id(field)] = after + 1
        return node, end

    def operand(self, index: int) -> tuple[Field | Literal | Placeholder, int]:
        token = self.tokens[index]
        start = token[:1]
        if (start.isalpha() or start == "_") and _keyword(token) is None and not self.starts_timestamp(index):
            return self.field(index)
        return self.value(index, expected="a value or a field")

    def starts_timestamp(self, index: int) -> bool:
        """TIMESTAMP is a keyword only before a string, so that a field may have that name."""
        token = self.tokens[index]
        return (
            len(token) == 9
            and token.upper() == "TIMESTAMP"
            and token.isascii()
            and len(self.tokens[index + 1]) > 1
            and self.tokens[index + 1][0] == "'"
        )

    def field(self, index: int) -> tuple[Field, int]:
        tokens = self.tokens
        name = tokens[index]
        if _keyword(name) is not None:
            _unexpected(tokens, index, "a field")
        after = index + 1
        token = tokens[after]
        if token != "." and token != "[":
            field = Field((name,))
        else:
            path: list[str | int] = [name]
            while True:
                if token == "[":
                    position = tokens[after + 1]
                    if not (position.isdecimal() and position.isascii()) or len(position) > 9:
                        _unexpected(tokens, after + 1, "an index: a whole number from 0 up")
                    if tokens[after + 2] != "]":
                        _unexpected(tokens, after + 2, "']'")
                    path.append(int(position))
                    after += 3
                elif token == ".":
                    step = tokens[after + 1]
                    if not (step[:1].isalpha() or step[:1] == "_"):
                        _unexpected(tokens, after + 1, "a name after '.'")
                    path.append(step)
                    after += 2
                else:
                    break
                token = tokens[after]
            field = Field(tuple(path))
        if self.marks is not None:
            self.marks[id(field)] = index
        return field, after

    def value(self, index: int, expected: str = "a value") -> tuple[Literal | Placeholder, int]:
        token = self.tokens[index]
        start = token[:1]
        node: Literal | Placeholder
        end = index + 1
        if start == "'" and len(token) > 1:
            node = Literal(token[1:-1].replace("''", "'"))
        elif start in _DIGITS or (start == "." and len(token) > 1):
            node = Literal(self.number(index, token))
        elif start in ("-", "+") and start:
            number = self.tokens[end]
            if not (number[:1] in _DIGITS or (number[:1] == "." and len(number) > 1)):
                _unexpected(self.tokens, end, f"a number after {start!r}")
            amount = self.number(end, number)
            # copy_negate, not minus: unary minus would round a Decimal to the context's 28 digits.
            if start == "-":
                amount = amount.copy_negate() if isinstance(amount, Decimal) else -amount
            node, end = Literal(amount), end + 1
        elif start == "%" and len(token) > 1:
            if len(token) > 3 or not token[1:].isascii():
                raise _Fault(index, f"there is no parameter {token}", "parameters are %0 to %99")
            node = Placeholder(int(token[1:]))
        elif (word := _keyword(token)) in ("TRUE", "FALSE"):
            node = Literal(word == "TRUE")
        elif self.starts_timestamp(index):
            node, end = self.timestamp(end), end + 1
        else:
            if start.isalpha() and word is None:
                raise _Fault(index, f"expected {expected}, found {_shown(token)}", f"quote a string: '{token[:40]}'")
            _unexpected(self.tokens, index, expected)
        if self.marks is not None:
            self.marks[id(node)] = index
        return node, end

    def timestamp(self, index: int) -> Literal:
        try:
            return Literal(Timestamp(parse_instant(self.tokens[index][1:-1])))
        except ValueError as error:
            raise _Fault(index, str(error), "for example TIMESTAMP '2026-05-01T12:00:00Z'") from None

    def number(self, index: int, token: str) -> int | Decimal:
        if token.isdecimal():
            if len(token) > _MAXIMUM_EXPONENT:
                raise _Fault(index, f"a number of {len(token)} digits is out of range")
            return int(token)
        if token[:2] in ("0x", "0X"):
            if len(token) > _MAXIMUM_EXPONENT:
                raise _Fault(index, f"a number of {len(token) - 2} digits is out of range")
            return int(token, 16)
        number = Decimal(token)
        if len(token) > 2 * _MAXIMUM_EXPONENT or (number and abs(number.adjusted()) > _MAXIMUM_EXPONENT):
            raise _Fault(index, f"the number {_shown(token)} is out of range")
        if not number:
            return Decimal("0.0")
        return number
