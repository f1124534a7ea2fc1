"""The WHERE language: text to tree.

A recursive descent with the precedence NOT > AND > OR reads the tokens of a text (`tokens.py`; the grammar stands in
docs/subscriptions.md). Written by hand because it is on the path of every subscription: the parser generators that were
measured beside it are seven to fourteen times slower.

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
from typing import Any

from rookery.errors import SubscriptionError
from rookery.model.expressions import (
    EACH,
    ITEM,
    NOW_PATH,
    SIZE,
    And,
    AnyElement,
    Between,
    Call,
    Comparison,
    Constant,
    Expression,
    Field,
    In,
    InCidr,
    IsNull,
    Like,
    Literal,
    Not,
    Operand,
    Or,
    Placeholder,
    fields_of,
)
from rookery.model.functions import FUNCTIONS
from rookery.model.literals import interval, number, starts_interval, starts_timestamp, timestamp
from rookery.model.quantifiers import asked_of_elements, of_variable
from rookery.model.tokens import (
    DIGITS,
    END,
    TokenFault,
    contextual,
    keyword,
    length_without_lists,
    numbering,
    offsets_of,
    shown,
    starts_number,
    tokens_of,
    unexpected,
)

__all__ = ["MAXIMUM_DEPTH", "MAXIMUM_LENGTH", "parse"]

#: Parentheses and NOTs inside one another. Spark stops at about 500 on its default stack; people write fewer than 10.
MAXIMUM_DEPTH = 100
#: Characters in one filter, its lists of literals apart: a megabyte of conditions is a mistake or an attack.
MAXIMUM_LENGTH = 262_144
#: Characters in one filter, lists and all. A list of 100,000 values of 30 characters fits.
MAXIMUM_LENGTH_WITH_LISTS = 4_194_304
#: What compares for equality without UNKNOWN.
_NULL_SAFE = "<=>"
_OPERATORS = {
    "=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", _NULL_SAFE: _NULL_SAFE,
}  # fmt: skip
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_DECIDE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
#: Words that are keywords only after an operand, so that a field may have such a name.
_PATTERN_WORDS = {"LIKE": "LIKE", "ILIKE": "ILIKE", "RLIKE": "RLIKE", "REGEXP": "RLIKE"}
_SUMS, _PRODUCTS = ("+", "-", "||"), ("*", "/", "%")
_ARITHMETIC = frozenset(_SUMS + _PRODUCTS)
#: What functions of two texts are as patterns.
_AROUND = {"contains": "%{}%", "starts_with": "{}%", "ends_with": "%{}"}
_PLAIN_VALUE = frozenset("0123456789'")
_SURROGATE = re.compile("[\ud800-\udfff]")
_CIDR = "CIDR"
#: Other names of functions, which Spark has.
_ALIASES = {
    "startswith": "starts_with", "endswith": "ends_with", "substr": "substring", "ceiling": "ceil",
    "char_length": "length", "lcase": "lower", "ucase": "upper",
}  # fmt: skip
#: What takes a list (or, size, a map), and not values.
LIST_FUNCTIONS = ("any", "some", "exists", "array_contains", "size", "cardinality", "array_size")
#: What the wall time of a batch is called.
_NOW = ("now", "current_timestamp")


def parse(text: str, *, positions: dict[int, int] | None = None) -> Expression:
    """Parse a filter. An empty text is TRUE.

    `positions`, when given, is filled with the offset in `text` of each node, by the node's `id()`.
    """
    if len(text) > MAXIMUM_LENGTH_WITH_LISTS:
        raise _too_long(text, len(text), MAXIMUM_LENGTH_WITH_LISTS)
    if not text.isascii() and (lone := _SURROGATE.search(text)):
        raise SubscriptionError(
            f"U+{ord(lone[0]):04X} is half a surrogate pair, which no UTF-8 text can hold",
            text=text,
            position=lone.start(),
        )
    tokens: list[str] = tokens_of(text)
    if len(text) > MAXIMUM_LENGTH and (rest := length_without_lists(tokens)) > MAXIMUM_LENGTH:
        raise _too_long(text, rest, MAXIMUM_LENGTH)
    if not tokens:
        return Constant(True)
    tokens.append(END)
    marks: dict[int, int] | None = None if positions is None else {}
    try:
        parser = _Parser(tokens, marks)
        found, index = parser.disjunction(0, 0)
        expression = parser.condition(found, 0, index)
        if tokens[index] is not END:
            raise unexpected(tokens, index, "AND, OR or the end")
    except TokenFault as fault:
        offset = offsets_of(text)[fault.token]
        raise SubscriptionError(fault.message, text=text, position=offset, hint=fault.hint) from None
    if positions is not None and marks is not None:
        offsets = offsets_of(text)
        positions.update({node: offsets[token] for node, token in marks.items()})
    return expression


def _too_long(text: str, length: int, allowed: int) -> SubscriptionError:
    apart = "" if allowed == MAXIMUM_LENGTH_WITH_LISTS else " apart from its lists of values"
    return SubscriptionError(
        f"the filter has {length:,} characters{apart}, more than the {allowed:,} allowed",
        text=text,
        position=allowed,
        hint="split it into several subscriptions",
    )


def _kind(value: Literal | Placeholder) -> type | None:
    """Return what kind of value a literal is, numbers being one."""
    if isinstance(value, Placeholder):
        return None
    return int if isinstance(value.value, Decimal) else type(value.value)


_Reader = Callable[[int, int], "tuple[Expression | Operand, int]"]


class _Parser:
    """One text's tokens. Each method reads from a token on and returns its node and the next token's number."""

    __slots__ = ("_names", "any_items", "expecting", "marks", "tokens")

    def __init__(self, tokens: list[str], marks: dict[int, int] | None) -> None:
        self.tokens = tokens
        self.marks = marks
        #: What a fault at the next token says was expected there.
        self.expecting = "a condition"
        self._names: dict[str, int] | None = None
        #: Whether the text has an ANY(list), which the predicate around it is then asked of.
        self.any_items = False

    def named(self, name: str) -> Placeholder:
        """Return a named parameter: the names follow the numbers, in alphabetical order."""
        if self._names is None:
            first, names = numbering(self.tokens)
            self._names = {one: first + place for place, one in enumerate(names)}
        return Placeholder(self._names[name], name)

    def disjunction(self, index: int, depth: int) -> tuple[Expression | Operand, int]:
        tokens = self.tokens
        start = index
        first, index = self.conjunction(index, depth)
        if keyword(tokens[index]) != "OR":
            return first, index
        operands = [self.condition(first, start, index)]
        while keyword(tokens[index]) == "OR":
            start = index + 1
            operand, index = self.conjunction(start, depth)
            operands.append(self.condition(operand, start, index))
        return Or(tuple(operands)), index

    def conjunction(self, index: int, depth: int) -> tuple[Expression | Operand, int]:
        tokens = self.tokens
        start = index
        first, index = self.negation(index, depth)
        if keyword(tokens[index]) != "AND":
            return first, index
        operands = [self.condition(first, start, index)]
        while keyword(tokens[index]) == "AND":
            start = index + 1
            operand, index = self.negation(start, depth)
            operands.append(self.condition(operand, start, index))
        return And(tuple(operands)), index

    def negation(self, index: int, depth: int) -> tuple[Expression | Operand, int]:
        if keyword(self.tokens[index]) == "NOT":
            self.check_depth(index, depth)
            operand, after = self.negation(index + 1, depth + 1)
            return Not(self.condition(operand, index + 1, after)), after
        return self.predicate(index, depth)

    def condition(self, node: Expression | Operand, index: int, after: int) -> Expression:
        """Return what was read from token `index` to `after` as a condition: a boolean by itself is one."""
        if isinstance(node, Field | Call):
            token = self.tokens[after]
            if token is not END and token != ")" and keyword(token) not in ("AND", "OR"):
                raise unexpected(self.tokens, after, "a comparison after the field")
            truth: Expression = self.as_pattern(node) or Comparison("=", node, Literal(True))
            if self.marks is not None:
                self.marks[id(truth)] = index
                self.marks[id(truth.right if isinstance(truth, Comparison) else truth.pattern)] = index  # type: ignore[union-attr]
            return asked_of_elements(truth, index, self.marks) if self.any_items else truth
        if isinstance(node, Literal) and isinstance(node.value, bool):
            return Constant(node.value)
        if isinstance(node, Literal | Placeholder):
            raise unexpected(self.tokens, after, "a comparison after the value")
        return node

    def check_depth(self, index: int, depth: int) -> None:
        if depth >= MAXIMUM_DEPTH:
            raise TokenFault(
                index, f"nested deeper than {MAXIMUM_DEPTH} levels", "remove parentheses, or split the filter"
            )

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
            if sign == _NULL_SAFE and keyword(tokens[after + 1]) == "NULL":
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
            word = keyword(tokens[after])
            if word is None:
                if contextual(tokens[after]) not in _PATTERN_WORDS:
                    return left, after
            elif word in ("AND", "OR", "ESCAPE", "NULL", "TRUE", "FALSE"):
                return left, after
            node, end = self.keyword_predicate(left, index, after, depth)
        if self.any_items:
            node = asked_of_elements(node, index, self.marks)
        if self.marks is not None:
            self.marks.setdefault(id(node), index)
        return node, end

    def is_name(self, token: str) -> bool:
        return (token[:1].isalpha() or token[:1] == "_") and keyword(token) is None

    def operand(self, node: Expression | Operand, index: int) -> Operand:
        """Refuse a condition where a value is needed."""
        if isinstance(node, Field | Literal | Placeholder | Call):
            return node
        raise TokenFault(
            index, "a condition stands where a value is needed", "compare values; join conditions by AND, OR"
        )

    def no_value(self, node: Expression | Operand, index: int) -> Field | Call:
        """Refuse a literal where a field is needed."""
        node = self.operand(node, index)
        if isinstance(node, Field | Call):
            return node
        raise TokenFault(index, "a field is needed here, and this is a value")

    def comparison(self, sign: str, left: Operand, right: Operand, at: int, right_at: int) -> Expression:
        """Return a comparison with the literal on the right; of two literals what it says."""
        if isinstance(left, Literal | Placeholder):
            if isinstance(right, Literal | Placeholder):
                return self.folded(sign, left, right, right_at)
            left, right = right, left
            sign = _MIRRORED.get(sign, sign)
        elif isinstance(left, Call) and isinstance(right, Field | Call) and not fields_of(left):
            left, right = right, left  # an expression of literals alone is a value
            sign = _MIRRORED.get(sign, sign)
        if sign != _NULL_SAFE:
            node: Expression = Comparison(sign, left, right)
        elif isinstance(right, Literal | Placeholder) or not fields_of(right):
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
            raise TokenFault(at, "expected a field: one side of a comparison must be a field")
        return Constant(_DECIDE["=" if sign == _NULL_SAFE else sign](left.value, right.value))

    def keyword_predicate(
        self, left: Expression | Operand, start: int, index: int, depth: int
    ) -> tuple[Expression, int]:
        tokens = self.tokens
        word = keyword(tokens[index])
        if word == "IS":
            return self.is_predicate(left, start, index + 1)
        negated = word == "NOT"
        if negated:
            index += 1
        word = contextual(tokens[index])
        if word == "BETWEEN":
            value = self.operand(left, start)
            self.expecting = "a value"
            low, after = self.sum(index + 1, depth)
            if keyword(tokens[after]) != "AND":
                raise unexpected(tokens, after, "AND, as in BETWEEN low AND high")
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
            subject = self.operand(left, start)
            if isinstance(subject, Literal) and isinstance(subject.value, str):
                subject = Call("coalesce", (subject,))  # a text that is no field is computed, and the same for all
            return self.like(self.no_value(subject, start), index + 1, negated, _PATTERN_WORDS[word])
        if word == "IN":
            return self.membership(self.operand(left, start), start, index + 1, negated, depth)
        raise unexpected(tokens, index, "BETWEEN, LIKE or IN" if negated else "a comparison after the field")

    def is_predicate(self, left: Expression | Operand, start: int, index: int) -> tuple[Expression, int]:
        """Read what follows IS."""
        tokens = self.tokens
        field = self.no_value(left, start)
        negated = keyword(tokens[index]) == "NOT"
        end = index + negated
        word = keyword(tokens[end])
        if word == "NULL":
            return IsNull(field, negated), end + 1
        if word not in ("TRUE", "FALSE"):
            raise unexpected(tokens, end, "NULL, TRUE or FALSE" if negated else "NULL, NOT NULL, TRUE or FALSE")
        truth = self.comparison(_NULL_SAFE, field, Literal(word == "TRUE"), start, end)
        return (Not(truth) if negated else truth), end + 1

    def like(self, field: Field | Call, index: int, negated: bool, word: str) -> tuple[Expression, int]:
        start = index
        pattern, index = self.value(index)
        if isinstance(pattern, Literal) and not isinstance(pattern.value, str):
            raise TokenFault(start, f"a {word} pattern is a string", f"quote it: {word} 'abc%'")
        escape = None
        if word != "RLIKE" and keyword(self.tokens[index]) == "ESCAPE":
            literal, after = self.value(index + 1)
            if not isinstance(literal, Literal) or not isinstance(literal.value, str) or len(literal.value) != 1:
                raise TokenFault(index + 1, "ESCAPE takes a string of one character", "for example ESCAPE '!'")
            escape, index = literal.value, after
        return Like(field, pattern, escape, negated, word), index

    def membership(self, left: Operand, start: int, index: int, negated: bool, depth: int) -> tuple[Expression, int]:
        tokens = self.tokens
        if tokens[index] != "(":
            if contextual(tokens[index]) == _CIDR:
                return self.networks(self.no_value(left, start), index + 1, negated)
            if tokens[index][:1] in ("%", ":") and len(tokens[index]) > 1:
                listed, after = self.value(index)
                assert isinstance(listed, Placeholder)
                return In(self.no_value(left, start), listed, negated), after
            raise unexpected(tokens, index, "'(' after IN")
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
            raise unexpected(tokens, index, "',' or ')'")
        literals = tuple(one for one in values if isinstance(one, Literal | Placeholder))
        if isinstance(left, Field | Call) and len(literals) == len(values):
            return In(left, literals, negated), index + 1
        equal = [self.comparison("=", left, one, start, at) for one, at in zip(values, places, strict=True)]
        whole = equal[0] if len(equal) == 1 else Or(tuple(equal))
        return (Not(whole) if negated else whole), index + 1

    def networks(self, field: Field | Call, index: int, negated: bool) -> tuple[Expression, int]:
        """Read what follows IN CIDR: a network, or several in parentheses."""
        tokens = self.tokens
        several = tokens[index] == "("
        found = []
        while True:
            index += several
            network, after = self.value(index, expected="a network: '10.0.0.0/8'")
            if isinstance(network, Literal) and not isinstance(network.value, str):
                raise TokenFault(index, "a network is a string", "for example IN CIDR '10.0.0.0/8'")
            found.append(network)
            index = after
            if not several or tokens[index] != ",":
                break
        if several and tokens[index] != ")":
            raise unexpected(tokens, index, "',' or ')'")
        return InCidr(field, tuple(found), negated), index + several

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
                raise TokenFault(after, f"more than {MAXIMUM_DEPTH} operators in one expression", "split the filter")
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
            if keyword(token) is not None or starts_timestamp(tokens, index) or starts_interval(tokens, index):
                return self.value(index, expected=self.expecting)
            if tokens[index + 1] == "(":
                lists = token.lower() in LIST_FUNCTIONS
                return self.list_function(index, depth) if lists else self.call(index, depth)
            return self.field(index)
        if start in ('"', "`") and len(token) > 1:
            return self.field(index)
        if token == "(":
            self.check_depth(index, depth)
            inner, after = self.disjunction(index + 1, depth + 1)
            if tokens[after] != ")":
                raise unexpected(tokens, after, "')'")
            return inner, after + 1
        if start in ("-", "+") and start and not starts_number(tokens[index + 1]):
            self.check_depth(index, depth)
            inner, after = self.factor(index + 1, depth + 1)
            if isinstance(inner, Literal) and _kind(inner) is int and isinstance(inner.value, int | Decimal):
                return Literal(-inner.value if start == "-" else inner.value), after
            negative = self.no_value(inner, index + 1)
            return (Call("neg", (negative,)) if start == "-" else negative), after
        return self.value(index, expected=self.expecting)

    def list_function(self, index: int, depth: int) -> tuple[Expression | Operand, int]:
        """Read ANY(list[, condition]), exists(list, x -> condition), array_contains(list, value) or size(list)."""
        tokens, word = self.tokens, self.tokens[index].lower()
        self.check_depth(index, depth)
        field, after = self.field(index + 2)
        node: Expression | Operand
        if word in ("size", "cardinality", "array_size"):
            node = Field((*field.path, SIZE))
        elif tokens[after] == ")" and word in ("any", "some"):
            self.any_items = True
            node = Field((*field.path, EACH))
        else:
            if tokens[after] != ",":
                raise unexpected(tokens, after, "',' or ')'" if word in ("any", "some") else "','")
            place = after + 1
            if word == "array_contains":
                self.expecting = "a value"
                value, after = self.sum(place, depth + 1)
                inner: Expression = self.comparison("=", Field((ITEM,)), self.operand(value, place), place, place)
            else:
                variable = None
                if tokens[place + 1 : place + 3] == ["-", ">"]:
                    variable, place = self.name(place, "a name for the element"), place + 3
                elif word == "exists":
                    raise unexpected(tokens, place + 1, "->, as in exists(list, x -> x > 5)")
                self.expecting = "a condition"
                found, after = self.disjunction(place, depth + 1)
                inner = self.condition(found, place, after)
                if variable is not None:
                    inner = of_variable(inner, variable, place, self.marks)
            node = AnyElement(field.path, inner)
        if tokens[after] != ")":
            raise unexpected(tokens, after, "')'")
        if self.marks is not None:
            self.marks[id(node)] = index
        return node, after + 1

    def call(self, index: int, depth: int) -> tuple[Expression | Operand, int]:
        """Read a function and its arguments."""
        tokens = self.tokens
        name = _ALIASES.get(tokens[index].lower(), tokens[index].lower())
        if name in _NOW and tokens[index + 2] == ")":
            field = Field(NOW_PATH)
            if self.marks is not None:
                self.marks[id(field)] = index
            return field, index + 3
        if name not in FUNCTIONS:
            close = get_close_matches(name, [*FUNCTIONS, *LIST_FUNCTIONS, "now"], n=1)
            raise TokenFault(
                index,
                f"there is no function {shown(tokens[index])}",
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
                raise unexpected(tokens, after, "',' or ')'")
        least, most = FUNCTIONS[name]
        if not least <= len(arguments) <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            raise TokenFault(index, f"{name} takes {wanted} arguments, and this has {len(arguments)}")
        node = Call(name, tuple(arguments))
        if self.marks is not None:
            self.marks[id(node)] = index
        return node, after + 1

    def as_pattern(self, node: Field | Call) -> Expression | None:
        """Return `contains(field, 'text')` and the like, standing as conditions, as the LIKE that they are."""
        around = _AROUND.get(node.name) if isinstance(node, Call) else None
        if around is None or not isinstance(node, Call) or not isinstance(node.arguments[0], Field | Call):
            return None
        literal = node.arguments[1]
        if not isinstance(literal, Literal) or not isinstance(literal.value, str):
            return None
        text = re.sub(r"[!%_]", r"!\g<0>", literal.value)
        return Like(node.arguments[0], Literal(around.format(text)), "!")

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
                    if position[:1] == "'" and len(position) > 1 and tokens[after + 2] == "]":  # a key of a map
                        path.append(position[1:-1].replace("''", "'"))
                        after += 3
                        token = tokens[after]
                        continue
                    if not (position.isdecimal() and position.isascii()) or len(position) > 9:
                        raise unexpected(tokens, after + 1, "an index: a whole number from 0 up")
                    if tokens[after + 2] != "]":
                        raise unexpected(tokens, after + 2, "']'")
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
        if not (token[:1].isalpha() or token[:1] == "_") or not (any_word or keyword(token) is None):
            raise unexpected(self.tokens, index, expected)
        return token

    def value(self, index: int, expected: str = "a value") -> tuple[Literal | Placeholder, int]:
        tokens = self.tokens
        token = tokens[index]
        start = token[:1]
        node: Literal | Placeholder
        end = index + 1
        if start == "'" and len(token) > 1:
            node = Literal(token[1:-1].replace("''", "'"))
        elif start in DIGITS or (start == "." and len(token) > 1):
            node = Literal(number(token, index))
        elif start in ("-", "+") and start:
            digits = tokens[end]
            if not (digits[:1] in DIGITS or (digits[:1] == "." and len(digits) > 1)):
                raise unexpected(tokens, end, f"a number after {start!r}")
            amount = number(digits, end)
            # copy_negate, not minus: unary minus would round a Decimal to the context's 28 digits.
            if start == "-":
                amount = amount.copy_negate() if isinstance(amount, Decimal) else -amount
            node, end = Literal(amount), end + 1
        elif start == "%" and len(token) > 1:
            if len(token) > 3 or not token[1:].isascii():
                raise TokenFault(index, f"there is no parameter {token}", "parameters are %0 to %99")
            node = Placeholder(int(token[1:]))
        elif start == ":" and len(token) > 1:
            node = self.named(token[1:])
        elif (word := keyword(token)) in ("TRUE", "FALSE"):
            node = Literal(word == "TRUE")
        elif starts_timestamp(tokens, index):
            node, end = timestamp(tokens, end, date=len(token) == 4), end + 1
        elif starts_interval(tokens, index):
            node, end = interval(tokens, end)
        else:
            if start.isalpha() and word is None:
                raise TokenFault(index, f"expected {expected}, found {shown(token)}", f"quote a string: '{token[:40]}'")
            raise unexpected(tokens, index, expected)
        if self.marks is not None:
            self.marks[id(node)] = index
        return node, end
