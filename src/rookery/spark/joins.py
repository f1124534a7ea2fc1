"""The plan *join*: rules of one value and ranges as a table, broadcast by Spark, that an event is joined with by hash.

Every rule names values of one column, a row of the table for each; of the other columns it has one range at the most,
whose ends are columns of the table. An event looks up the rows of its value and is compared with their ends. A column
that no rule bounds at one side has no end there, and one that only some rules bound has NULL for the others.

Events that lie in no rule's ranges are left out before they look anything up: numbers are compared faster than a text
is hashed.

Rule: no two rows of a rule may both hold for an event, since each is a match.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from rookery.matching.ranges import AttributeRanges
from rookery.model.types import DecimalType, FloatType, key_float
from rookery.spark.carried import RuleColumns, carried_name, rule_name
from rookery.spark.carriers import RecentValues
from rookery.spark.compat import frame_of
from rookery.spark.prune import wanted_condition
from rookery.spark.range_sql import INFINITY, SqlLeaf, date_of, quoted
from rookery.spark.rules import CompiledRules, Reading
from rookery.spark.sql_rows import SqlRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["MOST_MEETINGS", "JoinShape", "join_shape", "match_join", "rule_table"]

Array = np.ndarray[Any, Any]

#: Rules of one value that a join may meet for each event.
MOST_MEETINGS = 32
#: Kinds of columns by whose values a join may be, and the columns of the value and of the names in the rules' table.
KEYED, KEY = ("integer", "string"), "_rookery_key"
ID, VERSION = "_rookery_subscription_id", "_rookery_version"
#: How sets are joined, each with its rows, so that no other set has their address.
_shapes: RecentValues[tuple[SqlRows, JoinShape | str]] = RecentValues()


@dataclass(frozen=True, slots=True)
class JoinShape:
    """The column that a set is joined by: which of `bounded` it is, the key of each row in the table, and the row."""

    place: int
    ranges: Array  # which of the ranges of that column
    row: Array
    most: int


def join_shape(rows: SqlRows) -> JoinShape | str:
    """Return how a set is joined, or why it cannot be; found once for a set."""
    return _shapes(id(rows), lambda: (rows, _find_shape(rows)))[1]


def _find_shape(rows: SqlRows) -> JoinShape | str:
    if rows.texts:
        return "conditions on texts are no ranges"
    best: JoinShape | None = None
    for place, (leaf, ranges) in enumerate(rows.bounded):
        mine = np.flatnonzero(rows.alive[ranges.row])
        if leaf.kind not in KEYED or len(np.unique(ranges.row[mine])) < rows.alive.sum():
            continue
        if not _are_points(leaf, ranges, mine):
            continue
        keys = [ranges.lower[one] for one in mine.tolist()]
        pairs = set(zip(rows.slot[ranges.row[mine]].tolist(), keys, strict=True))
        if len(pairs) < len(mine):  # two rows of one rule might both hold
            continue
        _, counts = np.unique(np.array([str(key) for key in keys]), return_counts=True)
        most = int(counts.max(initial=0))
        if best is None or most < best.most:
            best = JoinShape(place, mine, ranges.row[mine], most)
    if best is None:
        return "there is no column of which every rule names values"
    if best.most > MOST_MEETINGS:
        return f"{best.most:,} rules name one value, more than {MOST_MEETINGS}"
    for place, (leaf, ranges) in enumerate(rows.bounded):
        if place != best.place and not _is_joinable(leaf, ranges, np.flatnonzero(rows.alive[ranges.row])):
            return f"{leaf.column} has more than one range, or NULL, in some rule"
    return best


def _are_points(leaf: SqlLeaf, ranges: AttributeRanges, mine: Array) -> bool:
    ends = ((ranges.lower[one], ranges.upper[one]) for one in mine.tolist())
    return all(low is not None and low == high and (leaf.kind != "string" or not low[1]) for low, high in ends)


def _is_joinable(leaf: SqlLeaf, ranges: AttributeRanges, mine: Array) -> bool:
    """Say whether each row has one range of a column at the most, with ends that a table of rules can hold."""
    if len(np.unique(ranges.row[mine])) < len(mine) or ranges.null[mine].any():
        return False
    if leaf.kind == "string":
        return _are_points(leaf, ranges, mine)
    ends = [(ranges.lower[one], ranges.upper[one]) for one in mine.tolist()]
    return leaf.kind in ("double", "float") or all(low is not None or high is not None for low, high in ends)


@dataclass(frozen=True, slots=True)
class JoinedRules:
    """The rules of a set as a table of a session, and what the join asks of an event before it and in it."""

    rows: SqlRows
    spark: Any
    table: DataFrame
    version: int | None  # of all rules; None where it is in the table
    wanted: str | None
    conditions: str

    @classmethod
    def of(cls, spark: Any, rules: CompiledRules, rows: SqlRows, rule_columns: RuleColumns | None) -> JoinedRules:
        """Make the table of a set."""
        from pyspark.sql.functions import broadcast

        shape = join_shape(rows)
        assert not isinstance(shape, str)
        table, conditions = rule_table(rows, shape)
        slots = rows.slot[shape.row].astype(np.int64)
        ids, versions = rules.compiled.names(slots)
        known = versions.unique()
        own = {ID: ids} if len(known) == 1 else {ID: ids, VERSION: versions}
        carried = {} if rule_columns is None else rule_columns.of(rules.compiled, slots)
        return cls(
            rows, spark, broadcast(frame_of(spark, pa.table(table | own | carried))),
            known[0].as_py() if len(known) == 1 else None, wanted_condition(rows, without=shape.place),
            " and ".join(conditions),
        )  # fmt: skip


#: The tables of the last sets, for the next job with one of them.
_joined: RecentValues[JoinedRules] = RecentValues()


def match_join(
    events: DataFrame,
    rules: CompiledRules,
    reading: Reading,
    rows: SqlRows,
    columns: Sequence[str] = (),
    rule_columns: RuleColumns | None = None,
) -> DataFrame:
    """Match by a hash join of the events with the table of the rules."""
    from pyspark.sql.functions import col, expr, lit

    spark, carried = events.sparkSession, () if rule_columns is None else rule_columns.names
    key = id(rows), id(spark), None if rule_columns is None else rule_columns.key
    held = _joined(key, lambda: JoinedRules.of(spark, rules, rows, rule_columns))
    kept = events if held.wanted is None else events.where(held.wanted)
    joined = kept.join(held.table, expr(held.conditions))
    return joined.select(
        col(quoted(reading.event_id)).alias("event_id"),
        col(ID).alias("subscription_id"),
        (col(VERSION) if held.version is None else lit(held.version).cast("bigint")).alias("version"),
        lit(0).alias("zone"),
        *(quoted(rule_name(name)) for name in carried),
        *(col(quoted(name)).alias(carried_name(name)) for name in columns),
    )


def rule_table(rows: SqlRows, shape: JoinShape) -> tuple[dict[str, pa.Array], list[str]]:
    """Return the table of the rules but for their names, and the conditions of the join."""
    key, keyed = rows.bounded[shape.place]
    table = {KEY: _values(key, [keyed.lower[one] for one in shape.ranges.tolist()])}
    conditions = [f"{key.column} = {KEY}"]
    for number, (leaf, ranges) in enumerate(rows.bounded):
        if number != shape.place:
            conditions += _bounds(table, leaf, ranges, shape, number)
    return table, conditions


def _bounds(table: dict[str, Any], leaf: SqlLeaf, ranges: AttributeRanges, shape: JoinShape, number: int) -> list[str]:
    """Add the bounds of a column to the table, and return the conditions of the join that they make."""
    place_of = dict(zip(ranges.row.tolist(), range(len(ranges.row)), strict=True))
    places = [place_of.get(row) for row in shape.row.tolist()]
    is_double = leaf.kind in ("double", "float")
    value = f"cast({leaf.column} as double)" if leaf.kind == "float" else leaf.column
    found = []
    for name, ends, sign in (("low", ranges.lower, ">="), ("high", ranges.upper, "<=")):
        keys = [None if place is None else ends[place] for place in places]
        if is_double and name == "high" and None not in places and all(key is None for key in keys):
            found.append(f"{value} <= {INFINITY}")
            continue
        if is_double and name == "high":  # NaN is above every number in Spark, and in no range
            keys = [FloatType.highest if key is None and place is not None else key
                    for key, place in zip(keys, places, strict=True)]  # fmt: skip
        if all(key is None for key in keys):
            continue
        column = f"_rookery_{name}_{number}"
        table[column] = _values(leaf, keys, upper=name == "high")
        asked = f"{value} {sign} {column}"
        found.append(f"({column} is null or {asked})" if None in keys else asked)
    return found


def _values(leaf: SqlLeaf, keys: list[Any], *, upper: bool = True) -> pa.Array:
    """Return keys as values of a column's type."""
    kind = leaf.attribute.type
    made: tuple[Callable[[Any], Any], pa.DataType]
    if leaf.kind == "string":
        made = (lambda key: key[0]), pa.string()
    elif leaf.kind in ("double", "float"):
        made = key_float, pa.float64()
    elif leaf.kind == "boolean":
        made = bool, pa.bool_()
    elif leaf.kind == "date":
        made = (lambda key: date_of(key, upper=upper)), pa.int32()
    elif isinstance(kind, DecimalType):
        scale = kind.scale
        made = (lambda key: Decimal(key).scaleb(-scale)), pa.decimal128(kind.precision, scale)
    else:
        made = (lambda key: key), pa.int64()
    change, arrow = made
    array = pa.array([None if key is None else change(key) for key in keys], arrow)
    if leaf.kind == "date":
        return array.cast(pa.date32())
    return array.cast(pa.timestamp("us", tz="UTC")) if leaf.kind == "timestamp" else array
