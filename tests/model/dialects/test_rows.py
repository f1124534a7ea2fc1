"""Tables whose conditions are in a dialect."""

from __future__ import annotations

from pathlib import Path

import pytest

import rookery
from rookery.errors import SubscriptionError
from rookery.model.tables import read_subscriptions

RULE = "title: {0}\nid: {0}\nlevel: low\ndetection:\n    s: {{a|contains: {0}}}\n    condition: s\n"


def test_a_folder_of_rules_is_a_table(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "one.yml").write_text(RULE.format("x"))
    (tmp_path / "deep" / "two.yaml").write_text(RULE.format("y") + "---\n" + RULE.format("z").replace("low", "high"))
    (tmp_path / "bad.yml").write_text("title: bad\nid: b\ndetection:\n    condition: s\n")
    table = read_subscriptions(tmp_path)
    good = [row for row in table.to_pylist() if row["_fault"] is None]
    assert sorted((row["subscription_id"], row["where"], row["level"]) for row in good) == [
        ("x", "a ILIKE '%x%'", "low"), ("y", "a ILIKE '%y%'", "low"), ("z", "a ILIKE '%z%'", "high"),
    ]  # fmt: skip
    assert sorted(Path(row["source"]).name for row in good) == ["one.yml:6", "two.yaml:13", "two.yaml:6"]
    (fault,) = [row["_fault"] for row in table.to_pylist() if row["_fault"] is not None]
    assert "bad.yml: line 4: condition 's': there is no selection 's'" in fault["message"]
    matcher = rookery.matcher(rookery.Schema.from_subscriptions(table), on_error="quarantine")
    assert matcher.add_many(table) == 3
    assert matcher.match({"a": "xyz"}) == ["y", "z", "x"]


def test_a_column_names_the_dialect_of_each_row() -> None:
    rows = [
        {"subscription_id": "own", "where": "a = 'x'", "dialect": None},
        {"subscription_id": "same", "where": "a = 'y'", "dialect": "where"},
        {"subscription_id": "rule", "where": RULE.format("q"), "dialect": "sigma"},
        {"subscription_id": "none", "where": "a = 'z'", "dialect": "sigam"},
    ]
    table = read_subscriptions(rows)
    assert "dialect" not in table.column_names
    assert table["where"].to_pylist()[:3] == ["a = 'x'", "a = 'y'", "a ILIKE '%q%'"]
    assert table["_fault"].to_pylist()[3]["hint"] == "did you mean 'sigma'?"
    with pytest.raises(SubscriptionError, match="no such dialect"):
        read_subscriptions(rows[:1], dialect="cel")
