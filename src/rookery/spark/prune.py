"""What no subscription may want does not cross: a condition in Spark, below the hand-over to the workers.

Theory. Every row of a set bounds some columns. The events that some row may want lie in the union of the rows; here
that union is drawn with a coarse pen: rows that bound the same columns are one group, and a group is, for each column,
the list of its values if they are few, else its least and its greatest end, and whether NULL is in it. Where all rows
name values of one column and these are many, the events are joined with them (a left semi join, by hash). Of a set of
few rows a finer pen follows (`row_masks.py`).

Rule: never a lost match. A row that bounds nothing that Spark can say ends the pruning, and whatever Spark reads
otherwise than a worker is no bound (`range_sql.py`). A stream is not pruned: its plan is fixed, and its rules are not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rookery.matching.ranges import AttributeRanges
from rookery.model.types import Key
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


def pruned(events: DataFrame, rows: SqlRows | None) -> DataFrame:
    """Return the events without those that no subscription can want; all of them where nothing can be said."""
    if rows is None or not rows.bounded:
        return events
    kept, asked, masks = _joined(events, rows), wanted_condition(rows), row_masks(rows)
    kept = events if kept is None else kept
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


def _points(leaf: SqlLeaf, lower: list[Key | None], upper: list[Key | None]) -> list[Key] | None:
    """Return the single values that ranges are, each once; None where one is no single value."""
    if leaf.kind not in LISTED or any(low is None or low != high for low, high in zip(lower, upper, strict=True)):
        return None
    if leaf.kind == "string" and any(low is not None and low[1] for low in lower):
        return None  # the gap beside a text, in which there is none
    return sorted(set(lower))


def _joined(events: DataFrame, rows: SqlRows) -> DataFrame | None:
    """Return the events whose value of one column is one of the many that rows name; None where that is not so."""
    from pyspark.sql.functions import broadcast, expr

    from rookery.spark.compat import frame_of

    for leaf, ranges in rows.bounded:
        mine = rows.alive[ranges.row]
        named = np.unique(ranges.row[mine])
        if leaf.kind not in ("integer", "string") or len(named) < rows.alive.sum() or ranges.null[mine].any():
            continue
        places = np.flatnonzero(mine).tolist()
        points = _points(leaf, [ranges.lower[one] for one in places], [ranges.upper[one] for one in places])
        if points is None or not FEW_POINTS < len(points) <= MOST_POINTS:
            continue
        values = pa.array([key[0] for key in points] if leaf.kind == "string" else points)
        keys = broadcast(frame_of(events.sparkSession, pa.table({KEY: values})))
        return events.join(keys, expr(f"{leaf.column} = {KEY}"), "left_semi")
    return None
