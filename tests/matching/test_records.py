"""Records: ids, versions, topics and dates by slot, one by one and in bulk."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rookery
from rookery.errors import SubscriptionError
from rookery.matching.records import Records
from rookery.model.subscriptions import Record, make_record, record_schema


def filled() -> Records:
    records = Records().appended([make_record("a", "x > 1", topic="north")])
    records = records.appended([make_record("b", "", topic="south", parameters=["1", 2.5])])
    return records.appended([make_record("a", "x > 2", version=2, valid_from="2026-01-01T00:00:00Z")])


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


@pytest.mark.parametrize("base", [0, 3])
def test_slots_are_named_alike_whether_few_are_asked_for_or_many(base: int) -> None:
    bulk = Records().appended([make_record(f"b{one}", "", version=one + 2) for one in range(base)]).table()
    records = Records(bulk) if base else Records()
    records = records.appended([make_record(f"t{one}", "", version=one % 3 + 1) for one in range(5)])
    names = [(f"b{one}", one + 2) for one in range(base)] + [(f"t{one}", one % 3 + 1) for one in range(5)]
    more = records.appended([make_record("last", "")])
    for slots in ([base + 1], [*range(base + 5), base, base + 4, base + 2], [base + 3], [*range(base)]):
        for one in (records, more):  # what one state keeps of its names is not the next one's
            ids, versions = one.names(np.array(slots, np.int64))
            assert list(zip(ids.to_pylist(), versions.to_pylist(), strict=True)) == [names[slot] for slot in slots]
    assert more.names(np.array([base + 5] * 9, np.int64))[0].to_pylist() == ["last"] * 9


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("settled", [False, True])
def test_many_slots_are_named_as_few_are(version: int, settled: bool) -> None:
    """Of a list or a table, whose versions are all the first one or not; more of them than are kept written."""
    records = Records().appended([make_record(7, "", version=version), make_record(5, "")])
    records = records.settled() if settled else records
    slots = np.arange(300_001) % 2
    ids, versions = records.named(slots)
    assert versions.type == pa.int64()
    for found, asked in ((ids, records.names(slots)[0]), (versions, records.names(slots)[1])):
        assert found.to_pylist() == asked.to_pylist()
    assert (ids[0].as_py(), versions[0].as_py(), ids[1].as_py(), versions[1].as_py()) == (7, version, 5, 1)
    assert [len(one) for one in records.named(slots[:1])] == [1, 1]
    assert [len(one) for one in records.named(slots[:0])] == [0, 0]


@pytest.mark.parametrize("base", [0, 3])
def test_ids_that_are_numbers_come_as_they_are_named(base: int) -> None:
    bulk = Records().appended([make_record(10 + one, "") for one in range(base)]).table()
    records = (Records(bulk) if base else Records()).appended([make_record(90 - one, "") for one in range(5)])
    for slots in ([], [base + 1], [*range(base + 5), base, base + 4], [*range(base)]):
        some = np.array(slots, np.int64)
        assert records.numbers(some).tolist() == records.names(some)[0].to_pylist()


def test_records_whose_list_has_joined_the_table_have_names_of_their_own() -> None:
    first = Records().appended([make_record(f"a{one}", "") for one in range(4)])
    first.names(np.arange(4))  # keeps the names of its list
    later = first.appended([make_record(f"b{one}", "") for one in range(3)])
    joined = first.joined(first.settled(), later)
    assert joined is not None
    for slots in ([4, 5], [6, 4, 5, 6, 0, 3], [*range(7)]):
        wanted = [[f"a{slot}", f"b{slot - 4}"][slot >= 4] for slot in slots]
        assert joined.names(np.array(slots, np.int64))[0].to_pylist() == wanted


def test_slots_are_found_by_id() -> None:
    records = filled()
    assert len(records) == 3
    assert records.find("a") == [0, 2]
    assert records.find("nobody") == []
    assert records.find(7) == []
    assert records[1] == Record("b", "", "south", ("1", "2.5"))
    assert records.ids([2, 1]) == ["a", "b"]


def test_the_table_and_the_list_say_the_same() -> None:
    records = filled()
    one_by_one = [records[slot] for slot in range(3)]
    table = records.table()
    assert table.schema.equals(record_schema(pa.string()))
    again = Records(table)
    assert [again[slot] for slot in range(3)] == one_by_one
    assert again.find("a") == [0, 2]
    half = Records(table.slice(0, 1)).appended(one_by_one[1:])
    for some in (records, again, half):
        ids, versions = some.names(np.array([2, 0, 1, 2]))
        assert (ids.to_pylist(), versions.to_pylist()) == (["a", "a", "b", "a"], [2, 1, 1, 2])


def test_records_stay_as_they_are_when_others_follow() -> None:
    """Two may go on from the same records, and none sees what the other has put behind them."""
    first = filled()
    one, other = first.appended([make_record("c", "")]), first.appended([make_record("d", ""), make_record("e", "")])
    assert [len(some) for some in (first, one, other)] == [3, 4, 5]
    assert one[3].subscription_id == "c"
    assert [other[slot].subscription_id for slot in (3, 4)] == ["d", "e"]
    assert other.find("c") == one.find("e") == []
    assert first.table().num_rows == 3


def test_a_long_list_joins_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rookery.matching.records.LEAST_TAIL", 4)
    records = Records()
    for number in range(23):
        records = records.appended([make_record(number, f"x > {number}", version=number % 3)])
        assert records.table()["where"].to_pylist() == [f"x > {one}" for one in range(number + 1)]
    ids, versions = records.names(np.arange(22, -1, -1))
    assert ids.to_pylist() == list(range(22, -1, -1))
    assert versions.to_pylist() == [one % 3 for one in range(22, -1, -1)]


def test_a_bulk_is_put_behind_the_others() -> None:
    schema = record_schema(pa.string())
    more = pa.table({name: pa.nulls(2, schema.field(name).type) for name in schema.names}, schema=schema)
    more = more.set_column(0, "subscription_id", pa.array(["c", "d"])).set_column(5, "version", pa.array([1, 1]))
    records = filled().extended(more.cast(schema))
    assert len(records) == 5
    assert records.find("d") == [4]
    assert records.find("a") == [0, 2]
    assert records[4].where is None
    taken = records.taken(np.array([4, 0]))
    assert taken.ids([0, 1]) == ["d", "a"]


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
