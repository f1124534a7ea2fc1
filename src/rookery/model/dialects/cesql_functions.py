"""CESQL's comparisons, arithmetic and functions, lowered to the language or decided where all is known.

Rule 1: `/` cuts off: `a / b` is written `(a - a % b) / b`, which has no rest. By zero it is NULL, as an error is.
Rule 2: Integers have 32 bits there and 64 here: what passes 32 bits is an error there where CESQL says so (`ABS`), and
beyond its specification elsewhere.
Rule 3: what the language says otherwise is refused: TRIM takes all white space there, and spaces alone here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from rookery.errors import SubscriptionError
from rookery.model.dialects.cesql_values import (
    ERROR,
    FIRST,
    LAST,
    Computed,
    Known,
    Node,
    Referred,
    Truth,
    all_of,
    any_of,
    as_integer,
    as_text,
    as_truth,
    exclusive,
    guards_of,
    negation,
    number_of,
    operand_of,
    predicate,
)
from rookery.model.expressions import Call, Comparison, Expression, Field, In, Literal, Operand

__all__ = ["among", "arithmetic", "called", "comparison"]

_ORDERS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
#: White space by Unicode, of which Python's `strip` takes more.
_WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def comparison(sign: str, left: Node, right: Node) -> Truth:
    """Return `left sign right`; `=` casts its left side to the type of its right one, an order both to Integer."""
    if sign in ("!=", "<>"):
        return negation(comparison("=", left, right))
    if sign in _ORDERS:
        one, other = as_integer(left), as_integer(right)
        if one is None or other is None:
            return ERROR
        if isinstance(one, Known) and isinstance(other, Known):
            return as_truth(Known(_ORDERS[sign](int(one.value), int(other.value))))
        loose = isinstance(one, Referred) and isinstance(other, Referred)
        sides = (number_of(one), number_of(other)) if loose else (operand_of(one), operand_of(other))
        return _compared(sign, sides, guards_of(one, other))
    if _is_boolean(left) or _is_boolean(right):
        return _equal_truths(left, right)
    if isinstance(left, Known):
        if isinstance(right, Known):
            cast = _cast_as(left, right)
            return ERROR if cast is None else as_truth(Known(cast.value == right.value))
        if isinstance(right, Computed):
            known = as_text(left) if right.is_text else as_integer(left)
            if known is None:
                return ERROR
            left = known
    elif isinstance(right, Computed | Known) and isinstance(left, Computed):
        wanted = right.is_text if isinstance(right, Computed) else isinstance(right.value, str)
        if left.is_text != wanted:
            raise SubscriptionError("a computed text is compared with a number, or a number with a text")
    assert not isinstance(left, Truth)
    assert not isinstance(right, Truth)
    return _compared("=", (operand_of(left), operand_of(right)), guards_of(left, right))


def _is_boolean(node: Node) -> bool:
    return isinstance(node, Truth) or (isinstance(node, Known) and isinstance(node.value, bool))


def _equal_truths(left: Node, right: Node) -> Truth:
    """One side is a Boolean: the other must be one, or be known."""
    if isinstance(left, Known) and isinstance(right, Known):
        cast = _cast_as(left, right)
        return ERROR if cast is None else as_truth(Known(cast.value == right.value))
    if isinstance(right, Computed) or (isinstance(right, Known) and not isinstance(right.value, bool)):
        raise SubscriptionError("a Boolean is compared with a text or a number", hint="NOT binds before =: use ( )")
    return negation(exclusive(as_truth(left), as_truth(right)))


def _cast_as(value: Known, like: Known) -> Known | None:
    """Return a known value as the type of another, None where that is an error."""
    if isinstance(like.value, bool):
        if isinstance(value.value, bool):
            return value
        if isinstance(value.value, int):
            return Known(value.value != 0)
        word = value.value.lower()
        return Known(word == "true") if word in ("true", "false") else None
    if isinstance(like.value, int):
        made = as_integer(value)
        return made if isinstance(made, Known) else None
    made = as_text(value)
    return made if isinstance(made, Known) else None


def _compared(sign: str, sides: tuple[Operand, Operand], guards: Sequence[Expression]) -> Truth:
    one, other = sides
    if not isinstance(one, Field | Call):
        one, other, sign = other, one, _MIRRORED[sign]
    assert isinstance(one, Field | Call)
    return predicate(Comparison(sign, one, other), *guards)


def among(left: Node, values: Sequence[Node]) -> Truth:
    """Return `left IN (…)`: each value is cast to the type of the left side, and all are looked at."""
    known = [one.value for one in values if isinstance(one, Known)]
    if isinstance(left, Known):
        values = [(_cast_as(one, left) or ERROR) if isinstance(one, Known) else one for one in values]
    elif len(set(map(type, known))) > 1:
        raise SubscriptionError("IN has values of several types, and that of the left side is not known")
    elif isinstance(left, Referred) and len(known) == len(values):
        return predicate(In(left.field, tuple(map(Literal, known))))
    if ERROR in values:
        return ERROR
    pairs = [(one, comparison("=", left, one)) for one in values]
    settled = [any_of(truth.true, truth.false) for one, truth in pairs if not isinstance(one, Known)]
    some = any_of(*(truth.true for _, truth in pairs))
    return Truth(all_of(some, *settled), all_of(*(truth.false for _, truth in pairs)))


def arithmetic(sign: str, left: Node, right: Node) -> Node:
    """Return `left sign right` of Integers."""
    one, other = as_integer(left), as_integer(right)
    if one is None or other is None:
        return ERROR
    if isinstance(one, Known) and isinstance(other, Known):
        return _calculated(sign, int(one.value), int(other.value))
    a, b = operand_of(one), operand_of(other)
    if sign == "/":
        made = Call("/", (Call("-", (a, Call("%", (a, b)))), b))
    else:
        made = Call(sign, (a, b))
    return Computed(made, False, guards_of(one, other))


def _calculated(sign: str, a: int, b: int) -> Node:
    if sign in "/%":
        if b == 0:
            return ERROR
        whole = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        number = whole if sign == "/" else a - whole * b
    else:
        number = {"+": operator.add, "-": operator.sub, "*": operator.mul}[sign](a, b)
    if not FIRST <= number <= LAST:
        raise SubscriptionError(f"{a} {sign} {b} has more than 32 bits")
    return Known(number)


def called(name: str, given: Sequence[Node]) -> Node:
    """Return a function of values."""
    if (name, len(given)) not in _FUNCTIONS and (name, -1) not in _FUNCTIONS:
        raise SubscriptionError(f"CESQL has no function {name} of {len(given)} arguments")
    if ERROR in given:
        return ERROR
    return _FUNCTIONS.get((name, len(given)), _FUNCTIONS.get((name, -1)))(*given)  # type: ignore[misc]


def _text_call(name: str, fold: Callable[[str], str | int]) -> Callable[[Node], Node]:
    def run(one: Node) -> Node:
        text = as_text(one)
        if isinstance(text, Known):
            return Known(fold(str(text.value)))
        return Computed(Call(name, (operand_of(text),)), name != "length", guards_of(text))

    return run


def _trim(one: Node) -> Node:
    text = as_text(one)
    if isinstance(text, Known):
        return Known(str(text.value).strip(_WHITE))
    raise SubscriptionError("TRIM takes all white space in CESQL, and trim of the language takes spaces alone")


def _concat(*given: Node) -> Node:
    texts = [as_text(one) for one in given]
    if all(isinstance(one, Known) for one in texts):
        return Known("".join(str(one.value) for one in texts if isinstance(one, Known)))
    joined = operand_of(texts[0])
    for one in texts[1:]:
        joined = Call("||", (joined, operand_of(one)))
    if len(texts) == 1:
        joined = Call("||", (joined, Literal("")))  # so that it is a text
    return Computed(joined, True, guards_of(*texts))


def _concat_with(gap: Node, *given: Node) -> Node:
    parts = [part for one in given for part in (gap, one)][1:]
    return _concat(*parts)


def _part(text: Node, start: int, length: int | None, *guards: Expression) -> Node:
    """Return characters of a text, known or not."""
    one = as_text(text)
    if isinstance(one, Known):
        content = str(one.value)
        begin = start - 1 if start > 0 else max(len(content) + start, 0)
        return Known(content[begin : None if length is None else begin + length])
    arguments = (operand_of(one), Literal(start), *(() if length is None else (Literal(length),)))
    return Computed(Call("substring", arguments), True, (*guards_of(one), *guards))


def _number(node: Node, what: str) -> int | None:
    made = as_integer(node)
    if made is None or isinstance(made, Known):
        return None if made is None else int(made.value)
    raise SubscriptionError(f"{what} takes a number that is written out")


def _left(text: Node, count: Node) -> Node:
    number = _number(count, "LEFT")
    return ERROR if number is None or number < 0 else _part(text, 1, number)


def _right(text: Node, count: Node) -> Node:
    number = _number(count, "RIGHT")
    if number is None or number < 0:
        return ERROR
    return _part(text, -number, None) if number else _part(text, 1, 0)


def _substring(text: Node, start: Node, length: Node | None = None) -> Node:
    begin = _number(start, "SUBSTRING")
    count = None if length is None else _number(length, "SUBSTRING")
    if begin is None or (length is not None and (count is None or count < 0)):
        return ERROR
    if begin == 0:
        return _part(text, 1, 0)
    one = as_text(text)
    if isinstance(one, Known):
        return ERROR if abs(begin) > len(str(one.value)) else _part(one, begin, count)
    return _part(one, begin, count, Comparison(">=", Call("length", (operand_of(one),)), Literal(abs(begin))))


def _abs(one: Node) -> Node:
    number = as_integer(one)
    if number is None or (isinstance(number, Known) and number.value == FIRST):
        return ERROR
    if isinstance(number, Known):
        return Known(abs(int(number.value)))
    return Computed(Call("nullif", (Call("abs", (operand_of(number),)), Literal(-FIRST))), False, guards_of(number))


def _int(one: Node) -> Node:
    number = as_integer(one)
    if isinstance(number, Referred):
        return Computed(number_of(number), False)
    return ERROR if number is None else number


def _string(one: Node) -> Node:
    text = as_text(one)
    return _concat(text) if isinstance(text, Referred) else text


def _bool(one: Node) -> Node:
    if isinstance(one, Known) and not isinstance(one.value, bool):
        cast = _cast_as(one, Known(True))
        return ERROR if cast is None else cast
    return as_truth(one)


_FUNCTIONS: dict[tuple[str, int], Callable[..., Node]] = {
    ("LENGTH", 1): _text_call("length", len),
    ("LOWER", 1): _text_call("lower", str.lower),
    ("UPPER", 1): _text_call("upper", str.upper),
    ("TRIM", 1): _trim,
    ("CONCAT", -1): _concat,
    **{("CONCAT_WS", count): _concat_with for count in range(1, 100)},
    ("LEFT", 2): _left,
    ("RIGHT", 2): _right,
    ("SUBSTRING", 2): _substring,
    ("SUBSTRING", 3): _substring,
    ("ABS", 1): _abs,
    ("INT", 1): _int,
    ("STRING", 1): _string,
    ("BOOL", 1): _bool,
}
