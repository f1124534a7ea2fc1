"""Batches: columns that are read whole or in part, and the parts that a batch is divided into."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.brokers.batches import EventBatch, batch_of, columns_of, events_of, is_readable
from rookery.brokers.row_cuts import part_of

EVENTS = st.lists(
    st.dictionaries(st.sampled_from(["a", "b", "c"]), st.one_of(st.none(), st.integers(-5, 5), st.text(max_size=3))),
    min_size=1,
    max_size=8,
)


@given(EVENTS, st.data())
def test_a_part_has_the_events_of_its_rows(events: list[dict[str, Any]], data: st.DataObject) -> None:
    batch = batch_of(1, 100, events)
    names = {name for event in events for name in event}
    whole = [{name: event.get(name) for name in names} for event in events]
    assert events_of(batch) == (whole if names else [{}] * len(events))
    rows = sorted(data.draw(st.sets(st.integers(0, len(events) - 1), min_size=1)))
    part = part_of(batch, rows)
    assert is_readable(part) == (bool(names) or len(rows) == 1)
    assert events_of(part) == [events_of(batch)[row] for row in rows]
    assert list(part.sequences()) == [100 + row for row in rows]
    again = sorted(data.draw(st.sets(st.integers(0, len(rows) - 1), min_size=1)))
    assert list(part_of(part, again).sequences()) == [100 + rows[row] for row in again]


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.floats(allow_nan=False),
    st.text(max_size=3),
    st.text(min_size=32, max_size=300),
    st.lists(st.integers(-5, 5), max_size=2),
    st.dictionaries(st.text(max_size=2), st.none(), max_size=2),
)


@given(
    st.lists(st.dictionaries(st.sampled_from(["a", "b", "c"]), VALUES), min_size=1, max_size=40),
    st.sets(st.sampled_from(["a", "b", "c", "d"])),
)
def test_some_columns_are_read_alone(events: list[dict[str, Any]], names: set[str]) -> None:
    batch = batch_of(1, 100, events)
    columns = columns_of(batch)
    assert columns_of(batch, names) == {name: column for name, column in columns.items() if name in names}


@given(st.binary(max_size=60), st.integers(1, 5))
def test_columns_that_cannot_be_read_are_no_columns(data: bytes, count: int) -> None:
    batch = EventBatch(1, 0, count, msgspec.Raw(data))
    columns = columns_of(batch)
    assert all(len(column) == count for column in columns.values())
    some = columns_of(batch, {"a"})
    assert all(len(column) == count for column in some.values())


def test_a_column_of_another_length_makes_a_batch_unreadable() -> None:
    batch = EventBatch(1, 0, 2, msgspec.Raw(msgspec.msgpack.encode({"a": [1, 2], "b": [1]})))
    assert columns_of(batch) == columns_of(batch, {"a"}) == {}


@pytest.mark.parametrize(
    ("count", "columns", "readable"),
    [
        (1, {}, True),
        (2, {}, False),
        (1 << 16, {}, False),
        (1 << 16, {"price": []}, False),
        (3, {"price": [1, 2, 3]}, True),
        (3, {"price": [1, 2, 3], "symbol": ["a", "b"]}, False),
        (3, {"price": 3}, False),
        (3, [1, 2, 3], False),
        (0, {"price": []}, False),
        ((1 << 16) + 1, {"price": [0] * ((1 << 16) + 1)}, False),
    ],
)
def test_a_count_is_what_the_columns_have(count: int, columns: Any, readable: bool) -> None:
    batch = EventBatch(1, 0, count, msgspec.Raw(msgspec.msgpack.encode(columns)))
    assert is_readable(batch) is readable
