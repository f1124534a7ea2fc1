"""Parameters by name: their order, where they are given, and what is said when one is missing."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import rookery
from rookery.errors import SubscriptionError
from rookery.model import parse, to_text
from rookery.model.parameters import parameter_values

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
