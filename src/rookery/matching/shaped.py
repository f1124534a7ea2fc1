"""A table of subscriptions into an empty set: texts of one shape become rows column by column.

A million rules are rarely a million different sentences. Those of one shape (`model/shape_columns.py`) differ in their
values alone, which come as columns; the codes of a column of values are computed by NumPy, as those of boxes are. The
texts of the other shapes go one by one, and all rows are in the order of the table.

Rule: the rows are those that one text after the other would give. What is not certain in columns (values past the
bounds of their type, bounds that leave nothing) goes one by one; a property test holds both ways together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rookery.errors import SubscriptionError
from rookery.matching.bulk import collector_paused
from rookery.matching.codes import LOWEST_CODE, TOPIC
from rookery.matching.kernels import NULL_CODE
from rookery.matching.records import full_table
from rookery.matching.rows import Rows
from rookery.matching.staging import Entry, Stage, lower_record
from rookery.model.shape_columns import ShapeColumns, shape_columns
from rookery.model.shapes import Shapes, ShapeStep
from rookery.model.subscriptions import record_schema
from rookery.model.tables import FAULT, checked_subscriptions
from rookery.model.types import FloatType, StringType

__all__ = ["is_plain", "stage_table"]

Array = np.ndarray[Any, Any]
Path = tuple[str | int, ...]

#: Subscriptions of which fewer come one by one.
FEW_TEXTS = 256
#: Subscriptions that are looked at together.
TOGETHER = 32_768


class _Group(NamedTuple):
    """Subscriptions with the same predicates: by attribute the texts that it must equal, or its two bounds."""

    rows: Array
    texts: dict[Path, pa.Array]
    bounds: dict[Path, tuple[Array, Array]]
    order: list[Path]


def is_plain(table: pa.Table) -> bool:
    """Say whether a table is large, and has each id once and no dates: its subscriptions need nothing of each other."""
    if table.num_rows < FEW_TEXTS:
        return False
    names = table.column_names
    if any(name in names and table[name].null_count < table.num_rows for name in ("valid_from", "valid_to")):
        return False
    return bool(pc.count_distinct(table["subscription_id"]).as_py() == table.num_rows)


def stage_table(stage: Stage, table: pa.Table, shapes: Shapes, faults: list[SubscriptionError]) -> pa.Table:
    """Stage the rows of a plain table for the first slots, and return the records of its good subscriptions."""
    good = np.ones(table.num_rows, np.bool_)
    refused: list[SubscriptionError] = []
    groups: list[_Group] = []
    taken = 0
    for begin in range(0, table.num_rows, TOGETHER):
        part = table.slice(begin, TOGETHER)
        found = _groups(part, shapes)
        apart = np.ones(part.num_rows, np.bool_)
        for group in found:
            apart[group.rows] = False
        places, entries = np.flatnonzero(apart), list[Entry]()
        with collector_paused():
            for place, one in zip(places.tolist(), checked_subscriptions(part.take(pa.array(places))), strict=True):
                try:
                    if isinstance(one, SubscriptionError):
                        faults.append(one)
                    else:
                        entries.append((one, lower_record(one, shapes), None))
                        continue
                except SubscriptionError as error:
                    refused.append(error)
                good[begin + place] = False
            slots = taken - 1 + np.cumsum(good[begin : begin + part.num_rows])
            stage.add(entries, slots[places[good[begin + places]]].tolist())
        groups += [group._replace(rows=slots[group.rows]) for group in found]
        taken = int(slots[-1]) + 1
    faults += refused
    _add(stage, groups)
    named = table.select([name for name in record_schema(pa.string()).names if name in table.column_names])
    return full_table(named if good.all() else named.filter(pa.array(good)))


def _groups(table: pa.Table, shapes: Shapes) -> list[_Group]:
    """Return the subscriptions of a part of a table that come as columns."""
    able = np.ones(table.num_rows, np.bool_)
    for name in ("parameters", FAULT):
        if name in table.column_names:
            able &= table[name].is_null().to_numpy()
    places = np.flatnonzero(able)
    texts = _in_one(table["where"]).take(pa.array(places))
    topics = _in_one(table["topic"]) if "topic" in table.column_names else None
    found: list[_Group] = []
    for columns in shape_columns(texts, shapes):
        group = _grouped(columns._replace(rows=places[columns.rows]))
        if topics is None:
            found.append(group)
            continue
        mine = topics.take(pa.array(group.rows))
        has = mine.is_valid().to_numpy(zero_copy_only=False)
        found.append(_taken(group, ~has))
        named = _taken(group, has)
        named.texts[TOPIC.path] = mine.drop_null()
        named.order.append(TOPIC.path)
        found.append(named)
    return [group for group in found if len(group.rows)]


def _grouped(columns: ShapeColumns) -> _Group:
    """Return the texts of a shape with what their comparisons allow; those that it leaves nothing for are left out."""
    texts: dict[Path, pa.Array] = {}
    bounds: dict[Path, tuple[Array, Array]] = {}
    order: list[Path] = []
    sure = np.ones(len(columns.rows), np.bool_)
    for step, values in zip(columns.steps, columns.values, strict=True):
        if step.path not in order:
            order.append(step.path)
        if isinstance(step.kind, StringType):
            texts[step.path] = values
            continue
        keys = _keys(step, values)
        sure &= (keys >= step.lowest) & (keys <= step.highest)
        low, high = _allowed(step, keys)
        if step.path in bounds:
            low, high = np.maximum(low, bounds[step.path][0]), np.minimum(high, bounds[step.path][1])
        bounds[step.path] = low, high
    for low, high in bounds.values():
        sure &= low <= high
    group = _Group(columns.rows, texts, bounds, order)
    return group if sure.all() else _taken(group, sure)


def _taken(group: _Group, mask: Array) -> _Group:
    texts = {path: values.filter(pa.array(mask)) for path, values in group.texts.items()}
    bounds = {path: (low[mask], high[mask]) for path, (low, high) in group.bounds.items()}
    return _Group(group.rows[mask], texts, bounds, list(group.order))


def _keys(step: ShapeStep, values: Any) -> Array:
    """Return the keys of numbers, as `model.types` gives them one by one."""
    numbers: Array = values.to_numpy(zero_copy_only=False)
    if step.negative:
        numbers = -numbers
    if not isinstance(step.kind, FloatType):
        return numbers
    bits = numbers.view(np.int64)
    return np.where(bits >= 0, bits, -(bits & np.int64((1 << 63) - 1)))


def _allowed(step: ShapeStep, keys: Array) -> tuple[Array, Array]:
    """Return the least and the greatest key that a comparison allows, as `lower.allowed` does one by one."""
    lowest, highest = np.full(len(keys), step.lowest), np.full(len(keys), step.highest)
    if step.operator == "<":
        return lowest, keys - 1
    if step.operator == ">":
        return keys + 1, highest
    if step.operator == "<=":
        return lowest, keys
    return (keys, highest) if step.operator == ">=" else (keys, keys)


def _add(stage: Stage, groups: list[_Group]) -> None:
    """Give labels to the texts of all groups at once, and make their rows."""
    space = stage.space
    named: dict[int, set[str]] = {}
    for group in groups:
        for path in group.order:  # numbers go by first use
            number = space.number(path)
            if path in group.texts:
                named.setdefault(number, set()).update(group.texts[path].unique().to_pylist())
    stage.label(named)
    for group in groups:
        count, width = len(group.rows), len(group.order)
        bounds = np.empty((count, width, 2), np.int64)
        for place, path in enumerate(group.order):
            if path in group.texts:
                codes = space.labels[space.number(path)].codes(group.texts[path], NULL_CODE)
                bounds[:, place, 0] = bounds[:, place, 1] = codes
            else:
                for side, keys in enumerate(group.bounds[path]):
                    bounds[:, place, side] = np.maximum(keys, LOWEST_CODE)
        numbers = np.array([space.number(path) for path in group.order], np.uint16)
        stage.add_rows(
            Rows(
                group.rows.astype(np.int32),
                np.arange(count + 1, dtype=np.int64) * width,
                np.tile(numbers, count),
                bounds.reshape(-1, 2),
                np.empty((0, 2), np.int64),
            )
        )


def _in_one(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
