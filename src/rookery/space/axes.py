"""The event space of a topic: which attributes span it, and how their values become coordinates in [0, 1).

Rule 1: a coordinate is a monotone function of the value's key (`model.types`), the same one for events, row by row or
by column, and for the bounds of a subscription. So a subscription's box holds every event that can satisfy it,
whatever was rounded, and two values that are equal lie at one place, whatever they came in.
Rule 2: NULL, NaN and a missing attribute share the coordinate 0, below every value. A number out of an axis's range
goes to its edge; an instant counts as seconds since 1970. A text is placed by the axis's code (`texts.py`).
Rule 3: an axis says all that coordinates depend on beside the attribute's type. It travels with trees and messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rookery.errors import SpaceError
from rookery.model.batches import Events, batch_of, event_column
from rookery.model.events import comparable, step_into
from rookery.model.parser import parse
from rookery.model.schema import Attribute, Schema
from rookery.model.shapes import Shapes
from rookery.model.types import BooleanType, EnumType, FloatType, Key, LeafType, StringType, float_key
from rookery.model.values import TOP, everything
from rookery.space.numbers import enum_keys, key_number, key_numbers, number_range
from rookery.space.texts import TextCode, least_text, utf8_bytes

__all__ = ["Axis", "EventSpace", "attribute_of"]

#: The first coordinate of a value; what lies below belongs to NULL.
FIRST = 2.0**-20
LAST = 1.0 - 2.0**-53

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Axis:
    """One attribute: the range of its values for a number or an instant, the code of its values for a text."""

    attribute: str
    low: float = 0.0
    high: float = 1.0
    code: TextCode = TextCode()  # noqa: RUF009 - a value that never changes

    def plain(self) -> list[Any]:
        """Return the axis as lists, texts and numbers, as documents and messages carry it."""
        known: list[Any] = [self.attribute, self.low, self.high]
        return [*known, list(self.code.knots), list(self.code.shares)] if self.code.knots else known

    @classmethod
    def read(cls, plain: Sequence[Any]) -> Axis:
        """Read what `plain` wrote; anything else is a `SpaceError`."""
        try:
            name, low, high, *code = plain
            knots, shares = code or ((), ())
            if not isinstance(name, str) or not all(isinstance(text, str) for text in knots):
                raise TypeError("names and texts are strings")
            return cls(name, float(low), float(high), TextCode(knots, shares))
        except (TypeError, ValueError) as error:
            raise SpaceError(f"this is no axis: {error}") from error


def attribute_of(schema: Schema, text: str) -> Attribute:
    """Return the attribute that an axis names."""
    condition: Any = parse(f"{text} IS NULL")
    return schema.attribute(condition.field.path)


class EventSpace:
    """The unit cube that some attributes of a schema span."""

    __slots__ = ("_ranges", "_shapes", "attributes", "axes", "schema")

    def __init__(self, schema: Schema, axes: Sequence[Axis]) -> None:
        if not axes:
            raise SpaceError("an event space needs at least one attribute")
        if len({axis.attribute for axis in axes}) != len(axes):
            raise SpaceError("an event space has each attribute once")
        self.schema = schema
        self.axes = tuple(axes)
        self._shapes = Shapes(schema)
        self.attributes = [attribute_of(schema, axis.attribute) for axis in axes]
        #: By axis, the numbers that lie at both ends; booleans and labels have a slot each.
        self._ranges: list[tuple[float, float]] = []
        for attribute, axis in zip(self.attributes, axes, strict=True):
            if not axis.low < axis.high or not isfinite(axis.high - axis.low):
                raise SpaceError(f"{axis.attribute}: the range {axis.low} to {axis.high} is empty or has no end")
            kind = attribute.type
            slots = (0.0, kind.highest + 1.0) if isinstance(kind, EnumType | BooleanType) else None
            self._ranges.append(slots or (axis.low, axis.high))

    @classmethod
    def learn(cls, schema: Schema, attributes: Sequence[str], sample: Events) -> EventSpace:
        """Return the space of some attributes whose ranges and codes come from a sample of events."""
        batch = batch_of(sample)
        axes = []
        for name in attributes:
            attribute = attribute_of(schema, name)
            array = event_column(batch, attribute, missing="null")
            if isinstance(attribute.type, StringType):
                axes.append(Axis(name, code=TextCode.learn(array.to_pylist())))
            elif isinstance(attribute.type, EnumType | BooleanType):
                axes.append(Axis(name))
            else:
                axes.append(Axis(name, *number_range(key_numbers(attribute, array))))
        return cls(schema, axes)

    @property
    def dimensions(self) -> int:
        """How many attributes span it."""
        return len(self.axes)

    def point(self, event: Mapping[str, Any]) -> tuple[float, ...]:
        """Return where an event lies."""
        found = []
        for number, attribute in enumerate(self.attributes):
            value = comparable(attribute, step_into(event, attribute.path))
            found.append(0.0 if value is None else self.coordinate(number, _key(attribute.type, value)))
        return tuple(found)

    def points(self, events: Events) -> Floats:
        """Return where the events of a batch lie, one row each: the same as `point` says, by column."""
        batch = batch_of(events)
        found = np.empty((batch.num_rows, len(self.axes)))
        for number, attribute in enumerate(self.attributes):
            array = event_column(batch, attribute, missing="null")
            found[:, number] = self._coordinates(number, array)
        return found

    def _coordinates(self, number: int, array: Any) -> Floats:
        attribute = self.attributes[number]
        if isinstance(attribute.type, StringType):
            found = _above_null(self.axes[number].code.places(array))
        elif isinstance(attribute.type, EnumType):
            found = self.on(number, enum_keys(attribute.type, array))
        else:
            found = self.on(number, key_numbers(attribute, array))
        if array.null_count:
            found[array.is_null().to_numpy(zero_copy_only=False)] = 0.0
        return found

    def on(self, number: int, values: Floats) -> Floats:
        """Return where numbers lie on an axis that is no text's; NaN lies where NULL does."""
        low, high = self._ranges[number]
        with np.errstate(over="ignore", invalid="ignore"):
            shares = (values - low) / (high - low)
        return np.where(np.isnan(values), 0.0, _above_null(shares))

    def coordinate(self, number: int, key: Key) -> float:
        """Return the coordinate of a key: monotone in the key."""
        kind = self.attributes[number].type
        if isinstance(kind, StringType):
            return LAST if key == TOP else self.text_place(number, utf8_bytes(key[0]))
        low, high = self._ranges[number]
        return _place((key_number(kind, key) - low) / (high - low))

    def text_place(self, number: int, text: bytes) -> float:
        """Return the coordinate of a text that is given as UTF-8."""
        return _place(self.axes[number].code.place(text))

    def least(self, number: int, cut: float) -> Key | bytes | None:
        """Return the least key whose coordinate is at or above a cut (of a text its UTF-8); None where none is.

        So `coordinate(key) >= cut` is `key >= least(cut)`: whoever has values needs no coordinates.
        """
        kind = self.attributes[number].type
        if isinstance(kind, StringType):
            return least_text(lambda text: self.text_place(number, text) >= cut)
        low, high = kind.lowest, kind.highest + 1
        while low < high:
            middle = (low + high) // 2
            if self.coordinate(number, middle) >= cut:
                high = middle
            else:
                low = middle + 1
        return low if low <= kind.highest else None

    def box(
        self, where: str, parameters: Sequence[object] | None = None
    ) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
        """Return the corners of the closed box that holds every event a condition can accept; None if there is none."""
        terms = self._shapes.lower(where, parameters)
        if not terms:
            return None
        bottoms, tops = [], []
        for number, attribute in enumerate(self.attributes):
            bottom, top = 1.0, 0.0
            for term in terms:
                null, intervals = term.constraints.get(attribute.path, (True, None))
                if null:
                    bottom = 0.0
                if intervals is None or (null and intervals == everything(attribute.type)):
                    top = LAST
                elif intervals:
                    bottom = min(bottom, self.coordinate(number, intervals[0][0]))
                    top = max(top, self.coordinate(number, intervals[-1][1]))
            bottoms.append(bottom)
            tops.append(top)
        return tuple(bottoms), tuple(tops)


def _key(kind: LeafType, value: Any) -> Key:
    if isinstance(kind, FloatType):
        return float_key(value)
    if isinstance(kind, EnumType) and value not in kind.labels:
        return kind.highest
    return kind.enclose(value)[0]


def _place(share: float) -> float:
    return min(max(FIRST + share * (1.0 - FIRST), FIRST), LAST)


def _above_null(shares: Floats) -> Floats:
    return np.clip(FIRST + shares * (1.0 - FIRST), FIRST, LAST)
