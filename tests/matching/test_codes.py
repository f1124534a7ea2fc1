"""Codes keep the order of values, and a bound that they cannot tell exactly says so."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.generators import random_event, random_schema, table_of
from rookery.errors import EventError
from rookery.matching.codes import HIGHEST_CODE, LOWEST_CODE, CodeSpace, code_bounds
from rookery.matching.kernels import NULL_CODE
from rookery.model.schema import Schema
from rookery.model.types import DecimalType, FloatType, IntegerType, TimestampType, float_key


@settings(max_examples=200)
@given(st.randoms(use_true_random=False))
def test_one_event_and_a_batch_get_the_same_codes(random: Random) -> None:
    schema = random_schema(random)
    space = CodeSpace(schema)
    from model.generators import leaves
    from rookery.model.parser import parse

    for text, _ in leaves(schema):
        number = space.number(parse(f"{text} IS NULL").field.path)  # type: ignore[union-attr]
        if number in space.labels:
            space.insert_texts({number: ["a", "b", "é"]})
            space.labels[number].ordered = True
    events = [random_event(random, schema) for _ in range(5)]
    batch = space.encode(table_of(schema, events), {})
    single = np.concatenate([space.encode_event(event, {}) for event in events])
    assert (batch == single).all()


NUMBERS = [
    (IntegerType(8), [-128, -127, 0, 126, 127]),
    (IntegerType(64), [-(2**63), -(2**63) + 1, -(2**63) + 2, -1, 0, 2**53, 2**53 + 1, 2**63 - 2, 2**63 - 1]),
    (IntegerType(64, signed=False), [0, 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 3, 2**64 - 2, 2**64 - 1]),
    (TimestampType("ns"), [-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 1]),
    (DecimalType(18, 2), [-(10**18) + 1, -1, 0, 1, 10**18 - 1]),
    (DecimalType(30, 2), [-(10**30) + 1, -(10**30) + 2, -1, 0, 1, 10**29, 10**29 + 1, 10**30 - 1]),
]


@pytest.mark.parametrize(("kind", "keys"), NUMBERS, ids=lambda value: getattr(value, "name", ""))
def test_bounds_enclose_their_keys_and_say_whether_exactly(kind: Any, keys: list[int]) -> None:
    def code(key: int) -> int:
        return code_bounds(kind, key, key)[0]

    assert [code(key) for key in keys] == sorted(code(key) for key in keys)
    for low in keys:
        for high in keys:
            if low > high:
                continue
            bottom, top, exact = code_bounds(kind, low, high)
            assert LOWEST_CODE <= bottom <= top <= HIGHEST_CODE
            inside = [bottom <= code(key) <= top for key in keys]
            truth = [low <= key <= high for key in keys]
            assert all(found for found, true in zip(inside, truth, strict=True) if true)
            if exact:
                assert inside == truth


def test_doubles_have_their_bits_in_order() -> None:
    values = [-float("inf"), -1e300, -1.0, -5e-324, 0.0, 5e-324, 1.0, 1e300, float("inf")]
    keys = [float_key(value) for value in values]
    assert keys == sorted(set(keys))
    assert float_key(-0.0) == float_key(0.0) == 0
    assert FloatType().lowest == keys[0]
    assert FloatType().highest == keys[-1]


def test_null_has_the_lowest_code_and_no_value_has_it() -> None:
    space = CodeSpace(Schema.from_dict({"i": "int64", "u": "uint64", "f": "float64", "s": "string", "b": "bool"}))
    for name in "iufsb":
        space.number((name,))
    event = {"i": -(2**63), "u": 0, "f": -float("inf"), "s": "", "b": False}
    assert (space.encode_event(event, {}) > NULL_CODE).all()
    assert (space.encode_event({}, {}) == NULL_CODE).all()
    assert (space.encode_event({"f": float("nan"), "i": None}, {}) == NULL_CODE).all()


def test_numpy_scalars_are_values() -> None:
    space = CodeSpace(Schema.from_dict({"f": "float64", "g": "float32", "i": "int64", "b": "bool", "s": "string"}))
    for name in "fgibs":
        space.number((name,))
    plain = {"f": 1.5, "g": 0.5, "i": 7, "b": True, "s": "a"}
    scalars = {"f": np.float64(1.5), "g": np.float32(0.5), "i": np.int16(7), "b": np.bool_(True), "s": np.str_("a")}
    assert (space.encode_event(plain, {}) == space.encode_event(scalars, {})).all()
    nan = {"f": np.float64("nan"), "g": np.float32("nan")}
    assert (space.encode_event(nan, {}) == NULL_CODE).all()


COLUMNS: list[tuple[str, Any]] = [
    ("dictionary", pa.array(["a", "b", None, "zz"]).dictionary_encode()),
    ("dictionary with a null inside", pa.DictionaryArray.from_arrays([0, 1, 2, 3], pa.array(["a", "b", None, "zz"]))),
    ("large", pa.array(["a", "b", None, "zz"], pa.large_string())),
    ("view", pa.array(["a", "b", None, "zz"], pa.string_view())),
    ("sliced", pa.array(["q", "a", "b", None, "zz", "r"])[1:5]),
    ("chunked", pa.chunked_array([["a", "b"], [None, "zz"]])),
    (
        "chunked dictionaries",
        pa.chunked_array([pa.array(["a", "b"]).dictionary_encode(), pa.array([None, "zz"]).dictionary_encode()]),
    ),
]


@pytest.mark.parametrize(("name", "column"), COLUMNS, ids=[name for name, _ in COLUMNS])
def test_strings_of_any_layout_are_strings(name: str, column: Any) -> None:
    space = CodeSpace(Schema(s=str))
    number = space.number(("s",))
    space.insert_texts({number: ["a", "b"]})
    space.labels[number].ordered = True
    labels = space.labels[number]
    codes = space.encode(pa.table({"s": column}), {})[:, 0].tolist()
    assert codes == [labels["a"], labels["b"], NULL_CODE, labels.code("zz")]


NARROW: list[tuple[str, Any, list[Any]]] = [
    ("int64", pa.array([1, None, 3], pa.int8()), [1, None, 3]),
    ("int64", pa.array([1, None, 3], pa.uint32()), [1, None, 3]),
    ("int8", pa.array([1, None, 3], pa.int64()), [1, None, 3]),
    ("float64", pa.array([1, None, 3], pa.int32()), [1.0, None, 3.0]),
    ("float64", pa.array([0.5, None, 3], pa.float32()), [0.5, None, 3.0]),
    ("decimal(10,2)", pa.array([1, None, 3], pa.decimal128(5, 0)), [1, None, 3]),
    ("decimal(10,2)", pa.array([1, None, 3], pa.int64()), [1, None, 3]),
    ("decimal(70,40)", pa.array([1, None, 3], pa.uint64()), [1, None, 3]),
    (
        "timestamp[us]",
        pa.array([1, None, 3], pa.int64()).cast(pa.timestamp("s")),
        ["1970-01-01T00:00:01Z", None, "1970-01-01T00:00:03Z"],
    ),
    ("timestamp[s]", pa.array([1, None, 3], pa.int32()).cast(pa.date32()), ["1970-01-02", None, "1970-01-04"]),
    ("float64", pa.nulls(3), [None, None, None]),
    ("string", pa.nulls(3), [None, None, None]),
    ("int64", pa.array([0, 1, None, 3, 4])[1:4], [1, None, 3]),
    ("decimal(10,2)", pa.array([0, 1, None, 3, 4], pa.decimal128(10, 2))[1:4], [1, None, 3]),
    ("float64", pa.array([0.0, 1, None, 3, 4])[1:4], [1.0, None, 3.0]),
    ("bool", pa.array([False, True, None, False, True])[1:4], [True, None, False]),
]


@pytest.mark.parametrize(
    ("kind", "column", "values"), NARROW, ids=[f"{kind} from {one.type}" for kind, one, _ in NARROW]
)
def test_a_column_of_another_width_is_read_exactly(kind: str, column: Any, values: list[Any]) -> None:
    space = CodeSpace(Schema.from_dict({"x": kind}))
    space.number(("x",))
    batch = space.encode(pa.table({"x": column}), {})
    single = np.concatenate([space.encode_event({"x": value}, {}) for value in values])
    assert batch.tolist() == single.tolist()


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("int8", pa.array([300])),
        ("uint8", pa.array([-1])),
        ("int64", pa.array([2**64 - 1], pa.uint64())),
        ("int64", pa.array([1.5])),
        ("timestamp[s]", pa.array([1], pa.int64()).cast(pa.timestamp("ms"))),
        ("bool", pa.array([1])),
        ("decimal(3,1)", pa.array([1.25])),
        ("decimal(3,1)", pa.array([100])),
    ],
    ids=str,
)
def test_a_column_that_does_not_fit_is_refused(kind: str, column: Any) -> None:
    space = CodeSpace(Schema.from_dict({"x": kind}))
    space.number(("x",))
    with pytest.raises(EventError, match="x"):
        space.encode(pa.table({"x": column}), {})
