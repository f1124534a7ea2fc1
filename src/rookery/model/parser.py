"""The WHERE language: text to tree.

A regular expression cuts the text into tokens and a recursive descent with the precedence NOT > AND > OR reads them
(the grammar stands in docs/subscriptions.md). Written by hand because it is on the path of every subscription: the
parser generators that were measured beside it are seven to fourteen times slower.

Rule 1: a token's position is not kept while parsing; a fault knows the number of its token, and only then are the
positions found. `parse(text, positions={})` does the same for the nodes of a tree that failed its type check.
Rule 2: nesting and length are bounded, so no text can exhaust the stack.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, NoReturn

from rookery.errors import SubscriptionError
from rookery.model.expressions import (
    KEYWORDS,
    And,
    Between,
    Call,
    Comparison,
    Constant,
    Expression,
    Field,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Operand,
    Or,
    Placeholder,
    Timestamp,
)
from rookery.model.functions import FUNCTIONS
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
      | <=> | <= | >= | <> | != | == | \|\| | %[0-9]+ | "(?:[^"]|"")*" | `(?:[^`]|``)*`
      | --[^\n]* | /\*(?:[^*]|\*(?!/))*\*/ | \S""",
    re.VERBOSE,
)
_COMMENTS = ("--", "/*")


def tokens_of(text: str) -> list[str]:
    """Cut a text into its tokens; what is no token is a token of one character, for the parser to refuse."""
    tokens: list[str] = _TOKEN.findall(text)
    if "--" in text or "/*" in text:
        return [token for token in tokens if len(token) < 2 or token[:2] not in _COMMENTS]
    return tokens


#: What compares for equality without UNKNOWN.
_NULL_SAFE = "<=>"
_OPERATORS = {
    "=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", _NULL_SAFE: _NULL_SAFE,
}  # fmt: skip
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_DECIDE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
#: The usual spellings of each keyword; any other mixture of cases is folded in `_keyword`.
_KEYWORDS = {spelling: word for word in KEYWORDS for spelling in (word, word.lower(), word.capitalize())}
_FOLDED = KEYWORDS
_LONGEST_KEYWORD = max(map(len, KEYWORDS))
#: Words that are keywords only after an operand, so that a field may have such a name.
_PATTERN_WORDS = {"LIKE": "LIKE", "ILIKE": "ILIKE", "RLIKE": "RLIKE", "REGEXP": "RLIKE"}
_SUMS, _PRODUCTS = ("+", "-", "||"), ("*", "/", "%")
_ARITHMETIC = frozenset(_SUMS + _PRODUCTS)
_PLAIN_VALUE = frozenset("0123456789'")
#: Numbers are written with these; other scripts' digits are no part of the language.
_DIGITS = frozenset("0123456789")
_SURROGATE = re.compile("[\ud800-\udfff]")
_END = ""
_HINTS = {
    '"': "this name has no closing quote; strings stand in single quotes: 'text'",
    "`": "this name has no closing quote",
    "&": "write AND",
    "|": "write OR",
    "≤": "write <=",
    "≥": "write >=",
    "≠": "write <>",
    ";": "one filter is one condition, without a semicolon",
    **dict.fromkeys("\u2018\u2019\u201c\u201d", "a quote from a word processor: write ' before and after a string"),
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
        parser = _Parser(tokens, marks)
        found, index = parser.disjunction(0, 0)
        expression = parser.condition(found, 0, index)
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
    found = [match.start() for match in _TOKEN.finditer(text) if match[0][:2] not in _COMMENTS]
    return [*found, len(text.rstrip())]


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


def _contextual(token: str) -> str:
    """Return a word as it reads where an operator is expected."""
    return token.upper() if token.isascii() else token


def _starts_number(token: str) -> bool:
    return token[:1] in _DIGITS or (token[:1] == "." and len(token) > 1)


def _kind(value: Literal | Placeholder) -> type | None:
    """Return what kind of value a literal is, numbers being one."""
    if isinstance(value, Placeholder):
        return None
    return int if isinstance(value.value, Decimal) else type(value.value)


_Reader = Callable[[int, int], "tuple[Expression | Operand, int]"]


class _Parser:
    """One text's tokens. Each method reads from a token on and returns its node and the next token's number."""

    __slots__ = ("expecting", "marks", "tokens")

    def __init__(self, tokens: list[str], marks: dict[int, int] | None) -> None:
        self.tokens = tokens
        self.marks = marks
        #: What a fault at the next token says was expected there.
        self.expecting = "a condition"

    def disjunction(self, index: int, depth: int) -> tuple[Expression | Operand, int]:
        tokens = self.tokens
        start = index
        first, index = self.conjunction(index, depth)
        if _keyword(tokens[index]) != "OR":
            return first, index
        operands = [self.condition(first, start, index)]
        while _keyword(tokens[index]) == "OR":
            start = index + 1
            operand, index = self.conjunction(start, depth)
            operands.append(self.condition(operand, start, index))
        return Or(tuple(operands)), index

    def conjunction(self, index: int, depth: int) -> tuple[Expression | Operand, int]:
        tokens = self.tokens
        start = index
        first, index = self.negation(index, depth)
        if _keyword(tokens[index]) != "AND":
            return first, index
        operands = [self.condition(first, start, index)]
        while _keyword(tokens[index]) == "AND":
            start = index + 1
            operand, index = self.negation(start, depth)
            operands.append(self.condition(operand, start, index))
        return And(tuple(operands)), index

    def negation(self, index: int, depth: int) -> tuple[Expression | Operand, int]:
        if _keyword(self.tokens[index]) == "NOT":
            self.check_depth(index, depth)
            operand, after = self.negation(index + 1, depth + 1)
            return Not(self.condition(operand, index + 1, after)), after
        return self.predicate(index, depth)

    def condition(self, node: Expression | Operand, index: int, after: int) -> Expression:
        """Return what was read from token `index` to `after` as a condition: a boolean by itself is one."""
        if isinstance(node, Field | Call):
            token = self.tokens[after]
            if token is not _END and token != ")" and _keyword(token) not in ("AND", "OR"):
                _unexpected(self.tokens, after, "a comparison after the field")
            truth: Expression = Comparison("=", node, Literal(True))
            if self.marks is not None:
                self.marks[id(truth)] = self.marks[id(truth.right)] = index  # type: ignore[union-attr]
            return truth
        if isinstance(node, Literal) and isinstance(node.value, bool):
            return Constant(node.value)
        if isinstance(node, Literal | Placeholder):
            _unexpected(self.tokens, after, "a comparison after the value")
        return node

    def check_depth(self, index: int, depth: int) -> None:
        if depth >= MAXIMUM_DEPTH:
            raise _Fault(index, f"nested deeper than {MAXIMUM_DEPTH} levels", "remove parentheses, or split the filter")

    def predicate(self, index: int, depth: int) -> tuple[Expression | Operand, int]:
        """Read a comparison or the like; what stands alone is returned as it is."""
        tokens = self.tokens
        token = tokens[index]
        left: Expression | Operand
        if tokens[index + 1 : index + 2] and tokens[index + 1] in _OPERATORS and self.is_name(token):
            left, after = self.field(index)  # the usual case, without the way through the operands
        else:
            self.expecting = "a condition"
            left, after = self.sum(index, depth)
        sign = _OPERATORS.get(tokens[after])
        node: Expression
        if sign is not None:
            if sign == _NULL_SAFE and _keyword(tokens[after + 1]) == "NULL":
                node, end = IsNull(self.no_value(left, index)), after + 2
            else:
                right: Expression | Operand
                if tokens[after + 1][:1] in _PLAIN_VALUE and tokens[after + 2] not in _ARITHMETIC:
                    right, end = self.value(after + 1)
                else:
                    self.expecting = "a value or a field"
                    right, end = self.sum(after + 1, depth)
                node = self.comparison(
                    sign, self.operand(left, index), self.operand(right, after + 1), index, after + 1
                )
        else:
            word = _keyword(tokens[after])
            if word is None:
                if _contextual(tokens[after]) not in _PATTERN_WORDS:
                    return left, after
            elif word in ("AND", "OR", "ESCAPE", "NULL", "TRUE", "FALSE"):
                return left, after
            node, end = self.keyword_predicate(left, index, after, depth)
        if self.marks is not None:
            self.marks.setdefault(id(node), index)
        return node, end

    def is_name(self, token: str) -> bool:
        return (token[:1].isalpha() or token[:1] == "_") and _keyword(token) is None

    def operand(self, node: Expression | Operand, index: int) -> Operand:
        """Refuse a condition where a value is needed."""
        if isinstance(node, Field | Literal | Placeholder | Call):
            return node
        raise _Fault(index, "a condition stands where a value is needed", "compare values; join conditions by AND, OR")

    def no_value(self, node: Expression | Operand, index: int) -> Field | Call:
        """Refuse a literal where a field is needed."""
        node = self.operand(node, index)
        if isinstance(node, Field | Call):
            return node
        raise _Fault(index, "a field is needed here, and this is a value")

    def comparison(self, sign: str, left: Operand, right: Operand, at: int, right_at: int) -> Expression:
        """Return a comparison with the literal on the right; of two literals what it says."""
        if isinstance(left, Literal | Placeholder):
            if isinstance(right, Literal | Placeholder):
                return self.folded(sign, left, right, right_at)
            left, right = right, left
            sign = _MIRRORED.get(sign, sign)
        if sign != _NULL_SAFE:
            node: Expression = Comparison(sign, left, right)
        elif isinstance(right, Literal | Placeholder):
            node = And((Comparison("=", left, right), IsNull(left, True)))
        else:
            equal = And((Comparison("=", left, right), IsNull(left, True), IsNull(right, True)))
            node = Or((equal, And((IsNull(left), IsNull(right)))))
        if self.marks is not None:
            parts = [node, *(part for part in getattr(node, "operands", ()))]
            self.marks.update(
                {id(one): at for one in (*parts, *(x for p in parts for x in getattr(p, "operands", ())))}
            )
        return node

    def folded(self, sign: str, left: Literal | Placeholder, right: Literal | Placeholder, at: int) -> Expression:
        """Return what a comparison of two literals says."""
        kinds = [_kind(one) for one in (left, right)]
        if isinstance(left, Placeholder) or isinstance(right, Placeholder) or kinds[0] != kinds[1]:
            raise _Fault(at, "expected a field: one side of a comparison must be a field")
        return Constant(_DECIDE["=" if sign == _NULL_SAFE else sign](left.value, right.value))

    def keyword_predicate(
        self, left: Expression | Operand, start: int, index: int, depth: int
    ) -> tuple[Expression, int]:
        tokens = self.tokens
        word = _keyword(tokens[index])
        if word == "IS":
            return self.is_predicate(left, start, index + 1)
        negated = word == "NOT"
        if negated:
            index += 1
        word = _contextual(tokens[index])
        if word == "BETWEEN":
            value = self.operand(left, start)
            self.expecting = "a value"
            low, after = self.sum(index + 1, depth)
            if _keyword(tokens[after]) != "AND":
                _unexpected(tokens, after, "AND, as in BETWEEN low AND high")
            self.expecting = "a value"
            high, end = self.sum(after + 1, depth)
            bottom, top = self.operand(low, index + 1), self.operand(high, after + 1)
            if (
                isinstance(value, Field | Call)
                and isinstance(bottom, Literal | Placeholder)
                and isinstance(top, Literal | Placeholder)
            ):
                return Between(value, bottom, top, negated), end
            both = And(
                (
                    self.comparison(">=", value, bottom, start, index + 1),
                    self.comparison("<=", value, top, start, after + 1),
                )
            )
            return (Not(both) if negated else both), end
        if word in _PATTERN_WORDS:
            return self.like(self.no_value(left, start), index + 1, negated, _PATTERN_WORDS[word])
        if word == "IN":
            return self.membership(self.operand(left, start), start, index + 1, negated, depth)
        _unexpected(tokens, index, "BETWEEN, LIKE or IN" if negated else "a comparison after the field")

    def is_predicate(self, left: Expression | Operand, start: int, index: int) -> tuple[Expression, int]:
        """Read what follows IS."""
        tokens = self.tokens
        field = self.no_value(left, start)
        negated = _keyword(tokens[index]) == "NOT"
        end = index + negated
        word = _keyword(tokens[end])
        if word == "NULL":
            return IsNull(field, negated), end + 1
        if word not in ("TRUE", "FALSE"):
            _unexpected(tokens, end, "NULL, TRUE or FALSE" if negated else "NULL, NOT NULL, TRUE or FALSE")
        truth = self.comparison(_NULL_SAFE, field, Literal(word == "TRUE"), start, end)
        return (Not(truth) if negated else truth), end + 1

    def like(self, field: Field | Call, index: int, negated: bool, word: str) -> tuple[Expression, int]:
        start = index
        pattern, index = self.value(index)
        if isinstance(pattern, Literal) and not isinstance(pattern.value, str):
            raise _Fault(start, f"a {word} pattern is a string", f"quote it: {word} 'abc%'")
        escape = None
        if word != "RLIKE" and _keyword(self.tokens[index]) == "ESCAPE":
            literal, after = self.value(index + 1)
            if not isinstance(literal, Literal) or not isinstance(literal.value, str) or len(literal.value) != 1:
                raise _Fault(index + 1, "ESCAPE takes a string of one character", "for example ESCAPE '!'")
            escape, index = literal.value, after
        return Like(field, pattern, escape, negated, word), index

    def membership(self, left: Operand, start: int, index: int, negated: bool, depth: int) -> tuple[Expression, int]:
        tokens = self.tokens
        if tokens[index] != "(":
            _unexpected(tokens, index, "'(' after IN")
        places, values = [], []
        while True:
            index += 1
            self.expecting = "a value"
            value, after = self.sum(index, depth)
            places.append(index)
            values.append(self.operand(value, index))
            index = after
            if tokens[index] != ",":
                break
        if tokens[index] != ")":
            _unexpected(tokens, index, "',' or ')'")
        literals = tuple(one for one in values if isinstance(one, Literal | Placeholder))
        if isinstance(left, Field | Call) and len(literals) == len(values):
            return In(left, literals, negated), index + 1
        equal = [self.comparison("=", left, one, start, at) for one, at in zip(values, places, strict=True)]
        whole = equal[0] if len(equal) == 1 else Or(tuple(equal))
        return (Not(whole) if negated else whole), index + 1

    # ---- operands ------------------------------------------------------------------------------------------------

    def sum(self, index: int, depth: int) -> tuple[Expression | Operand, int]:
        """Read operands joined by + - ||."""
        left, after = self.product(index, depth)
        return (
            self.chain(left, index, after, depth, _SUMS, self.product) if self.tokens[after] in _SUMS else (left, after)
        )

    def product(self, index: int, depth: int) -> tuple[Expression | Operand, int]:
        """Read operands joined by * / %."""
        left, after = self.factor(index, depth)
        if self.tokens[after] in _PRODUCTS:
            return self.chain(left, index, after, depth, _PRODUCTS, self.factor)
        return left, after

    def chain(
        self, left: Expression | Operand, start: int, after: int, depth: int, signs: tuple[str, ...], read: _Reader
    ) -> tuple[Operand, int]:
        node = self.operand(left, start)
        count = 0
        while self.tokens[after] in signs:
            count += 1
            if count + depth >= MAXIMUM_DEPTH:
                raise _Fault(after, f"more than {MAXIMUM_DEPTH} operators in one expression", "split the filter")
            sign, place = self.tokens[after], after + 1
            self.expecting = "a value or a field"
            right, after = read(place, depth)
            node = Call(sign, (node, self.operand(right, place)))
            if self.marks is not None:
                self.marks[id(node)] = start
        return node, after

    def factor(self, index: int, depth: int) -> tuple[Expression | Operand, int]:
        tokens = self.tokens
        token = tokens[index]
        start = token[:1]
        if start.isalpha() or start == "_":
            if _keyword(token) is not None or self.starts_timestamp(index):
                return self.value(index, expected=self.expecting)
            return self.call(index, depth) if tokens[index + 1] == "(" else self.field(index)
        if start in ('"', "`") and len(token) > 1:
            return self.field(index)
        if token == "(":
            self.check_depth(index, depth)
            inner, after = self.disjunction(index + 1, depth + 1)
            if tokens[after] != ")":
                _unexpected(tokens, after, "')'")
            return inner, after + 1
        if start in ("-", "+") and start and not _starts_number(tokens[index + 1]):
            self.check_depth(index, depth)
            inner, after = self.factor(index + 1, depth + 1)
            negative = self.no_value(inner, index + 1)
            return (Call("neg", (negative,)) if start == "-" else negative), after
        return self.value(index, expected=self.expecting)

    def call(self, index: int, depth: int) -> tuple[Expression | Operand, int]:
        """Read a function and its arguments."""
        tokens = self.tokens
        name = tokens[index].lower()
        if name not in FUNCTIONS:
            close = get_close_matches(name, FUNCTIONS, n=1)
            raise _Fault(
                index,
                f"there is no function {_shown(tokens[index])}",
                f"did you mean {close[0]}?" if close else f"there are {', '.join(sorted(FUNCTIONS))}",
            )
        self.check_depth(index, depth)
        arguments: list[Operand] = []
        after = index + 1
        while tokens[after] != ")" or not arguments:
            place = after + 1
            self.expecting = "a value or a field"
            argument, after = self.sum(place, depth + 1)
            arguments.append(self.operand(argument, place))
            if tokens[after] not in (",", ")"):
                _unexpected(tokens, after, "',' or ')'")
        least, most = FUNCTIONS[name]
        if not least <= len(arguments) <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            raise _Fault(index, f"{name} takes {wanted} arguments, and this has {len(arguments)}")
        node = self.as_pattern(name, arguments) or Call(name, tuple(arguments))
        if self.marks is not None:
            self.marks[id(node)] = index
        return node, after + 1

    def as_pattern(self, name: str, arguments: list[Operand]) -> Expression | None:
        """Return `contains(field, 'text')` and the like as the LIKE that they are."""
        around = {"contains": "%{}%", "starts_with": "{}%", "ends_with": "%{}"}.get(name)
        if around is None or not isinstance(arguments[0], Field | Call):
            return None
        literal = arguments[1]
        if not isinstance(literal, Literal) or not isinstance(literal.value, str):
            return None
        text = re.sub(r"[!%_]", r"!\g<0>", literal.value)
        return Like(arguments[0], Literal(around.format(text)), "!")

    def starts_timestamp(self, index: int) -> bool:
        """TIMESTAMP and DATE are keywords only before a string, so that a field may have that name."""
        token = self.tokens[index]
        return (
            (len(token) == 9 or len(token) == 4)
            and token.upper() in ("TIMESTAMP", "DATE")
            and token.isascii()
            and len(self.tokens[index + 1]) > 1
            and self.tokens[index + 1][0] == "'"
        )

    def field(self, index: int) -> tuple[Field, int]:
        tokens = self.tokens
        name = self.name(index, "a field")
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
                    path.append(self.name(after + 1, "a name after '.'", any_word=True))
                    after += 2
                else:
                    break
                token = tokens[after]
            field = Field(tuple(path))
        if self.marks is not None:
            self.marks[id(field)] = index
        return field, after

    def name(self, index: int, expected: str, *, any_word: bool = False) -> str:
        """Read a name, perhaps in quotes."""
        token = self.tokens[index]
        if token[:1] in ('"', "`") and len(token) > 2:
            return token[1:-1].replace(token[0] * 2, token[0])
        if not (token[:1].isalpha() or token[:1] == "_") or not (any_word or _keyword(token) is None):
            _unexpected(self.tokens, index, expected)
        return token

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
            node, end = self.timestamp(end, date=len(token) == 4), end + 1
        else:
            if start.isalpha() and word is None:
                raise _Fault(index, f"expected {expected}, found {_shown(token)}", f"quote a string: '{token[:40]}'")
            _unexpected(self.tokens, index, expected)
        if self.marks is not None:
            self.marks[id(node)] = index
        return node, end

    def timestamp(self, index: int, *, date: bool) -> Literal:
        if date and len(self.tokens[index]) != len("'2026-05-01'"):
            raise _Fault(index, f"{self.tokens[index]} is no date", "for example DATE '2026-05-01'")
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
