"""JSON documents on Spark: laid out as in memory, wherever a range of bytes ends."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import rookery
from rookery.cli import main
from rookery.errors import RookeryError
from rookery.model.documents import layout
from rookery.spark import Subscriptions, documents, match, write_stream
from rookery.spark.documents import documents_schema, read_documents, stream_documents
from rookery.spark.failures import plain_failure

from .conftest import read_pairs

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
    assert frame.count() == len(made)
    rows = sorted(frame.frame().collect(), key=lambda row: int(row[name].rpartition("#")[2]))
    assert [(row["CommandLine"], row["User"]) for row in rows] == [(one["CommandLine"], one["User"]) for one in made]
    content = (tmp_path / "events.jsonl").read_bytes()
    for row, one in zip(rows, made, strict=True):
        path, _, offset = row[name].rpartition("#")
        assert path == str((tmp_path / "events.jsonl").resolve())
        assert json.loads(content[int(offset) :].split(b"\n")[0]) == one
    named, _ = read_documents(spark, tmp_path / "events.jsonl", schema, event_id="CommandLine")
    assert {row["event_id"] for row in named.frame().collect()} == {one["CommandLine"] for one in made}


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
        frame.frame().collect()
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


#: Documents as they come: nested, with arrays, with fields that are missing or null, of other types than expected.
PEOPLE = [
    {
        "id": "split",
        "who": [{"first": "Anna", "last": "Smith"}, {"first": "Peter", "last": "Jones"}],
        "host": {"os": "x"},
    },
    {"id": "one", "who": [{"first": "Anna", "last": "Jones"}, {"first": "Anna", "last": "Jones"}], "host": {"os": "y"}},
    {"id": "bare", "who": {"first": "Anna", "last": "Jones"}, "host": None},
    {"id": "odd", "who": ["Anna", 5, None, [[{"first": "Anna", "last": "Jones"}]]], "host": {"os": {"name": "x"}}},
    {"id": "none"},
]
ANNA = {"who": {"first": ["Anna"], "last": ["Jones"]}}


class Incoming:
    """A folder into which files of documents are moved, and rules in a file."""

    def __init__(self, folder: Path) -> None:
        self.events, self.rules, self.out = folder / "incoming", folder / "rules.jsonl", folder / "out"
        self.state, self.made = folder / "state", 0
        self.events.mkdir()

    def put(self, *made: Any) -> None:
        self.made += 1
        hidden = self.events / f".{self.made}.jsonl"
        hidden.write_text("".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in made))
        hidden.rename(self.events / f"{self.made} é.jsonl")

    def set_rules(self, **patterns: Any) -> None:
        rows = [{"subscription_id": name, "where": json.dumps(one)} for name, one in patterns.items()]
        fresh = self.rules.with_name(".rules")
        fresh.write_text("".join(json.dumps(row) + "\n" for row in rows))
        fresh.replace(self.rules)

    def drain(self, *asked: str) -> int:
        return run(
            "match", "-s", str(self.rules), "-e", str(self.events), "-o", str(self.out), "--dialect", "eventbridge",
            "--drain", "--checkpoint", str(self.state), "--event-id", "id", "--json", *asked,
        )  # fmt: skip

    def found(self) -> list[tuple[Any, ...]]:
        return sorted((event, rule) for event, rule, _ in read_pairs(self.out))


def test_a_stream_of_documents_as_they_come(spark: Any, tmp_path: Path, capsys: Any) -> None:
    incoming = Incoming(tmp_path)
    incoming.set_rules(anna=ANNA, hosts={"host": {"os": [{"exists": False}]}})
    incoming.put(*PEOPLE)
    assert incoming.drain("--columns", "host", "--subscription-columns", "source") == 0
    # In "one" and "odd" the same person is found in two ways, and told once; the name of an os is no leaf `host.os`.
    first = [("bare", "anna"), ("bare", "hosts"), ("none", "hosts"), ("odd", "anna"), ("odd", "hosts"), ("one", "anna")]
    assert incoming.found() == first
    rows = pq.read_table(incoming.out).to_pylist()
    told = {row["event_id"]: row["host"] for row in rows}
    assert told == {"bare": None, "none": None, "odd": '{"os":{"name":"x"}}', "one": '{"os":"y"}'}
    assert {row["source"] for row in rows} == {"row 1", "row 2"}
    capsys.readouterr()
    assert run(
        "match", "-s", str(incoming.rules), "-e", str(incoming.events), "-o", str(tmp_path / "batch"), "--dialect",
        "eventbridge", "--event-id", "id", "--explain", "--json",
    ) == 0  # fmt: skip
    reasons = pq.read_table(tmp_path / "batch")["explain"].to_pylist()
    assert all(json.loads(reason)["matched"] for reason in reasons)
    assert sorted((event, rule) for event, rule, _ in read_pairs(tmp_path / "batch")) == first
    assert json.loads(capsys.readouterr().out)["events"] == len(PEOPLE)


def test_a_rule_that_is_written_later_may_name_any_field(spark: Any, tmp_path: Path) -> None:
    incoming = Incoming(tmp_path)  # the folder is empty when the stream begins
    incoming.set_rules(anna=ANNA)
    rules = Subscriptions.files(incoming.rules, dialect="eventbridge")
    frame, name = stream_documents(spark, str(incoming.events), documents_schema(rules.records()), event_id="id")
    assert frame.isStreaming
    hits = match(frame, rules, event_id=name, checkpoint=str(incoming.state))
    query = write_stream(hits, str(incoming.out), checkpoint=str(incoming.state))
    try:
        incoming.put(*PEOPLE)
        query.processAllAvailable()
        incoming.set_rules(anna=ANNA, late={"host": {"os": ["y"]}}, bad={"host": {"os": [{"fancy": 1}]}})
        incoming.put(*PEOPLE, *PEOPLE)
        query.processAllAvailable()
        told = query.lastProgress.observedMetrics["rookery"]
    finally:
        query.stop()
    assert (told["events"], told["matches"], told["quarantined"]) == (10, 8, 1)
    assert Counter(incoming.found()) == Counter(
        {("bare", "anna"): 3, ("odd", "anna"): 3, ("one", "anna"): 3, ("one", "late"): 2}
    )


def test_a_line_that_is_no_document_stops_a_stream_which_goes_on_when_it_is_mended(spark: Any, tmp_path: Path) -> None:
    incoming = Incoming(tmp_path)
    incoming.set_rules(hosts={"host": {"os": ["y"]}})
    incoming.put(PEOPLE[1])
    assert incoming.drain() == 0
    incoming.put(PEOPLE[1], '{"id": "cut", "host"', {**PEOPLE[1], "id": "after"})
    rules = Subscriptions.files(incoming.rules, dialect="eventbridge")
    frame, name = stream_documents(spark, str(incoming.events), documents_schema(rules.records()), event_id="id")
    hits = match(frame, rules, event_id=name, checkpoint=str(incoming.state))
    with pytest.raises(Exception) as caught:
        write_stream(
            hits, str(incoming.out), checkpoint=str(incoming.state), trigger={"availableNow": True}
        ).awaitTermination(120)
    place = str(incoming.events / "2 é.jsonl") + "#0 on: line 2 is no JSON"
    assert place in str(plain_failure(caught.value))
    assert incoming.found() == [("one", "hosts")]
    (incoming.events / "2 é.jsonl").write_text("\n" + json.dumps({**PEOPLE[1], "id": "after"}) + "\n")
    assert incoming.drain() == 0
    assert incoming.found() == [("after", "hosts"), ("one", "hosts")]


def test_dated_rules_and_topics_are_judged_by_fields_of_the_documents(spark: Any, tmp_path: Path, capsys: Any) -> None:
    rules = [
        {"subscription_id": "old", "where": {"a": ["x"]}, "valid_to": "2026-01-01T00:00:00Z"},
        {"subscription_id": "new", "where": {"a": ["x"]}, "valid_from": "2026-01-01T00:00:00Z"},
        {"subscription_id": "other", "where": {"a": ["x"]}, "topic": "t"},
    ]
    lines = [json.dumps({**one, "where": json.dumps(one["where"]), "dialect": "eventbridge"}) for one in rules]
    (tmp_path / "rules.jsonl").write_text("\n".join(lines) + "\n")
    made = [
        {"event_id": "early", "a": "x", "at": {"ts": "2025-06-01T00:00:00Z"}},
        {"event_id": "late", "a": "x", "at": {"ts": "2026-06-01T00:00:00Z"}, "topic": "t"},
    ]
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "1.jsonl").write_text("".join(json.dumps(one) + "\n" for one in made))
    asked = ["match", "-s", str(tmp_path / "rules.jsonl"), "-e", str(tmp_path / "events"), "--time", "at.ts"]
    for number, more in enumerate(([], ["--drain", "--checkpoint", str(tmp_path / "state")])):
        out = tmp_path / f"out{number}"
        assert run(*asked, "-o", str(out), "--event-id", "event_id", "--json", *more) == 0
        assert [pair[:2] for pair in read_pairs(out)] == [("early", "old"), ("late", "new"), ("late", "other")]
