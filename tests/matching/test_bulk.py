"""Boxes given as columns are the conditions that they stand for, however many are written at a time."""

from __future__ import annotations

import weakref
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import rookery
from rookery.errors import DuplicateSubscriptionError
from rookery.matching import bulk
from rookery.matching.bitmap import build

SCHEMA = rookery.Schema.from_dict({"x": "float64", "n": "int64", "s": "string", "side": {"$enum": ["buy", "sell"]}})
COUNT = 61


def columns(random: Random) -> dict[str, Any]:
    """Return boxes of all kinds of attributes, with sides left open."""

    def some(choose: Any) -> list[Any]:
        return [None if random.random() < 0.3 else choose() for _ in range(COUNT)]

    sides = pa.array(some(lambda: random.choice(["buy", "sell"]))).dictionary_encode()
    return {
        "subscription_id": [f"id {place}" for place in range(COUNT)],
        "equals": {"side": sides, "n": some(lambda: random.randint(0, 5))},
        "lower": {"x": some(lambda: random.randint(0, 9) / 4), "s": some(lambda: random.choice("abc"))},
        "upper": {"x": some(lambda: random.randint(0, 9) / 4 + 1), "n": some(lambda: random.randint(0, 5))},
    }


def text(boxes: dict[str, Any], place: int) -> str:
    """Return one box as a condition."""
    parts = []
    for side, sign in (("equals", "="), ("lower", ">="), ("upper", "<=")):
        for name, values in boxes[side].items():
            value = values[place].as_py() if isinstance(values, pa.Array) else values[place]
            if value is not None:
                parts.append(f"{name} {sign} {value!r}")
    return " AND ".join(parts)


def events(random: Random) -> pa.Table:
    rows = [
        {"event_id": event, "x": random.randint(0, 12) / 4, "n": random.choice([None, *range(6)]),
         "s": random.choice(["a", "b", "bb", "c", None]), "side": random.choice(["buy", "sell"])}
        for event in range(200)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize("at_once", [1, 7, COUNT, 1 << 20])
def test_boxes_are_their_conditions(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "AT_ONCE", at_once)
    random = Random(at_once)
    boxes, batch = columns(random), events(random)
    by_columns, by_text = rookery.matcher(SCHEMA), rookery.matcher(SCHEMA)
    by_columns.add_boxes(**boxes)
    by_text.add_many(
        {"subscription_id": boxes["subscription_id"], "where": [text(boxes, place) for place in range(COUNT)]}
    )
    found = by_columns.match_many(batch)
    assert found.num_rows > 100
    assert found.equals(by_text.match_many(batch))


def test_a_second_bulk_stands_behind_the_first() -> None:
    matcher = rookery.matcher(SCHEMA)
    matcher.add_boxes([1, 2], lower={"x": [0.0, 1.0]}, topic="north")
    matcher.add_boxes([3], upper={"x": [5.0]})
    matcher.add(4, "x = 2", version=3)
    matcher.add_boxes([9, 8], equals={"x": [2.0, 3.0]})
    assert matcher.match({"x": 2.0}, topic="north") == [1, 2, 3, 4, 9]
    records = matcher.compile().subscriptions
    assert records["subscription_id"].to_pylist() == [1, 2, 3, 4, 9, 8]
    assert records["version"].to_pylist() == [1, 1, 1, 3, 1, 1]
    assert records["topic"].to_pylist() == ["north", "north", None, None, None, None]


@pytest.mark.parametrize("ids", [[1, 2, 3, 3], [5, 4, 9, 5], [3, 3], ["b", "a", "b"]])
def test_an_id_given_twice_is_named(ids: list[Any]) -> None:
    matcher = rookery.matcher(SCHEMA)
    with pytest.raises(DuplicateSubscriptionError) as caught:
        matcher.add_boxes(ids, lower={"x": [0.0] * len(ids)})
    assert ids.count(caught.value.subscription_id) == 2
    assert len(matcher) == 0


@pytest.mark.parametrize("ids", [[], [7], [3, 1, 2], [-5, 0, 2], ["b", "a"]])
def test_ids_in_any_order_are_taken(ids: list[Any]) -> None:
    matcher = rookery.matcher(SCHEMA)
    assert matcher.add_boxes(pa.array(ids, pa.int64() if not ids else None), lower={"x": [0.0] * len(ids)}) == len(ids)
    assert matcher.match({"x": 1.0}) == ids


def test_the_rows_of_a_bulk_are_let_go_while_the_index_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index is not in memory beside all that it was made of."""
    given: list[Any] = []
    alive: list[bool] = []
    strip, cut = build.strip_keys, build._cut_points

    def stripping(order: Any, start: Any, attribute: Any, bounds: Any, *rest: Any) -> Any:
        given.append(weakref.ref(bounds))
        return strip(order, start, attribute, bounds, *rest)

    def cutting(*arguments: Any) -> Any:
        alive.append(given[-1]() is not None)
        return cut(*arguments)

    monkeypatch.setattr(build, "strip_keys", stripping)
    monkeypatch.setattr(build, "_cut_points", cutting)
    rookery.matcher(SCHEMA).add_boxes(range(3000), lower={"x": [place / 8 for place in range(3000)]})
    assert alive == [False]
