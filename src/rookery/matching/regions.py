"""The region of each subscription as plain doubles, for those who cut the event space into zones.

Rule: outer bounds. Every event that satisfies a subscription lies inside its bounds; the reverse need not hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rookery.errors import SchemaError
from rookery.matching.kernels import ATTRIBUTE_MASK, NULL_CODE, SET_FLAG
from rookery.model.parser import parse
from rookery.model.types import DecimalType, EnumType, FloatType, IntegerType, LeafType, StringType

if TYPE_CHECKING:
    from rookery.matching.view import View

__all__ = ["outer_boxes"]

Array = np.ndarray[Any, Any]


def outer_boxes(view: View, attributes: list[str]) -> tuple[Array, Array]:
    """Return lower and upper bounds [subscriptions, attributes]; see CompiledSet.boxes."""
    slots = len(view.records)
    lower = np.full((slots, len(attributes)), np.inf)
    upper = np.full((slots, len(attributes)), -np.inf)
    rows = view.engine.rows()
    row_of = np.repeat(np.arange(len(rows)), np.diff(rows.start))
    bounds = rows.bounds.copy()
    flagged = np.flatnonzero(rows.attribute & SET_FLAG)
    if len(flagged):
        first, last = rows.bounds[flagged, 0], rows.bounds[flagged, 1] - 1
        bounds[flagged, 0], bounds[flagged, 1] = rows.pool[first, 0], rows.pool[last, 1]
    for place, text in enumerate(attributes):
        expression: Any = parse(f"{text} IS NULL")
        path = expression.field.path
        attribute = view.space.schema.attribute(path)
        if isinstance(attribute.type, EnumType):
            raise SchemaError(f"{text}: the labels of an enum have no order to cut by")
        low, high = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
        number = view.space.known(path)
        if number is not None and not isinstance(attribute.type, StringType):
            mine = np.flatnonzero((rows.attribute & ATTRIBUTE_MASK) == number)
            # A row that NULL satisfies has no bound: an event without the attribute lies anywhere.
            mine = mine[bounds[mine, 0] != NULL_CODE]
            low[row_of[mine]] = _decode(attribute.type, bounds[mine, 0], down=True)
            high[row_of[mine]] = _decode(attribute.type, bounds[mine, 1], down=False)
        np.minimum.at(lower[:, place], rows.slot, low)
        np.maximum.at(upper[:, place], rows.slot, high)
    return lower, upper


def _decode(kind: LeafType, codes: Array, *, down: bool) -> Array:
    """Return codes as doubles of the attribute's own unit, rounded outward."""
    if isinstance(kind, FloatType) or (isinstance(kind, DecimalType) and kind.precision > 18):
        # A side that was left open may lie beyond infinity, where codes are those of NaN.
        codes = np.clip(codes, FloatType.lowest, FloatType.highest)
        bits = np.where(codes >= 0, codes, np.iinfo(np.int64).min - codes)
        values: Array = bits.view(np.float64).copy()
        exact = isinstance(kind, FloatType)
    else:
        if isinstance(kind, IntegerType) and kind.bits == 64 and not kind.signed:
            # Shifted back as integers: in doubles 2⁶³ would swallow the low bits.
            numbers = ((codes - 1).view(np.uint64) ^ np.uint64(1 << 63)).astype(np.float64)
        else:
            numbers = codes.astype(np.float64)
        values = numbers / 10.0**kind.scale if isinstance(kind, DecimalType) else numbers
        exact = bool((np.abs(numbers) < 2.0**53).all()) and not isinstance(kind, DecimalType)
    if exact:
        return values
    outward = -np.inf if down else np.inf
    values = np.nextafter(values, outward)
    # A decimal was rounded twice, as a whole number and by the division.
    return np.nextafter(values, outward) if isinstance(kind, DecimalType) else values
