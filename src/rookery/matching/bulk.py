"""Subscriptions in bulk: tables of subscriptions out, and boxes given as columns.

A million subscriptions come as a table, not as a million calls. Text is parsed one by one; boxes never become text or
trees: their columns are turned into codes by NumPy, so ten million of them fit and take seconds.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rookery.errors import EventError, SubscriptionError
from rookery.matching.codes import HIGHEST_CODE, LOWEST_CODE, TOPIC, CodeSpace, is_wide
from rookery.matching.kernels import NULL_CODE
from rookery.matching.rows import Rows
from rookery.model.event_columns import read_column
from rookery.model.parser import parse
from rookery.model.schema import Attribute
from rookery.model.types import EnumType, IntegerType

__all__ = ["SubscriptionColumns", "boxes_to_rows", "boxes_to_table", "collector_paused"]

Array = np.ndarray[Any, Any]

#: Boxes whose bounds are written at a time: what is needed beside the rows is bounded.
AT_ONCE = 1 << 20


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep the garbage collector still: a bulk makes millions of small objects without a cycle among them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def boxes_to_table(subscription_id: Any, topic: str | None) -> pa.Table:
    """Return the records of boxes, without the columns that say nothing: they would take five times what ids do."""
    ids = subscription_id if isinstance(subscription_id, pa.Array | pa.ChunkedArray) else pa.array(subscription_id)
    if ids.null_count:
        raise SubscriptionError("a subscription_id is null")
    if pa.types.is_integer(ids.type):
        ids = ids.cast(pa.int64())
    elif pa.types.is_string(ids.type) or pa.types.is_large_string(ids.type) or pa.types.is_dictionary(ids.type):
        ids = ids.cast(pa.string())
    else:
        raise SubscriptionError(f"ids are strings or integers, got {ids.type}")
    columns: dict[str, Any] = {"subscription_id": ids}
    if topic is not None:
        columns["topic"] = pa.array([topic]).take(pa.array(np.zeros(len(ids), np.int64)))
    return pa.table(columns)


class SubscriptionColumns(NamedTuple):
    """Subscriptions as columns: by attribute, what it must equal, its least and its greatest value."""

    equals: Mapping[str, Any]
    lower: Mapping[str, Any]
    upper: Mapping[str, Any]
    topic: str | None


class Labeler(Protocol):
    """Where the rows will live: a code space, and who gives labels to new texts in it."""

    @property
    def space(self) -> CodeSpace: ...

    def label(self, texts: Mapping[int, Iterable[str]]) -> None: ...


def boxes_to_rows(labeler: Labeler, boxes: SubscriptionColumns, *, first: int, count: int) -> Rows:
    """Return the rows of `count` boxes whose slots begin at `first`."""
    space, topic = labeler.space, boxes.topic
    sides_of = ((boxes.equals, (0, 1)), (boxes.lower, (0,)), (boxes.upper, (1,)))
    given = [(mapping, name, which) for mapping, which in sides_of for name in mapping]
    columns = [_column(space, name, mapping[name], count) for mapping, name, _ in given]
    texts: dict[int, set[str]] = {}
    for (_, _, which), (number, column) in zip(given, columns, strict=True):
        if number in space.labels:
            texts.setdefault(number, set()).update(_texts(column))
            if len(which) == 1:
                space.use_order(number)
    if topic is not None:
        texts[space.number(TOPIC.path)] = {topic}
    labeler.label(texts)
    if topic is not None:
        number = space.number(TOPIC.path)
        same = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int8)), pa.array([topic]))
        columns.append((number, same))
        given.append(({}, TOPIC.text, (0, 1)))
    named: list[tuple[int, pa.Array, str, tuple[int, ...]]] = [
        (*one, name, which) for one, (_, name, which) in zip(columns, given, strict=True)
    ]
    rows = _fill_rows(space, named, first, count)
    del columns, named
    pa.default_memory_pool().release_unused()  # Arrow keeps what its columns took, and building the index needs as much
    return rows


def _fill_rows(
    space: CodeSpace, columns: list[tuple[int, pa.Array, str, tuple[int, ...]]], first: int, count: int
) -> Rows:
    """Write the bounds into the arrays of the rows, which are the only large ones: some boxes at a time."""
    numbers = sorted({number for number, _, _, _ in columns})
    parts = [(begin, min(count, begin + AT_ONCE)) for begin in range(0, count, AT_ONCE)]
    start = np.zeros(count + 1, np.int64)
    for begin, end in parts:
        for number in numbers:
            start[begin + 1 : end + 1] += _tested(columns, number, begin, end)
    np.cumsum(start, out=start)
    attribute = np.empty(start[-1], np.uint16)
    bounds = np.empty((start[-1], 2), np.int64)
    for begin, end in parts:
        place = start[begin:end].copy()
        for number in numbers:
            tested = _tested(columns, number, begin, end)
            mine = place[tested]
            sides = [np.full(end - begin, LOWEST_CODE), np.full(end - begin, HIGHEST_CODE)]
            for _, column, name, which in (one for one in columns if one[0] == number):
                codes = _codes(space, number, name, column.slice(begin, end - begin))
                known = codes != NULL_CODE
                for side in which:
                    best = np.maximum if side == 0 else np.minimum
                    np.copyto(sides[side], best(sides[side], codes), where=known)
            attribute[mine] = number
            for side in (0, 1):
                bounds[mine, side] = sides[side][tested]
            place += tested
    slot = np.arange(first, first + count, dtype=np.int32)
    return Rows(slot, start, attribute, bounds, np.empty((0, 2), np.int64))


def _tested(columns: list[tuple[int, pa.Array, str, tuple[int, ...]]], number: int, begin: int, end: int) -> Array:
    """Say which boxes of a part have a bound of an attribute."""
    tested = np.zeros(end - begin, np.bool_)
    for one, column, _, _ in columns:
        if one == number:
            tested |= column.slice(begin, end - begin).is_valid().to_numpy(zero_copy_only=False)
    return tested


def _column(space: CodeSpace, name: str, values: Any, count: int) -> tuple[int, pa.Array]:
    """Return an attribute's number and its values as the schema's type."""
    expression: Any = parse(f"{name} IS NULL")
    attribute = space.schema.attribute(expression.field.path)
    kind = attribute.type
    if is_wide(kind) or (isinstance(kind, IntegerType) and kind.bits == 64 and not kind.signed):
        raise SubscriptionError(
            f"{name}: boxes cannot hold {kind.name} exactly", hint="give these subscriptions as text"
        )
    array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    if len(array) != count:
        raise SubscriptionError(f"{name}: {len(array)} values for {count} subscriptions")
    if pa.types.is_floating(array.type) and pc.any(pc.is_nan(array)).as_py():
        raise SubscriptionError(f"{name}: a bound is NaN", hint="null leaves a side open")
    try:
        return space.number(attribute.path), read_column(Attribute((name,), kind), array)
    except EventError as error:
        raise SubscriptionError(f"a bound does not fit: {error}") from None


def _texts(column: pa.Array) -> set[str]:
    texts = column.dictionary if pa.types.is_dictionary(column.type) else column.unique()
    return {text for text in texts.to_pylist() if text is not None}


def _codes(space: CodeSpace, number: int, name: str, column: pa.Array) -> Array:
    kind = space.attributes[number].type
    if isinstance(kind, EnumType) and (unknown := _texts(column) - set(kind.labels)):
        raise SubscriptionError(f"{name} has no label {sorted(unknown)[0]!r}")
    codes = np.empty((len(column), 1), np.int64)
    space.encode_column(column, number, codes, 0)
    mine = codes[:, 0]
    if kind.lowest == NULL_CODE and (mine == LOWEST_CODE).any():
        raise SubscriptionError(
            f"{name}: boxes cannot tell the lowest two int64s apart", hint="leave that side open (null)"
        )
    return mine
