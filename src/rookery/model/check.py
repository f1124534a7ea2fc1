"""Types: may this field be compared with this value, and what is the value exactly?

Comparable are number with number, string with string, boolean with boolean, timestamp with timestamp, and an enum with
its own labels. Anything else is a fault at compile time. A fault names a node; `checking` finds where the
node stands in the text by parsing once more, so that the path without faults pays nothing for positions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, TypeVar

from rookery.errors import SchemaError, SubscriptionError
from rookery.model.expressions import Comparison, Expression, Field, Like, Literal, Placeholder, Timestamp, value_text
from rookery.model.instants import parse_instant
from rookery.model.parser import parse
from rookery.model.schema import Attribute, Schema
from rookery.model.types import EnumType, FloatType, LeafType

__all__ = ["Checker", "checking"]

Result = TypeVar("Result")

_NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]{1,400}|(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][+-]?\d{1,3})?)", re.ASCII
)
_HINTS = {
    "number": "compare it with a number",
    "string": "quote the value: 'text'",
    "boolean": "compare it with TRUE or FALSE",
    "timestamp": "write TIMESTAMP '2026-05-01T12:00:00Z'",
    "enum": "compare it with one of its labels",
}


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

    def __init__(self, schema: Schema, parameters: Sequence[object] | None = None) -> None:
        self.schema = schema
        self.parameters = parameters or ()

    def attribute(self, field: Field) -> Attribute:
        """Return the attribute that a field names."""
        try:
            return self.schema.attribute(field.path)
        except SchemaError as error:
            message, _, hint = str(error).partition("; ")
            raise TypeFault(field, message, hint or None) from None

    def value(self, attribute: Attribute, node: Literal | Placeholder) -> Any:
        """Return the value to compare an attribute with: int, Decimal, str, bool, or nanoseconds."""
        kind = attribute.type
        value = self._parameter(attribute, node) if isinstance(node, Placeholder) else node.value
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
        elif family == "boolean":
            if isinstance(value, bool):
                return value
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

    def _parameter(self, attribute: Attribute, node: Placeholder) -> Any:
        if node.index >= len(self.parameters):
            given = len(self.parameters)
            raise TypeFault(node, f"parameter %{node.index} has no value: {given} given", "give one value for each %n")
        raw = self.parameters[node.index]
        if raw is None:
            raise TypeFault(
                node, f"parameter %{node.index} is NULL", "a comparison with NULL is never true; use IS NULL"
            )
        text = raw if isinstance(raw, str) else _parameter_text(raw)
        family = attribute.type.family
        quoted = len(text) >= 2 and text[0] == text[-1] == "'"
        if family in ("string", "enum"):
            return text[1:-1].replace("''", "'") if quoted else text
        stripped = text.strip()
        if family == "number" and _NUMBER.fullmatch(stripped):
            digits = stripped.lstrip("+-")
            if digits[:2] in ("0x", "0X"):
                number: int | Decimal = int(digits, 16)
            else:
                number = int(digits) if digits.isdecimal() else Decimal(digits)
            if not stripped.startswith("-"):
                return number
            return number.copy_negate() if isinstance(number, Decimal) else -number
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
            node, f"{attribute.text} is {_family(family)}, and parameter %{node.index} is {text[:40]!r}", _HINTS[family]
        )

    def comparison(self, node: Comparison) -> tuple[Attribute, Attribute | None, Any]:
        """Check a comparison; return its attribute and either the other attribute or the value."""
        left = self.attribute(node.left)
        if isinstance(node.right, Field):
            right = self.attribute(node.right)
            if left.type.family != right.type.family or (isinstance(left.type, EnumType) and left.type != right.type):
                raise TypeFault(
                    node.right,
                    f"{left.text} is {_family(left.type.family)} and {right.text} is {_family(right.type.family)}",
                    "compare fields of one kind",
                )
            self._orderable(node, left)
            return left, right, None
        self._orderable(node, left)
        return left, None, self.value(left, node.right)

    def _orderable(self, node: Comparison, attribute: Attribute) -> None:
        if isinstance(attribute.type, EnumType) and node.operator not in ("=", "<>"):
            raise TypeFault(node, f"the labels of {attribute.text} have no order", "use =, <> or IN")

    def ordered(self, node: Expression, attribute: Attribute) -> None:
        """Refuse BETWEEN on an attribute whose values have no order."""
        if isinstance(attribute.type, EnumType):
            raise TypeFault(node, f"the labels of {attribute.text} have no order", "use =, <> or IN")

    def pattern(self, node: Like) -> tuple[Attribute, str]:
        """Check a LIKE; return its attribute and pattern."""
        attribute = self.attribute(node.field)
        if attribute.type.family != "string":
            raise TypeFault(node, f"LIKE needs a string, and {attribute.text} is {_family(attribute.type.family)}")
        pattern: str = self.value(attribute, node.pattern)
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


def exact(kind: LeafType, value: Any) -> Any:
    """Return the value as the type compares it: a decimal literal against a float is the double nearest to it."""
    return float(value) if isinstance(kind, FloatType) and isinstance(value, Decimal) else value


def _family(family: str) -> str:
    return {"number": "a number", "enum": "an enum"}.get(family, f"a {family}")


def _parameter_text(raw: object) -> str:
    from datetime import datetime

    return raw.isoformat() if isinstance(raw, datetime) else str(raw)
