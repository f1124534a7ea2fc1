"""The catalog: which ids, topics and dates are in a set, as edits come and go."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import rookery
from rookery.errors import DuplicateSubscriptionError, SubscriptionError, UnknownSubscriptionError
from rookery.matching.catalog import Catalog, Topics
from rookery.matching.records import Records
from rookery.model.subscriptions import make_record


def filled() -> tuple[Records, Catalog]:
    records = Records().appended(
        [
            make_record("a", "x > 1", topic="north"),
            make_record("b", "", topic="south"),
            make_record("a", "x > 2", version=2, valid_from="2026-01-01T00:00:00Z"),
        ]
    )
    catalog = Catalog(records)
    catalog.prepare(records, np.ones(3, np.uint8))
    return records, catalog


def test_what_is_in_the_set_is_found_and_counted() -> None:
    _, catalog = filled()
    assert catalog.slots_of("a") == (0, 2)
    assert catalog.find("nobody") == ()
    with pytest.raises(UnknownSubscriptionError, match="'nobody'"):
        catalog.slots_of("nobody")
    assert catalog.topics == Topics(2, ("north", "south"))
    assert (catalog.dated, catalog.live) == (1, 3)


def test_a_discarded_slot_is_forgotten() -> None:
    records, catalog = filled()
    catalog.discard([0], records)
    assert catalog.find("a") == (2,)
    assert catalog.topics == Topics(1, ("south",))
    catalog.discard([2], records)
    assert (catalog.dated, catalog.live) == (0, 1)
    assert catalog.find("a") == ()


def test_dead_slots_are_not_found_by_a_look_up_that_is_made_later() -> None:
    records, _ = filled()
    catalog = Catalog(records)
    assert catalog.prepare(records, np.array([0, 1, 1], np.uint8)) == {"b": 1, "a": 2}


def test_many_records_at_once_are_found_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rookery.matching.catalog.FEW", 2)
    records, catalog = filled()
    more = [make_record(f"n{place}", "", topic="west") for place in range(5)]
    catalog.append(more, 3)
    assert catalog.slots is None
    assert catalog.prepare(records.appended(more), np.ones(8, np.uint8))["n4"] == 7
    assert (catalog.live, catalog.topics.total) == (8, 3)


def test_duplicates_and_mixed_ids_are_refused() -> None:
    records, catalog = filled()
    with pytest.raises(DuplicateSubscriptionError):
        catalog.check_new(make_record("a", "", version=2), records)
    catalog.check_new(make_record("a", "", version=3), records)
    catalog.check_new(make_record("a", "", version=2), records, replacing=True)
    with pytest.raises(SubscriptionError, match="ids of this set"):
        catalog.check_new(make_record(5, ""), records)
    for known in (catalog, Catalog(records)):
        for ids, fragment in (([1, 2], "ids of this set"), (["x", "x"], "twice"), (["x", "a"], "in the set already")):
            with pytest.raises(SubscriptionError, match=fragment):
                known.check_bulk(pa.chunked_array([ids]), records)
        known.check_bulk(pa.chunked_array([["x", "y"]]), records)


@pytest.mark.parametrize("engine", rookery.matching.ENGINES)
def test_an_emptied_set_takes_ids_of_another_type(engine: str) -> None:
    matcher = rookery.matcher(rookery.Schema(x=int), engine=engine)
    matcher.add("a", "x > 1")
    matcher.remove("a")
    matcher.add(7, "x > 1")
    assert matcher.match_many(pa.table({"event_id": [1], "x": [2]}))["subscription_id"].to_pylist() == [7]
