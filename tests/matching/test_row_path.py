"""One event at a time: the answer of a batch of that one event, and only what it has is looked at."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import rookery
from rookery.errors import EventError
from rookery.matching import ENGINES
from rookery.matching.present import Present
from rookery.matching.texts import event_texts
from rookery.model.check import Checker
from rookery.model.parser import parse
from rookery.model.regexes import regex_holds

SCHEMA = rookery.Schema.from_dict(
    {"a": "string", "b": "string", "c": "string", "s": {"t": "string"}, "l": ["string"], "x": "int64", "y": "float64"}
)  # fmt: skip
TEXTS = ["", "abc", "ABC", "xabcx", "bc", "é", "É aB", "a1b2", "cab", "\U0001f600a"]


def text_condition(random: Random) -> str:
    field = random.choice(["a", "b", "c", "s.t"])
    word = random.choice(["a", "ab", "bc", "abc", "É", "x%", "%b%c", "_b", "%", "1", "abcabc"])
    kind = random.choice(["LIKE", "ILIKE", "RLIKE", "RLIKE", "=", "NOT LIKE", "<"])
    if kind == "RLIKE":
        return (
            f"{field} RLIKE '{random.choice(['^a', 'b+c', '[0-9]', '(?i)ABC', 'ab|É', '.', 'c$', '(?i)x.*x', 'a.1'])}'"
        )
    return f"{field} {kind} '{word if kind in ('LIKE', 'NOT LIKE') else '%' + word if kind == 'ILIKE' else word}'"


def condition(random: Random, depth: int = 2) -> str:
    way = random.random()
    if depth and way < 0.55:
        word = random.choice([" AND ", " OR ", " AND "])
        parts = [condition(random, depth - 1) for _ in range(random.randint(2, 3))]
        return "(" + word.join(parts) + ")"
    if depth and way < 0.65:
        return f"NOT ({condition(random, depth - 1)})"
    if way < 0.85:
        return text_condition(random)
    return random.choice(
        ["x > 3", "x IS NULL", "y < 0.5", "lower(a) = lower(b)", "coalesce(a, 'abc') LIKE 'ab%'", "a IS NULL", "TRUE",
         "ANY(l) LIKE 'a%'", "lower(coalesce(b, 'Q')) = 'q'", "length(c) > 2", "coalesce(x, 9) > y"]
    )  # fmt: skip


def event(random: Random) -> dict[str, Any]:
    whole: dict[str, Any] = {name: random.choice([None, *TEXTS]) for name in ("a", "b", "c")}
    whole |= {"s": random.choice([None, {}, {"t": random.choice(TEXTS)}]), "x": random.choice([None, 1, 5])}
    whole |= {"l": random.choice([None, [], random.sample(TEXTS, 2)]), "y": random.choice([None, 0.25, 7.0])}
    return {name: whole[name] for name in random.sample(sorted(whole), random.randint(0, len(whole)))}


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_one_event_is_matched_as_a_batch_of_it(engine: str) -> None:
    random = Random(25)
    for _ in range(12):
        matcher = rookery.matcher(SCHEMA, engine=engine)
        for number in range(60):
            matcher.add(number, condition(random))
            if random.random() < 0.1:
                matcher.remove(number)
        for _ in range(25):
            one = event(random)
            batch = matcher.match_many([{**dict.fromkeys(SCHEMA), **one, "event_id": 0}])
            assert matcher.match(one) == batch["subscription_id"].to_pylist(), one


def test_a_regular_expression_is_asked_once_and_only_where_a_match_hinges_on_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, str]] = []

    def counted(pattern: str, text: str) -> bool:
        asked.append((pattern, text))
        return regex_holds(pattern, text)

    monkeypatch.setattr(event_texts, "regex_holds", counted)
    matcher = rookery.matcher(SCHEMA)
    matcher.add("alone", "a RLIKE 'b+c'")
    matcher.add("or", "a RLIKE 'b+c' OR a LIKE '%zz'")
    matcher.add("and", "a RLIKE 'b+c' AND x > 3")
    matcher.add("not", "x > 3 AND NOT a RLIKE 'b+c$'")
    matcher.add("elsewhere", "c RLIKE '[a-z]' AND b = 'q'")
    assert matcher.match({"a": "q"}) == []
    assert asked == []
    assert matcher.match({"a": "abbc", "x": 1, "c": "s"}) == ["alone", "or"]
    assert asked == [("b+c", "abbc")]
    asked.clear()
    assert matcher.match({"a": "abbc", "x": 5}) == ["alone", "or", "and"]
    assert sorted(asked) == [("b+c", "abbc"), ("b+c$", "abbc")]
    assert matcher.match({"a": "abbc bzz", "x": 5}) == ["alone", "or", "and", "not"]


def test_what_does_not_fit_is_said_as_ever_unless_only_removed_subscriptions_read_it() -> None:
    matcher = rookery.matcher(SCHEMA)
    matcher.add("text", "a LIKE '%b%'")
    matcher.add("number", "x > 3 AND c RLIKE 'q[0-9]'")
    with pytest.raises(EventError, match="a is a string, and the event has 5"):
        matcher.match({"a": 5, "x": 4})
    assert matcher.match({"a": 5, "x": 4, "c": "q7"}, on_error="null") == ["number"]
    matcher.remove("text")
    assert matcher.match({"a": 5, "x": 4, "c": "q7"}) == ["number"]
    matcher.add("again", "b ILIKE '%É'")
    assert matcher.match({"a": 5, "b": "xé"}) == ["again"]


def test_attributes_are_present_by_the_keys_of_the_event() -> None:
    names = ["a", "s.t", "lower(a)", "coalesce(b, 'x')", "a || b", "x"]
    checker = Checker(SCHEMA)
    attributes = [checker.attribute(parse(f"{one} IS NULL").field) for one in names]  # type: ignore[union-attr]
    present = Present(attributes)
    assert present({}) == [3]
    assert present({"a": None, "unknown": 1}) == [0, 2, 3, 4]
    assert present({"s": {}, "b": ""}) == [1, 3, 4]
    assert present(object()) == [0, 1, 2, 3, 4, 5]
