"""Many subscriptions replaced in one step: the set is that of one edit after the other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery import Schema, matcher
from rookery.errors import SubscriptionError

SCHEMA = Schema(symbol=str, price=float)
_IDS = st.integers(0, 12)
_CONDITIONS = st.sampled_from(["price < 3", "symbol = 'a'", "symbol = 'b' OR price > 5", "symbol LIKE 'a%'", "TRUE"])
_RECORDS = st.lists(
    st.builds(
        lambda one, version, where, topic: {"subscription_id": one, "version": version, "where": where, "topic": topic},
        _IDS, st.integers(1, 3), _CONDITIONS, st.sampled_from([None, "t"]),
    ),
    max_size=12, unique_by=lambda one: (one["subscription_id"], one["version"]),
)  # fmt: skip
EVENTS = [{"symbol": symbol, "price": price} for symbol in ("a", "b", "abc", None) for price in (1.0, 4.0, 9.0)]


def held(made: Any) -> tuple[Any, Any]:
    """Return the records of a set, and what it matches."""
    compiled = made.compile()
    found = compiled.match_many([{"event_id": row, **event} for row, event in enumerate(EVENTS)], topic="t")
    names = ("event_id", "subscription_id", "version")
    pairs = sorted(zip(*(found[name].to_pylist() for name in names), strict=True))
    return sorted(compiled.subscriptions.to_pylist(), key=repr), pairs


@settings(deadline=None)
@given(_RECORDS, st.lists(st.tuples(st.lists(_IDS, max_size=4), _RECORDS), max_size=3))
def test_it_is_one_edit_after_the_other(first: list[Any], steps: list[tuple[list[int], list[Any]]]) -> None:
    mine, plain = matcher(SCHEMA), matcher(SCHEMA)
    for made in (mine, plain):
        if first:
            made.add_many(first)
    for removed, records in steps:
        ids = [*removed, *(one["subscription_id"] for one in records)]
        mine.replace_many(ids, records)
        for one in ids:
            if one in plain:
                plain.remove(one)
        if records:
            plain.add_many(records)
        assert held(mine) == held(plain)


@pytest.mark.parametrize(
    "wrong",
    [
        [{"subscription_id": 7, "where": "TRUE"}],
        [{"subscription_id": 1, "where": "TRUE"}] * 2,
        [{"subscription_id": 1, "where": "price <"}],
        [{"subscription_id": "1", "where": "TRUE"}],
    ],
)
def test_what_cannot_be_taken_changes_nothing(wrong: list[Any]) -> None:
    made = matcher(SCHEMA)
    made.add_many([{"subscription_id": number, "where": "price < 3"} for number in range(3)])
    before = held(made)
    with pytest.raises(SubscriptionError):
        made.replace_many([1, wrong[0]["subscription_id"]][: 1 if wrong[0]["subscription_id"] == 7 else 2], wrong)
    assert held(made) == before
