"""The rows of a set as ranges of values, for those who say a set in another language: Spark SQL, a filter of files.

Theory. A row is one range or several of each attribute that it names, in codes (`codes.py`). A code stands for a key
(`model.types`), so a row is as well ranges of keys: closed, with an end that is None where the type has no more
values. NULL is a range by itself.

Rule 1: never smaller than the truth. What cannot be said as a range of one attribute (computed values, now(), codes
that do not tell all values apart) is left out, and its row is not `whole`.
Rule 2: of a subscription that is `exact` and whose rows are all whole, the rows say exactly when it matches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rookery.matching.codes import HIGHEST_CODE, LOWEST_CODE, is_wide
from rookery.matching.kernels import ATTRIBUTE_MASK, NULL_CODE, SET_FLAG
from rookery.matching.labels import LABEL_LIMIT, Labels
from rookery.matching.texts.index import NO_TEXT, TEXT
from rookery.model.check import COMPUTED
from rookery.model.schema import NOW, Attribute
from rookery.model.types import DurationType, EnumType, IntegerType, Key

if TYPE_CHECKING:
    from rookery.matching.rows import Rows
    from rookery.matching.view import View

__all__ = ["AttributeRanges", "RangeRows", "intervals", "range_rows", "single_values"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class AttributeRanges:
    """The ranges of one attribute, in the order of the rows that they are of; a row may have several."""

    attribute: Attribute
    row: Array
    null: Array  # whether the range is NULL alone; it has no ends then
    lower: list[Key | None]
    upper: list[Key | None]


@dataclass(frozen=True, slots=True)
class RangeRows:
    """A set's rows: the slot of each, whether its ranges say all of it, and the ranges by attribute.

    `texts` are the conditions on texts (`model/texts.py`) that rows need besides, as (row, key). `exact` says of each
    slot whether its rows are exactly when it matches.
    """

    slot: Array
    whole: Array
    exact: Array
    ranges: tuple[AttributeRanges, ...]
    texts: tuple[tuple[int, str], ...]


def range_rows(view: View) -> RangeRows:
    """Return the rows of a set in which all subscriptions are alive."""
    rows = view.engine.rows()
    row_of = np.repeat(np.arange(len(rows)), np.diff(rows.start))
    numbers = rows.attribute & ATTRIBUTE_MASK
    whole = np.ones(len(rows), np.bool_)
    found: list[AttributeRanges] = []
    texts: list[tuple[int, str]] = []
    for number, attribute in enumerate(view.space.attributes):
        mine = np.flatnonzero(numbers == number)
        if not len(mine):
            continue
        if attribute is TEXT:
            texts = _texts(view.space.labels[number], row_of[mine], rows.bounds[mine, 0])
        elif not _is_readable(attribute):
            whole[row_of[mine]] = False
        else:
            found.append(_ranges(attribute, view.space.labels.get(number), rows, mine, row_of))
    return RangeRows(rows.slot, whole, view.inexact[: len(view.records)] == 0, tuple(found), tuple(texts))


def single_values(view: View, path: tuple[str | int, ...]) -> tuple[Array, Array, Array, list[Any]]:
    """Return the values of an attribute of texts or of whole numbers that each subscription confines its events to.

    The first array says of each slot whether it confines them to none. The pairs of the next two are slots, ascending,
    and places in the list of values; each pair is there once.
    """
    rows, number = view.engine.rows(), view.space.known(path)
    every = np.zeros(len(view.records), np.bool_)
    naming = np.zeros(len(rows), np.bool_)
    slot, place, values = np.empty(0, np.int64), np.empty(0, np.int64), list[Any]()
    if number is not None and _is_readable(view.space.attributes[number]):
        mine = np.flatnonzero((rows.attribute & ATTRIBUTE_MASK) == number)
        at, bounds = intervals(rows, mine)
        row = rows.owners(mine[at])
        low, high = bounds.T
        if number in view.space.labels:
            labels = view.space.labels[number]
            known, values = np.array(labels.values, np.int64), labels.texts
            place = np.minimum(np.searchsorted(known, low), len(known) - 1)
            single = (low == high) & (known[place] == low) if len(known) else np.zeros(len(low), np.bool_)
            place = place[single]
        else:
            single = (low == high) & (low > LOWEST_CODE)
            numbers, place = np.unique(low[single], return_inverse=True)
            values = numbers.tolist()
        naming[row] = True
        every[rows.slot[row[~single]]] = True
        slot = rows.slot[row[single]].astype(np.int64)
    every[rows.slot[~naming]] = True
    both = np.unique(slot * max(1, len(values)) + place)
    slot, place = np.divmod(both, max(1, len(values)))
    sure = ~every[slot]
    return every, slot[sure], place[sure], values


def _is_readable(attribute: Attribute) -> bool:
    kind = attribute.type
    if attribute is NOW or attribute.path[0] == COMPUTED or is_wide(kind):
        return False
    return not isinstance(kind, DurationType | EnumType) and not (
        isinstance(kind, IntegerType) and kind.bits == 64 and not kind.signed
    )


def _ranges(attribute: Attribute, labels: Labels | None, rows: Rows, mine: Array, row_of: Array) -> AttributeRanges:
    place, bounds = intervals(rows, mine)
    order = np.argsort(place, kind="stable")
    place, bounds = place[order], bounds[order]
    null = bounds[:, 1] == NULL_CODE
    ends = _text_ends(labels, bounds) if labels is not None else _ends(attribute.type, bounds)
    return AttributeRanges(attribute, row_of[mine[place]], null, *ends)


def intervals(rows: Rows, mine: Array) -> tuple[Array, Array]:
    """Return every interval of codes of some bounds, those of sets included, and the place of its bound in `mine`."""
    flagged = (rows.attribute[mine] & SET_FLAG) != 0
    single, sets = np.flatnonzero(~flagged), np.flatnonzero(flagged)
    first, end = rows.bounds[mine[sets], 0], rows.bounds[mine[sets], 1]
    counts = end - first
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    place = np.concatenate([single, np.repeat(sets, counts)])
    return place, np.concatenate([rows.bounds[mine[single]], rows.pool[np.repeat(first, counts) + within]])


def _ends(kind: Any, bounds: Array) -> tuple[list[Key | None], list[Key | None]]:
    """Return the ends of intervals of codes that are no texts; NULL's are None. A single value keeps both its ends."""
    least, most = max(kind.lowest, LOWEST_CODE), min(kind.highest, HIGHEST_CODE)
    low, high = bounds.T
    single = low == high
    is_open = (low <= least) & (~single | (low <= LOWEST_CODE)), (high == NULL_CODE) | ((high >= most) & ~single)
    lower, upper = (
        [None if without else end for end, without in zip(ends.tolist(), open_.tolist(), strict=True)]
        for ends, open_ in zip((low, high), is_open, strict=True)
    )
    return lower, upper


def _text_ends(labels: Labels, bounds: Array) -> tuple[list[Key | None], list[Key | None]]:
    """Return the ends of intervals of labels, or of the gaps beside them, as keys of texts."""
    values, texts = np.array(labels.values, np.int64), labels.texts

    def keys(codes: Array) -> list[Key | None]:
        if not len(values):
            return [None] * len(codes)
        nearest = np.searchsorted(values, np.clip(codes, -LABEL_LIMIT, LABEL_LIMIT) - 1)
        nearest = np.minimum(nearest, len(values) - 1)
        offset = codes - values[nearest]
        near = (offset >= -1) & (offset <= 1)
        triples = zip(nearest.tolist(), offset.tolist(), near.tolist(), strict=True)
        return [(texts[place], away) if known else None for place, away, known in triples]

    return keys(bounds[:, 0]), keys(bounds[:, 1])


def _texts(labels: Labels, row: Array, codes: Array) -> list[tuple[int, str]]:
    """Return the conditions on texts that rows need; those that need none are written with the label of no text."""
    known = dict(zip(labels.values, labels.texts, strict=True))
    named = [(one, known[code]) for one, code in zip(row.tolist(), codes.tolist(), strict=True)]
    return [(one, key) for one, key in named if key != NO_TEXT]
