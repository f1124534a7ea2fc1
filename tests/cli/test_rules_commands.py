"""`rookery validate` and `rookery explain`, as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from rookery import cli
from rookery.cli.notations import read_event
from rookery.errors import EventError

SCHEMA = "symbol:string,price:float64,volume:int64"
RULES = """subscription_id,where,parameters,valid_from
cheap,symbol = 'ACME' AND price < 10,,
typo,symbl = 'ACME',,
quoted,price < 'ten',,
limit,price < %0,"[""10""]",
never,price BETWEEN 3 AND 1,,
dated,price > 3,,2026-01-01
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.csv"
    path.write_text(RULES)
    return path


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    return int(ended.value.code or 0)


def test_every_bad_rule_is_shown_with_its_place_and_a_hint(rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("validate", str(rules), "--schema", SCHEMA) == 1
    shown = capsys.readouterr().out
    assert "'typo': unknown field 'symbl'\n  symbl = 'ACME'\n  ^\nhint: did you mean 'symbol'?" in shown
    assert "'quoted': price is a number, and 'ten' is not\n  price < 'ten'\n          ^" in shown
    assert "'never': no event can satisfy this filter" in shown
    assert "'never': price BETWEEN 3 AND 1 can never be true: its ends are the wrong way round" in shown
    assert shown.endswith("4 good, 2 bad, 1 never true\n")


def test_the_document_names_every_fault(rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("validate", str(rules), "--schema", SCHEMA, "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["subscriptions"] == 6
    assert document["good"] == 4
    assert [(one["subscription_id"], one["position"]) for one in document["bad"]] == [("typo", 0), ("quoted", 8)]
    assert document["never_true"] == ["never"]


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv"])
def test_good_rules_exit_with_0_from_every_format(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"rules.{suffix}"
    rows = [{"subscription_id": "a", "where": "price < 10"}, {"subscription_id": "b", "where": ""}]
    if suffix == "parquet":
        pyarrow.parquet.write_table(pa.Table.from_pylist(rows), path)
    elif suffix == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        path.write_text("subscription_id,where\na,price < 10\nb,TRUE\n")
    assert call("validate", str(path), "--schema", SCHEMA) == 0


def test_explain_names_the_predicate_that_decided(rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    event = '{"symbol": "ACME", "price": 12}'
    assert call("explain", str(rules), "--schema", SCHEMA, "--id", "cheap", "--event", event) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("'cheap' version 1 does not match: its condition is false\n")
    assert "price < 10       false    price is 12.0  <- decides" in shown


def test_explain_all_needs_the_time_that_dated_rules_ask_for(rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("explain", str(rules), "--schema", SCHEMA, "--event", '{"price": 12}')
    assert call(*arguments) == 1
    assert "'dated' has effective dates; give the event's time" in capsys.readouterr().err
    assert call(*arguments, "--time", "2026-02-01", "--json") == 0
    verdicts = {one["subscription_id"]: one["matched"] for one in json.loads(capsys.readouterr().out)}
    assert verdicts == {"cheap": False, "limit": False, "never": False, "dated": True}


def test_a_file_of_events_may_have_columns_that_no_condition_compares(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = tmp_path / "events.parquet"
    tags = pa.array([[("a", "b")]], pa.map_(pa.string(), pa.string()))
    pyarrow.parquet.write_table(pa.table({"price": [9.5], "blob": [b"x"], "tags": tags}), events)
    path = tmp_path / "rules.csv"
    path.write_text("subscription_id,where\ngood,price < 10\nbad,blob = 'x'\n")
    assert call("validate", str(path), "--schema", str(events)) == 1
    shown = capsys.readouterr().out
    assert "'bad': blob is binary in the events, which no condition can compare\n  blob = 'x'\n  ^" in shown
    assert shown.endswith("1 good, 1 bad\n")


def test_a_near_miss_of_a_column_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "rules.csv"
    path.write_text("subscription_id,where,valid_form,owner\na,price < 10,2026-01-01,ann\n")
    assert call("validate", str(path), "--schema", SCHEMA) == 0
    assert caplog.messages == ["the column 'valid_form' of the subscriptions means nothing; did you mean 'valid_from'?"]


def test_ids_of_a_text_file_are_texts_unless_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rules.csv"
    path.write_text("subscription_id,where\n007,price < 10\n")
    explained = ("explain", str(path), "--schema", SCHEMA, "--event", '{"price": 9}', "--json")
    assert call(*explained, "--id", "007") == 0
    assert json.loads(capsys.readouterr().out)["subscription_id"] == "007"
    assert call(*explained, "--id", "7", "--id-type", "int") == 0
    assert json.loads(capsys.readouterr().out)["subscription_id"] == 7
    assert call(*explained, "--id", "7") == 1
    assert call(*explained, "--id-type", "float") == 1
    assert "an id type is 'int' or 'string'" in capsys.readouterr().err


def test_an_event_is_a_json_object() -> None:
    with pytest.raises(EventError, match="an event is JSON"):
        read_event("{price: 9}")
    with pytest.raises(EventError, match="JSON object"):
        read_event("[1]")


def test_an_engine_that_cannot_match_there_is_refused_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("node", "--engine", "matrix") == 2
    assert "--engine has no effect without --topic: give --topic too" in capsys.readouterr().err
    assert call("node", "--topic", "t", "--schema", "x:int64", "--engine", "btree") == 2
    assert "there is no engine 'btree': say bitmap, matrix" in capsys.readouterr().err
    space = ("--space", "x:0:9", "--schema", "x:int64", "--durability", "memory")
    assert call("broker", "--listen", "127.0.0.1:0", "--topic", "t", *space, "--engine", "btree") == 2
    assert "there is no engine 'btree': say bitmap, matrix" in capsys.readouterr().err


def test_rules_of_a_dialect_are_named_with_their_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = "title: t\nid: {}\ndetection:\n    s:\n        Image|endswith: cmd.exe\n    condition: s\n"
    for name in ("one", "two"):
        (tmp_path / f"{name}.yml").write_text(rule.format(name))
    event = '{"Image": "C:/cmd.EXE", "n": 1}'
    assert call("explain", str(tmp_path), "--id", "two", "--event", event, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["matched"], told["source"]) == (True, f"{tmp_path}/two.yml:6")
    assert call("explain", str(tmp_path), "--id", "two", "--event", event) == 0
    assert capsys.readouterr().out.endswith(f"from {tmp_path}/two.yml:6\n")
    assert call("lint", str(tmp_path)) == 1
    assert f"'two': asks for the same as 'one'  from {tmp_path}/two.yml:6" in capsys.readouterr().out
    assert call("lint", str(tmp_path), "--json") == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [one["source"] for one in found] == [f"{tmp_path}/two.yml:6"]
