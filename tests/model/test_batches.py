"""Batches: every form in which people hold events gives the same columns, and only those that somebody asks for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rookery.errors import EventError
from rookery.model.batches import Batch, batch_of, event_column, event_ids
from rookery.model.event_columns import comparables
from rookery.model.schema import Schema

SCHEMA = Schema.from_dict(
    {
        "i": "int64",
        "f": "float64",
        "s": "string",
        "d": "decimal(9,2)",
        "t": "timestamp[us]",
        "b": "bool",
        "a": {"s": "string"},
        "l": ["string"],
    }
)
PATHS: list[tuple[str | int, ...]] = [("i",), ("f",), ("s",), ("d",), ("t",), ("b",), ("a", "s"), ("l", 1)]
ROWS: list[dict[str, Any]] = [
    {
        "event_id": 7,
        "i": 3,
        "f": 1.5,
        "s": "a string past twelve bytes",
        "d": Decimal("1.25"),
        "t": datetime(2026, 5, 1, tzinfo=UTC),
        "b": True,
        "a": {"s": "x"},
        "l": ["u", "v"],
    },
    {"event_id": 8, "i": None, "f": None, "s": None, "d": None, "t": None, "b": None, "a": None, "l": None},
    {
        "event_id": 9,
        "i": -4,
        "f": -0.0,
        "s": "ß",
        "d": Decimal("-3.00"),
        "t": datetime(1969, 5, 1, 0, 0, 0, 1, tzinfo=UTC),
        "b": False,
        "a": {"s": None},
        "l": ["w"],
    },
]
TABLE = pa.Table.from_pylist(ROWS)


class Stream:
    """An object that has nothing but Arrow's C stream interface."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


class Array:
    """An object that has nothing but Arrow's C array interface."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._batch.__arrow_c_array__(requested_schema)


FORMS: dict[str, Callable[[], Any]] = {
    "table": lambda: TABLE,
    "record batch": lambda: TABLE.to_batches()[0],
    "reader": TABLE.to_reader,
    "stream": lambda: Stream(TABLE),
    "array": lambda: Array(TABLE.to_batches()[0]),
    "table of views": lambda: pa.table(pl.from_arrow(TABLE)),
    "chunks": lambda: pa.concat_tables([TABLE[:1], TABLE[:0], TABLE[1:]]),
    "polars": lambda: pl.from_arrow(TABLE),
    "pandas": TABLE.to_pandas,
    "pandas objects": lambda: pd.DataFrame(ROWS, dtype=object),
    "pandas, inferred": lambda: pd.DataFrame(ROWS),
    "pandas, nullable": lambda: pd.DataFrame(ROWS).convert_dtypes(),
    "pandas, Arrow": lambda: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "list of dicts": lambda: ROWS,
    "tuple of sparse dicts": lambda: tuple({k: v for k, v in row.items() if v is not None} for row in ROWS),
    "dict of lists": lambda: {name: [row[name] for row in ROWS] for name in ROWS[0]},
    "dict of columns": lambda: {
        "event_id": np.array([7, 8, 9]),
        "i": pd.Series([3, None, -4]),
        "f": np.array([1.5, np.nan, -0.0]),
        "s": pl.Series([row["s"] for row in ROWS]),
        "d": [row["d"] for row in ROWS],
        "t": np.array([row["t"] and row["t"].replace(tzinfo=None) for row in ROWS], "datetime64[us]"),
        "b": TABLE["b"],
        "a": TABLE["a"].combine_chunks(),
        "l": np.array([["u", "v"], None, ["w"]], object),
    },
}


def read(events: Any) -> list[list[Any]]:
    return [comparables(one, event_column(events, one)) for path in PATHS for one in (SCHEMA.attribute(path),)]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_reads_alike(form: str) -> None:
    batch = batch_of(FORMS[form]())
    assert batch.num_rows == 3
    assert read(batch) == read(TABLE)
    assert event_ids(batch, "event_id", pa.array([0, 1, 2])).to_pylist() == [7, 8, 9]
    part = batch.slice(1, 5)
    assert part.num_rows == 2
    assert read(part) == [column[1:] for column in read(TABLE)]
    assert read(part.slice(1, 1)) == [column[2:] for column in read(TABLE)]
    assert read(batch.pick([2, 0])) == [[column[2], column[0]] for column in read(TABLE)]
    assert batch_of(batch) is batch


def test_a_column_that_nobody_asks_for_is_never_made() -> None:
    class Awful:
        def __len__(self) -> int:
            return 1

        def __iter__(self) -> Any:
            raise AssertionError("somebody looked")

    assert read_one({"x": [1], "awful": Awful()}) == [1]
    frame = pd.DataFrame({"x": [1], "awful": [object()]})
    assert read_one(frame) == [1]
    assert read_one(pl.DataFrame({"x": [1], "awful": pl.Series([object()], dtype=pl.Object)})) == [1]
    assert read_one([{"x": 1, "awful": object()}]) == [1]
    assert read_one(pa.table({"x": [1], "awful": pa.array(["a"], pa.string_view()), "twice": [1]})) == [1]


def read_one(events: Any, kind: Any = "int64") -> list[Any]:
    attribute = Schema.from_dict({"x": kind}).attribute(("x",))
    return comparables(attribute, event_column(events, attribute))


@pytest.mark.parametrize(
    ("kind", "values", "wanted"),
    [
        ("int64", [1, 2.0, Decimal(3), None, np.int8(4)], [1, 2, 3, None, 4]),
        ("uint64", [2**64 - 1, 1.0], [2**64 - 1, 1]),
        ("float64", [1, 0.5, Decimal("0.25")], [1.0, 0.5, 0.25]),
        ("decimal(5,2)", [1, Decimal("1.25"), 0.5], [Decimal(1), Decimal("1.25"), Decimal("0.5")]),
        ("string", ["a", None, np.str_("b"), float("nan"), pd.NA], ["a", None, "b", None, None]),
    ],
    ids=str,
)
def test_no_type_is_inferred_from_neighbors(kind: str, values: list[Any], wanted: list[Any]) -> None:
    assert read_one([{"x": one} for one in values], kind) == wanted
    assert read_one({"x": values}, kind) == wanted
    assert read_one({"x": tuple(values)}, kind) == wanted
    assert read_one(pd.DataFrame({"x": pd.Series(values, dtype=object)}), kind) == wanted


def test_columns_of_types_that_arrow_does_not_have() -> None:
    assert read_one({"x": pl.Series([1, None], dtype=pl.Int128)}) == [1, None]
    assert read_one(pl.DataFrame({"x": pl.Series([1, None], dtype=pl.Int128)})) == [1, None]
    assert read_one({"x": np.array(["1970-01-02T01"], "datetime64[h]")}, "timestamp[s]") == [25 * 3600 * 10**9]
    assert read_one(pd.DataFrame({"x": pd.Categorical([1, None, 1])})) == [1, None, 1]
    assert read_one(pd.DataFrame({"x": pd.Categorical(["a", None])}), "string") == ["a", None]
    assert read_one(pl.DataFrame({"x": pl.Series(["a", None], dtype=pl.Categorical)}), "string") == ["a", None]
    assert read_one(pd.DataFrame({"x": pd.arrays.SparseArray([1.0, np.nan])})) == [1, None]
    for frame in (pd.DataFrame({"x": pd.period_range("2026", periods=1)}), {"x": pd.period_range("2026", periods=1)}):
        with pytest.raises(EventError, match="x is an int64"):
            read_one(frame)


BAD: list[tuple[Any, str]] = [
    (5, "these are int"),
    ("a,b", "these are str"),
    (pl.LazyFrame({"x": [1]}), "collect"),
    (Stream(pa.chunked_array([[1, 2]])), "cannot be read from their Arrow stream"),
    (pa.array([1, 2]), "cannot be read from their Arrow stream"),
    ([{"x": 1}, 5], "an event is a mapping, and this has 5"),
    ({"x": 1}, "x: int is no column"),
    ({"x": "abc"}, "x: str is no column"),
    ({"x": [1], "y": [1, 2]}, "differ in length: x: 1, y: 2"),
    ({"y": [1]}, "no column 'x', which subscriptions test; they have y"),
    ({}, "no column 'x'.*they have none"),
    (pa.table([[1], [2]], ["x", "x"]), "2 columns named 'x'"),
    (pd.DataFrame([[1, 2]], columns=["x", "x"]), "2 columns named 'x'"),
    (pd.DataFrame([[1, 2]]), "they have 0, 1"),
]


@pytest.mark.parametrize(("events", "message"), BAD, ids=[message for _, message in BAD])
def test_what_is_no_batch_is_refused_by_what_it_is(events: Any, message: str) -> None:
    with pytest.raises(EventError, match=message):
        read_one(events)


def test_rows_say_who_lacks_a_key() -> None:
    batch = batch_of([{"x": 1, "topic": None}, {"x": 2}])
    lacking = batch.lacking("topic")
    assert lacking is not None
    assert lacking.tolist() == [False, True]
    assert batch.slice(1, 1).lacking("topic").tolist() == [True]  # type: ignore[union-attr]
    assert batch_of({"topic": [None]}).lacking("topic") is None
    assert batch.column("nowhere") == [None, None]
    assert batch_of([]).num_rows == 0


def test_ids_of_several_types_are_refused() -> None:
    with pytest.raises(EventError, match="of one type"):
        event_ids(batch_of([{"event_id": 1}, {"event_id": "a"}]), "event_id", pa.array([0]))
    odd = pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array(["a"], pa.string_view()))
    assert event_ids(batch_of(pa.table({"event_id": odd})), "event_id", pa.array([1])).to_pylist() == ["a"]


def test_a_batch_is_made_once() -> None:
    made: list[int] = []

    def make(place: int) -> Any:
        made.append(place)
        return [1, 2]

    batch = Batch(["x"], 2, make)
    assert [batch.slice(0, 1).column("x"), batch.slice(1, 1).column("x"), batch.column("x")] == [[1], [2], [1, 2]]
    assert made == [0]
