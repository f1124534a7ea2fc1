"""JSON documents on Spark: laid out as in memory, wherever a range of bytes ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import rookery
from rookery.cli import main
from rookery.errors import RookeryError
from rookery.model.documents import layout
from rookery.spark import documents
from rookery.spark.documents import read_documents

pytestmark = pytest.mark.spark

RULE = """title: Odd shell
id: odd
level: high
logsource: {{category: process_creation, product: windows}}
detection:
    selection: {{CommandLine|contains: '{}'}}
    filter: {{User|endswith: admin}}
    condition: selection and not filter
"""


def run(*arguments: str) -> int:
    """Run a command and return its exit code."""
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    return int(left.value.code or 0)


def write(folder: Path) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [
        {
            "CommandLine": f"run {'WHOAMI' if number % 3 else 'x'} ü{number}",
            "User": "admin" if number % 5 == 0 else None,
        }
        for number in range(40)
    ]
    lines = [json.dumps(one, ensure_ascii=False) for one in made]
    (folder / "events.jsonl").write_text("\n".join(lines[:25]) + "\n\n" + "\n".join(lines[25:]), encoding="utf-8")
    return made


def test_every_line_is_read_once_wherever_the_ranges_end(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = write(tmp_path)
    schema = rookery.Schema(CommandLine=str, User=str)
    monkeypatch.setattr(documents, "RANGE", 700)
    frame, name = read_documents(spark, tmp_path / "events.jsonl", schema)
    rows = sorted(frame.collect(), key=lambda row: int(row[name].rpartition("#")[2]))
    assert [(row["CommandLine"], row["User"]) for row in rows] == [(one["CommandLine"], one["User"]) for one in made]
    content = (tmp_path / "events.jsonl").read_bytes()
    for row, one in zip(rows, made, strict=True):
        path, _, offset = row[name].rpartition("#")
        assert path == str((tmp_path / "events.jsonl").resolve())
        assert json.loads(content[int(offset) :].split(b"\n")[0]) == one
    named, _ = read_documents(spark, tmp_path / "events.jsonl", schema, event_id="CommandLine")
    assert {row["event_id"] for row in named.collect()} == {one["CommandLine"] for one in made}


def test_the_command_takes_rules_and_documents_and_nothing_else(spark: Any, tmp_path: Path, capsys: Any) -> None:
    made = write(tmp_path)
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "odd.yml").write_text(RULE.format("whoami"))
    out, events = tmp_path / "out", str(tmp_path / "events.jsonl")
    asked = ["match", "-s", str(tmp_path / "rules"), "-e", events, "-o", str(out), "--subscription-columns"]
    assert run(*asked, "title,level", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    schema = rookery.Schema.from_subscriptions(str(tmp_path / "rules"))
    expected = sum("WHOAMI" in one["CommandLine"] and one["User"] is None for one in made)
    assert layout(made, schema).num_rows == summary["events"] == 40
    assert summary["matches"] == expected > 0
    rows = pq.read_table(out).to_pylist()
    assert {(row["title"], row["level"]) for row in rows} == {("Odd shell", "high")}
    (tmp_path / "new.yml").write_text(RULE.format("run"))
    assert run("diff", str(tmp_path / "rules"), str(tmp_path / "new.yml"), "-e", events, "--json") == 0
    assert json.loads(capsys.readouterr().out)["added"] == sum(one["User"] is None for one in made) - expected
    assert run("backtest", "-s", str(tmp_path / "rules"), "-e", events, "--json") == 0
    assert json.loads(capsys.readouterr().out)["matches"] == expected


def test_a_line_that_is_no_document_is_named(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text('{"a": 1}\n[2]\n')
    frame, _ = read_documents(spark, tmp_path / "events.jsonl", rookery.Schema(a=str))
    with pytest.raises(Exception, match=r"events\.jsonl#0 on: line 2 is no JSON object"):
        frame.collect()
    (tmp_path / "none.jsonl").write_text("")
    with pytest.raises(RookeryError, match="no events"):
        read_documents(spark, tmp_path / "none.jsonl", rookery.Schema(a=str))


def test_event_patterns_choose_items_of_arrays(spark: Any, tmp_path: Path, capsys: Any) -> None:
    patterns = {
        "one person": {"people": {"first": ["Anna"], "last": ["Jones"]}},
        "tagged": {"tags": ["a", "b"], "people": {"first": [{"exists": True}]}},
    }
    people = [{"first": "Anna", "last": "Smith"}, {"first": "Peter", "last": "Jones"}]
    made = [
        {"id": "split", "people": people, "tags": ["a", "b"]},
        {"id": "one", "people": [*people, {"first": "Anna", "last": "Jones"}], "tags": []},
        {"id": "none"},
    ]
    rows = [{"subscription_id": name, "where": json.dumps(one)} for name, one in patterns.items()]
    (tmp_path / "rules.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(one) + "\n" for one in made))
    out, rules = str(tmp_path / "out"), str(tmp_path / "rules.jsonl")
    asked = ["match", "-s", rules, "-e", str(tmp_path / "events.jsonl"), "-o", out, "--dialect", "eventbridge"]
    assert run(*asked, "--event-id", "id", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["events"], summary["matches"]) == (3, 2)
    found = pq.read_table(out).select(["event_id", "subscription_id"]).to_pylist()
    assert sorted((row["event_id"], row["subscription_id"]) for row in found) == [
        ("one", "one person"),
        ("split", "tagged"),
    ]
    patterns["one person"]["people"]["last"] = ["Smith"]
    rows = [{"subscription_id": name, "where": json.dumps(one)} for name, one in patterns.items()]
    (tmp_path / "changed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    changed = ["diff", rules, str(tmp_path / "changed.jsonl"), "-e", str(tmp_path / "events.jsonl")]
    assert run(*changed, "--dialect", "eventbridge", "--event-id", "id", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["added"], told["removed"], told["changed"]) == (1, 0, 0)


def test_fields_that_differ_in_case_alone_are_two(spark: Any, tmp_path: Path, capsys: Any) -> None:
    rows = [{"subscription_id": name, "where": json.dumps({name: ["x"]})} for name in ("path", "Path")]
    (tmp_path / "rules.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "events.jsonl").write_text('{"path": "x", "Path": "y"}\n{"Path": "x"}\n')
    asked = ["-e", str(tmp_path / "events.jsonl"), "--dialect", "eventbridge", "--json"]
    try:
        assert run("match", "-s", str(tmp_path / "rules.jsonl"), *asked, "-o", str(tmp_path / "out")) == 0
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    assert json.loads(capsys.readouterr().out)["matches"] == 2
    found = pq.read_table(tmp_path / "out")["subscription_id"].to_pylist()
    assert sorted(found) == ["Path", "path"]
