"""A table that comes in columns gives the set that its subscriptions give one by one."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery import Schema, matcher
from rookery.errors import SubscriptionError
from rookery.matching import shaped

SCHEMA = Schema(symbol=str, site=str, price=float, near="float32", volume=int, small="int8", level="uint64", flag=bool)

_ENDS = [str(2**63 - 1), str(2**63), "9" * 18, "9" * 19, "9" * 16, "127", "128", "129", "0.1", "5.", ".5", "1e3", "007"]
_NUMBERS = st.one_of(
    st.integers(0, 300).map(str), st.floats(0, 1e15).map(repr), st.decimals(0, 9, places=2).map(str),
    st.sampled_from(_ENDS), st.text("0123456789", min_size=17, max_size=19).map(lambda digits: f"0.{digits}"),
)  # fmt: skip
_TEXTS = st.text("ab-/*'ü\"` 1.", max_size=4).map(lambda text: "'" + text.replace("'", "''") + "'")
_SHAPES = (
    "symbol = {text} AND price >= {one} AND price < {two}", "price > {one} AND price > {two} AND symbol = {text}",
    "symbol = {text}", "volume = {one}", "volume > -{one} AND volume <= {two}", "small < {one} AND site = {text}",
    "price < -{one}", "NOT price < {one}", "near < {one}", "level >= {one}", "symbol < {text}", "flag = TRUE",
    "symbol = {text} OR price < {one}", "symbol = {text} AND symbol = {text}", "price <> {one}", "volume < ",
    "symbol IN ({text}, 'a')", "symbol = {text} -- a remark", "price BETWEEN {one} AND {two}", "TRUE",
    "'a' = symbol", "{one} < price", "price<{one}AND volume>{two}", "nothing = {one}", "(price >= {one}) AND(flag)",
)  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    shapes = draw(st.lists(st.sampled_from(_SHAPES), min_size=1, max_size=3))
    count = draw(st.integers(1, 25))
    texts = [
        draw(st.sampled_from(shapes)).format(text=draw(_TEXTS), one=draw(_NUMBERS), two=draw(_NUMBERS))
        for _ in range(count)
    ]
    ids: Any = list(range(count)) if draw(st.booleans()) else [f"r{number}" for number in range(count)]
    table: dict[str, Any] = {"subscription_id": ids, "where": texts}
    if draw(st.booleans()):
        table["topic"] = pa.array([draw(st.sampled_from([None, "t/1", "t/2"])) for _ in range(count)], pa.string())
    if draw(st.booleans()):
        table["version"] = pa.array([draw(st.sampled_from([None, 1, 3])) for _ in range(count)], pa.int64())
    if draw(st.booleans()):
        kind = pa.list_(pa.string())
        table["parameters"] = pa.array([draw(st.sampled_from([None, None, ["a"]])) for _ in range(count)], kind)
    return pa.table(table)


def load(table: Any, monkeypatch: pytest.MonkeyPatch, *, few: int, together: int = 7) -> Any:
    """Return the set, and what is wrong, of a table that comes in columns from so many rows on."""
    with monkeypatch.context() as patch:
        patch.setattr(shaped, "FEW_TEXTS", few)
        patch.setattr(shaped, "TOGETHER", together)
        made = matcher(SCHEMA, on_error="quarantine")
        made.add_many(table)
    return made


def said(made: Any) -> Any:
    """Return what a set's rows say, with keys in the place of codes, and what is wrong.

    Rows, and the ranges of a row, have the order of codes and keys, which is no part of what they say.
    """
    compiled = made.compile()
    found = compiled.ranges()
    rows: list[Any] = [[slot, whole] for slot, whole in zip(found.slot.tolist(), found.whole.tolist(), strict=True)]
    for one in found.ranges:
        for row, null, low, high in zip(one.row.tolist(), one.null.tolist(), one.lower, one.upper, strict=True):
            rows[row].append((one.attribute.path, null, low, high))
    wrong = [(error.subscription_id, str(error)) for error in made.quarantined]
    rows = sorted(([*row[:2], *sorted(row[2:], key=repr)] for row in rows), key=repr)
    return wrong, compiled.subscriptions.to_pylist(), rows, found.exact.tolist()


@settings(deadline=None)
@given(tables(), st.sampled_from([3, 7, 100]))
def test_rows_are_those_of_one_text_after_the_other(table: pa.Table, together: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        mine = load(table, patch, few=0, together=together)
        plain = load(table, patch, few=10**9)
    assert said(mine) == said(plain)


def test_many_of_one_shape_come_in_columns_and_match_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(4)
    texts = [
        f"symbol = 's{dice.randrange(40)}' AND price >= {dice.random()!r} AND volume < {dice.randrange(99)}"
        if dice.random() < 0.9
        else dice.choice(["symbol LIKE 's1%'", "flag OR price < 0.1", "price <", "TRUE"])
        for _ in range(3_000)
    ]
    table = pa.table({"subscription_id": list(range(3_000)), "where": texts})
    asked: list[int] = []
    real = shaped.lower_record
    monkeypatch.setattr(shaped, "lower_record", lambda *given: asked.append(1) or real(*given))
    mine, plain = load(table, monkeypatch, few=256, together=1_000), load(table, monkeypatch, few=10**9)
    assert len(asked) < 600
    assert len(mine) == len(plain) == 3_000 - texts.count("price <")
    events = [
        {"event": number, "symbol": f"s{dice.randrange(45)}", "site": None, "price": dice.random(), "near": 0.0,
         "volume": dice.randrange(120), "small": 0, "level": 0, "flag": dice.random() < 0.5}
        for number in range(300)
    ]  # fmt: skip

    def found(one: Any) -> set[tuple[int, int]]:
        table = one.compile().match_many(events, event_id="event")
        return set(zip(table["event_id"].to_pylist(), table["subscription_id"].to_pylist(), strict=True))

    assert found(mine) == found(plain)
    assert len(found(mine)) > 10_000
    for one in (mine, plain):
        one.remove(texts.index("TRUE"))
        one.add(5_000, "symbol = 'new'")
        one.add_many([{"subscription_id": 10_000 + number, "where": f"price < {number}.5"} for number in range(500)])
    assert found(mine) == found(plain)


def test_what_is_wrong_is_raised_and_nothing_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shaped, "FEW_TEXTS", 0)
    made = matcher(SCHEMA)
    with pytest.raises(SubscriptionError) as caught:
        made.add_many([{"subscription_id": number, "where": f"price < {'x' * (number == 3)}1"} for number in range(9)])
    assert caught.value.subscription_id == 3
    assert len(made) == 0
    empty = matcher(SCHEMA, on_error="quarantine")
    empty.add_many([{"subscription_id": "a", "where": "price <"}])
    assert len(empty) == 0
    assert len(empty.quarantined) == 1
    assert empty.compile().subscriptions.schema.field("subscription_id").type == pa.string()
