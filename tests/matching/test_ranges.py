"""The rows of a set as ranges of values: where they say all of it they are exactly when it matches, else never less."""

from __future__ import annotations

from math import isnan
from typing import Any

import pyarrow as pa
import pytest

import rookery
from rookery import Schema
from rookery.matching.ranges import RangeRows
from rookery.model.types import float_key

SCHEMA = Schema(x=float, n="int64", k="int8", s=str, b=bool)

WHERES = [
    "x > 0", "x <= 0", "x = 0", "x <> 0", "x is null", "x is not null", "x in (1, 2.5, 0)", "x < 1e400", "x > 1e300",
    "n > 9007199254740992.5", "n = 9007199254740993", "n < 9223372036854775807", "n not in (1, 2)",
    "n is null or n > 5",
    "n > -9223372036854775808", "k = 127", "k = -128", "k >= 127", "k <> 5", "b", "not b", "b is null",
    "s = 'b'", "s <> 'b'", "s < 'b'", "s >= 'b' and s < 'é'", "s like 'ab%'", "s in ('a', 'b', '')", "s is null",
    "s between 'a' and 'b' and (x > 1 or k < 3)", "not (x > 1 and s = 'b')", "", "x > n",
    "n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11) and s <> ''", "s like '%b' and x > 0",
]  # fmt: skip

EVENTS = [
    {"x": x, "n": n, "k": k, "s": s, "b": b}
    for x, n in [
        (0.0, 1), (-0.0, None), (float("nan"), 2**53 + 1), (None, 2**53), (float("inf"), 2**63 - 1), (1.0, -(2**63)),
        (float("-inf"), 2**63 - 2), (2.5, 5), (-1.5, 1 - 2**63),
    ]
    for k, s, b in [
        (127, "b", True), (-128, "a", False), (5, "é", None), (None, None, True), (2, "", False), (126, "ab", True),
        (1, "abc", None), (0, "zb", False), (7, "\U0001f600", True),
    ]
]  # fmt: skip


def key_of(value: Any) -> Any:
    if value is None or (isinstance(value, float) and isnan(value)):
        return None
    return (value, 0) if isinstance(value, str) else float_key(value) if isinstance(value, float) else int(value)


def holds(rows: RangeRows, row: int, event: dict[str, Any]) -> bool:
    """Judge one row of an event: in one range of each attribute that it bounds."""
    for ranges in rows.ranges:
        mine = [place for place, one in enumerate(ranges.row.tolist()) if one == row]
        key = key_of(event[ranges.attribute.path[0]])  # type: ignore[index]
        inside = [
            key is None if ranges.null[one] else key is not None
            and (ranges.lower[one] is None or ranges.lower[one] <= key)
            and (ranges.upper[one] is None or key <= ranges.upper[one])
            for one in mine
        ]  # fmt: skip
        if mine and not any(inside):
            return False
    return True


def test_ranges_say_when_a_subscription_matches() -> None:
    matcher = rookery.matcher(SCHEMA)
    matcher.add_many(pa.table({"subscription_id": range(len(WHERES)), "where": WHERES}))
    compiled = matcher.compile()
    rows = compiled.ranges()
    told = 0
    for slot, name in enumerate(compiled.subscriptions["subscription_id"].to_pylist()):
        mine = [row for row, one in enumerate(rows.slot.tolist()) if one == slot]
        named = {row for row, _ in rows.texts}
        exact = bool(rows.exact[slot]) and all(rows.whole[row] and row not in named for row in mine)
        told += exact
        for event in EVENTS:
            wanted = name in compiled.match(event)
            found = any(holds(rows, row, event) for row in mine)
            assert found >= wanted, (WHERES[name], event)
            assert found == wanted or not exact, (WHERES[name], event)
    assert told >= len(WHERES) - 4


@pytest.mark.parametrize(("where", "ends"), [("k = 127", (127, 127)), ("k > 5", (6, None)), ("k = -128", (-128, -128))])
def test_single_values_keep_both_their_ends(where: str, ends: tuple[int, int | None]) -> None:
    matcher = rookery.matcher(SCHEMA)
    matcher.add("one", where)
    (ranges,) = matcher.compile().ranges().ranges
    assert (ranges.lower, ranges.upper) == ([ends[0]], [ends[1]])


def test_conditions_on_texts_and_computed_values_are_told_apart() -> None:
    matcher = rookery.matcher(SCHEMA)
    matcher.add("computed", "x > n and k = 3")
    matcher.add("text", "s like '%b%' and k = 4")
    matcher.add("plain", "k = 5")
    compiled = matcher.compile()
    rows = compiled.ranges()
    names = compiled.subscriptions["subscription_id"].to_pylist()
    slots = {names[slot]: row for row, slot in enumerate(rows.slot.tolist())}
    assert [bool(rows.whole[slots[name]]) for name in ("computed", "text", "plain")] == [False, True, True]
    assert rows.texts == ((slots["text"], '[[["s"],"like","%b%"]]'),)
