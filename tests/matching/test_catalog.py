"""The catalog: which ids, topics and dates are in a set, as edits come and go."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import rookery
from rookery.errors import DuplicateSubscriptionError, SubscriptionError, UnknownSubscriptionError
from rookery.matching.catalog import Catalog, Topics
from rookery.matching.ids import IdTable
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
    return records, Catalog(records)


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
    catalog.follow(records, np.array([0, 1, 1], np.uint8))
    assert catalog.find("a") == (2,)
    assert catalog.topics == Topics(1, ("south",))
    catalog.discard([2], records)
    catalog.follow(records, np.array([0, 1, 0], np.uint8))
    assert (catalog.dated, catalog.live) == (0, 1)
    assert catalog.find("a") == ()


@pytest.mark.parametrize("few", [2, 100])
def test_ids_are_found_wherever_they_are(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Among the filed, in the dicts of before and after the filing began, and in what lies between."""
    monkeypatch.setattr("rookery.matching.catalog.FEW", few)
    records, catalog = filled()

    def append(*names: str) -> None:
        nonlocal records
        more = [make_record(name, "", topic="west", version=9) for name in names]
        first = len(records)
        records = records.appended(more)
        catalog.append(more, first)
        catalog.follow(records, np.ones(len(records), np.uint8))

    append("c", "a")
    append("d", "e", "f", "g", "h")
    assert catalog.begin_filing() == 10
    settled = records.settled()
    append("i", "a")
    table = IdTable(settled.id_column(), np.ones(10, np.uint8))
    for _ in range(2):
        assert catalog.find("a") == (0, 2, 4, 11)
        assert [catalog.find(name) for name in "bcdhi"] == [(1,), (3,), (5,), (9,), (10,)]
        assert catalog.find("z") == catalog.find(7) == catalog.find(2**70) == catalog.find("\ud800") == ()
        catalog.file(table)
    assert catalog.unfiled == 0
    append("j", "k", "l", "m", "n", "o")
    assert catalog.unfiled == (8 if few == 2 else 0)
    assert [catalog.find(name) for name in "ajo"] == [(0, 2, 4, 11), (12,), (17,)]
    assert (catalog.live, catalog.topics.total) == (18, 3)
    catalog.discard([4, 11], records)
    alive = np.ones(len(records), np.uint8)
    alive[[4, 11]] = 0
    catalog.follow(records, alive)
    assert catalog.find("a") == (0, 2)


def test_duplicates_and_mixed_ids_are_refused() -> None:
    records, catalog = filled()
    with pytest.raises(DuplicateSubscriptionError):
        catalog.check_new(make_record("a", "", version=2), records)
    catalog.check_new(make_record("a", "", version=3), records)
    catalog.check_new(make_record("a", "", version=2), records, replacing=True)
    with pytest.raises(SubscriptionError, match="ids of this set"):
        catalog.check_new(make_record(5, ""), records)
    filed = Catalog(records)
    filed.file(IdTable(records.settled().id_column(), np.ones(3, np.uint8)))
    for known in (catalog, filed):
        for ids, fragment in (([1, 2], "ids of this set"), (["x", "x"], "twice"), (["x", "a"], "in the set already")):
            with pytest.raises(SubscriptionError, match=fragment):
                known.check_bulk(pa.chunked_array([ids]), records)
        known.check_bulk(pa.chunked_array([["x", "y"]]), records)
        known.discard([1], records)
        known.follow(records, np.array([1, 0, 1], np.uint8))
        known.check_bulk(pa.chunked_array([["x", "b"]]), records)


@pytest.mark.parametrize("engine", rookery.matching.ENGINES)
def test_an_emptied_set_takes_ids_of_another_type(engine: str) -> None:
    matcher = rookery.matcher(rookery.Schema(x=int), engine=engine)
    matcher.add("a", "x > 1")
    matcher.remove("a")
    matcher.add(7, "x > 1")
    assert matcher.match_many(pa.table({"event_id": [1], "x": [2]}))["subscription_id"].to_pylist() == [7]


@pytest.mark.parametrize("kind", [str, int])
def test_many_ids_are_found_as_one_by_one(kind: type) -> None:
    made = rookery.matcher(rookery.Schema(x=float))
    made.add_many([{"subscription_id": kind(number), "where": f"x < {number}"} for number in range(400)])
    for number in range(0, 400, 7):
        made.remove(kind(number))
    for number in range(300, 500, 3):
        made.add(kind(number), "TRUE", version=5)
    asked: list[str | int] = [kind(number) for number in range(0, 520, 2)] + [2**70, "strange", 5, "5"]
    wanted = sorted(slot for one in asked for slot in made._catalog.find(one))
    assert sorted(made._catalog.find_many(asked)) == wanted
    fresh = Catalog(made.compile()._view.records)
    assert fresh.unfiled
    for few in (asked, asked[:-4], asked[:3]):
        assert sorted(fresh.find_many(few)) == sorted(slot for one in few for slot in fresh.find(one))
