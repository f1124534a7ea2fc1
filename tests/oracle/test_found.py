"""What the oracle has found, each as one small batch: every engine, row and batch, and DuckDB give the same answer.

`wanted` are the rows that match; `None` stands for the same EventError from everyone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import rookery
from oracle.judge import Judge
from oracle.kinds import LEAF_KINDS
from oracle.literals import Leaf
from rookery.errors import EventError
from rookery.matching import ENGINES

INSTANT = pa.timestamp("s")


@dataclass(frozen=True)
class Found:
    """A column `x`, a condition on it in both languages, and which rows match."""

    kind: str
    column: pa.Array | pa.ChunkedArray
    where: str
    sql: str
    wanted: list[int] | None
    columns: dict[str, Any] = field(default_factory=dict)
    subscription: dict[str, Any] = field(default_factory=dict)
    time: str | None = None


DATED = {"valid_from": "2026-01-01T00:00:00Z"}
FOUND = {
    "a text view beside a condition that is verified": Found(
        "string",
        pa.array(["ab", None, "cb"], pa.string_view()),
        "x LIKE '%b' AND x > 'b'",
        "v0 LIKE '%b' AND v0 > 'b'",
        [2],
    ),
    "an unused column of views": Found(
        "string",
        pa.array(["ab", None, "cb"]),
        "x LIKE '%b'",
        "v0 LIKE '%b'",
        [0, 2],
        {"u": pa.array([b""] * 3, pa.binary_view())},
    ),
    "runs": Found("int64", pc.run_end_encode(pa.array([1, 1, 2, None])), "x < 2", "v0 < 2", [0, 1]),
    "views in a dictionary": Found(
        "string",
        pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0]), pa.array(["a", "b"], pa.string_view())),
        "x <> 'b'",
        "v0 <> 'b'",
        [0, 3],
    ),
    "chunks of dictionaries with NULL among the entries": Found(
        "string",
        pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([one, None])) for one in "ab"]),
        "x = 'b'",
        "v0 = 'b'",
        [2],
    ),
    "an int64 that no double is": Found("float64", pa.array([2**53 + 1]), "x = 9007199254740992", "TRUE", None),
    "int64s that are doubles": Found(
        "float64", pa.array([2**53, -(2**63)]), "x = 9007199254740992", "v0 = 9007199254740992::DOUBLE", [0]
    ),
    "a float64 past the float32s": Found("float32", pa.array([1.0, 1e300]), "x > 0", "TRUE", None),
    "decimals for a float": Found(
        "float64", pa.array([Decimal("0.50"), Decimal("2.25")]), "x = 0.5", "v0 = 0.5::DOUBLE", [0]
    ),
    "a topic that is NULL": Found(
        "int64",
        pa.array([1, 1]),
        "x = 1",
        "v0 = 1 AND topic = 'b'",
        [1],
        {"topic": pa.array([None, "b"])},
        {"topic": "b"},
    ),
    "dates as times": Found(
        "int64",
        pa.array([1, 1]),
        "x = 1",
        "v0 = 1 AND time >= 1767225600000000000",
        [1],
        {"at": pa.array([20453, 20454], pa.date32())},
        DATED,
        "at",
    ),
    "times finer than a microsecond": Found(
        "int64",
        pa.array([1, 1]),
        "x = 1",
        "v0 = 1 AND time >= 1767225600000000000",
        [1],
        {"at": pa.array([1767225599999999999, 1767225600000000001]).cast(pa.timestamp("ns", "UTC"))},
        DATED,
        "at",
    ),
    "a time past what microseconds count": Found(
        "int64", pa.array([1, 1]), "x = 1", "TRUE", None, {"at": pa.array([0, 10**13]).cast(INSTANT)}, DATED, "at"
    ),
}


def table_of(case: Found) -> pa.Table:
    return pa.table({"x": case.column, "event_id": list(range(len(case.column))), **case.columns})


def matcher_of(case: Found, engine: str) -> Any:
    matcher = rookery.matcher(rookery.Schema.from_dict({"x": case.kind}), engine=engine)
    matcher.add("s", case.where, **case.subscription)
    return matcher


@pytest.mark.parametrize("name", [name for name, case in FOUND.items() if case.wanted is not None])
def test_duckdb_says_so(name: str) -> None:
    case = FOUND[name]
    kind = next(one for one in LEAF_KINDS if one.written == case.kind)
    topic = "topic" if "topic" in case.columns else None
    judge = Judge(table_of(case), [Leaf(0, "x", ("x",), kind, ())], topic=topic, time=case.time, ranked=set())
    assert [rows.tolist() for rows in judge.satisfied([f"({case.sql})"])] == [case.wanted]
    judge.close()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", FOUND)
def test_a_batch_says_so(name: str, engine: str) -> None:
    case = FOUND[name]
    matcher, table = matcher_of(case, engine), table_of(case)
    if case.wanted is None:
        with pytest.raises(EventError):
            matcher.match_many(table, time=case.time)
    else:
        assert matcher.match_many(table, time=case.time)["event_id"].to_pylist() == case.wanted


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", [name for name in FOUND if "past what" not in name])  # Python has no such time
def test_the_rows_say_so(name: str, engine: str) -> None:
    case = FOUND[name]
    matcher = matcher_of(case, engine)
    events = table_of(case).to_pylist()

    def match(event: dict[str, Any]) -> bool:
        return matcher.match(event, time=event[case.time] if case.time else None) == ["s"]

    if case.wanted is None:
        with pytest.raises(EventError):
            [match(event) for event in events]
    else:
        assert [event["event_id"] for event in events if match(event)] == case.wanted
