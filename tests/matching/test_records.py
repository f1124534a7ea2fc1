"""Records: ids, versions, topics and dates by slot, one by one and in bulk."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rookery
from rookery.errors import DuplicateSubscriptionError, SubscriptionError, UnknownSubscriptionError
from rookery.matching.records import Records
from rookery.model.subscriptions import Record, make_record, record_schema


def filled() -> Records:
    records = Records()
    records.append(make_record("a", "x > 1", topic="north"))
    records.append(make_record("b", "", topic="south", parameters=["1", 2.5]))
    records.append(make_record("a", "x > 2", version=2, valid_from="2026-01-01T00:00:00Z"))
    return records


def test_a_record_keeps_what_was_given() -> None:
    record = make_record(
        np.int64(7), "x > %0", topic="t", subscriber="me",
        parameters=[1, "two", datetime(2026, 1, 1, tzinfo=UTC), None],
        version=np.int32(3), valid_from=datetime(2026, 1, 1), valid_to="2026-01-02T00:00:00+01:00",
    )  # fmt: skip
    assert record.subscription_id == 7
    assert type(record.subscription_id) is int
    assert record.version == 3
    assert record.parameters == ("1", "two", "2026-01-01T00:00:00+00:00", None)
    assert record.valid_from == 1_767_225_600_000_000
    assert record.valid_to == 1_767_225_600_000_000 + 23 * 3_600_000_000
    assert record.dated
    assert not make_record("a", "").dated


def test_slots_are_found_by_id() -> None:
    records = filled()
    assert len(records) == 3
    assert records.slots_of("a") == [0, 2]
    assert records.find("nobody") == []
    with pytest.raises(UnknownSubscriptionError, match="'nobody'"):
        records.slots_of("nobody")
    assert sorted(records.topics) == ["north", "south"]
    assert records.dated == 1
    assert records[1] == Record("b", "", "south", ("1", "2.5"))


def test_the_table_and_the_list_say_the_same() -> None:
    records = filled()
    one_by_one = [records[slot] for slot in range(3)]
    table = records.table()
    assert table.schema.equals(record_schema(pa.string()))
    assert [records[slot] for slot in range(3)] == one_by_one
    again = Records(table)
    assert [again[slot] for slot in range(3)] == one_by_one
    assert sorted(again.topics) == sorted(records.topics)
    assert again.dated == 1
    assert again.slots_of("a") == [0, 2]


def test_a_discarded_slot_is_forgotten() -> None:
    records = filled()
    records.discard(0)
    assert records.find("a") == [2]
    assert records.topics == ["south"]
    records.discard(2)
    assert records.dated == 0
    assert records.find("a") == []
    assert len(records) == 3


def test_a_bulk_is_appended_behind_the_others() -> None:
    records = filled()
    schema = record_schema(pa.string())
    more = pa.table({name: pa.nulls(2, schema.field(name).type) for name in schema.names}, schema=schema)
    more = more.set_column(0, "subscription_id", pa.array(["c", "d"])).set_column(5, "version", pa.array([1, 1]))
    assert records.extend(more.cast(schema)) == 3
    assert len(records) == 5
    assert records.find("d") == [4]
    assert records.find("a") == [0, 2]
    assert records[4].where is None


def test_duplicates_and_mixed_ids_are_refused() -> None:
    records = filled()
    with pytest.raises(DuplicateSubscriptionError):
        records.check_new(make_record("a", "", version=2))
    records.check_new(make_record("a", "", version=3))
    records.check_new(make_record("a", "", version=2), replacing=True)
    with pytest.raises(SubscriptionError, match="ids of this set"):
        records.check_new(make_record(5, ""))
    for ids, fragment in (([1, 2], "ids of this set"), (["x", "x"], "twice"), (["x", "a"], "in the set already")):
        with pytest.raises(SubscriptionError, match=fragment):
            records.check_bulk(pa.chunked_array([ids]))
    records.check_bulk(pa.chunked_array([["x", "y"]]))


@pytest.mark.parametrize("id_type", [str, int])
def test_ids_come_back_with_their_type(id_type: Any) -> None:
    matcher = rookery.matcher(rookery.Schema(x=int))
    matcher.add(id_type(7), "x > 1")
    found = matcher.match_many(pa.table({"event_id": ["e"], "x": [2]}))
    assert found.to_pylist() == [{"event_id": "e", "subscription_id": id_type(7), "version": 1}]
    assert found.schema.field("subscription_id").type == (pa.string() if id_type is str else pa.int64())
    assert found.schema.field("version").type == pa.int64()


def test_a_table_of_csv_text_is_read() -> None:
    """Texts in the place of other types: JSON for parameters, ISO 8601 for dates, empty for what is left out."""
    matcher = rookery.matcher(rookery.Schema(x=int))
    table = pa.table(
        {
            "subscription_id": ["a", "b"],
            "where": ["x > %0", ""],
            "topic": [None, "t"],
            "parameters": ['["5"]', ""],
            "valid_from": ["", "2026-01-01T00:00:00Z"],
            "valid_to": ["", ""],
        }
    )
    assert matcher.add_many(table) == 2
    assert matcher.match({"x": 6}, topic="t", time="2025-01-01T00:00:00Z") == ["a"]
    assert matcher.match({"x": 5}, topic="t", time="2026-01-01T00:00:00Z") == ["b"]
    with pytest.raises(SubscriptionError, match="parameters are a list"):
        matcher.add_many(pa.table({"subscription_id": ["c"], "where": ["x > %0"], "parameters": ["5"]}))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo"])
def test_dates_of_a_table_are_instants(unit: str, zone: str | None) -> None:
    if zone == "Asia/Tokyo":
        pytest.importorskip("tzdata")
    matcher = rookery.matcher(rookery.Schema(x=int))
    noon = 1_767_268_800 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    dates = pa.array([noon], pa.int64()).cast(pa.timestamp(unit, tz=zone))
    matcher.add_many(pa.table({"subscription_id": [1], "where": [""], "valid_from": dates}))
    assert matcher.match({}, time="2026-01-01T12:00:00Z") == [1]
    assert matcher.match({}, time="2026-01-01T11:59:59.999999Z") == []


def test_a_date_finer_than_a_microsecond_is_refused() -> None:
    matcher = rookery.matcher(rookery.Schema(x=int))
    dates = pa.array([1], pa.int64()).cast(pa.timestamp("ns", tz="UTC"))
    with pytest.raises(SubscriptionError, match="finer than a microsecond"):
        matcher.add_many(pa.table({"subscription_id": [1], "where": [""], "valid_from": dates}))
    assert len(matcher) == 0
