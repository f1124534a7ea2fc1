"""The condition of a subscription as a tree, and the tree as text again.

Rule 1: a tree holds what was written and nothing else: no types, no positions, no schema. Equal trees mean equal
conditions.
Rule 2: `to_text(tree)` parses back to an equal tree.
Rule 3: what is no literal stands on the left: `5 < x` is kept as `x > 5`.
Rule 4: what the language says in other words is kept in these: `b` alone is `b = TRUE`, BETWEEN and IN with a field
among their values are comparisons, `<=>` is `=` and IS NULL. What compares literals alone is TRUE or FALSE.

The nodes are msgspec structs because a set of a million subscriptions makes tens of millions of them: they are built
several times faster than frozen dataclasses, and are as immutable. A tree has no cycles, so the collector may leave
them out.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TypeAlias

import msgspec

__all__ = [
    "NOW_PATH",
    "And",
    "AnyElement",
    "Between",
    "Call",
    "Comparison",
    "Constant",
    "Expression",
    "Field",
    "In",
    "InCidr",
    "Interval",
    "IsNull",
    "Like",
    "Literal",
    "Not",
    "Operand",
    "Or",
    "Placeholder",
    "Timestamp",
    "Value",
    "field_text",
    "fields_of",
    "to_text",
    "value_text",
]


class Timestamp(msgspec.Struct, frozen=True, order=True, gc=False):
    """An instant, in nanoseconds since 1970-01-01T00:00:00Z."""

    nanoseconds: int


class Interval(msgspec.Struct, frozen=True, gc=False):
    """A length of time: months, which have no fixed length, and nanoseconds (`intervals.py`)."""

    months: int
    nanoseconds: int


class Field(msgspec.Struct, frozen=True, gc=False):
    """An attribute of the event: `("a", "b", 3, "c")` is `a.b[3].c`."""

    path: tuple[str | int, ...]


class Literal(msgspec.Struct, frozen=True, gc=False):
    """A value as written. A number with a point or an exponent is a Decimal: no digit is lost before its type."""

    value: int | Decimal | str | bool | Timestamp | Interval


class Placeholder(msgspec.Struct, frozen=True, gc=False):
    """`%n` or `:name`: a value given beside the text, which may change without a new text (`parameters.py`)."""

    index: int
    name: str | None = None


Value: TypeAlias = Literal | Placeholder


class Call(msgspec.Struct, frozen=True, gc=False):
    """A function of operands (`functions.py` lists them); `+ - * / % ||` and unary minus, `neg`, are functions too."""

    name: str
    arguments: tuple[Operand, ...]


Operand: TypeAlias = Field | Literal | Placeholder | Call


class Comparison(msgspec.Struct, frozen=True, gc=False):
    """`operand operator operand`, the left one no literal; the operator is one of = <> < <= > >=."""

    operator: str
    left: Field | Call
    right: Field | Literal | Placeholder | Call


class Between(msgspec.Struct, frozen=True, gc=False):
    """`operand [NOT] BETWEEN low AND high`, inclusive at both ends."""

    field: Field | Call
    low: Literal | Placeholder
    high: Literal | Placeholder
    negated: bool = False


class Like(msgspec.Struct, frozen=True, gc=False):
    """`operand [NOT] LIKE pattern [ESCAPE character]`, or ILIKE, or RLIKE, which has no escape."""

    field: Field | Call
    pattern: Literal | Placeholder
    escape: str | None = None
    negated: bool = False
    word: str = "LIKE"


class In(msgspec.Struct, frozen=True, gc=False):
    """`operand [NOT] IN (value, …)`, or `IN :name`, whose values are the list that is given for a parameter."""

    field: Field | Call
    values: tuple[Literal | Placeholder, ...] | Placeholder
    negated: bool = False


class InCidr(msgspec.Struct, frozen=True, gc=False):
    """`operand [NOT] IN CIDR (network, …)`: the address lies in one of the networks (`addresses.py`)."""

    field: Field | Call
    networks: tuple[Literal | Placeholder, ...]
    negated: bool = False


class IsNull(msgspec.Struct, frozen=True, gc=False):
    """`operand IS [NOT] NULL`."""

    field: Field | Call
    negated: bool = False


class Constant(msgspec.Struct, frozen=True, gc=False):
    """`TRUE` or `FALSE`; an empty text is TRUE."""

    value: bool


class Not(msgspec.Struct, frozen=True, gc=False):
    """`NOT operand`."""

    operand: Expression


class And(msgspec.Struct, frozen=True, gc=False):
    """`operand AND operand AND …`, two or more."""

    operands: tuple[Expression, ...]


class Or(msgspec.Struct, frozen=True, gc=False):
    """`operand OR operand OR …`, two or more."""

    operands: tuple[Expression, ...]


class AnyElement(msgspec.Struct, frozen=True, gc=False):
    """`ANY(list, condition)`: the condition is TRUE of one element (`elements.py`), whose fields it names.

    An element that is no struct is called `item`.
    """

    path: tuple[str | int, ...]
    condition: Expression


Expression: TypeAlias = AnyElement | Comparison | Between | Like | In | InCidr | IsNull | Constant | Not | And | Or

_PRECEDENCE = {Or: 1, And: 2, Not: 3}


#: Steps of a path beside names and indexes: to every item of a list, and to how many items a list or a map has.
EACH, SIZE = -1, -2
#: What an element is called that is no struct.
ITEM = "item"
#: The path of `now()`: the wall time of a batch is an attribute that its caller gives, for all its events alike.
NOW_PATH = ("$now",)


def field_text(path: tuple[str | int, ...]) -> str:
    """Return a path as the language writes it: `a.b[3].c`."""
    if path == NOW_PATH:
        return "now()"
    if path[-1] == SIZE:
        return f"size({field_text(path[:-1])})"
    parts = [str(path[0])]
    parts += [f"[{'*' if step == EACH else step}]" if isinstance(step, int) else f".{step}" for step in path[1:]]
    return "".join(parts)


_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
#: Words that are no names unless they are quoted.
KEYWORDS = frozenset(("AND", "OR", "NOT", "BETWEEN", "LIKE", "ESCAPE", "IN", "IS", "NULL", "TRUE", "FALSE"))
_BINARY = {"+": 1, "-": 1, "||": 1, "*": 2, "/": 2, "%": 2}
_TIGHTEST = 9


def _name_text(name: str, *, first: bool = False) -> str:
    """Return a name as a filter writes it: in double quotes unless it is plain."""
    plain = _PLAIN_NAME.fullmatch(name) and not (first and name.isascii() and name.upper() in KEYWORDS)
    return name if plain else '"' + name.replace('"', '""') + '"'


def interval_text(value: Interval) -> str:
    """Return a length of time in units that parse to the same."""
    seconds = Decimal(value.nanoseconds).scaleb(-9)
    parts = [f"{value.months} months"] if value.months else []
    if seconds or not parts:
        parts.append(f"{seconds.normalize():f} seconds")
    return " ".join(parts)


def _path_text(path: tuple[str | int, ...]) -> str:
    if path == NOW_PATH:
        return "now()"
    if path[-1] == SIZE:
        return f"size({_path_text(path[:-1])})"
    if path[-1] == EACH:
        return f"ANY({_path_text(path[:-1])})"
    parts = [_name_text(str(path[0]), first=True)]
    for step in path[1:]:
        parts.append(f"[{step}]" if isinstance(step, int) else f".{_name_text(step)}" if step else "['']")
    return "".join(parts)


def _call_text(call: Call) -> str:
    name, arguments = call.name, call.arguments
    if name in _BINARY:
        left, right = arguments
        binds = _BINARY[name]
        return f"{_operand_text(left, binds)} {name} {_operand_text(right, binds + 1)}"
    if name == "neg":
        return f"-({value_text(arguments[0])})"
    return f"{name}({', '.join(map(value_text, arguments))})"


def _operand_text(operand: Operand, binds: int) -> str:
    """Return an operand, in parentheses where it binds less tightly than `binds`, or begins with a sign."""
    own = _BINARY.get(operand.name, _TIGHTEST) if isinstance(operand, Call) else _TIGHTEST
    text = value_text(operand)
    return f"({text})" if own < binds or text[:1] in "+-" else text


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def value_text(value: Operand) -> str:
    """Return an operand as the language writes it."""
    if isinstance(value, Field):
        return _path_text(value.path)
    if isinstance(value, Call):
        return _call_text(value)
    if isinstance(value, Placeholder):
        return parameter_text(value)
    content = value.value
    if isinstance(content, bool):
        return "TRUE" if content else "FALSE"
    if isinstance(content, str):
        return _quoted(content)
    if isinstance(content, Timestamp):
        return f"TIMESTAMP {_quoted(timestamp_text(content.nanoseconds))}"
    if isinstance(content, Interval):
        return f"INTERVAL {_quoted(interval_text(content))}"
    if isinstance(content, Decimal):
        text = str(content)
        return text if "." in text or "E" in text else text + ".0"
    return str(content)


def parameter_text(node: Placeholder) -> str:
    """Return a parameter as a filter writes it."""
    return f"%{node.index}" if node.name is None else f":{node.name}"


def timestamp_text(nanoseconds: int) -> str:
    """Return an instant as ISO 8601 in UTC, with as many decimals as it needs."""
    # Imported here: only printing needs the calendar.
    from datetime import UTC, datetime, timedelta

    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    text = moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    return f"{text}{f'.{fraction:09d}'.rstrip('0') if fraction else ''}Z"


def to_text(expression: Expression) -> str:
    """Return the expression as text that parses to an equal tree."""
    match expression:
        case Comparison(operator, left, right):
            return f"{value_text(left)} {operator} {value_text(right)}"
        case Between(field, low, high, negated):
            return f"{value_text(field)} {_not(negated)}BETWEEN {value_text(low)} AND {value_text(high)}"
        case Like(field, pattern, escape, negated, word):
            tail = "" if escape is None else f" ESCAPE {_quoted(escape)}"
            return f"{value_text(field)} {_not(negated)}{word} {value_text(pattern)}{tail}"
        case In(field, values, negated):
            shown = (
                parameter_text(values) if isinstance(values, Placeholder) else f"({', '.join(map(value_text, values))})"
            )
            return f"{value_text(field)} {_not(negated)}IN {shown}"
        case InCidr(field, networks, negated):
            shown = ", ".join(map(value_text, networks))
            return f"{value_text(field)} {_not(negated)}IN CIDR {shown if len(networks) == 1 else f'({shown})'}"
        case AnyElement(path, inner):
            return f"ANY({_path_text(path)}, {to_text(inner)})"
        case IsNull(field, negated):
            return f"{value_text(field)} IS {_not(negated)}NULL"
        case Constant(value):
            return "TRUE" if value else "FALSE"
        case Not(operand):
            return f"NOT {_wrapped(operand, _PRECEDENCE[Not] - 1)}"
        case And(operands):
            return " AND ".join(_wrapped(operand, _PRECEDENCE[And]) for operand in operands)
        case Or(operands):
            return " OR ".join(_wrapped(operand, _PRECEDENCE[Or]) for operand in operands)
    raise TypeError(f"not an expression: {expression!r}")


def fields_of(node: Expression | Operand) -> list[tuple[str | int, ...]]:
    """Return the paths of the fields that an expression names, in order."""
    match node:
        case Field(path):
            return [path]
        case And(parts) | Or(parts) | Call(_, parts):
            return [path for part in parts for path in fields_of(part)]
        case Not(operand):
            return fields_of(operand)
        case AnyElement(_, inner):  # its other names are those of the element
            return [path for path in fields_of(inner) if path == NOW_PATH]
        case Comparison(_, left, right):
            return [*fields_of(left), *fields_of(right)]
        case Between() | Like() | In() | InCidr() | IsNull():
            return fields_of(node.field)
    return []


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


def _wrapped(operand: Expression, precedence: int) -> str:
    """Return the operand, in parentheses where it binds no tighter than `precedence`.

    An AND inside an AND keeps its parentheses too: the tree is what was written.
    """
    text = to_text(operand)
    return f"({text})" if _PRECEDENCE.get(type(operand), 9) <= precedence else text
