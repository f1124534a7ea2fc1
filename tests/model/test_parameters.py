"""Parameters by name: their order, where they are given, and what is said when one is missing."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import rookery
from rookery.errors import SubscriptionError
from rookery.model import parse, to_text
from rookery.model.parameters import list_items, parameter_value, parameter_values
from rookery.model.tokens import length_without_lists, tokens_of

SCHEMA = rookery.Schema(symbol=str, volume=int)


def test_names_follow_numbers_in_alphabetical_order_wherever_they_stand() -> None:
    assert parameter_values("a = :z AND b = %1 AND c = :m", {"z": 1, "m": 2, 0: 3, "1": 4}) == (3, 4, 2, 1)
    assert parameter_values("s = ':no' AND i = :yes", {"yes": 1}) == (1,)
    tree = parse(":b < volume + :a")
    assert parse(to_text(tree)) == tree


def test_a_missing_name_is_an_error_at_its_place() -> None:
    with pytest.raises(SubscriptionError, match="parameter :limit has no value") as caught:
        parameter_values("volume > :limit", {"limits": 3})
    assert (caught.value.position, caught.value.hint) == (9, "did you mean 'limits'?")


@pytest.mark.parametrize("engine", ["bitmap", "scan"])
def test_they_change_by_name_and_are_saved_as_a_list(engine: str) -> None:
    matcher = rookery.matcher(SCHEMA, engine=engine)
    matcher.add("busy", "volume BETWEEN :low AND :high", parameters={"low": 10, "high": 20})
    assert matcher.match({"volume": 15}) == ["busy"]
    matcher.set_parameters("busy", {"high": 14, "low": 1})
    assert (matcher.match({"volume": 15}), matcher.match({"volume": 14})) == ([], ["busy"])
    assert matcher.compile().subscriptions["parameters"].to_pylist() == [["14", "1"]]


def test_tables_give_them_by_name(tmp_path: Path) -> None:
    file = tmp_path / "rules.csv"
    file.write_text('subscription_id,where,parameters\na,volume > :limit,"{""limit"": 5}"\nb,volume > :limit,"{}"\n')
    matcher = rookery.matcher(SCHEMA, on_error="quarantine")
    assert matcher.add_many(str(file)) == 1
    assert matcher.quarantined[0].message == "parameter :limit has no value"
    named = pa.array([[("limit", "7")]], pa.map_(pa.string(), pa.string()))
    table = pa.table({"subscription_id": ["c"], "where": ["volume > :limit"], "parameters": named})
    matcher.add_many(table)
    matcher.add_many([{"subscription_id": "d", "where": "volume > :limit", "parameters": {"limit": 8}}])
    assert [matcher.match({"volume": n}) for n in (6, 8, 9)] == [["a"], ["a", "c"], ["a", "c", "d"]]


@pytest.mark.parametrize("engine", ["bitmap", "scan"])
def test_a_list_is_given_as_python_numpy_and_arrow_have_it(engine: str, tmp_path: Path) -> None:
    matcher = rookery.matcher(SCHEMA, engine=engine)
    matcher.add("list", "volume IN :watched", parameters={"watched": [1, 2]})
    matcher.add("numpy", "volume NOT IN %0", parameters=[np.array([1, 2, 3])])
    matcher.add("arrow", "symbol IN :watched", parameters={"watched": pa.array(["it's", "b"])})
    assert [matcher.match({"volume": n, "symbol": "it's"}) for n in (1, 3, 4)] == [
        ["list", "arrow"],
        ["arrow"],
        ["numpy", "arrow"],
    ]
    matcher.set_parameters("list", {"watched": pa.chunked_array([[3], [4]])})
    assert sorted(matcher.match({"volume": 4})) == ["list", "numpy"]
    assert "volume IN :watched" in str(matcher.explain("list", {"volume": 9}))
    # What was compiled holds it as a text, and reads it again.
    again = rookery.matcher(SCHEMA, engine=engine)
    again.add_many(matcher.compile().subscriptions)
    assert sorted(again.match({"volume": 4, "symbol": "b"})) == ["arrow", "list", "numpy"]


def test_tables_and_files_give_lists(tmp_path: Path) -> None:
    file = tmp_path / "rules.csv"
    file.write_text(
        'subscription_id,where,parameters\na,volume IN :few,"{""few"": [5, 6]}"\nb,volume IN %0,"[[7, 8]]"\n'
    )
    matcher = rookery.matcher(SCHEMA)
    matcher.add_many(str(file))
    watched = pa.StructArray.from_arrays([pa.array([[8, 9]])], ["few"])
    matcher.add_many(pa.table({"subscription_id": ["c"], "where": ["volume IN :few"], "parameters": watched}))
    matcher.add_many([{"subscription_id": "d", "where": "volume IN :few", "parameters": {"few": (5, 9)}}])
    assert [matcher.match({"volume": n}) for n in range(5, 10)] == [["a", "d"], ["a"], ["b"], ["b", "c"], ["c", "d"]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "parameter :few is an empty list"),
        ("5", "parameter :few is no list"),
        ("{}", "parameter :few is no list"),
        ([None], "parameter :few holds what is no value"),
        ([[5]], "parameter :few holds what is no value"),
        ([5, "x"], "volume is a number, and parameter :few is 'x'"),
        ([5, math.nan], "parameter :few holds what is no value"),
        (np.array([5, "NaT"], "datetime64[s]"), "parameter :few holds what is no value"),
        (math.nan, "parameter :few is NULL"),
    ],
)
def test_what_is_no_list_of_values_is_refused_at_its_place(given: object, message: str) -> None:
    with pytest.raises(SubscriptionError) as caught:
        rookery.matcher(SCHEMA).add("a", "volume IN :few", parameters={"few": given})
    assert (caught.value.message, caught.value.position) == (message, 10)


@pytest.mark.parametrize("where", ["symbol = :name", "symbol IN :name"])
def test_what_is_no_value_is_no_text_either(where: str) -> None:
    few = where.endswith("IN :name")
    for given in (math.nan, np.float32("nan"), Decimal("nan"), None):
        with pytest.raises(SubscriptionError, match=r"parameter :name (is NULL|holds what is no value)"):
            rookery.matcher(SCHEMA).add("a", where, parameters={"name": ["x", given] if few else given})
    with pytest.raises(SubscriptionError, match="a parameter is no bytes"):
        rookery.matcher(SCHEMA).add("a", where, parameters={"name": [b"x"] if few else b"x"})


def test_a_float32_stands_for_the_double_that_it_is() -> None:
    matcher, tenth = rookery.matcher(rookery.Schema(level="float32")), np.float32(0.1)
    matcher.add("one", "level = :tenth", parameters={"tenth": tenth})
    for name, given in {"numpy": np.array([0.1], np.float32), "arrow": pa.array([0.1], pa.float32())}.items():
        matcher.add(name, "level IN :tenth", parameters={"tenth": given})
    assert matcher.match({"level": tenth}) == ["one", "numpy", "arrow"]


@pytest.mark.parametrize("item", ["1-1", "-1+1", "'a'||'b'"])
def test_expressions_in_a_list_count_among_the_characters_of_a_text(item: str) -> None:
    assert length_without_lists(tokens_of(f"a IN ({','.join([item] * 50)})")) >= 50
    assert length_without_lists(tokens_of("a IN (-1, +2, 'b')")) == len("aIN()")


def test_a_list_of_a_hundred_thousand_values_as_text_and_as_a_parameter() -> None:
    values = np.arange(100_000, 200_000)
    matcher = rookery.matcher(SCHEMA)
    matcher.add("text", f"volume IN ({', '.join(map(str, values))})")
    matcher.add("parameter", "volume IN :few", parameters={"few": values})
    matcher.add("names", "symbol IN :few", parameters={"few": pa.array([f"name {n}" for n in values])})
    assert matcher.match({"volume": 199_999, "symbol": "name 100000"}) == ["text", "parameter", "names"]
    assert matcher.match({"volume": 200_000, "symbol": "name 200000"}) == []


def test_items_are_read_as_they_are_written() -> None:
    assert list_items(parameter_value([True, 1.5, "a", 2**60])) == ["TRUE", "1.5", "a", str(2**60)]
    assert list_items("[1.10, 1e3, true]") == ["1.10", "1e3", "TRUE"]
    assert parse(to_text(parse("a NOT IN :b"))) == parse("a NOT IN :b")


@pytest.mark.parametrize(
    "where", ["symbol = :few", "symbol IN (:few)", "symbol LIKE :few", "symbol IN :few OR symbol = :few"]
)
@pytest.mark.parametrize("named", [False, True])
def test_a_list_for_one_value_is_refused_at_its_place(where: str, named: bool) -> None:
    with pytest.raises(SubscriptionError, match="parameter :few is a list, and stands here for one value") as caught:
        rookery.matcher(SCHEMA).add("a", where, parameters={"few": ["a"]} if named else [["a"]])
    assert caught.value.subscription_id == "a"
    assert caught.value.position == where.rindex(":few")


def test_what_is_no_list_of_literals_counts_among_the_characters_of_a_text() -> None:
    literals = f"volume IN ({', '.join(map(str, range(100_000, 150_000)))})"
    computed = f"volume IN ({', '.join(['1 - 1'] * 120_000)})"
    assert parse(literals)
    for text in (" OR ".join(["volume = 1000"] * 40_000), computed, f"{literals} OR {computed}"):
        with pytest.raises(SubscriptionError, match="characters apart from its lists of values, more than the 262,144"):
            parse(text)
    with pytest.raises(SubscriptionError, match="characters, more than the 4,194,304"):
        parse(" " * 4_194_305)
