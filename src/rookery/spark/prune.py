"""What no subscription may want does not cross: a condition in Spark, below the hand-over to the workers.

Theory. Every row of a set bounds some columns. The events that some row may want lie in the union of the rows; here
that union is drawn with a coarse pen: rows that bound the same columns are one group, and a group is, for each column,
the list of its values if they are few, else its least and its greatest end, and whether NULL is in it. Where all rows
name values of one column and these are many, the events are joined with them (a left semi join, by hash). Where most
rows do, an event without such a value crosses if one of the other rows may want it (a left outer join, whose key is
NULL then). Of few rows, of all of them or of those others, a finer pen follows (`row_masks.py`).

Rule: never a lost match. A row that bounds nothing that Spark can say ends the pruning, and whatever Spark reads
otherwise than a worker is no bound (`range_sql.py`). A stream is not pruned: its plan is fixed, and its rules are not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rookery.matching.ranges import AttributeRanges
from rookery.model.types import Key
from rookery.spark.carriers import RecentValues
from rookery.spark.range_sql import SqlLeaf, points_text, range_text
from rookery.spark.row_masks import row_masks
from rookery.spark.sql_rows import SqlRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["FEW_POINTS", "MOST_POINTS", "pruned", "wanted_condition"]

Array = np.ndarray[Any, Any]

#: Values of one column that stand in a list; more are joined, up to so many.
FEW_POINTS, MOST_POINTS = 64, 1_000_000
#: Groups of rows at most; where there are more, each row counts by the one column that most rows bound.
MOST_GROUPS = 6
#: Kinds of columns whose single values may be listed or joined: of doubles -0.0 and 0.0 would be two.
LISTED = ("integer", "string", "timestamp")
#: The column of the values to join.
KEY = "_rookery_key"


@dataclass(frozen=True, slots=True)
class NamedValues:
    """Values of one column that rows name, and what the rows ask that name none of it; None where all name some."""

    column: str
    values: pa.Array
    others: str | None


_found: RecentValues[tuple[SqlRows, NamedValues | None]] = RecentValues()
_tables: RecentValues[tuple[SqlRows, Any, DataFrame]] = RecentValues()


def pruned(events: DataFrame, rows: SqlRows | None) -> DataFrame:
    """Return the events without those that no subscription can want; all of them where nothing can be said."""
    if rows is None or not rows.bounded:
        return events
    asked, masks = wanted_condition(rows), row_masks(rows)
    _, named = _found(id(rows), lambda: (rows, _named(rows)))
    kept = events if named is None else _joined(events, rows, named)
    kept = kept if asked is None else kept.where(asked)
    return kept if masks is None else kept.where(masks.condition)


def wanted_condition(rows: SqlRows, *, without: int | None = None) -> str | None:
    """Return what holds for every event that some subscription wants; None where Spark can say nothing.

    `without` is the place of a column that something else looks at.
    """
    if not rows.alive.any():
        return "false"
    bounds = np.zeros((len(rows.slot), len(rows.bounded)), np.bool_)
    for place, (_, ranges) in enumerate(rows.bounded):
        if place != without:
            bounds[ranges.row, place] = True
    alive = np.flatnonzero(rows.alive)
    conditions = [_group_condition(rows, alive[mine], bounds) for mine in _groups(bounds[alive])]
    return None if None in conditions else " or ".join(f"({one})" for one in conditions)


def _groups(bounds: Array) -> list[Array]:
    """Return rows in groups: those that bound the same columns, or where these are many, the same one column."""
    kinds, group = np.unique(bounds, axis=0, return_inverse=True)
    group = group.reshape(-1)
    if len(kinds) > MOST_GROUPS:
        by_use = np.argsort(-bounds.sum(axis=0), kind="stable")
        ordered = bounds[:, by_use]
        group = np.where(ordered.any(axis=1), by_use[ordered.argmax(axis=1)], -1)
    return [np.flatnonzero(group == one) for one in np.unique(group)]


def _group_condition(rows: SqlRows, mine: Array, bounds: Array) -> str | None:
    """Return what holds for every event that a row of a group wants; None where that is nothing."""
    shared = np.flatnonzero(bounds[mine].all(axis=0))
    member = np.zeros(len(rows.slot), np.bool_)
    member[mine] = True
    found = [_union(leaf, ranges, np.flatnonzero(member[ranges.row])) for leaf, ranges in
             (rows.bounded[place] for place in shared.tolist())]  # fmt: skip
    said = [one for one in found if one is not None]
    return " and ".join(said) or None


def _union(leaf: SqlLeaf, ranges: AttributeRanges, places: Array) -> str | None:
    """Return the union of some ranges of a column, perhaps widened; None where it is everything."""
    null = bool(ranges.null[places].any())
    lower = [ranges.lower[place] for place in places.tolist() if not ranges.null[place]]
    upper = [ranges.upper[place] for place in places.tolist() if not ranges.null[place]]
    asked = [range_text(leaf, True, None, None)] if null else []
    if lower:
        points = _points(leaf, lower, upper)
        if points is not None and len(points) <= FEW_POINTS:
            asked.append(points_text(leaf, points))
        else:
            low = None if None in lower else min(lower)
            high = None if None in upper else max(upper)
            if null and low is None and high is None:
                return None
            asked.append(range_text(leaf, False, low, high))
    return f"({' or '.join(asked)})"


def _is_point(leaf: SqlLeaf, low: Key | None, high: Key | None) -> bool:
    """Say whether a range is one value; of texts a gap beside one, in which there is none, is not."""
    return low is not None and low == high and (leaf.kind != "string" or not low[1])


def _points(leaf: SqlLeaf, lower: list[Key | None], upper: list[Key | None]) -> list[Key] | None:
    """Return the single values that ranges are, each once; None where one is no single value."""
    if leaf.kind not in LISTED or not all(_is_point(leaf, *ends) for ends in zip(lower, upper, strict=True)):
        return None
    return sorted(set(lower))


def _named(rows: SqlRows) -> NamedValues | None:
    """Return the many values of one column that most rows name; None where that is not so."""
    best: NamedValues | None = None
    for leaf, ranges in rows.bounded:
        if leaf.kind not in ("integer", "string"):
            continue
        mine = np.flatnonzero(rows.alive[ranges.row])
        ends = zip(ranges.null[mine], ((ranges.lower[one], ranges.upper[one]) for one in mine.tolist()), strict=True)
        is_point = np.array([not null and _is_point(leaf, *both) for null, both in ends], np.bool_)
        others = rows.alive.copy()
        others[ranges.row[mine[is_point]]] = False
        others[ranges.row[mine[~is_point]]] = True  # such a row may want other values as well
        keys = sorted({ranges.lower[one] for one in mine[~others[ranges.row[mine]]].tolist()})
        if not FEW_POINTS < len(keys) <= MOST_POINTS or 2 * others.sum() > rows.alive.sum():
            continue
        values = pa.array([key[0] for key in keys] if leaf.kind == "string" else keys)
        if not others.any():
            return NamedValues(leaf.column, values, None)
        left = replace(rows, alive=others)
        asked, masks = wanted_condition(left), row_masks(left)
        if asked is not None and best is None:
            best = NamedValues(leaf.column, values, asked if masks is None else f"({asked}) and ({masks.condition})")
    return best


def _joined(events: DataFrame, rows: SqlRows, named: NamedValues) -> DataFrame:
    """Return the events that have a value that is named, or that the rows want that name none."""
    from pyspark.sql.functions import broadcast, expr

    from rookery.spark.compat import frame_of

    spark = events.sparkSession
    _, _, table = _tables((id(rows), id(spark)),
                          lambda: (rows, spark, broadcast(frame_of(spark, pa.table({KEY: named.values})))))  # fmt: skip
    met = expr(f"{named.column} = {KEY}")
    if named.others is None:
        return events.join(table, met, "left_semi")
    return events.join(table, met, "left_outer").where(f"{KEY} is not null or {named.others}").drop(KEY)
