"""The box of each subscription in an event space, for those who cut the space into zones.

Rule: outer bounds. Every event that satisfies a subscription lies inside its box; the reverse need not hold. A bound is
placed as an event's value is (`space.axes`), and what codes do not tell apart (`codes.py`) lies at one place, so
nothing has to be widened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rookery.matching.codes import LOWEST_CODE
from rookery.matching.kernels import ATTRIBUTE_MASK, NULL_CODE
from rookery.matching.labels import LABEL_LIMIT, Labels
from rookery.matching.ranges import intervals
from rookery.model.types import DecimalType, FloatType, IntegerType, LeafType, StringType, TimestampType
from rookery.space.axes import FIRST, LAST, EventSpace
from rookery.space.numbers import instants
from rookery.space.texts import utf8_bytes

if TYPE_CHECKING:
    from rookery.matching.view import View

__all__ = ["outer_boxes"]

Array = np.ndarray[Any, Any]


def outer_boxes(view: View, space: EventSpace) -> tuple[Array, Array]:
    """Return the corners [subscriptions, axes] of closed boxes; see `CompiledSet.boxes`."""
    slots, axes = len(view.records), len(space.axes)
    lower, upper = np.ones((slots, axes)), np.zeros((slots, axes))
    rows = view.engine.rows()
    row_of = np.repeat(np.arange(len(rows)), np.diff(rows.start))
    for axis, attribute in enumerate(space.attributes):
        low, high = np.zeros(len(rows)), np.full(len(rows), LAST)
        number = view.space.known(attribute.path)
        if number is not None:
            mine = np.flatnonzero((rows.attribute & ATTRIBUTE_MASK) == number)
            place, bounds = intervals(rows, mine)
            places = _places(view, space, axis, number, bounds)
            bottom, top = np.ones(len(mine)), np.zeros(len(mine))
            np.minimum.at(bottom, place, places[:, 0])
            np.maximum.at(top, place, places[:, 1])
            low[row_of[mine]], high[row_of[mine]] = bottom, top
        np.minimum.at(lower[:, axis], rows.slot, low)
        np.maximum.at(upper[:, axis], rows.slot, high)
    return lower, upper


def _places(view: View, space: EventSpace, axis: int, number: int, bounds: Array) -> Array:
    """Return where the ends of intervals of codes lie: NULL's end at 0, all others where their values do."""
    kind = space.attributes[axis].type
    if isinstance(kind, StringType):
        places = _text_places(view.space.labels[number], space, axis, bounds)
    else:
        places = space.on(axis, _numbers(kind, bounds))
    return np.where(bounds == NULL_CODE, 0.0, places)


def _text_places(labels: Labels, space: EventSpace, axis: int, bounds: Array) -> Array:
    """Return where labels, or the gaps beside them, lie; an end that was left open is that of all texts."""
    values = np.array(labels.values, np.int64)
    known = np.array([space.text_place(axis, utf8_bytes(text)) for text in labels.texts])
    places = np.where(bounds > 0, LAST, FIRST)
    if len(values):
        nearest = np.searchsorted(values, np.clip(bounds, -LABEL_LIMIT, LABEL_LIMIT) - 1)
        nearest = np.minimum(nearest, len(values) - 1)
        offset = bounds - values[nearest]
        places = np.where((offset >= -1) & (offset <= 1), known[nearest], places)
    return places


def _numbers(kind: LeafType, codes: Array) -> Array:
    """Return codes as the numbers that they stand for, as `space.numbers` has them."""
    if isinstance(kind, FloatType) or (isinstance(kind, DecimalType) and kind.precision > 18):
        # A side that was left open may lie beyond infinity, where codes are those of NaN.
        codes = np.clip(codes, FloatType.lowest, FloatType.highest)
        bits = np.where(codes >= 0, codes, np.iinfo(np.int64).min - codes)
        values: Array = bits.view(np.float64)
        return values
    if isinstance(kind, IntegerType) and kind.bits == 64 and not kind.signed:
        # Shifted back as integers: in doubles 2⁶³ would swallow the low bits.
        return ((codes - 1).view(np.uint64) ^ np.uint64(1 << 63)).astype(np.float64)
    if isinstance(kind, TimestampType):
        return instants(kind, np.where(codes == LOWEST_CODE, NULL_CODE, codes))  # it stands for the first two
    if isinstance(kind, DecimalType):
        steps = [step / 10**kind.scale for step in np.clip(codes, kind.lowest, kind.highest).ravel().tolist()]
        return np.array(steps, np.float64).reshape(codes.shape)
    return codes.astype(np.float64)
