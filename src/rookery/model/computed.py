"""Computed attributes: what a filter says of several fields at once, as one attribute of the event.

`price > lim` is TRUE, FALSE or UNKNOWN of an event, so it is a boolean attribute that the event does not carry: it is
computed from those it does, once per batch for all subscriptions that name it. Filters that mean the same share it:
`a < b`, `b > a` and NOT `a >= b` are one attribute.

Rule 1: its path is ("$=", text), and the text parses to the expression again, so that a saved set needs nothing else.
Rule 2: a column is computed by Arrow where Arrow is exact for these types, and by value elsewhere (a double against a
decimal, an int64 past 2⁵³ against a double): exact always, and once per event, whatever the number of subscriptions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rookery.errors import SchemaError
from rookery.model.check import Checker, TypeFault
from rookery.model.evaluate import condition
from rookery.model.event_columns import comparables
from rookery.model.expressions import Comparison, Field, field_text, to_text
from rookery.model.parser import parse
from rookery.model.schema import Attribute, Schema
from rookery.model.types import BooleanType, EnumType, FloatType, IntegerType, LeafType, StringType, TimestampType

__all__ = ["COMPUTED", "ComputedAttribute", "comparison_path", "computed_attribute"]

#: The first step of a computed attribute's path.
COMPUTED = "$="
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_OPPOSITE = {"<>": "=", ">=": "<", "<=": ">"}
_ARROW = {"=": pc.equal, "<": pc.less, ">": pc.greater}

Path = tuple[str | int, ...]


def comparison_path(node: Comparison) -> tuple[Path, bool]:
    """Return the path of a comparison of fields, and whether it is TRUE where that attribute is (FALSE otherwise)."""
    left, right, sign = node.left, node.right, node.operator
    assert isinstance(right, Field)
    if field_text(right.path) < field_text(left.path):
        left, right, sign = right, left, _MIRRORED[sign]
    wanted = sign not in _OPPOSITE
    return (COMPUTED, to_text(Comparison(sign if wanted else _OPPOSITE[sign], left, right))), wanted


class ComputedAttribute(Attribute):
    """An attribute that is computed from others."""

    __slots__ = ("_decide", "_node", "fields")

    def __init__(self, path: Path, node: Comparison, fields: tuple[Attribute, ...], schema: Schema) -> None:
        super().__init__(path, BooleanType())
        self._node = node
        #: The attributes that it is computed from.
        self.fields = fields
        self._decide = condition(node, schema)

    def value(self, read: Callable[[Attribute], Any]) -> Any:
        """Return its value for one event, whose values `read` gives as the language compares them."""
        return self._decide({one.path: read(one) for one in self.fields})

    def column(self, arrays: Mapping[Path, pa.Array]) -> pa.Array:
        """Return its column from those of its fields, as `event_column` gives them."""
        kinds = [one.type for one in self.fields]
        columns = [arrays[one.path] for one in self.fields]
        try:
            left, right = (
                _plain(kind, array, kinds) for kind, array in zip(_both(kinds), _both(columns), strict=True)
            )
            return _ARROW[self._node.operator](left, right)
        except (_InexactError, pa.ArrowException):
            values = [comparables(one, array) for one, array in zip(self.fields, columns, strict=True)]
            paths = [one.path for one in self.fields]
            decide = self._decide
            return pa.array(
                [decide(dict(zip(paths, row, strict=True))) for row in zip(*values, strict=True)], pa.bool_()
            )


class _InexactError(Exception):
    """Arrow would not compare these types exactly."""


def _both(items: list[Any]) -> list[Any]:
    """Return two items; a field that is compared with itself stands once among the fields."""
    return items * 2 if len(items) == 1 else items


def _plain(kind: LeafType, array: pa.Array, kinds: list[LeafType]) -> pa.Array:
    """Return one side of a comparison as an array that Arrow compares with the other side exactly."""
    if isinstance(kind, StringType | EnumType):
        return (array.dictionary_decode() if pa.types.is_dictionary(array.type) else array).cast(pa.large_string())
    if isinstance(kind, TimestampType):
        if len({one.unit for one in kinds if isinstance(one, TimestampType)}) > 1:
            raise _InexactError
        return array.cast(pa.int64())
    if isinstance(kind, FloatType):
        if not all(isinstance(one, FloatType | IntegerType) for one in kinds):
            raise _InexactError
        doubles = array.cast(pa.float64())
        return pc.if_else(pc.is_nan(doubles), pa.scalar(None, pa.float64()), doubles)
    if isinstance(kind, IntegerType):
        if any(isinstance(one, FloatType) for one in kinds):
            return array.cast(pa.float64())  # a safe cast: it refuses what a double does not hold
        if all(isinstance(one, IntegerType) for one in kinds):
            return array.cast(pa.int64())  # and this what an int64 does not
        raise _InexactError
    if isinstance(kind, BooleanType):
        return array
    if len(set(kinds)) > 1:  # decimals of several scales
        raise _InexactError
    return array


def computed_attribute(schema: Schema, path: Path) -> ComputedAttribute:
    """Return the computed attribute of a path; SchemaError where its text is none over this schema."""
    try:
        (_, text) = path
        node = parse(str(text))
        if not isinstance(node, Comparison) or not isinstance(node.right, Field) or comparison_path(node)[0] != path:
            raise SchemaError(f"{text!r:.60} is no computed attribute")
        left, right, _ = Checker(schema).comparison(node)
    except (ValueError, TypeFault) as error:
        raise SchemaError(f"{path[-1]!r:.60} is no computed attribute: {error}") from None
    assert right is not None
    return ComputedAttribute(path, node, (left,) if left.path == right.path else (left, right), schema)
