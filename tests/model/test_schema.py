"""Schemas from what users have, and back; events read through them."""

from __future__ import annotations

import enum
import json
import pickle
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.generators import random_schema
from rookery.errors import EventError, SchemaError
from rookery.model import Schema
from rookery.model.arrow_types import schema_document
from rookery.model.batches import event_column
from rookery.model.event_columns import comparables
from rookery.model.events import comparable, step_into
from rookery.model.instants import instant_of, microseconds_of, parse_instant


class Side(enum.Enum):
    BUY = "buy"
    SELL = "sell"


class Code(enum.Enum):
    ONE = 1
    TWO = 2


def test_python_types_and_names_are_types() -> None:
    schema = Schema(
        s=str,
        i=int,
        f=float,
        b=bool,
        t=datetime,
        d=Decimal,
        n="int8",
        u="UINT64 ",
        side=Side,
        code=Code,
        many=[float],
        at={"x": int},
    )
    assert schema.to_dict() == {
        "s": "string",
        "i": "int64",
        "f": "float64",
        "b": "bool",
        "t": "timestamp[us]",
        "d": "decimal(18,6)",
        "n": "int8",
        "u": "uint64",
        "side": {"$enum": ["buy", "sell"]},
        "code": {"$enum": ["ONE", "TWO"]},
        "many": ["float64"],
        "at": {"x": "int64"},
    }
    assert Schema.from_dict(schema.to_dict()) == schema
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert hash(Schema.from_dict(schema.to_dict())) == hash(schema)
    assert list(schema)[:2] == ["s", "i"]
    assert len(schema) == 12
    assert "side" in schema
    assert "nope" not in schema
    assert repr(Schema(x=float)) == "Schema(x=float64)"
    assert schema != Schema(x=float)


@given(st.randoms(use_true_random=False))
def test_a_schema_survives_arrow_and_json(random: Random) -> None:
    schema = random_schema(random)
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    back = Schema.from_arrow(schema.to_arrow()).to_dict()
    plain = {
        name: "string" if isinstance(kind, dict) and "$enum" in kind else kind
        for name, kind in schema.to_dict().items()
    }
    assert back == plain


@pytest.mark.parametrize(
    ("types", "fragment"),
    [
        ({}, "at least one attribute"),
        ({"x": "flaot64"}, "did you mean 'float64'"),
        ({"x": complex}, "no such type"),
        ({"x": 5}, "no such type"),
        ({"": "int64"}, "not empty"),
        ({5: "int64"}, "name is a string"),
        ({"x": {}}, "at least one field"),
        ({"x": []}, "item type in brackets"),
        ({"x": ["int8", "int8"]}, "item type in brackets"),
        ({"x": "decimal(77,2)"}, "out of range"),
        ({"x": "decimal(5,6)"}, "out of range"),
        ({"x": "decimal(0,0)"}, "out of range"),
        ({"x": {"$enum": []}}, "list of labels"),
        ({"x": {"$enum": ["a", "a"]}}, "repeats a label"),
        ({"x": {"$enum": [1]}}, "list of labels"),
    ],
    ids=str,
)
def test_what_is_no_schema_is_refused(types: Any, fragment: str) -> None:
    with pytest.raises(SchemaError, match=fragment):
        Schema.from_dict(types)


def test_arrow_columns_that_cannot_be_compared_are_left_out_and_a_condition_on_one_says_why() -> None:
    for kind in (pa.binary(), pa.float16(), pa.map_(pa.int64(), pa.string()), pa.duration("s"), pa.time64("us")):
        schema = Schema.from_arrow(pa.schema([("x", pa.int64()), ("blob", kind)]))
        assert schema == Schema(x=int)
        with pytest.raises(SchemaError) as raised:
            schema.attribute(("blob",))
        assert str(raised.value) == f"blob is {kind} in the events, which no condition can compare"
        with pytest.raises(SchemaError, match=r"no column has a type that conditions can compare \(blob: "):
            Schema.from_arrow(pa.schema([("blob", kind)]))
    with pytest.raises(SchemaError, match="repeats the columns"):
        Schema.from_arrow(pa.schema([("x", pa.int64()), ("x", pa.int64())]))


def test_a_schema_is_a_document_a_data_file_or_text(tmp_path: Path) -> None:
    document = tmp_path / "schema.json"
    document.write_text('{"price": "float64"}')
    data = tmp_path / "events.csv"
    data.write_text("price\n9.5\n")
    known = Schema(price=float)
    assert Schema.read(str(document)) == Schema.read(str(data)) == Schema.read("price:float64") == known
    assert Schema.read("a: decimal(10,2) ,b:string").to_dict() == {"a": "decimal(10,2)", "b": "string"}
    for wrong in ("nothing", "price:money", "price:int64,price:int64"):
        with pytest.raises(SchemaError):
            Schema.read(wrong)


def test_arrow_types_are_read() -> None:
    arrow = pa.schema(
        [
            ("d", pa.dictionary(pa.int32(), pa.string())),
            ("day", pa.date32()),
            ("ms", pa.date64()),
            ("v", pa.string_view()),
            ("n", pa.null()),
            ("l", pa.large_list(pa.int8())),
            ("f", pa.list_(pa.float32(), 3)),
            ("m", pa.decimal256(60, 3)),
            ("z", pa.timestamp("ms", "Asia/Tokyo")),
        ]
    )
    assert Schema.from_arrow(arrow).to_dict() == {
        "d": "string",
        "day": "timestamp[s]",
        "ms": "timestamp[ms]",
        "v": "string",
        "n": "string",
        "l": ["int8"],
        "f": ["float32"],
        "m": "decimal(60,3)",
        "z": "timestamp[ms]",
    }


def test_a_schema_is_inferred_from_files(tmp_path: Path) -> None:
    table = pa.table({"symbol": ["A"], "price": [1.5], "volume": [3]})
    pyarrow.parquet.write_table(table, tmp_path / "quotes.parquet")
    (tmp_path / "quotes.csv").write_text("symbol,price,volume\nA,1.5,3\n")
    (tmp_path / "quotes.tsv").write_text("symbol\tprice\tvolume\nA\t1.5\t3\n")
    (tmp_path / "quotes.jsonl").write_text('{"symbol": "A", "price": 1.5, "volume": 3}\n')
    with pa.OSFile(str(tmp_path / "quotes.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    for suffix in ("parquet", "csv", "tsv", "jsonl", "arrow"):
        assert Schema.infer(tmp_path / f"quotes.{suffix}") == Schema(symbol=str, price=float, volume=int), suffix
    assert Schema.infer(tmp_path) == Schema(symbol=str, price=float, volume=int)
    (tmp_path / "schema.json").write_text('{"price": "float64"}')
    assert schema_document(tmp_path / "schema.json") == {"price": "float64"}
    for name, content, fragment in (
        ("x.bin", "", "is not one of"),
        ("bad.parquet", "no", "cannot infer"),
        ("bad.arrow", "no", "cannot infer"),
    ):
        (tmp_path / name).write_text(content)
        with pytest.raises(SchemaError, match=fragment):
            Schema.infer(tmp_path / name)
    with pytest.raises(SchemaError, match="no such file"):
        Schema.infer(tmp_path / "nothing.csv")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(SchemaError, match="holds no file"):
        Schema.infer(empty)
    for name, content in (("list.json", "[]"), ("broken.json", "{")):
        (tmp_path / name).write_text(content)
        with pytest.raises(SchemaError, match=name):
            schema_document(tmp_path / name)


INSTANTS = [
    (datetime(1970, 1, 1, 0, 0, 1), 10**9),
    (datetime(1970, 1, 1, 9, tzinfo=timezone(timedelta(hours=9))), 0),
    (datetime(1970, 1, 1, 0, 0, 0, 5, tzinfo=UTC), 5000),
    (date(1970, 1, 2), 86_400 * 10**9),
    ("1970-01-01T00:00:00.000000001Z", 1),
    ("1970-01-01T00:00:00,5", 500_000_000),
    (" 1970-01-01 ", 0),
    ("1970-01-01T00:00+0100", -3600 * 10**9),
]


@pytest.mark.parametrize(("value", "nanoseconds"), INSTANTS, ids=str)
def test_instants_are_read(value: Any, nanoseconds: int) -> None:
    assert instant_of(value) == nanoseconds


def test_what_is_no_instant_is_refused() -> None:
    for text in (
        "",
        "now",
        "2026",
        "2026-1-1",
        "2026-01-01T",
        "2026-01-01T12",
        "2026-01-01T12:00:00.0000000001Z",
        "٢٠٢٦-01-01",
    ):
        with pytest.raises(ValueError):
            parse_instant(text)
    for value in (5, 5.0, None, b"2026-01-01"):
        with pytest.raises(TypeError):
            instant_of(value)
    with pytest.raises(ValueError, match="finer than a microsecond"):
        microseconds_of("1970-01-01T00:00:00.000000001Z")


def test_a_path_steps_into_an_event() -> None:
    event = {"a": {"b": [{"c": 1}]}, "t": (1, 2)}
    assert step_into(event, ("a", "b", 0, "c")) == 1
    assert step_into(event, ("t", 1)) == 2
    for path in (("a", "x"), ("x",), ("a", "b", 5, "c"), ("a", "b", 0, "d"), ("x", "y", 0)):
        assert step_into(event, path) is None
    for path in (("a", 0), ("a", "b", "c"), ("t", "x")):
        with pytest.raises(EventError):
            step_into(event, path)


def attribute(kind: Any) -> Any:
    return Schema.from_dict({"x": kind}).attribute(("x",))


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        ("float64", 5, 5.0),
        ("float64", Decimal("0.5"), 0.5),
        ("float64", np.float32(0.5), 0.5),
        ("float64", np.float32("nan"), None),
        ("float64", Decimal("nan"), None),
        ("float32", 0.1, float(np.float32(0.1))),
        ("int64", np.uint8(5), 5),
        ("bool", np.bool_(True), True),
        ("string", np.str_("a"), "a"),
        ("decimal(5,2)", 3, Decimal(3)),
        ("decimal(5,2)", Decimal("1.50"), Decimal("1.5")),
        ("timestamp[s]", "1970-01-01T00:00:01Z", 10**9),
        ("timestamp[us]", date(1970, 1, 2), 86_400 * 10**9),
        ("int8", None, None),
    ],
    ids=str,
)
def test_values_are_read_as_their_types(kind: str, value: Any, read: Any) -> None:
    assert comparable(attribute(kind), value) == read


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int8", 128),
        ("uint8", -1),
        ("int64", 1.5),
        ("float64", 2**53 + 1),
        ("float64", Decimal("0.1")),
        ("float32", 2**24 + 1),
        ("int64", "1"),
        ("int64", True),
        ("float64", "1"),
        ("float64", True),
        ("float64", 10**400),
        ("float32", 1e300),
        ("bool", 1),
        ("string", 1),
        ("string", b"a"),
        ("decimal(5,2)", Decimal("0.001")),
        ("decimal(5,2)", 1000),
        ("decimal(5,2)", 0.1),
        ("decimal(5,2)", Decimal("Infinity")),
        ("timestamp[s]", "1970-01-01T00:00:00.5Z"),
        ("timestamp[ns]", "9999-01-01"),
        ("timestamp[s]", 5),
        ("string", [1]),
        ({"$enum": ["a"]}, 1),
    ],
    ids=str,
)
def test_values_that_do_not_fit_are_refused_by_name(kind: Any, value: Any) -> None:
    with pytest.raises(EventError, match="x"):
        comparable(attribute(kind), value)


LISTS = [
    pa.array([[1, 2], [], None, [3], [None, 4]], pa.list_(pa.int64())),
    pa.array([[9], [1, 2], [], None, [3], [None, 4], [8]], pa.list_(pa.int64()))[1:6],
    pa.array([[1, 2], [], None, [3], [None, 4]], pa.large_list(pa.int64())),
]


@pytest.mark.parametrize("column", LISTS, ids=["list", "sliced", "large"])
def test_items_past_the_end_of_a_list_are_null(column: Any) -> None:
    schema = Schema.from_dict({"x": ["int64"]})
    batch = pa.table({"x": column})
    read = [
        comparables(one, event_column(batch, one)) for one in (schema.attribute(("x", 0)), schema.attribute(("x", 1)))
    ]
    assert read == [[1, None, None, 3, None], [2, None, None, None, 4]]


def test_fixed_lists_and_null_structs_are_read() -> None:
    fixed = pa.table({"x": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int64(), 2))})
    schema = Schema.from_dict({"x": ["int64"]})
    for index, wanted in ((1, [2, None, 4]), (5, [None, None, None])):
        one = schema.attribute(("x", index))
        assert comparables(one, event_column(fixed, one)) == wanted
    structs = pa.table({"a": pa.array([{"b": 1}, None, {"b": None}, {"b": 4}], pa.struct([("b", pa.int64())]))})
    one = Schema.from_dict({"a": {"b": "int64"}}).attribute(("a", "b"))
    assert comparables(one, event_column(structs.slice(1), one)) == [None, None, 4]
    other = Schema.from_dict({"a": {"c": "int64"}}).attribute(("a", "c"))
    with pytest.raises(EventError, match=r"a\.c"):
        event_column(structs, other)
    with pytest.raises(EventError, match="no column 'x'"):
        event_column(structs, schema.attribute(("x", 0)))
