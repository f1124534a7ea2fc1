"""Types: may this field be compared with this value, and what is the value exactly?

Comparable are number with number, string with string, boolean with boolean, timestamp with timestamp, and an enum with
its own labels. Anything else is a fault at compile time. A fault names a node; `checking` finds where the
node stands in the text by parsing once more, so that the path without faults pays nothing for positions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, TypeAlias, TypeVar

from rookery.errors import SchemaError, SubscriptionError
from rookery.model.addresses import network_range
from rookery.model.events import plain_value
from rookery.model.expressions import (
    And,
    AnyElement,
    Call,
    Comparison,
    Expression,
    Field,
    InCidr,
    Interval,
    Like,
    Literal,
    Not,
    Operand,
    Or,
    Placeholder,
    Timestamp,
    fields_of,
    parameter_text,
    to_text,
    value_text,
)
from rookery.model.functions import FunctionFault, function_of
from rookery.model.instants import parse_instant
from rookery.model.parameters import list_items, parameter_value
from rookery.model.parser import MAXIMUM_DEPTH, MAXIMUM_LENGTH, parse
from rookery.model.regexes import regex_fault
from rookery.model.schema import Attribute, Schema
from rookery.model.types import (
    BooleanType,
    DecimalType,
    DurationType,
    EnumType,
    FloatType,
    IntegerType,
    LeafType,
    StringType,
    TimestampType,
)

__all__ = ["COMPUTED", "Checker", "ComputedAttribute", "Parameters", "checking"]

Result = TypeVar("Result")
#: The values of `%0` …, or of all parameters by name (and by number, as int).
Parameters: TypeAlias = Sequence[object] | Mapping[Any, object]

_NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]{1,400}|(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,3})?)", re.ASCII
)
_HINTS = {
    "number": "compare it with a number",
    "string": "quote the value: 'text'",
    "boolean": "compare it with TRUE or FALSE",
    "timestamp": "write TIMESTAMP '2026-05-01T12:00:00Z'",
    "enum": "compare it with one of its labels",
    "interval": "write INTERVAL '5 minutes'",
}

#: Without so many of these no text is nested too deep.
_NESTING = ("(", "-", "+", "NOT")

#: The first step of a computed attribute's path.
COMPUTED = "$="


class ComputedAttribute(Attribute):
    """An attribute that is computed from others: its value is a function of theirs, by path (`computed.py`)."""

    __slots__ = ("fields", "node", "value_of")

    def __init__(
        self,
        node: Call | Comparison | AnyElement,
        kind: LeafType,
        fields: tuple[Attribute, ...],
        value_of: Callable[[Mapping[Any, Any]], Any],
    ) -> None:
        text = value_text(node) if isinstance(node, Call) else to_text(node)  # what it says parses to it again
        if len(text) > MAXIMUM_LENGTH or sum(map(text.count, _NESTING)) > MAXIMUM_DEPTH // 2:
            try:
                parse(text)
            except SubscriptionError as error:  # with its parameters and parentheses it is more than was written
                raise TypeFault(node, f"written out, this is no condition: {error.message}", error.hint) from None
        super().__init__((COMPUTED, text), kind)
        self.text = text
        #: What it says, with no parameters in it.
        self.node = node
        #: The attributes that it is computed from.
        self.fields = fields
        self.value_of = value_of


class TypeFault(Exception):  # noqa: N818 - internal, it becomes a SubscriptionError
    """A fault at a node of the tree."""

    def __init__(self, node: object, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.node, self.message, self.hint = node, message, hint


def checking(text: str, expression: Expression, work: Callable[[Expression], Result]) -> Result:
    """Return `work(expression)`; turn its TypeFault into a SubscriptionError with the place in `text`."""
    try:
        return work(expression)
    except TypeFault:
        positions: dict[int, int] = {}
        try:
            work(parse(text, positions=positions))
        except TypeFault as again:
            fault = again
        raise SubscriptionError(
            fault.message, text=text, position=positions.get(id(fault.node), 0), hint=fault.hint
        ) from None


class Checker:
    """The types of one schema, with one subscription's parameters."""

    __slots__ = ("parameters", "schema")

    def __init__(self, schema: Schema, parameters: Parameters | None = None) -> None:
        self.schema = schema
        self.parameters = parameters or ()

    def attribute(self, field: Field | Call) -> Attribute:
        """Return the attribute that a field names, or that a call computes."""
        if isinstance(field, Call):
            return self._computed(field)
        try:
            return self.schema.attribute(field.path)
        except SchemaError as error:
            message, _, hint = str(error).partition("; ")
            raise TypeFault(field, message, hint or None) from None

    def _computed(self, call: Call) -> ComputedAttribute:
        bound = self.bound(call)
        kind, evaluate = self.function(bound, call)
        fields = [self.attribute(Field(path)) for path in dict.fromkeys(fields_of(bound))]
        return ComputedAttribute(bound, kind, tuple(fields), evaluate)

    def _constant(self, call: Call) -> Literal:
        """Return the value of a call that names no field."""
        bound = self.bound(call)
        kind, evaluate = self.function(bound, call)
        value = evaluate({})
        if value is None:
            raise TypeFault(call, "the value of this is NULL", "a comparison with NULL is never true; use IS NULL")
        if isinstance(kind, TimestampType):
            return Literal(Timestamp(value))
        if isinstance(kind, DurationType):
            return Literal(Interval(0, value))
        return Literal(Decimal(repr(value)) if isinstance(value, float) else value)

    def function(self, call: Call, at: Call) -> tuple[LeafType, Callable[[Mapping[Any, Any]], Any]]:
        """Return the type of a call without parameters, and the call as a function of an event's values by path."""
        kinds: list[LeafType] = []
        parts: list[Callable[[Mapping[Any, Any]], Any]] = []
        literals: list[Any] = []
        for argument in call.arguments:
            kind, part, literal = self._argument(argument, at)
            kinds.append(kind)
            parts.append(part)
            literals.append(literal)
        try:
            kind, evaluate = function_of(call.name, kinds, literals)
        except FunctionFault as fault:
            raise TypeFault(at, str(fault)) from None
        return kind, lambda row: evaluate(*(part(row) for part in parts))

    def _argument(self, node: Operand, at: Call) -> tuple[LeafType, Callable[[Mapping[Any, Any]], Any], Any]:
        if isinstance(node, Field):
            attribute = self.attribute(node)
            path = attribute.path
            return attribute.type, lambda row: row[path], None
        if isinstance(node, Call):
            return *self.function(node, at), None
        assert isinstance(node, Literal)
        value: Any = node.value
        kind = _literal_type(value)
        if isinstance(value, Timestamp):
            value = value.nanoseconds
        return kind, lambda row: value, value

    def bound(self, node: Operand) -> Any:
        """Return an operand with the values of its parameters in their place."""
        if isinstance(node, Call):
            return Call(node.name, tuple(self.bound(one) for one in node.arguments))
        if not isinstance(node, Placeholder):
            return node
        text = str(self._given(node))
        number = _NUMBER.fullmatch(text.strip())
        return Literal(_number(text.strip()) if number else _unquoted(text))

    def value(self, attribute: Attribute, node: Literal | Placeholder) -> Any:
        """Return the value to compare an attribute with: int, Decimal, str, bool, or nanoseconds."""
        if not isinstance(node, Placeholder):
            return self._typed(attribute, node, node.value)
        raw = self._given(node)
        text = raw if isinstance(raw, str) else parameter_value(raw)
        return self._typed(attribute, node, self._parameter(attribute, node, text))

    def _typed(self, attribute: Attribute, node: Literal | Placeholder, value: Any) -> Any:
        kind = attribute.type
        family = kind.family
        if family == "number":
            if type(value) is int or isinstance(value, Decimal):
                return value
        elif family == "string":
            if isinstance(value, str):
                return value
        elif family == "timestamp":
            if isinstance(value, Timestamp):
                return value.nanoseconds
            if isinstance(value, str):
                try:
                    return parse_instant(value)
                except ValueError as error:
                    raise TypeFault(node, str(error), _HINTS[family]) from None
        elif family == "boolean":
            if isinstance(value, bool):
                return value
        elif family == "interval" and isinstance(value, Interval):
            if not value.months:
                return value.nanoseconds
            raise TypeFault(node, "a month has no fixed length", "compare with days or less: INTERVAL '30 days'")
        elif isinstance(kind, EnumType) and isinstance(value, str):
            if value in kind.labels:
                return value
            close = get_close_matches(value, kind.labels, n=1)
            raise TypeFault(
                node,
                f"{attribute.text} has no label {value!r}",
                f"did you mean {close[0]!r}?" if close else f"its labels are {', '.join(kind.labels[:8])}",
            )
        shown = value_text(node) if isinstance(node, Placeholder) else value_text(Literal(value))
        if len(shown) > 40:
            shown = shown[:37] + "…"
        raise TypeFault(node, f"{attribute.text} is {_family(family)}, and {shown} is not", _HINTS[family])

    def _given(self, node: Placeholder) -> object:
        """Return the value that was given for a parameter."""
        given, name = self.parameters, parameter_text(node)
        raw: object
        if isinstance(given, Mapping):
            key: object = node.index if node.name is None else node.name
            key = str(key) if key not in given else key
            if key not in given:
                close = get_close_matches(str(key), map(str, given), n=1)
                hint = f"did you mean {close[0]!r}?" if close else "give a value for each parameter"
                raise TypeFault(node, f"parameter {name} has no value", hint)
            raw = given[key]
        elif node.index < len(given):
            raw = given[node.index]
        else:
            hint = "give one value for each %n" if node.name is None else f"give parameters={{{node.name!r}: …}}"
            raise TypeFault(node, f"parameter {name} has no value: {len(given)} given", hint)
        if plain_value(raw) is None:
            raise TypeFault(node, f"parameter {name} is NULL", "a comparison with NULL is never true; use IS NULL")
        return raw

    def values(self, attribute: Attribute, nodes: tuple[Literal | Placeholder, ...] | Placeholder) -> list[Any]:
        """Return the values of a list to compare an attribute with, as `value` does."""
        if not isinstance(nodes, Placeholder):
            return [self.value(attribute, one) for one in nodes]
        try:
            items = list_items(self._given(nodes))
        except ValueError as error:
            hint = "for example ['a', 'b'], in a text file as JSON; one value stands in parentheses: IN (%0)"
            raise TypeFault(nodes, f"parameter {parameter_text(nodes)} {error}", hint) from None
        return [self._typed(attribute, nodes, self._parameter(attribute, nodes, one)) for one in items]

    def _parameter(self, attribute: Attribute, node: Placeholder, text: str) -> Any:
        family = attribute.type.family
        if family in ("string", "enum"):
            return _unquoted(text)
        stripped = text.strip()
        if family == "number" and _NUMBER.fullmatch(stripped):
            return _number(stripped)
        if family == "boolean" and stripped.upper() in ("TRUE", "FALSE"):
            return stripped.upper() == "TRUE"
        if family == "timestamp":
            if stripped.upper().startswith("TIMESTAMP"):
                stripped = stripped[9:].strip()
            try:
                return Timestamp(parse_instant(stripped.strip("'")))
            except ValueError:
                pass
        raise TypeFault(
            node,
            f"{attribute.text} is {_family(family)}, and parameter {parameter_text(node)} is {text[:40]!r}",
            _HINTS[family],
        )

    def _compared(self, node: Field | Call, left: Attribute) -> Attribute:
        """Return the attribute that another is compared with; a word that is no field was perhaps a string."""
        try:
            return self.attribute(node)
        except TypeFault as fault:
            a_word = fault.node is node and isinstance(node, Field) and len(node.path) == 1
            if a_word and left.type.family in ("string", "enum") and "did you mean" not in (fault.hint or ""):
                fault.hint = "quote a string: '" + value_text(node).strip('"') + "'"
            raise

    def comparison(self, node: Comparison) -> tuple[Attribute, Attribute | None, Any]:
        """Check a comparison; return its attribute and either the other attribute or the value."""
        left = self.attribute(node.left)
        if isinstance(node.right, Call) and not fields_of(node.right):
            return left, None, self.value(left, self._constant(node.right))
        if isinstance(node.right, Field | Call):
            right = self._compared(node.right, left)
            if left.type.family != right.type.family or (isinstance(left.type, EnumType) and left.type != right.type):
                raise TypeFault(
                    node.right,
                    f"{left.text} is {_family(left.type.family)} and {right.text} is {_family(right.type.family)}",
                    "compare fields of one kind",
                )
            return left, right, None
        return left, None, self.value(left, node.right)

    def networks(self, node: InCidr) -> tuple[Attribute, list[tuple[str, str]]]:
        """Check an IN CIDR; return the attribute of its address, and the first and last address of each network."""
        text = self.attribute(node.field)
        if text.type.family != "string":
            raise TypeFault(node, f"CIDR needs a string, and {text.text} is {_family(text.type.family)}")
        ranges = []
        for network in node.networks:
            try:
                ranges.append(network_range(self.value(text, network)))
            except ValueError as error:
                message, _, found = str(error).partition("; the network is ")
                raise TypeFault(network, message, f"write {found}" if found else "for example '10.0.0.0/8'") from None
        return self._computed(Call("address", (node.field,))), ranges

    def each(self, node: AnyElement) -> ComputedAttribute:
        """Check a condition on the elements of a list; return the attribute that is its truth."""
        from rookery.model.elements import element_attribute

        return element_attribute(node, self)

    def reads(self, node: Expression) -> list[Attribute]:
        """Return the attributes of an event that a condition reads."""
        found = {path: self.schema.attribute(path) for path in fields_of(node)}
        todo = [node]
        while todo:
            one = todo.pop()
            if isinstance(one, And | Or):
                todo += one.operands
            elif isinstance(one, Not):
                todo.append(one.operand)
            elif isinstance(one, AnyElement):
                found |= {field.path: field for field in self.each(one).fields}
        return list(found.values())

    def pattern(self, node: Like) -> tuple[Attribute, str]:
        """Check a LIKE, ILIKE or RLIKE; return its attribute and pattern."""
        attribute = self.attribute(node.field)
        if attribute.type.family != "string":
            raise TypeFault(
                node, f"{node.word} needs a string, and {attribute.text} is {_family(attribute.type.family)}"
            )
        pattern: str = self.value(attribute, node.pattern)
        if node.word == "RLIKE" and (fault := regex_fault(pattern)) is not None:
            raise TypeFault(node.pattern, f"no regular expression: {fault}", "the syntax is that of RE2")
        if node.escape is not None:
            _check_escapes(node, pattern)
        return attribute, pattern


def _check_escapes(node: Like, pattern: str) -> None:
    index = 0
    while index < len(pattern):
        if pattern[index] == node.escape:
            if pattern[index + 1 : index + 2] not in ("%", "_", node.escape):
                raise TypeFault(
                    node.pattern,
                    f"the escape {node.escape!r} stands before neither %, _ nor itself",
                    "write it twice for the character itself",
                )
            index += 1
        index += 1


def _unquoted(text: str) -> str:
    """Return the text of a parameter that may stand in quotes or not."""
    return text[1:-1].replace("''", "'") if len(text) >= 2 and text[0] == text[-1] == "'" else text


def _number(text: str) -> int | Decimal:
    digits = text.lstrip("+-")
    if digits[:2] in ("0x", "0X"):
        number: int | Decimal = int(digits, 16)
    else:
        number = int(digits) if digits.isdecimal() else Decimal(digits)
    if not text.startswith("-"):
        return number
    return number.copy_negate() if isinstance(number, Decimal) else -number


def _literal_type(value: Any) -> LeafType:
    if isinstance(value, bool):
        return BooleanType()
    if isinstance(value, int):
        return IntegerType()
    if isinstance(value, str):
        return StringType()
    if isinstance(value, Timestamp):
        return TimestampType("ns")
    if isinstance(value, Interval):
        return DurationType()
    exponent = value.as_tuple().exponent
    return DecimalType(38, max(0, -exponent if isinstance(exponent, int) else 0))


def exact(kind: LeafType, value: Any) -> Any:
    """Return the value as the type compares it: a decimal literal against a float is the double nearest to it."""
    return float(value) if isinstance(kind, FloatType) and isinstance(value, Decimal) else value


def _family(family: str) -> str:
    return {"number": "a number", "enum": "an enum", "interval": "an interval"}.get(family, f"a {family}")
