"""The event space of a topic: which attributes span it, and how their values become coordinates in [0, 1).

Rule 1: a coordinate is a monotone function of the value's key (`model.types`), the same one for events and for the
bounds of a subscription. So a subscription's box holds every event that can satisfy it, whatever was rounded.
Rule 2: NULL, NaN and a missing attribute share the coordinate 0, below every value. A number out of an axis's range
goes to its edge. A string is placed by its first bytes, which keeps the order of strings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rookery.errors import SpaceError
from rookery.model.check import checking
from rookery.model.events import comparable, step_into
from rookery.model.lower import lower
from rookery.model.parser import parse
from rookery.model.schema import Attribute, Schema
from rookery.model.types import (
    BooleanType,
    DecimalType,
    EnumType,
    FloatType,
    IntegerType,
    LeafType,
    StringType,
    float_key,
    key_float,
)
from rookery.model.values import TOP

__all__ = ["Axis", "EventSpace"]

#: The first coordinate of a value; what lies below belongs to NULL.
FIRST = 2.0**-20
LAST = 1.0 - 2.0**-53
PREFIX = 6


@dataclass(frozen=True, slots=True)
class Axis:
    """One attribute, and the range of its values for a number."""

    attribute: str
    low: float = 0.0
    high: float = 1.0


class EventSpace:
    """The unit cube that some attributes of a schema span."""

    __slots__ = ("_attributes", "axes", "schema")

    def __init__(self, schema: Schema, axes: Sequence[Axis]) -> None:
        if not axes:
            raise SpaceError("an event space needs at least one attribute")
        self.schema = schema
        self.axes = tuple(axes)
        self._attributes: list[Attribute] = []
        for axis in axes:
            if not axis.low < axis.high:
                raise SpaceError(f"{axis.attribute}: the range {axis.low} to {axis.high} is empty")
            condition: Any = parse(f"{axis.attribute} IS NULL")
            self._attributes.append(schema.attribute(condition.field.path))

    @property
    def dimensions(self) -> int:
        """How many attributes span it."""
        return len(self.axes)

    def point(self, event: Mapping[str, Any]) -> tuple[float, ...]:
        """Return where an event lies."""
        found = []
        for attribute, axis in zip(self._attributes, self.axes, strict=True):
            value = comparable(attribute, step_into(event, attribute.path))
            kind = attribute.type
            found.append(0.0 if value is None else _coordinate(kind, _key(kind, value), axis))
        return tuple(found)

    def is_number(self, axis: int) -> bool:
        """Tell whether an axis is a number's, so that places on it can be given in the events' own units."""
        return isinstance(self._attributes[axis].type, FloatType | IntegerType | DecimalType)

    def coordinate(self, axis: int, number: float) -> float:
        """Return where a number lies on a number's axis."""
        return _on(self.axes[axis], number)

    def box(
        self, where: str, parameters: Sequence[object] | None = None
    ) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
        """Return the corners of the closed box that holds every event a condition can accept; None if there is none."""
        terms = checking(where, parse(where), lambda tree: lower(tree, self.schema, parameters))
        if not terms:
            return None
        bottoms, tops = [], []
        for attribute, axis in zip(self._attributes, self.axes, strict=True):
            bottom, top = 1.0, 0.0
            for term in terms:
                null, intervals = term.constraints.get(attribute.path, (True, None))
                if null:
                    bottom = 0.0
                if intervals is None:
                    top = LAST
                elif intervals:
                    first, last = intervals[0][0], intervals[-1][1]
                    bottom = min(bottom, _coordinate(attribute.type, first, axis))
                    top = max(top, _coordinate(attribute.type, last, axis))
            bottoms.append(bottom)
            tops.append(top)
        return tuple(bottoms), tuple(tops)


def _key(kind: LeafType, value: Any) -> Any:
    if isinstance(kind, FloatType):
        return float_key(value)
    if isinstance(kind, EnumType) and value not in kind.labels:
        return kind.highest
    return kind.enclose(value)[0]


def _coordinate(kind: LeafType, key: Any, axis: Axis) -> float:
    """Return the coordinate of a key: monotone in the key."""
    if isinstance(kind, StringType):
        if key == TOP:
            return LAST
        octets = key[0].encode("utf-8", "surrogatepass")[:PREFIX]
        share = int.from_bytes(octets.ljust(PREFIX, b"\0"), "big") / 256.0**PREFIX
    elif isinstance(kind, EnumType | BooleanType):
        share = key / (kind.highest + 1)
    else:
        if isinstance(kind, FloatType):
            value = key_float(key)
        else:
            value = key / 10**kind.scale if isinstance(kind, DecimalType) else float(key)
        return _on(axis, value)
    return _above_null(share)


def _on(axis: Axis, value: float) -> float:
    return _above_null((value - axis.low) / (axis.high - axis.low))


def _above_null(share: float) -> float:
    return min(max(FIRST + share * (1.0 - FIRST), FIRST), LAST)
