"""Sigma rules as conditions, judged by an evaluator that shares nothing with the reader."""

from __future__ import annotations

import gzip
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.twins.sigma import Judge, fields_of_document

import rookery
from rookery.errors import SubscriptionError
from rookery.model.dialects.sigma import read_sigma
from rookery.model.documents import layout

DATA = Path(__file__).parents[4] / "shared" / "data" / "sigma"

RULE = """title: Odd shell
id: 5f7
level: high
logsource:
    category: process_creation
    product: windows
detection:
    selection:
        Image|endswith: '\\cmd.exe'
        CommandLine|contains|all:
            - 'whoami'
            - '/all'
    filter_one:
        User: null
    filter_two:
        ParentImage|startswith: 'C:\\Program Files\\'
    condition: selection and not 1 of filter_*
"""


def rule(detection: str, source: str = "{}") -> str:
    """Return a rule with this detection, indented by four."""
    return f"title: t\nid: r\nlogsource: {source}\ndetection:\n" + detection


def verdicts(text: str, *documents: dict[str, Any]) -> list[bool]:
    """Say which documents a rule matches, after the slow judge said the same."""
    translation = read_sigma(text)
    schema = rookery.Schema.from_subscriptions([{"subscription_id": "r", "where": translation.where}])
    matcher = rookery.matcher(schema)
    matcher.add("r", translation.where)
    table = layout(documents, schema)
    table = table.append_column("event_id", pa.array(range(len(documents))))
    matched = set(matcher.match_many(table)["event_id"].to_pylist())
    found = [place in matched for place in range(len(documents))]
    judge = Judge(text)
    assert found == [judge.holds(one) for one in documents]
    return found


def test_a_rule_is_read_whole() -> None:
    read = read_sigma(RULE)
    assert read.subscription_id == "5f7"
    assert read.columns == {"title": "Odd shell", "level": "high", "status": None, "author": None}
    assert read.line == 17
    base = {"Image": "C:\\Windows\\CMD.EXE", "CommandLine": "whoami /ALL", "User": "u"}
    assert verdicts(
        RULE,
        base,
        {**base, "User": None},
        {**base, "ParentImage": "c:\\program files\\x"},
        {**base, "ParentImage": "D:\\x"},
        {**base, "Channel": "Security"},
        {**base, "EventID": 3},
        {"Event": {"System": {"EventID": 1, "Channel": "Microsoft-Windows-Sysmon/Operational"}, "EventData": base}},
    ) == [True, False, False, True, False, False, True]


@pytest.mark.parametrize(
    ("line", "value", "expected"),
    [
        ("a: x", "X", True),
        ("a: 'x*'", "xyz", True),
        ("a: 'x?'", "xyz", False),
        ("a: 'x\\*'", "x*", True),
        ("a: 'x\\*'", "xy", False),
        ("a: 'x\\\\*'", "x\\y", True),
        ("a: 'x\\y'", "x\\y", True),
        ("a: 5", 5, True),
        ("a: 5", "5", True),
        ("a: true", True, True),
        ("a: 'a%_b'", "a%_b", True),
        ("a: 'a%_b'", "aXXb", False),
        ("a: ''", "", True),
        ("a: ''", None, False),
        ("a: null", None, True),
        ("a: [null, x]", "x", True),
        ("a: [null, x]", None, True),
        ("a|cased: x", "X", False),
        ("a|contains|cased: B", "aBc", True),
        ("a|re: '^[a-c]+$'", "abc", True),
        ("a|re: '^[a-c]+$'", "ABC", False),
        ("a|re|i: '^[a-c]+$'", "ABC", True),
        ("a|exists: true", "", True),
        ("a|exists: false", None, True),
        ("a|gt: 5", 6, True),
        ("a|gte: 5.5", "5.5", True),
        ("a|lt: 5", "x", False),
        ("a|lte: 5", None, False),
        ("a|windash|contains: ' -enc'", "p /enc x", True),
        ("a|windash|contains: ' -enc'", "p \u2014enc x", True),
        ("a|windash|contains: ' -enc'", "p enc x", False),
        ("a|base64: foo", "Zm9v", True),
        ("a|base64offset|contains: foobar", "xx" + "Zm9vYmFy", True),
        ("a|utf16le|base64offset|contains: foo", "ZgBvAG8A", True),
        ("a|contains|all: [x, y]", "yx", True),
        ("a|contains|all: [x, y]", "yy", False),
        ("a|neq: x", "y", True),
        ("a|neq: x", "X", False),
        ("a|neq: x", None, True),
        ("a|contains|neq: [x, y]", "ay", False),
        ("a|neq|cased: x", "X", True),
        ("a|exists|neq: true", None, True),
        ("a|hour: 19", "2020-09-15 19:28:17.594", True),
        ("a|hour: 19", "2020-09-15T20:28:17+02:00", False),
        ("a|hour: [3, 18]", "2020-09-15T20:28:17+02:00", True),
        ("a|minute|gte: 28", "2020-09-15 19:28:17", True),
        ("a|day|lt: 15", "2020-09-15", False),
        ("a|month: 9", "no instant", False),
        ("a|year|neq: 2020", "2021-01-01", True),
        ("a|fieldref: b", "B", True),
        ("a|fieldref|endswith: b", "xB", True),
    ],
)
def test_a_line_means_what_the_specification_says(line: str, value: Any, expected: bool) -> None:
    text = rule(f"    s:\n        {line}\n    condition: s\n")
    negated = rule(f"    s:\n        {line}\n    condition: not s\n")
    document = {"a": value, "b": "b"}
    assert verdicts(text, document, {"b": "b"})[0] is expected
    assert verdicts(negated, document)[0] is not expected


def test_keywords_are_sought_in_all_values() -> None:
    text = rule("    keywords:\n        - mimi\n        - 'k*z'\n    condition: keywords\n")
    assert verdicts(text, {"x": "a MIMI b"}, {"x": {"y": "kaz"}}, {"x": "m"}, {}) == [True, True, False, False]
    spread = [{"x": "k", "y": "z"}, {"x": "z", "y": "k z"}, {"x": "K\nZ"}, {"x": ["k", "z"]}]
    assert verdicts(text, *spread) == [False, True, True, True]
    signs = rule("    keywords: 'a.c? |x*(y) ä'\n    condition: keywords\n")
    assert verdicts(signs, {"x": "A.CD |x__(Y) Äb"}, {"x": "abcd |x(y) ä"}, {"x": "a.c", "y": " |x(y) ä"}) == [
        True, False, False,
    ]  # fmt: skip
    every = rule("    keywords:\n        '|all':\n            - one\n            - two\n    condition: keywords\n")
    assert verdicts(every, {"x": "one", "y": "two"}, {"x": "one"}) == [True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("detection: [", "line 2: cannot be read as YAML"),
        ("- a", "a rule is a map"),
        ("title: x", "has no detection"),
        ("correlation: {type: event_count}", "correlates other rules"),
        (rule("    s: {a: x}\n    condition: t\n"), "line 6: condition 't': there is no selection 't'"),
        (rule("    s: {a: x}\n    condition: s | count() > 5\n"), "speaks of several events"),
        (rule("    s: {a: x}\n    condition: 1 of t*\n"), "no selection is named 't\\*'"),
        (rule("    s: {a: x}\n    condition: (s\n"), "not closed"),
        (rule("    s: {a|re: '(?=x)'}\n    condition: s\n"), "line 5: a.re: the regular expression"),
        (rule("    s: {a|fancy: x}\n    condition: s\n"), "there is no modifier 'fancy'"),
        (rule("    s: {a|week: 7}\n    condition: s\n"), "there is no modifier 'week'"),
        (rule("    s: {a|hour: x}\n    condition: s\n"), "a number is needed"),
        (rule("    s: {a|expand: '%x%'}\n    condition: s\n"), "expand needs values"),
        (rule("    s: {a|wide: x}\n    condition: s\n"), "goes before base64"),
        (rule("    s: {a|base64: 'x*'}\n    condition: s\n"), "has a wildcard"),
        (rule("    s: {a: []}\n    condition: s\n"), "list of values is empty"),
        (rule("    s: []\n    condition: s\n"), "the selection is empty"),
        (rule("    s: {a: x, a: y}\n    condition: s\n"), "'a' stands twice"),
    ],
)
def test_what_cannot_be_said_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(SubscriptionError, match=message):
        read_sigma(text)


def rules_and_events() -> tuple[dict[str, str], list[dict[str, Any]], list[str]]:
    """Return the public rules by id, the recorded events, and for each the rule that must match it."""
    if not DATA.is_dir():
        pytest.skip(f"the Sigma rules are not at {DATA}")
    with gzip.open(DATA / "rules.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = {Judge(text).id: text for text in (json.loads(line)["yaml"] for line in lines)}
    events, wanted = [], []
    with gzip.open(DATA / "events.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            events += line["events"]
            wanted += [line["rule_id"]] * len(line["events"])
    return texts, events, wanted


def compiled(texts: dict[str, str]) -> tuple[rookery.Schema, Any, dict[str, str]]:
    """Return the schema that the rules ask for, a matcher, and the rules that were refused, with the reason."""
    taken, refused = {}, {}
    for name, text in texts.items():
        try:
            taken[name] = read_sigma(text).where
        except SubscriptionError as error:
            refused[name] = error.message
    table = {"subscription_id": list(taken), "where": list(taken.values())}
    schema = rookery.Schema.from_subscriptions(table)
    matcher = rookery.matcher(schema, on_error="quarantine")
    matcher.add_many(table)
    return schema, matcher, refused | {str(one.subscription_id): one.message for one in matcher.quarantined}


def matches(schema: rookery.Schema, matcher: Any, documents: list[dict[str, Any]]) -> list[set[str]]:
    """Return the rules that match each document."""
    table = layout(documents, schema).append_column("event_id", pa.array(range(len(documents))))
    found: list[set[str]] = [set() for _ in documents]
    for row in matcher.match_many(table).to_pylist():
        found[row["event_id"]].add(row["subscription_id"])
    return found


@pytest.mark.real
def test_public_rules_match_their_events_and_no_others() -> None:
    texts, events, wanted = rules_and_events()
    schema, matcher, refused = compiled(texts)
    assert len(refused) <= 0.03 * len(texts), Counter(refused.values())
    found = matches(schema, matcher, events)
    assert all(name in rules for name, rules in zip(wanted, found, strict=True))
    judges = {name: Judge(text) for name, text in texts.items() if name not in refused}
    for event, rules in zip(events, found, strict=True):
        fields = fields_of_document(event)
        assert rules == {name for name, judge in judges.items() if judge.holds(event, fields)}


def mutated(event: dict[str, Any], others: list[dict[str, Any]], dice: random.Random) -> dict[str, Any]:
    """Return an event with fields dropped, exchanged with another's, cut, doubled or changed in case."""
    changed = json.loads(json.dumps(event))
    data = changed["Event"].get("EventData") or {}
    other = dice.choice(others)["Event"].get("EventData") or {}
    for name in dice.sample(sorted(data), min(len(data), dice.randint(1, 3))):
        text = str(data[name])
        middle = dice.randint(0, len(text))
        data[name] = dice.choice(
            [None, other.get(name), text[:middle], text[middle:], text * 2, text.swapcase(), text.replace("\\", "/")]
        )
    for name in dice.sample(sorted(other), min(len(other), 2)):
        data.setdefault(name, other[name])
    return changed  # type: ignore[no-any-return]


@pytest.mark.real
@pytest.mark.parametrize("count", [500, pytest.param(100_000, marks=[pytest.mark.slow, pytest.mark.timeout(0)])])
def test_changed_events_are_judged_alike(count: int) -> None:
    texts, events, _ = rules_and_events()
    schema, matcher, refused = compiled(texts)
    judges = {name: Judge(text) for name, text in texts.items() if name not in refused}
    names, dice = sorted(judges), random.Random(count)
    compared = matched = 0
    for start in range(0, count, 1_000):
        documents = [mutated(dice.choice(events), events, dice) for _ in range(min(1_000, count - start))]
        for document, found in zip(documents, matches(schema, matcher, documents), strict=True):
            fields = fields_of_document(document)
            asked = found | set(dice.sample(names, 25))
            assert {name for name in asked if judges[name].holds(document, fields)} == found & asked
            compared, matched = compared + len(asked), matched + len(found)
    assert matched > count / 10
